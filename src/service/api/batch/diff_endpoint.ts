/** What is different between two batches of the same sources: outcomes, and the fields of their results. */
import Type, { type Static, type TSchema } from 'typebox';
import type { Comparison } from '../../../media/compare/schema.ts';
import { ReportedFieldSchema, UpgradeReport, UpgradeSummarySchema } from '../../../media/compare/upgrade_report.ts';
import { OUTCOMES } from '../../../media/policy/types.ts';
import { REPORT_TOOLS } from '../../../media/tools/probe_report.ts';
import type { Batch } from '../../../platform/store/batches.ts';
import type { Deps } from '../deps.ts';
import { ApiError, invalid } from '../errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { takeRequestRate } from '../http/rate.ts';
import { type Context, tokenOf, uuidOf } from '../http/request_context.ts';
import { closed, component, oneOf, optionalWhole, orNull, time, UUID, whole } from '../http/request_fields.ts';
import { type NoResult, storedResult, untilClosed } from '../probe/stored_result.ts';
import type { TextRun } from '../work/jobs.ts';
import { ITEM_STATES, STATES } from './batch_answers.ts';
import { ownBatch } from './batch_endpoints.ts';
import { makeSlices } from './batch_request.ts';
import { itemPages } from './item_pages.ts';
import { makeOneAtATime } from './one_at_a_time.ts';
import {
  type Flip,
  heldDisplay,
  isHashed,
  JUDGED,
  makeFlips,
  NOT_COMPARED,
  type NotCompared,
  type Pair,
  type PairedItem,
  pairItems,
  unreadOf,
} from './pairs.ts';

// The answer.

/** Pairs that are named of each change of an outcome. */
const MOST_NAMED = 20;

const ComparedBatch = component('ComparedBatch', {
  id: Type.String({ format: 'uuid' }),
  name: orNull(Type.String()),
  state: oneOf(STATES),
  created_at: time(),
  items: whole('Number of items.'),
});

const Named = component('FlippedItem', {
  url: Type.String({ description: 'Without credentials; values of its query read REDACTED.' }),
  ref: orNull(Type.String()),
  a: orNull(Type.String({ description: 'The request of the item of `a`. Null: it has none.' })),
  b: orNull(Type.String({ description: 'That of the item of `b`.' })),
});

const flips = <T extends TSchema>(title: string, value: T, description: string) =>
  Type.Array(
    component(title, {
      from: value,
      to: value,
      count: whole('Pairs with this change.'),
      items: Type.Array(Named, { maxItems: MOST_NAMED, description: 'The first of them.' }),
    }),
    { description },
  );

const Answer = component('BatchDiff', {
  a: ComparedBatch,
  b: ComparedBatch,
  pairs: whole('Sources that are in both.'),
  only_in_a: whole('Items of `a` without a partner.'),
  only_in_b: whole('Items of `b` without a partner.'),
  erased: whole('Items of both whose request was erased: nothing is known of them.'),
  states: flips('StateFlip', oneOf(ITEM_STATES), 'Pairs that ended otherwise in `b`, the commonest change first.'),
  policy_outcomes: flips(
    'OutcomeFlip',
    oneOf(OUTCOMES),
    'Pairs whose verdict is another one in `b`, where both have one.',
  ),
  fields: Type.Array(ReportedFieldSchema, {
    description:
      'Fields that change from `a` to `b`, with the number of files, after normalisation; `values` are by `a` and ' +
      '`b`, and `request_id` is that of the item of `b`.',
  }),
  summary: UpgradeSummarySchema,
  not_compared: Type.Array(
    closed({ why: oneOf(Object.keys(NOT_COMPARED) as NotCompared[]), count: Type.Integer({ minimum: 1 }) }),
    {
      description: `Pairs whose fields are not compared. ${Object.entries(NOT_COMPARED)
        .map(([why, text]) => `${why}: ${text}.`)
        .join(' ')}`,
    },
  ),
  next: orNull(
    Type.Integer({ description: '`after` of a call that compares the fields of further pairs. Null: there are none.' }),
  ),
});

const shownBatch = ({ id, name, state, createdAt, items }: Batch): Static<typeof ComparedBatch> => ({
  id,
  name,
  state,
  created_at: createdAt.toISOString(),
  items,
});

async function displayOf({ store }: Pick<Deps, 'store'>, batch: string, item: PairedItem): Promise<string> {
  if (!isHashed(item)) return item.display;
  const [kept] = await store.itemsPage({ batch, after: item.n - 1, limit: 1 });
  return kept?.display ?? '';
}

/** `later`: the batch that they are shown of. */
async function shownFlips<V extends string>(deps: Deps, later: string, found: readonly Flip<V>[]) {
  const shown = [];
  for (const { pairs, ...flip } of found) {
    const items = [];
    for (const { a, b } of pairs)
      items.push({ url: await displayOf(deps, later, b), ref: b.ref, a: a.requestId, b: b.requestId });
    shown.push({ ...flip, items });
  }
  return shown;
}

