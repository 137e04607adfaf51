/**
 * What the test of a fault counted, for the table of all faults (table.ts), as a line of JSON in the file that
 * FAULTS_FILE names.
 */
import { appendFile } from 'node:fs/promises';
import type { Part } from './memory.ts';
import type { Pace } from './pace.ts';

export interface Noted {
  requests: number;
  recorded: number;
  statuses: Record<string, number>;
  /** Requests that are recorded more than once. */
  doubles: number;
  most: number;
  limit: number;
  /** Only for tests with waiting callers. */
  longestGapMs?: number;
  ms?: number;
  /** Only if it was measured. */
  pace?: { before: Pace; after: Pace } | undefined;
  memory?: { before: Record<Part, number>; after: Record<Part, number> };
}

export async function writeDown(noted: Noted): Promise<void> {
  const file = process.env['FAULTS_FILE'];
  if (file) await appendFile(file, `${JSON.stringify(noted)}\n`);
}
