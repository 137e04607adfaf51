/** `chargeback` and `label`: what accounts used in a month, and for whom it is charged. */
import type { Answer, Body, Query } from '../../api_calls.ts';
import { bytes } from '../../base/scaled.ts';
import { whole } from '../args.ts';
import type { Run } from '../command.ts';
import { EXIT, usage } from '../exits.ts';
import { duration, tableText } from '../output/text_table.ts';
import { writeValue } from '../output/write_answer.ts';

type Labels = Answer<'GET user/:id/labels'>['labels'];
const COUNTS = ['request-count', 'success', 'with-errors', 'error'] as const;
type Figure = (typeof COUNTS)[number] | 'processing-time' | 'data-processed' | 'decoded-seconds';
type Row = { 'account-id'?: number; labels: Labels } & Record<Figure, number>;

const pairs = (labels: Labels): string[] => Object.entries(labels).map(([name, value]) => `${name}=${value}`);

const run: Run = async (invocation) => {
  const { format, terminal } = invocation;
  const month = invocation.text('month') ?? null;
  const query: NonNullable<Query<'GET statistics/chargeback'>> = { month, format: format === 'csv' ? 'csv' : 'ndjson' };
  const { body } = await (await invocation.api()).ask('GET statistics/chargeback', { query });
  if (format !== 'table') {
    await terminal.data(body);
    return EXIT.done;
  }
  const lines = body.toString().split('\n').filter(Boolean);
  const rows = lines.map((line) => {
    const row = JSON.parse(line) as Row;
    return [
      row['account-id'] === undefined ? 'erased' : String(row['account-id']),
      pairs(row.labels).join(','),
      ...COUNTS.map((name) => String(row[name])),
      duration(row['processing-time']),
      bytes(row['data-processed']),
      duration(1_000 * row['decoded-seconds']),
    ];
  });
  const head = ['ACCOUNT', 'LABELS', 'REQUESTS', 'SUCCESS', 'WITH ERRORS', 'ERROR', 'TIME', 'READ', 'DECODED'];
  await terminal.data(tableText(terminal, head, rows));
  return EXIT.done;
};
export default run;

type Asked = NonNullable<Body<'PUT user/:id/labels'>>['labels'];

/** `team=archive` sets it, `team-` removes it. */
function asked(given: readonly string[]): Asked {
  const labels = given.map((text): [string, string | null] => {
    const at = text.indexOf('=');
    if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
    if (at === -1 && text.length > 1 && text.endsWith('-')) return [text.slice(0, -1), null];
    throw usage(`label: ${text}: must be NAME=VALUE, or NAME- to remove it`);
  });
  return Object.fromEntries(labels);
}

export const runLabel: Run = async (invocation) => {
  const [account = '', ...given] = invocation.positionals;
  const params = { id: String(whole(1, 999_999_999)('account', account)) };
  const body = { labels: asked(given) };
  const api = await invocation.api();
  const { labels } =
    given.length === 0
      ? await api.call('GET user/:id/labels', { params })
      : await api.call('PUT user/:id/labels', { params, body });
  await writeValue(invocation, labels, () =>
    pairs(labels)
      .map((pair) => `${pair}\n`)
      .join(''),
  );
  return EXIT.done;
};
