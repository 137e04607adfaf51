/** What a sync costs on this disk now: every write on a request's way (row, ProbeJob, admission, end) waits for one. */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { summary, type Summary } from './statistics.ts';

const SYNCS = 100;
const RECORD = Buffer.alloc(2_000, 1);

export function syncTimes(): Summary {
  // Where the local node keeps its own may be another file system than the one of temporary files, which may be memory.
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
