/**
 * `POST /v1/compare/report`: what an upgrade changes over many comparisons on record, and which policies judge them
 * otherwise with the versions of the tools.
 */
import Type, { type Static } from 'typebox';
import type { ToolResult } from '../../../platform/bus/result_body.ts';
import type { Policy, Verdict } from '../../../media/policy/schema.ts';
import { OUTCOMES } from '../../../media/policy/types.ts';
import { REPORT_TOOLS } from '../../../media/tools/probe_report.ts';
import { invalid } from '../errors.ts';
import { type Context, tokenOf } from '../http/request_context.ts';
import type { Deps } from '../deps.ts';
import { shown } from '../http/input/read_fields.ts';
import { findNamed, MAX_SHARED_NAME, unknownPolicy } from '../policies/asked_policy.ts';
import { judged, type StoredResult, storedResult, untilClosed } from '../probe/stored_result.ts';
import { ReportedFieldSchema, UpgradeReport, UpgradeSummarySchema } from '../../../media/compare/upgrade_report.ts';
import { comparisonOf } from '../../result/answer.ts';
import { endpoint } from '../http/endpoint.ts';
import { takeRequestRate } from '../http/rate.ts';
import { closed, component, oneOf, UUID, whole } from '../http/request_fields.ts';

/** Comparisons that one report is made of. */
const MOST_COMPARISONS = 1_000;
/** By which each of them is judged. */
const MOST_POLICIES = 5;

const CompareReportSchema = closed({
  request_ids: Type.Array(Type.String({ pattern: UUID, description: 'The id of a request.' }), {
    minItems: 1,
    maxItems: MOST_COMPARISONS,
    uniqueItems: true,
    description: 'Comparisons of `POST /v1/compare` on record.',
  }),
  policies: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: MAX_SHARED_NAME }), {
      minItems: 1,
      maxItems: MOST_POLICIES,
      uniqueItems: true,
      description: 'Names of policies: the report tells on how many files their outcome changes.',
    }),
  ),
});

const MOST_EXAMPLES = 3;
const MOST_RULES = 5;

const StateSchema = component('PolicyAtVersions', {
  outcome: oneOf(OUTCOMES),
  versions: closed(Object.fromEntries(REPORT_TOOLS.map((tool) => [tool, Type.Optional(Type.String())]))),
});
type State = Static<typeof StateSchema>;

const FlipsSchema = component('PolicyFlips', {
  name: Type.String(),
  revision: Type.Integer({ minimum: 1 }),
  flips: whole('Comparisons in which the outcome changes.'),
  judged: whole('Comparisons that were judged.'),
  not_judged: whole('Those that were not: an output is too large to be held, or there was no time left.'),
  examples: Type.Array(
    closed({
      request_id: Type.String(),
      from: StateSchema,
      to: StateSchema,
      rules: Type.Array(Type.String(), {
        maxItems: MOST_RULES,
        description: 'Rules whose outcome changes.',
      }),
    }),
    { maxItems: MOST_EXAMPLES },
  ),
});
type Flips = Static<typeof FlipsSchema>;

interface NamedPolicy {
  told: Flips;
  /** Without `uses`. */
  document: string;
}

/** The latest revisions of these policies, without `uses`: versions are the question here. */
async function policiesNamed(
  { store }: Pick<Deps, 'store'>,
  ctx: Context,
  names: readonly string[],
): Promise<NamedPolicy[]> {
  const { rootUserId } = tokenOf(ctx);
  const asked: NamedPolicy[] = [];
  for (const name of names) {
    const found = await findNamed(store, name, rootUserId);
    if (!found) throw invalid('policies', `"${shown(name)}" ${await unknownPolicy(store, name, rootUserId)}`);
    const { uses: _, ...policy } = JSON.parse(found.document) as Policy;
    const { revision } = found;
    asked.push({
      document: JSON.stringify(policy),
      told: { name, revision, flips: 0, judged: 0, not_judged: 0, examples: [] },
    });
  }
  return asked;
}

/** The first versions of both tools, then the second ones; a tool with fewer keeps its last. */
function statesOf(tools: readonly ToolResult[]): ToolResult[][] {
  const lists = REPORT_TOOLS.map((name) => tools.filter((tool) => tool.name === name)).filter(
    ({ length }) => length > 0,
  );
  const most = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: most }, (_, at) => lists.map((list) => list[Math.min(at, list.length - 1)]!));
}

