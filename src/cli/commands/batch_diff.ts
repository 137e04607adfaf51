/** `batch diff`: what a batch says otherwise than an earlier one of the same sources. */
import { valueWords } from '../../media/answer/section.ts';
import type { Answer } from '../../api_calls.ts';
import type { Api } from '../api/api_client.ts';
import type { Invocation } from '../command.ts';
import { EXIT, type ExitCode } from '../exits.ts';
import { several, tableText } from '../output/text_table.ts';
import { writeValue } from '../output/write_answer.ts';
import type { Terminal } from '../terminal.ts';

type Diff = Answer<'GET /v1/batch/:id/diff'>;
type Field = Diff['fields'][number];

// An answer compares the fields of as many pairs as it has time for.

const keyOf = ({ path, tool, level, change, known }: Field): string =>
  JSON.stringify([path, tool, level, change, known !== undefined]);

/** `later` has the fields of further pairs; all else is the same in both. */
export function joined(earlier: Diff, later: Diff): Diff {
  const byKey = new Map(earlier.fields.map((field) => [keyOf(field), field]));
  for (const field of later.fields) {
    const before = byKey.get(keyOf(field));
    byKey.set(keyOf(field), before ? { ...before, files: before.files + field.files } : field);
  }
  const counts = new Map(earlier.not_compared.map(({ why, count }) => [why, count]));
  for (const { why, count } of later.not_compared) counts.set(why, (counts.get(why) ?? 0) + count);
  const fields = [...byKey.values()].toSorted((x, y) => y.files - x.files);
  const [one, other] = [earlier.summary, later.summary];
  return {
    ...later,
    fields,
    summary: {
      comparisons: one.comparisons + other.comparisons,
      changed: one.changed + other.changed,
      unchanged: one.unchanged + other.unchanged,
      cut: one.cut + other.cut,
      fields: fields.length + one.fields - one.told + other.fields - other.told,
      told: fields.length,
      known: fields.filter(({ known }) => known !== undefined).length,
    },
    not_compared: [...counts].map(([why, count]) => ({ why, count })),
  };
}

async function whole({ terminal }: Invocation, api: Api, params: { id: string }, against: string): Promise<Diff> {
  const page = (after: number | null) =>
    api.call('GET /v1/batch/:id/diff', {
      params,
      query: { against, after },
      deadlineMs: 60_000,
    });
  let diff = await page(null);
  while (diff.next !== null) {
    terminal.progress(`${diff.summary.comparisons} of ${diff.pairs} pairs compared`);
    diff = joined(diff, await page(diff.next));
  }
  return diff;
}

// As text.

function flipRows(what: string, flips: Diff['states'] | Diff['policy_outcomes']): string[][] {
  return flips.map(({ from, to, count, items }) => [what, from, to, String(count), items[0]?.url ?? '']);
}

function diffText(terminal: Terminal, diff: Diff): string {
  const { states, policy_outcomes: outcomes, fields, summary, not_compared: not } = diff;
  const flips = [...flipRows('state', states), ...flipRows('policy', outcomes)];
  const counts = [
    several(diff.pairs, 'source') + ' in both',
    `${diff.only_in_a} only in A`,
    `${diff.only_in_b} only in B`,
    `${summary.changed} changed`,
  ];
  const parts = [`${counts.join(', ')}\n`];
  if (flips.length > 0) parts.push(tableText(terminal, ['OUTCOME', 'A', 'B', 'SOURCES', 'FOR EXAMPLE'], flips));
  if (fields.length > 0) parts.push(fieldTable(terminal, fields));
  if (summary.told < summary.fields) parts.push(`${summary.fields - summary.told} more fields are not listed\n`);
  for (const { why, count } of not) parts.push(`${several(count, 'source')} not compared: ${why}\n`);
  return parts.join('\n');
}

const fieldTable = (terminal: Terminal, fields: readonly Field[]): string =>
  tableText(
    terminal,
    ['FILES', 'FIELD', 'TOOL', 'CHANGE', 'A', 'B', 'FOR EXAMPLE'],
    fields.map(({ files, path, tool, change, known, examples: [first] }) => [
      String(files),
      path,
      tool,
      known ? `${change}, known since ${known.release}` : change,
      valueWords(first?.values['a'], '-'),
      valueWords(first?.values['b'], '-'),
      first?.request_id ?? '',
    ]),
  );

/** What a release is known to change is no difference. */
function diffExit({ states, policy_outcomes: outcomes, summary }: Diff): ExitCode {
  if (states.length + outcomes.length + summary.changed > 0) return EXIT.failed;
  return summary.comparisons === 0 ? EXIT.unknown : EXIT.done;
}

export async function diffBatches(invocation: Invocation, a: string, b: string): Promise<ExitCode> {
  const diff = await whole(invocation, await invocation.api(), { id: b }, a);
  await writeValue(invocation, diff, () => diffText(invocation.terminal, diff));
  return diffExit(diff);
}
