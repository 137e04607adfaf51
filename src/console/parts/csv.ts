/** Rows as CSV. A cell that a spreadsheet would take as a formula is marked as text. */
import { csvCell, isFormula } from '../../base/csv.ts';

const PLAIN_NUMBER = /^-?\d+(\.\d+)?$/;

const cellOf = (text: string): string => csvCell(text, isFormula(text) && !PLAIN_NUMBER.test(text));

export const csv = (rows: readonly (readonly string[])[]): string =>
  rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');