/** By all policies. Runs that failed are judged, too. `hasTime`: whether any is left. */
async function judgeFlips(
  { work }: Pick<Deps, 'work'>,
  ctx: Context,
  asked: readonly NamedPolicy[],
  stored: StoredResult,
  hasTime: () => boolean,
): Promise<void> {
  const { result, texts, record } = stored;
  const documents = asked.map(({ document }) => document);
  const states = statesOf(result.tools);
  const judgeable = states.length > 1 && result.tools.every(({ output }) => output === null || texts.has(output.from));
  const verdicts: Verdict[][] = [];
  for (const tools of judgeable ? states : []) {
    if (asked.length === 0 || !hasTime()) break;
    const input = { ...judged(stored), result: { tools }, documents, options: {} };
    verdicts.push(await work.run('judge', input, { account: tokenOf(ctx).rootUserId, what: 'policies' }));
  }
  for (const [index, one] of asked.entries()) {
    const of = verdicts.map((state) => state[index]!);
    if (of.length < 2 || of.length < states.length) one.told.not_judged += 1;
    else count(one.told, record.id, states, of);
  }
}

function count(told: Flips, requestId: string, states: readonly ToolResult[][], verdicts: readonly Verdict[]): void {
  told.judged += 1;
  const at = verdicts.findIndex(({ outcome }, index) => index > 0 && outcome !== verdicts[index - 1]!.outcome);
  if (at < 0) return;
  told.flips += 1;
  if (told.examples.length >= MOST_EXAMPLES) return;
  const [before, after] = [verdicts[at - 1]!, verdicts[at]!];
  const stateAt = (index: number): State => ({
    outcome: verdicts[index]!.outcome,
    versions: Object.fromEntries(states[index]!.map(({ name, version }) => [name, version])),
  });
  const rules = after.rules
    .filter(({ outcome }, index) => outcome !== before.rules[index]!.outcome)
    .map(({ name }) => name)
    .slice(0, MOST_RULES);
  told.examples.push({ request_id: requestId, from: stateAt(at - 1), to: stateAt(at), rules });
}

const COMPARISONS = { kind: 'compare', endpoint: '/v1/compare' } as const;
/** A comparison of small outputs is read in 2 ms; large ones are read at the account's pace. */
const DEADLINE_MS = 60_000;
/** For verdicts, so that there is time left to read what remains. */
const JUDGING_MS = 30_000;
const LATE = `was not read within ${DEADLINE_MS / 1000} s: ask for it in a report of its own`;

const FIRST_ID = '01937c5e-8a00-7000-8000-000000000001';

export const compareReport = endpoint('POST /v1/compare/report', {
  id: 'compareReport',
  summary: 'Report on many comparisons',
  description:
    'Which fields an upgrade changes, and on how many files: from comparisons of versions (`POST /v1/compare`) ' +
    'that are on record. Fields are sorted by the number of files, with at most three examples each.',
  rate: 'request',
  body: CompareReportSchema,
  bodyExamples: {
    two: { value: { request_ids: [FIRST_ID, '01937c5e-8a00-7000-8000-000000000002'] } },
    policies: {
      summary: 'With a policy',
      value: { request_ids: [FIRST_ID], policies: ['shared/web-mp4'] },
    },
  },
  answer: {
    description: 'The report.',
    schema: component('UpgradeReport', {
      fields: Type.Array(ReportedFieldSchema),
      summary: UpgradeSummarySchema,
      left_out: Type.Array(closed({ request_id: Type.String(), why: Type.String() }), {
        description: 'Requests that the report does not count.',
      }),
      policies: Type.Optional(
        Type.Array(FlipsSchema, {
          description:
            'Where `policies` were named: on how many files the outcome of each changes from one run of the tools to ' +
            'the next. Its `uses` has no effect here.',
        }),
      ),
    }),
  },
  /** One after the other: no more than one result is held. */
  async work(deps, ctx, { request_ids: ids, policies: names }) {
    await takeRequestRate(deps, ctx);
    const signal = untilClosed(ctx);
    const asked = await policiesNamed(deps, ctx, names ?? []);
    const began = performance.now();
    const hasTime = (ms: number) => performance.now() - began < ms && !signal.aborted;
    const made = new UpgradeReport();
    const leftOut: { request_id: string; why: string }[] = [];
    /** Returns why it is left out. */
    const add = async (id: string): Promise<string | undefined> => {
      if (!hasTime(DEADLINE_MS)) return LATE;
      const stored = await storedResult(deps, ctx, id, { only: COMPARISONS, signal });
      if ('absent' in stored) return stored.why;
      using place = stored.place;
      if (stored.result.tools.some(({ side }) => side !== undefined)) return 'compares two sources, not versions';
      if (!stored.result.comparison) return 'its runs were not compared';
      const begun = performance.now();
      made.add(id, comparisonOf(stored.result));
      await place.pace(performance.now() - begun);
      await judgeFlips(deps, ctx, asked, stored, () => hasTime(JUDGING_MS));
      return undefined;
    };
    for (const id of ids) {
      signal.throwIfAborted();
      const why = await add(id);
      if (why !== undefined) leftOut.push({ request_id: id, why });
    }
    const { fields, summary } = made.end();
    return { fields, summary, left_out: leftOut, ...(names ? { policies: asked.map(({ told }) => told) } : {}) };
  },
});
