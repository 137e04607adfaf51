/** A comparison as a matrix of fields and runs: pure. */
import type { ComparisonAnswer } from '../../api_types.ts';

export type StoredComparison = Pick<ComparisonAnswer, 'runs' | 'fields' | 'summary'>;
export type ChangedField = StoredComparison['fields'][number];
export type ComparedRun = StoredComparison['runs'][number];
type Value = ChangedField['values'][string];

/** How a cell differs from the one on its left. */
export type CellChange = 'new' | 'gone' | 'type' | 'value';

export interface Cell {
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
export function cellsOf({ values }: Pick<ChangedField, 'values'>, runs: readonly string[]): Cell[] {
  const all = runs.map((run) => (Object.hasOwn(values, run) ? values[run] : undefined));
  return all.map((value, at) => ({ value, change: at === 0 ? null : changeOf(all[at - 1], value) }));
}

/** Whether one version was compared on two sources, and not versions on one. */
export const isOfTwoSources = ({ runs }: Pick<StoredComparison, 'runs'>): boolean =>
  runs.some(({ run, version }) => run !== version);

/** Runs that a tool was compared at: those that failed have no column. */
export const runsOf = ({ runs }: StoredComparison, tool: string): string[] =>
  runs.filter((run) => run.tool === tool && run.success).map(({ run }) => run);