// Items.

type Slices = ReturnType<typeof makeSlices>;

async function itemsOf(deps: Deps, batch: Batch, slices: Slices): Promise<PairedItem[]> {
  const items: PairedItem[] = [];
  for await (const page of itemPages(deps, batch)) {
    for (const { n, ref, display, state, reason, requestId, policyOutcome } of page) {
      // The earlier result is that of the file.
      const judged = reason === 'Unchanged' ? 'success' : state;
      items.push({ n, ref, display: heldDisplay(display), state: judged, requestId, policyOutcome });
    }
    await slices.next();
  }
  return items;
}

// Results.

const ABSENT: Readonly<Record<NoResult['absent'], NotCompared>> = {
  unknown: 'expired',
  expired: 'expired',
  'other-kind': 'no-fields',
  open: 'not-ended',
  none: 'no-result',
  unreadable: 'unreadable',
};

interface Reading {
  signal: AbortSignal;
}
type ToolText = Omit<TextRun, 'label'>;

/** JSON of the tools that are compared. Null: it is too long to be held, and what is compared is parsed whole. */
async function textsOf(deps: Deps, ctx: Context, id: string, reading: Reading): Promise<ToolText[] | NotCompared> {
  const stored = await storedResult(deps, ctx, id, reading);
  if ('absent' in stored) return ABSENT[stored.absent];
  const { result, texts } = stored;
  using _held = stored.place;
  return result.tools.flatMap(({ name, version, success, format, output }) => {
    const tool = REPORT_TOOLS.find((one) => one === name);
    if (!tool || !success || format !== 'json' || !output) return [];
    return [{ tool, version, output: texts.get(output.from) ?? null }];
  });
}

/** Of the tools that gave JSON in both results. */
async function runsOf(deps: Deps, ctx: Context, pair: Pair, reading: Reading): Promise<TextRun[] | NotCompared> {
  const why = unreadOf(pair);
  if (why !== undefined) return why;
  const read = await Promise.all([pair.a, pair.b].map(({ requestId }) => textsOf(deps, ctx, requestId!, reading)));
  const missing = read.find((one) => typeof one === 'string');
  if (missing !== undefined) return missing;
  const [a, b] = read as [ToolText[], ToolText[]];
  const both = a.flatMap((one) => {
    const other = b.find(({ tool }) => tool === one.tool);
    return other ? [[one, other] as const] : [];
  });
  const runs = both
    .filter((texts) => texts.every(({ output }) => output !== null))
    .flatMap(([one, other]): TextRun[] => [
      { ...one, label: 'a' },
      { ...other, label: 'b' },
    ]);
  if (runs.length > 0) return runs;
  return both.length > 0 ? 'too-large' : 'no-fields';
}

/** Pairs of one piece of work for a thread, and characters of their outputs. */
const PAIRS_AT_ONCE = 20;
const TEXT_AT_ONCE = 256 * 1024;

interface Held {
  pair: Pair;
  runs: TextRun[] | NotCompared;
}
const isRead = (one: Held): one is Held & { runs: TextRun[] } => typeof one.runs !== 'string';

/** `found`: undefined if it took too long. */
function fieldsIn(runs: readonly TextRun[], found: Comparison | undefined): Comparison | NotCompared {
  if (!found) return 'too-large';
  const unread = new Set(found.summary.not_compared.map(({ tool }) => tool));
  return runs.every(({ tool }) => unread.has(tool)) ? 'no-fields' : found;
}

/** The report of pairs as they come, and how many are not in it. */
function makeReport({ work }: Pick<Deps, 'work'>, account: number) {
  const report = new UpgradeReport();
  const counts = new Map<NotCompared, number>();
  let upTo: number | null = null;
  let held: Held[] = [];
  let size = 0;

  function take({ b }: Pair, found: Comparison | NotCompared): void {
    if (typeof found === 'string') counts.set(found, (counts.get(found) ?? 0) + 1);
    else report.add(b.requestId!, found);
    upTo = b.n;
  }

  /** In their order, so that another answer can go on after any of them. */
  async function compareThem(some: readonly Held[]): Promise<void> {
    const files = some.filter(isRead).map(({ runs }) => runs);
    let found: Comparison[] = [];
    try {
      if (files.length > 0) found = await work.run('compareFields', files, { account, what: 'against' });
    } catch (error) {
      // It took too long, or needs too much memory.
      if (!(error instanceof ApiError && error.code === 'invalid-field')) throw error;
      if (some.length > 1) {
        for (const one of some) await compareThem([one]);
        return;
      }
    }
    const next = found.values();
    for (const { pair, runs } of some) take(pair, typeof runs === 'string' ? runs : fieldsIn(runs, next.next().value));
  }
  async function compareHeld(): Promise<void> {
    const some = held;
    [held, size] = [[], 0];
    await compareThem(some);
  }
  return {
    async add(one: Held): Promise<void> {
      held.push(one);
      if (isRead(one)) size += one.runs.reduce((sum, { output }) => sum + output!.length, 0);
      if (held.length >= PAIRS_AT_ONCE || size >= TEXT_AT_ONCE) await compareHeld();
    },
    compareHeld,
    /** The item of `b` that it has come to. */
    upTo: () => upTo,
    end() {
      const notCompared = [...counts].map(([why, count]) => ({ why, count }));
      return { ...report.end(), not_compared: notCompared.toSorted((x, y) => y.count - x.count) };
    },
  };
}

