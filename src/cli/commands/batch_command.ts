/** `batch`: many sources by one template, which the service works through by itself. */
import type { Answer, Body, Query } from '../../api_calls.ts';
import { bytes } from '../../base/scaled.ts';
import { FACET_NAMES } from '../../media/policy/facets.ts';
import type { ListedItem } from '../../base/source_list.ts';
import { IDEMPOTENCY_KEY, pause, type Api } from '../api/api_client.ts';
import { newName } from '../api/exchange_http.ts';
import { milliseconds, whole } from '../args.ts';
import type { Given, Invocation, Run } from '../command.ts';
import { EXIT, Failure, Interrupted, usage, type ExitCode } from '../exits.ts';
import { age, coloured, duration, type Facts, factsText, several, tableText } from '../output/text_table.ts';
import { writeValue } from '../output/write_answer.ts';
import { fileRequest } from './probe_command.ts';
import { diffBatches } from './batch_diff.ts';
import { readList } from './batch_list.ts';
import { worst } from './several.ts';

type Batch = Answer<'GET /v1/batch/:id'>;
type Item = Answer<'GET /v1/batch/:id/items'>['items'][number];
type Head = NonNullable<Body<'POST /v1/batch'>>;
type Row = Answer<'GET /v1/batch'>['batches'][number];

// Creating one.

const SIZES: Readonly<Record<string, number>> = { '': 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };

function bytesIn(option: string, text: string): number {
  const [, figure, unit = ''] = /^(\d{1,9})(kB|MB|GB|TB)?$/.exec(text) ?? [];
  if (figure === undefined) throw usage(`--${option}: must be a size such as 500MB, 20GB or 2TB`);
  return Number(figure) * SIZES[unit]!;
}

/** What is not given is not sent: the service has the defaults, and the bounds. */
const budgetOf = ({ value }: Given): Pick<Head, 'max_requests' | 'max_bytes'> => ({
  max_requests: value('max-requests', whole(1, 999_999_999)),
  max_bytes: value('max-bytes', bytesIn),
});

const COUNT = whole(1, 1_000_000);

export async function headOf(invocation: Invocation): Promise<Omit<Head, 'items'>> {
  const { text, has, value } = invocation;
  const probe = await fileRequest(invocation);
  if (typeof probe['policy'] === 'object')
    throw usage('--policy: a batch is judged by a saved policy', 'PUT /v1/policy/NAME saves one; give its name');
  return {
    name: text('name'),
    deadline: value('deadline', milliseconds),
    concurrency: value('concurrency', COUNT),
    rate: value('rate', COUNT),
    per_host: value('per-host', COUNT),
    tries: value('tries', COUNT),
    ...budgetOf(invocation),
    webhook_url: text('webhook-url'),
    webhook_format: text('webhook-format') as Head['webhook_format'],
    webhook_items: has('webhook-items') || undefined,
    tag_objects: has('tag-objects') || undefined,
    probe,
  };
}

/** The service counts from 0 and knows no lines. */
const byLine = (message: string, items: readonly ListedItem[]): string =>
  message.replaceAll(/\bitems\.(\d+)\b/g, (place, at: string) => {
    const found = items[Number(at)];
    return found ? `line ${found.line}` : place;
  });

export const BUCKET = /^(?:s3|gs|az):\/\//i;
const OF_BUCKET = ['include', 'exclude', 'min-size', 'max-size', 'modified-after', 'modified-before'];

export const bucketOf = ({ text, texts, value }: Given, url: string): Required<Pick<Head, 'bucket'>> => ({
  bucket: {
    url,
    include: [...texts('include')],
    exclude: [...texts('exclude')],
    min_bytes: value('min-size', bytesIn),
    max_bytes: value('max-size', bytesIn),
    modified_after: text('modified-after'),
    modified_before: text('modified-before'),
  } as NonNullable<Head['bucket']>,
});

