/** Cells of CSV (RFC 4180). */

/** A spreadsheet would calculate it: some read full-width signs as the others. */
export const isFormula = (text: string): boolean => /^[=+\-@＝＋－＠\t\r\n]/.test(text);

/** `asText`: marked, so that a spreadsheet does not calculate it. */
export function csvCell(text: string, asText: boolean): string {
  const safe = asText ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
