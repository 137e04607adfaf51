/** The result of each attempt, recorded for the table in docs/reports/hostility.md if `make hostility` requests it. */
import { appendFileSync } from 'node:fs';

export interface Row {
  group: string;
  attempt: string;
  expected: string;
  got: string;
}

/** One line of JSON per row, because several processes may write to one table. */
export function record(row: Row): void {
  const table = process.env['PROBEYARD_HOSTILITY_TABLE'];
  if (table) appendFileSync(table, `${JSON.stringify(row)}\n`);
}