/** In place of a list that is sent: the sources of an earlier batch, the address of a list, or a bucket. */
function elsewhere(given: Given, path: string | undefined): Pick<Head, 'from' | 'items_url' | 'bucket'> {
  const { text, has } = given;
  const batch = text('from');
  if (path !== undefined && BUCKET.test(path) && batch === undefined) return bucketOf(given, path);
  const alone = OF_BUCKET.find(has);
  if (alone !== undefined) throw usage(`--${alone}: has an effect with a bucket alone`, 's3://BUCKET/PREFIX is one');
  const only = (['all', 'changed'] as const).filter(has);
  if (batch === undefined && only.length > 0) throw usage(`--${only[0]}: has an effect with --from alone`);
  if (only.length > 1) throw usage('--all and --changed: only one of them');
  if (batch === undefined) return path !== undefined && /^https?:\/\//i.test(path) ? { items_url: path } : {};
  if (path !== undefined) throw usage('batch create: a list or --from, not both');
  return { from: { batch, only: only[0] ?? 'failed' } };
}

async function create(invocation: Invocation, path: string | undefined): Promise<ExitCode> {
  const { format, terminal } = invocation;
  const other = elsewhere(invocation, path);
  const head = { ...(await headOf(invocation)), ...other };
  const items = other.from || other.items_url || other.bucket ? [] : await readList(path ?? '-');
  const text = [head, ...items.map(({ item }) => item)].map((line) => `${JSON.stringify(line)}\n`).join('');
  const headers = { 'Content-Type': 'application/x-ndjson', [IDEMPOTENCY_KEY]: newName() };
  const api = await invocation.api();
  const made = await api.call('POST /v1/batch', { text, headers }).catch((error: unknown) => {
    if (error instanceof Failure) error.message = byLine(error.message, items);
    throw error;
  });
  if (format !== 'table') await writeValue(invocation, made);
  else {
    terminal.note(`batch ${made.id}: ${made.bucket ? 'the bucket is being listed' : several(made.items, 'source')}`);
    if (made.left_out !== undefined)
      terminal.note(`${several(made.left_out, 'source')} left out: the address is not known any more`);
    await terminal.data(`${made.id}\n`);
  }
  return EXIT.done;
}

// Showing them.

type Progress = Pick<Batch, 'state' | 'items' | 'counts' | 'estimated_end_at'>;
const endedOf = ({ items, counts }: Pick<Row, 'items' | 'counts'>): number => items - counts.waiting - counts.running;
const failedOf = ({ counts }: Pick<Row, 'counts'>): number => counts.error + counts['with-errors'];

const bucketText = ({ listed, found, filtered, left_out: left }: NonNullable<Batch['bucket']>): string =>
  `${listed ? 'listed' : 'not all listed'}: ${found} found, ${filtered} not wanted, ${left} left out`;

const tagsText = (tagged: NonNullable<Batch['tagged']>): string | null =>
  Object.entries(tagged)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ') || null;

const MOST_VALUES = 6;

function facetText(values: Batch['summary'][keyof Batch['summary']]): string | null {
  const texts = values.slice(0, MOST_VALUES).map(({ value, count }) => `${count} ${value ?? 'others'}`);
  const more = values.length - texts.length;
  return [...texts, ...(more > 0 ? [`${more} more`] : [])].join(', ') || null;
}

function statusText({ terminal }: Invocation, batch: Batch): string {
  const { bucket, tagged, per_minute: speed, errors } = batch;
  const counts = Object.entries(batch.counts).filter(([, count]) => count > 0);
  const facts: Facts = [
    ['name', batch.name],
    ['state', [batch.state, batch.reason ?? []].flat().join(', ')],
    ['why', batch.text],
    ['sources', `${endedOf(batch)} of ${batch.items} ended`],
    ...counts.map(([state, count]) => [`  ${state}`, String(count)] as const),
    ['bucket', bucket && bucketText(bucket)],
    ['tags', tagsText(tagged ?? {})],
    ['requests', `${batch.requests}, ${bytes(batch.io_bytes)} read`],
    ['speed', speed === null ? null : `${Math.round(speed * 10) / 10} a minute`],
    ['ended', batch.ended_at],
    ['ends about', batch.estimated_end_at],
    ['deadline', batch.ended_at === null ? batch.deadline_at : null],
    ...FACET_NAMES.map((facet): [string, string | null] => [facet, facetText(batch.summary[facet])]),
  ];
  const codes = errors.map(({ code, count }) => [String(count), code]);
  return (
    factsText(terminal, ['BATCH', batch.id], facts) +
    (codes.length === 0 ? '' : `\n${tableText(terminal, ['FAILED', 'CODE'], codes)}`)
  );
}

async function show(invocation: Invocation, batch: Batch): Promise<void> {
  await writeValue(invocation, batch, () => statusText(invocation, batch));
}

