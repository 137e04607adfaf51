/** What came of each attempt, kept for the table of docs/reports/hostility.md where `make hostility` asks for it. */
import { appendFileSync } from 'node:fs';

export interface Row {
  group: string;
  attempt: string;
  expected: string;
  got: string;
}

/** One JSON a line: several processes may write to one table. */
export function record(row: Row): void {
  const table = process.env['PROBEYARD_HOSTILITY_TABLE'];
  if (table) appendFileSync(table, `${JSON.stringify(row)}\n`);
}
