/** What several runs of a tool say differently: a field in each row, a version or a source in each column. */
import type { ChangedField, ComparisonAnswer } from '../../api_types.ts';
import { several } from '../../base/scaled.ts';
import { type Cell, line, mark, quiet, type Section, type Sentence, span, table, valueWords } from './section.ts';

/** As it is kept: without the runs. */
export type Comparison = Pick<ComparisonAnswer, 'fields' | 'summary'>;
type Value = ChangedField['values'][string];

/** How a cell differs from the one on its left. */
export type CellChange = 'new' | 'gone' | 'type' | 'value';

export interface Difference {
  /** Undefined: this version does not have the field. */
  value: Value | undefined;
  change: CellChange | null;
}

function changeOf(left: Value | undefined, value: Value | undefined): CellChange | null {
  if (left === undefined) return value === undefined ? null : 'new';
  if (value === undefined) return 'gone';
  if ((left === null ? 'null' : typeof left) !== (value === null ? 'null' : typeof value)) return 'type';
  return left === value ? null : 'value';
}

/** `runs`: those that were compared, in their order. */
export function cellsOf({ values }: Pick<ChangedField, 'values'>, runs: readonly string[]): Difference[] {
  const all = runs.map((run) => (Object.hasOwn(values, run) ? values[run] : undefined));
  return all.map((value, at) => ({ value, change: at === 0 ? null : changeOf(all[at - 1], value) }));
}

function valueCell({ value, change }: Difference): Cell {
  if (value === undefined) return [quiet('–'), change && mark(change)];
  const text = value === '' ? 'empty text' : valueWords(value);
  return [span(text, { most: 80, as: change === null ? 'quiet' : undefined }), change && mark(change)];
}

const fieldCell = ({ path, to, level, count, known }: ChangedField): Cell => [
  span(to === undefined ? path : `${path} → ${to}`, { most: 240 }),
  count !== undefined && quiet(`and ${several(count - 1, 'further item')}`),
  level === 'raw' && mark('as printed'),
  known && mark(`intended in ${known.release}`),
  known && line(known.note),
];

export const changesTable = (tool: string, runs: readonly string[], fields: readonly ChangedField[]) =>
  table({
    caption: `Fields of ${tool} that change`,
    rows: fields.filter((field) => field.tool === tool),
    columns: [
      { title: 'Field', cell: fieldCell },
      { title: 'Change', cell: ({ change }) => change },
      ...runs.map((title, at) => ({ title, cell: (field: ChangedField) => valueCell(cellsOf(field, runs)[at]!) })),
    ],
  });

/** What is not in the tables. */
export const notCompared = ({ summary: { told, fields, not_compared: left } }: Comparison): Sentence[] => [
  { sentence: told < fields && `${several(fields - told, 'further field')} that change are not listed.` },
  ...left.map(({ tool, run, why }) => ({ sentence: [quiet(`${tool} ${run} is not compared:`), why] })),
];

/** `runsOf`: those of a tool, in their order; then others that a field has a value of. */
export function comparison(compared: Comparison, runsOf: (tool: string) => readonly string[]): Section {
  const { fields } = compared;
  const tools = [...new Set(fields.map(({ tool }) => tool))];
  const tables = tools.map((tool) => {
    const own = fields.filter((field) => field.tool === tool);
    const named = own.flatMap(({ values }) => Object.keys(values));
    return changesTable(tool, [...new Set([...runsOf(tool), ...named])], own);
  });
  return { title: 'Comparison', parts: [...tables, ...notCompared(compared)] };
}
