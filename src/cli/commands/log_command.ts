/** `log` and `usage`: requests on record, and their figures. */
import type { Api } from '../api/api_client.ts';
import type { Query } from '../../api_calls.ts';
import type { Given, Invocation, Run } from '../command.ts';
import { milliseconds, wholeNumber } from '../args.ts';
import { EXIT, type ExitCode, usage } from '../exits.ts';
import { writeAnswer } from '../output/write_answer.ts';
import { bytes } from '../../base/scaled.ts';
import { age, type Colour, duration, tableText } from '../output/text_table.ts';

const COLOURS: Readonly<Record<string, Colour>> = {
  success: 'green',
  error: 'red',
  'with-errors': 'yellow',
  pass: 'green',
  fail: 'red',
  warn: 'yellow',
  unknown: 'yellow',
};
const LIMIT = 20;
const MOST = 1_000;

function instant(option: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw usage(`--${option}: must be a time such as 2026-11-22 or 2026-11-22T10:00:00Z`);
  return new Date(time).toISOString();
}

/** `--since 2h`, or `--from` and `--to`. */
function period({ text }: Given): { from: string | null; to: string | null } {
  const [since, from, to] = [text('since'), text('from'), text('to')];
  if (since !== undefined && from !== undefined) throw usage('--since and --from: give one of them');
  const begin = since === undefined ? from : new Date(Date.now() - milliseconds('since', since)).toISOString();
  return { from: instant('from', begin), to: instant('to', to) };
}

type LogQuery = NonNullable<Query<'GET media/log'>>;
const LISTS = ['type', 'status', 'status-policy', 'policy'] as const;

/** What is null or empty is not sent. */
function queryOf(given: Given): LogQuery {
  const limit = given.text('limit');
  return {
    ...(Object.fromEntries(LISTS.map((name) => [name, given.texts(name)])) as LogQuery),
    send: period(given),
    url: given.text('url') ?? null,
    pagination: { limit: limit === undefined ? LIMIT : wholeNumber('limit', limit, 1, MOST) },
  };
}

async function list(invocation: Invocation, api: Api): Promise<ExitCode> {
  const { format, terminal } = invocation;
  const query = queryOf(invocation);
  if (format !== 'table') {
    await writeAnswer(invocation, (await api.ask('GET media/log', { query })).body);
    return EXIT.done;
  }
  const { log, pagination } = await api.call('GET media/log', { query });
  const rows = log.map((row) => [
    row.id,
    age(row.send),
    row.type,
    { text: row.status, colour: COLOURS[row.status] },
    { text: row['status-policy'] === 'skipped' ? '' : row['status-policy'], colour: COLOURS[row['status-policy']] },
    row.url,
  ]);
  await terminal.data(tableText(terminal, ['ID', 'AGE', 'TYPE', 'STATUS', 'POLICY', 'SOURCE'], rows));
  if (pagination.total > log.length) terminal.note(`${log.length} of ${pagination.total}; --limit shows more`);
  return EXIT.done;
}

/** A row for each value: `request.ffprobe.show_frames`. */
function fieldRows(name: string, value: unknown): string[][] {
  if (value === null || value === undefined) return [];
  if (typeof value === 'object' && !Array.isArray(value))
    return Object.entries(value).flatMap(([member, inner]) => fieldRows(`${name}.${member}`, inner));
  return [[name, typeof value === 'string' ? value : JSON.stringify(value)]];
}

async function one(invocation: Invocation, api: Api, id: string): Promise<ExitCode> {
  const { format, terminal } = invocation;
  const { body } = await api.ask('GET media/log/:id', { params: { id } });
  if (format !== 'table') {
    await writeAnswer(invocation, body);
    return EXIT.done;
  }
  const members = JSON.parse(body.toString()) as Record<string, unknown>;
  // Outputs of tools are long: they are for -o json, and for probeyard result.
  const rows = Object.entries(members).flatMap(([name, value]) =>
    name.endsWith('-response') || name.endsWith('-response-type') || name === 'run-responses'
      ? []
      : fieldRows(name, name === 'request' ? JSON.parse(String(value)) : value),
  );
  await terminal.data(tableText(terminal, ['FIELD', 'VALUE'], rows));
  return EXIT.done;
}

const run: Run = async (invocation) => {
  const api = await invocation.api();
  const [id] = invocation.positionals;
  return id === undefined ? list(invocation, api) : one(invocation, api, id);
};
export default run;

type UsageQuery = NonNullable<Query<'GET statistics/usage'>>;
const BY = { hour: 'hourly', day: 'daily', week: 'weekly', month: 'monthly', year: 'yearly' } as const;

export const runUsage: Run = async (invocation) => {
  const { format, terminal } = invocation;
  const by = invocation.text('by') as keyof typeof BY | undefined;
  const query: UsageQuery = { date: period(invocation), aggregation: by === undefined ? 'daily' : BY[by] };
  const api = await invocation.api();
  if (format !== 'table') {
    await writeAnswer(invocation, (await api.ask('GET statistics/usage', { query })).body);
    return EXIT.done;
  }
  const { 'users-usage': users } = await api.call('GET statistics/usage', { query });
  const rows = users.flatMap(({ 'user-id': user, 'aggregated-usage': buckets }) =>
    buckets.map(({ 'aggregation-time': time, resources }) => [
      time,
      String(user),
      String(resources['request-count']),
      duration(resources['processing-time']),
      bytes(resources['data-processed']),
    ]),
  );
  await terminal.data(tableText(terminal, ['FROM', 'USER', 'REQUESTS', 'TIME', 'READ'], rows));
  return EXIT.done;
};
