/** Rows as CSV (RFC 4180). A cell that a spreadsheet would take as a formula is marked as text. */
const FORMULA = /^[=+\-@\t\r]/;
const PLAIN_NUMBER = /^-?\d+(\.\d+)?$/;

function cellOf(text: string): string {
  const safe = FORMULA.test(text) && !PLAIN_NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const csv = (rows: readonly (readonly string[])[]): string =>
  rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');
