import { pageSize } from './cache.ts';

/** What to fetch next, in pages. Pure: the file asks, and does it. */

export type Run = { first: number; count: number };
export type Reading = {
  /** where the tool began to read, and where it is */
  start: number; at: number; end: number;
};
export type Wanted = { from: number; to: number };

/** The first fetch of a reader that begins somewhere: four pages, 256 KB, are 20 ms of a 100 Mbit/s line, half a round trip to a far origin. */
const firstRun = 4;
/** The longest single request: several at once fill a line that one connection does not. */
const longestRun = 8;
/** How far to read ahead of a tool at most: 2 MB. */
const widest = 32;

const pagesOf = (bytes: number): number => Math.ceil(bytes / pageSize);

/** The run that a tool waits for. It grows with what the tool has read in one go. */
export function demandedRun(reading: Reading, has: (page: number) => boolean): Run {
  const first = Math.floor(reading.at / pageSize);
  const read = pagesOf(reading.at - reading.start);
  return { first, count: clip(first, Math.min(longestRun, Math.max(firstRun, read)), pagesOf(reading.end), has) };
}

/** The next run worth fetching before anybody waits for it: what the format says will be read, then what follows each reader. */
export function nextRun(readings: Iterable<Reading>, wanted: Iterable<Wanted>, has: (page: number) => boolean): Run | undefined {
  for (const { from, to } of wanted) {
    const run = missing(Math.floor(from / pageSize), pagesOf(to), has);
    if (run !== undefined) return run;
  }
  for (const reading of readings) {
    // Never further ahead than the tool has come: what is wasted when it seeks away is at most what it used.
    const ahead = Math.min(widest, pagesOf(reading.at - reading.start));
    const first = Math.floor(reading.at / pageSize);
    const run = missing(first, Math.min(first + ahead, pagesOf(reading.end)), has);
    if (run !== undefined) return run;
  }
  return undefined;
}

function missing(from: number, to: number, has: (page: number) => boolean): Run | undefined {
  for (let page = from; page < to; page++) {
    if (!has(page)) return { first: page, count: clip(page, longestRun, to, has) };
  }
  return undefined;
}

function clip(first: number, count: number, end: number, has: (page: number) => boolean): number {
  let length = 1;
  while (length < count && first + length < end && !has(first + length)) length++;
  return length;
}
