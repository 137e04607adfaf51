import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Probe } from '../finding.ts';
import { quantile, shownMs } from '../api_server.ts';
import type { Settings } from '../settings.ts';

/** As PostgreSQL writes its log: blocks of 8 KiB, each on the disk before the answer. */
const BLOCK = Buffer.alloc(8_192, 1);
const SYNCS = 200;
const MOST_MS = 20_000;
const WARN_MS = 20;
const FAIL_MS = 500;

/** Of each write with its sync, in milliseconds. */
type Facts = readonly number[];

export const storage: Probe<Facts, Settings> = {
  id: 'storage',
  title: 'storage sync time',
  wanted: `19 of 20 writes on the disk within ${shownMs(WARN_MS)}`,
  why: 'PostgreSQL waits for the disk at the beginning and the end of each request. Choose a faster class.',
  async collect({ folder }) {
    if (folder === '') throw new Error('--folder is missing');
    const path = join(folder, '.probeyard-doctor');
    const file = await open(path, 'w');
    try {
      const durations: number[] = [];
      const end = performance.now() + MOST_MS;
      while (durations.length < SYNCS && performance.now() < end) {
        const began = performance.now();
        await file.write(BLOCK);
        await file.datasync();
        durations.push(performance.now() - began);
      }
      return durations;
    } finally {
      await file.close();
      await rm(path, { force: true });
    }
  },
  verdict(durations) {
    const [middle, late] = [quantile(durations, 0.5), quantile(durations, 0.95)];
    const found = `median ${shownMs(middle)}, 19 of 20 within ${shownMs(late)}`;
    if (late >= FAIL_MS) return { status: 'fail', found };
    return { status: late > WARN_MS ? 'warn' : 'pass', found };
  },
  notStarted: ({ reason, message }) => ({ status: 'fail', found: `no volume: ${reason}: ${message}` }),
};