export const LIMIT = 20;
const MOST = 1_000_000;
/** Of one call. */
const PAGE = 1_000;

/** Pages of a list, up to `--limit`. */
export async function paged<T, C>(
  invocation: Invocation,
  byDefault: number,
  page: (limit: number, cursor: C | undefined) => Promise<{ rows: readonly T[]; next: C | null }>,
): Promise<T[]> {
  const most = invocation.value('limit', whole(1, MOST)) ?? byDefault;
  const all: T[] = [];
  for (let cursor: C | undefined; all.length < most;) {
    const { rows, next } = await page(Math.min(PAGE, most - all.length), cursor);
    all.push(...rows);
    if (next === null) return all;
    cursor = next;
  }
  invocation.terminal.note(`${all.length} are shown; --limit shows more`);
  return all;
}

async function list(invocation: Invocation, api: Api): Promise<void> {
  const rows = await paged<Row, string>(invocation, LIMIT, async (limit, before) => {
    const query = { limit: Math.min(limit, 100), before, source: invocation.text('source') };
    const { batches, next } = await api.call('GET /v1/batch', { query });
    return { rows: batches, next };
  });
  const head = ['ID', 'AGE', 'STATE', 'ENDED', 'FAILED', 'NAME'];
  const cells = rows.map((row) => [
    row.id,
    age(row.created_at),
    coloured(row.state),
    `${endedOf(row)}/${row.items}`,
    String(failedOf(row)),
    row.name ?? '',
  ]);
  await writeValue(invocation, rows, () => tableText(invocation.terminal, head, cells));
}

type ItemQuery = NonNullable<Query<'GET /v1/batch/:id/items'>>;

type FileFormat = NonNullable<NonNullable<Query<'GET /v1/batch/:id/results'>>['format']>;
const FILE_FORMATS: readonly string[] = ['csv', 'ndjson', 'parquet'] satisfies FileFormat[];
const isFile = (format: string): format is FileFormat => FILE_FORMATS.includes(format);

function facetsIn(given: readonly string[]): Record<string, string> {
  const facets: Record<string, string> = {};
  for (const one of given) {
    const [name = '', ...value] = one.split('=');
    if (!FACET_NAMES.some((facet) => facet === name) || value.join('') === '')
      throw usage(`--where ${one}: must be FACET=VALUE with one of ${FACET_NAMES.join(', ')}`);
    if (name in facets) throw usage(`--where ${name}: given twice`);
    facets[name] = value.join('=');
  }
  return facets;
}

async function listItems(invocation: Invocation, api: Api, params: { id: string }): Promise<void> {
  const { format, terminal } = invocation;
  const filter = {
    state: invocation.text('state'),
    code: invocation.text('code'),
    ...facetsIn(invocation.texts('where')),
  } as ItemQuery;
  if (isFile(format)) {
    if (format === 'parquet' && terminal.interactive)
      throw usage('-o parquet: it is not for a terminal', 'send it to a file: > items.parquet');
    if (invocation.has('limit'))
      throw usage(`--limit: -o ${format} prints all sources`, 'use -o json for some of them');
    const query = { ...filter, format };
    return terminal.data((await api.ask('GET /v1/batch/:id/results', { params, query })).body);
  }
  const rows = await paged<Item, number>(invocation, LIMIT, async (limit, after) => {
    const query = { ...filter, limit, after };
    const { items: some, next } = await api.call('GET /v1/batch/:id/items', { params, query });
    return { rows: some, next };
  });
  const head = ['N', 'STATE', 'TRIES', 'WHY', 'POLICY', 'REQUEST', 'REF', 'SOURCE'];
  const cells = rows.map((row) => [
    String(row.n),
    coloured(row.state),
    String(row.tries),
    row.code ?? (row.state === 'success' ? '' : (row.reason ?? '')),
    row.policy_outcome ?? '',
    row.request_id ?? '',
    row.ref ?? '',
    row.url,
  ]);
  await writeValue(invocation, rows, () => tableText(terminal, head, cells));
}

// Waiting for the end.

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;
/** What waits is skipped at the deadline; what runs then has this long to end. */
const AFTER_DEADLINE_MS = 30 * 60_000;
/** How long the service may be away. */
const AWAY_MS = 10 * 60_000;

