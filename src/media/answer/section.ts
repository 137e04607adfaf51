/**
 * What an answer says, as data: the console, the page of a report and the command line each show it in their way. Texts
 * are of media and of strangers, so whoever shows one escapes it.
 */

/** `chosen`: of several values. `line`: below the others. */
export type Style = 'status' | 'code' | 'quiet' | 'mark' | 'chosen' | 'line';

/** Of spans that are made here. A value that was read as JSON never has it. */
const MADE = Symbol('span');

export interface Span {
  readonly [MADE]: true;
  text: string;
  as?: Style | undefined;
  /** Characters that are shown at first. */
  most?: number | undefined;
  /** Where it leads to, in the console. */
  to?: string | undefined;
}

/** What is not known is left out. */
export type Cell = Span | string | number | false | null | undefined | readonly Cell[];

/** A report on record may have anything in place of a text. */
export const span = (text: string, more: Pick<Span, 'as' | 'most' | 'to'> = {}): Span => ({
  ...more,
  text: valueWords(text ?? undefined),
  [MADE]: true,
});
export const status = (text: string): Span => span(text, { as: 'status' });
export const code = (text: string): Span => span(text, { as: 'code' });
export const quiet = (text: string): Span => span(text, { as: 'quiet' });
export const mark = (text: string): Span => span(text, { as: 'mark' });
export const line = (text: string, most?: number): Span => span(text, { as: 'line', most });

const isSpan = (value: object): value is Span => MADE in value;

export function spansIn(cell: Cell): Span[] {
  if (Array.isArray(cell)) return cell.flatMap(spansIn);
  if (cell === null || cell === undefined || cell === false || cell === '') return [];
  if (typeof cell !== 'object' || !isSpan(cell)) return [span(valueWords(cell))];
  return cell.text === '' ? [] : [cell];
}

/** Without marks. */
export const textIn = (cell: Cell): string =>
  spansIn(cell)
    .flatMap(({ text, as }) => (as === 'mark' ? [] : [text]))
    .join(' ');

/** A value of any kind: a text as it is. `none`: for what is not there. */
export const valueWords = (value: unknown, none = ''): string =>
  value === undefined ? none : typeof value === 'string' ? value : JSON.stringify(value);

export interface Column<Row> {
  title: string;
  cell: (row: Row) => Cell;
  /** As it is copied. None: as it is shown. */
  raw?: (row: Row) => string | number | null | undefined;
  /** A number. */
  right?: true;
}

export const copied = <Row>({ cell, raw }: Column<Row>, row: Row): string =>
  raw ? valueWords(raw(row) ?? undefined) : textIn(cell(row));

export interface Nothing {
  nothing: string;
  why: string;
}

export interface Table<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** Stands in its place where there are no rows. */
  none?: Nothing;
  /** Of rows with the same one, a few are enough where there is little room. */
  alike?: (row: Row) => string | undefined;
}

export interface Facts {
  facts: readonly (readonly [name: string, value: Cell])[];
}

/** A sentence or two. */
export interface Sentence {
  sentence: Cell;
}

/** What few want to read. The page of a report leaves it out. */
export interface Folded {
  folded: string;
  parts: readonly Part[];
}

export type Part = Sentence | Facts | Table<unknown> | Nothing | Folded;

/** A part is shown without its rows being looked at by anything but its own columns. */
export const table = <Row>(given: Table<Row>): Table<unknown> => given as Table<unknown>;

export interface Section {
  title: string;
  parts: readonly Part[];
}