/** For the fields of one answer. */
const DEADLINE_MS = 20_000;

/** Why there is no room for more work of the account now. Null: it is done. */
async function refusal(work: () => Promise<void>): Promise<ApiError | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 429 || error.status === 503)) return error;
    throw error;
  }
}

async function compareFields(
  deps: Deps,
  ctx: Context,
  pairs: readonly Pair[],
  { slices, ...reading }: Reading & { slices: Slices },
) {
  const began = performance.now();
  const report = makeReport(deps, tokenOf(ctx).rootUserId);
  let isLate = false;
  async function readAll(): Promise<void> {
    for (const pair of pairs) {
      reading.signal.throwIfAborted();
      isLate = performance.now() - began > DEADLINE_MS;
      if (isLate) return;
      await report.add({ pair, runs: await runsOf(deps, ctx, pair, reading) });
      await slices.next();
    }
  }
  const refused = [await refusal(readAll), await refusal(report.compareHeld)].find((one) => one !== null);
  const upTo = report.upTo();
  // What is done is not lost.
  if (refused && upTo === null) throw refused;
  return { ...report.end(), next: refused || isLate ? upTo : null };
}

const compareAlone = makeOneAtATime('comparison of batches', DEADLINE_MS / 1000);

/** Items of either batch: all of them are held. */
const MOST_COMPARED = 100_000;
/** Of an item, as the memory budget counts: with its pair, it takes up to a kilobyte. */
const ITEM_BYTES = 170;

const Query = closed({
  against: Type.String({ pattern: UUID, description: 'The id of the earlier batch, `a`.' }),
  after: optionalWhole(0, 2_147_483_647, '`next` of an earlier answer: the fields of further pairs are compared.'),
});

async function diff(deps: Deps, ctx: Context, { against, after }: Static<typeof Query>) {
  if (against.toLowerCase() === uuidOf(ctx)) throw invalid('against', 'must be another batch');
  await takeRequestRate(deps, ctx);
  const [a, b] = [await ownBatch(deps, ctx, against.toLowerCase()), await ownBatch(deps, ctx)];
  const larger = Math.max(a.items, b.items);
  if (larger > MOST_COMPARED)
    throw invalid('against', `one of the batches has ${larger} items; at most ${MOST_COMPARED} can be compared`);
  const account = tokenOf(ctx).rootUserId;
  const signal = untilClosed(ctx);
  const inflatedBytes = (a.items + b.items) * ITEM_BYTES;
  return compareAlone(deps, { account, inflatedBytes, signal }, async () => {
    const slices = makeSlices(deps.paceOf(account));
    const [ofA, ofB] = [await itemsOf(deps, a, slices), await itemsOf(deps, b, slices)];
    const { pairs, ...counts } = await pairItems(ofA, ofB, slices.next);
    const states = makeFlips(JUDGED.state, MOST_NAMED);
    const outcomes = makeFlips(JUDGED.policyOutcome, MOST_NAMED);
    for (const pair of pairs) {
      states.add(pair);
      outcomes.add(pair);
      await slices.next();
    }
    await slices.pay();
    return {
      a: shownBatch(a),
      b: shownBatch(b),
      pairs: pairs.length,
      only_in_a: counts.onlyInA,
      only_in_b: counts.onlyInB,
      erased: counts.erased,
      states: await shownFlips(deps, b.id, states.end()),
      policy_outcomes: await shownFlips(deps, b.id, outcomes.end()),
      ...(await compareFields(
        deps,
        ctx,
        pairs.filter((pair) => pair.b.n > (after ?? -1)),
        { slices, signal },
      )),
    };
  });
}

export const diffBatch = endpoint('GET /v1/batch/:id/diff', {
  id: 'diffBatch',
  summary: 'Compare two batches',
  description:
    'What a batch, `b`, says otherwise than an earlier one, `a`, of the same sources: what an upgrade of a tool ' +
    'changes in a library. Items are paired by `ref` where both have one, else by address. Fields are those of ' +
    'ffprobe and mediainfo after normalisation, as in `probe_report`, sorted by the number of files. An answer ' +
    `compares as many pairs as it can read in ${DEADLINE_MS / 1000} s; \`next\` continues. Counts of pairs, states ` +
    'and outcomes are always of all.',
  rate: 'request',
  params: { id: Type.String({ format: 'uuid', description: 'The id of the later batch, `b`.' }) },
  query: Query,
  also: [404],
  answer: { description: 'The differences.', schema: Answer },
  work: diff,
});
