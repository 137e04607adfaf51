/** `log` and `usage`: requests on record, and their figures. */
import type { Query } from '../../api_calls.ts';
import type { Given, Invocation, Run } from '../command.ts';
import { milliseconds, whole } from '../args.ts';
import { EXIT, usage } from '../exits.ts';
import { printAnswer } from '../output/write_answer.ts';
import { bytes } from '../../base/scaled.ts';
import { age, coloured, duration, tableText } from '../output/text_table.ts';

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
  return {
    ...(Object.fromEntries(LISTS.map((name) => [name, given.texts(name)])) as LogQuery),
    send: period(given),
    url: given.text('url') ?? null,
    pagination: { limit: given.value('limit', whole(1, MOST)) ?? LIMIT },
  };
}

async function list(invocation: Invocation): Promise<void> {
  const { terminal } = invocation;
  const answer = await printAnswer(invocation, 'GET media/log', { query: queryOf(invocation) }, ({ log }) => {
    const rows = log.map((row) => [
      row.id,
      age(row.send),
      row.type,
      coloured(row.status),
      row['status-policy'] === 'skipped' ? '' : coloured(row['status-policy']),
      row.url,
    ]);
    return tableText(terminal, ['ID', 'AGE', 'TYPE', 'STATUS', 'POLICY', 'SOURCE'], rows);
  });
  const [shown, total] = [answer?.log.length ?? 0, answer?.pagination.total ?? 0];
  if (total > shown) terminal.note(`${shown} of ${total}; --limit shows more`);
}

/** A row for each value: `request.ffprobe.show_frames`. */
function fieldRows(name: string, value: unknown): string[][] {
  if (value === null || value === undefined) return [];
  if (typeof value === 'object' && !Array.isArray(value))
    return Object.entries(value).flatMap(([member, inner]) => fieldRows(`${name}.${member}`, inner));
  return [[name, typeof value === 'string' ? value : JSON.stringify(value)]];
}

/** Outputs of tools are long: they are for -o json, and for probeyard result. */
const detailRows = (members: object): string[][] =>
  Object.entries(members).flatMap(([name, value]: [string, unknown]) =>
    name.endsWith('-response') || name.endsWith('-response-type') || name === 'run-responses'
      ? []
      : fieldRows(name, name === 'request' ? JSON.parse(String(value)) : value),
  );

const run: Run = async (invocation) => {
  const [id] = invocation.positionals;
  if (id === undefined) await list(invocation);
  else
    await printAnswer(invocation, 'GET media/log/:id', { params: { id } }, (members) =>
      tableText(invocation.terminal, ['FIELD', 'VALUE'], detailRows(members)),
    );
  return EXIT.done;
};
export default run;

type UsageQuery = NonNullable<Query<'GET statistics/usage'>>;
const BY = { hour: 'hourly', day: 'daily', week: 'weekly', month: 'monthly', year: 'yearly' } as const;

export const runUsage: Run = async (invocation) => {
  const by = invocation.text('by') as keyof typeof BY | undefined;
  const query: UsageQuery = { date: period(invocation), aggregation: by === undefined ? 'daily' : BY[by] };
  await printAnswer(invocation, 'GET statistics/usage', { query }, ({ 'users-usage': users }) => {
    const rows = users.flatMap(({ 'user-id': user, 'aggregated-usage': buckets }) =>
      buckets.map(({ 'aggregation-time': time, resources }) => [
        time,
        String(user),
        String(resources['request-count']),
        duration(resources['processing-time']),
        bytes(resources['data-processed']),
        duration(1_000 * resources['decoded-seconds']),
      ]),
    );
    return tableText(invocation.terminal, ['FROM', 'USER', 'REQUESTS', 'TIME', 'READ', 'DECODED'], rows);
  });
  return EXIT.done;
};
