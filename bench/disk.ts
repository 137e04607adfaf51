/**
 * The current cost of a sync on this disk. Every write on the path of a request (row, ProbeJob, admission, end) waits
 * for one.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { summary, type Summary } from './statistics.ts';

const SYNCS = 100;
const RECORD = Buffer.alloc(2_000, 1);

export function syncTimes(): Summary {
  // In the home folder, like the data of the local node. Temporary files may be on another file system, or in memory.
  const folder = mkdtempSync(join(homedir(), '.probeyard-bench-'));
  const file = openSync(join(folder, 'record'), 'w');
  try {
    return summary(
      Array.from({ length: SYNCS }, () => {
        const begun = performance.now();
        writeSync(file, RECORD);
        fdatasyncSync(file);
        return performance.now() - begun;
      }),
    );
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true, force: true });
  }
}