export function progressLine(batch: Progress, now: number): string {
  const { state, counts, items: all, estimated_end_at: end } = batch;
  const failed = failedOf(batch);
  const left = end === null ? 0 : Date.parse(end) - now;
  return [
    `${state}: ${endedOf(batch)} of ${all} ended`,
    ...(counts.running > 0 ? [`${counts.running} running`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(left <= 0 ? [] : [`about ${duration(left)} left`]),
  ].join(', ');
}

/**
 * A source whose request had errors has failed; one that was skipped is not known, unless the batch is completed: then
 * it is unchanged.
 */
export function exitOf({ state, reason, counts }: Pick<Batch, 'state' | 'reason' | 'counts'>): ExitCode {
  return worst([
    counts.error + counts['with-errors'] > 0 ? EXIT.failed : EXIT.done,
    state !== 'ended' || (counts.skipped > 0 && reason !== 'Completed') ? EXIT.unknown : EXIT.done,
  ]);
}

const isAway = (error: unknown): boolean =>
  error instanceof Failure && (error.status === undefined || error.status === 429 || error.status >= 500);

/** Until it has ended, or does not go on by itself. */
async function ended({ terminal, signal }: Invocation, api: Api, params: { id: string }): Promise<Batch> {
  let answeredAt: number | undefined;
  let isAnswered = false;
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(LONGEST_PAUSE_MS, wait * 1.3)) {
    try {
      const batch = await api.call('GET /v1/batch/:id', { params });
      if (hasStopped(batch, Date.now())) return batch;
      [answeredAt, isAnswered] = [performance.now(), true];
      terminal.progress(progressLine(batch, Date.now()));
    } catch (error) {
      // A server that has never answered is a mistake in the command.
      if (!isAway(error) || answeredAt === undefined || performance.now() - answeredAt > AWAY_MS) throw error;
      if (isAnswered) terminal.note(`${(error as Failure).message}; the batch is asked for again`);
      isAnswered = false;
    }
    await pause(wait, signal);
  }
}

const hasStopped = ({ state, deadline_at: deadline }: Batch, now: number): boolean =>
  state === 'ended' || state === 'stopped' || (deadline !== null && now > Date.parse(deadline) + AFTER_DEADLINE_MS);

async function waitForEnd(invocation: Invocation, params: { id: string }): Promise<ExitCode> {
  const { terminal, program } = invocation;
  try {
    const batch = await ended(invocation, await invocation.api(), params);
    await show(invocation, batch);
    if (batch.state === 'stopped') terminal.note(`it goes on with ${program.name} batch resume ${batch.id}`);
    return exitOf(batch);
  } catch (error) {
    if (error instanceof Interrupted) terminal.note(`the batch goes on: ${program.name} batch wait ${params.id}`);
    throw error;
  }
}

function paramsOf(action: string, id: string | undefined): { id: string } {
  if (id === undefined) throw usage(`batch ${action}: ID is missing`, 'probeyard batch list shows the ids');
  return { id };
}

/** Each answers with the batch as it then is. */
const ACTIONS = {
  status: 'GET /v1/batch/:id',
  pause: 'POST /v1/batch/:id/pause',
  cancel: 'POST /v1/batch/:id/cancel',
} as const;

const run: Run = async (invocation) => {
  const [action = 'list', given, other] = invocation.positionals;
  const { format } = invocation;
  if (action !== 'items' && isFile(format))
    throw usage(`batch ${action}: -o ${format} is for items`, 'accepted: table, json, yaml');
  if (action !== 'diff' && other !== undefined) throw usage(`batch ${action}: one argument more than it takes`);
  if (action === 'create') return create(invocation, given);
  if (action === 'list' && given !== undefined) throw usage('batch list: takes no ID');
  if (action === 'list') {
    await list(invocation, await invocation.api());
    return EXIT.done;
  }
  const params = paramsOf(action, given);
  if (action === 'diff') return diffBatches(invocation, params.id, paramsOf(action, other).id);
  if (action === 'wait') return waitForEnd(invocation, params);
  const api = await invocation.api();
  if (action === 'items') await listItems(invocation, api, params);
  else if (action === 'resume')
    await show(invocation, await api.call('POST /v1/batch/:id/resume', { params, body: budgetOf(invocation) }));
  else await show(invocation, await api.call(ACTIONS[action as keyof typeof ACTIONS], { params }));
  return EXIT.done;
};
export default run;
