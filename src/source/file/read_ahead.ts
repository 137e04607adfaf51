import { PAGE_SIZE } from './cache.ts';

/** What to fetch next, in pages. Pure: the file asks, and does it. */

export interface Run {
  first: number;
  count: number;
}
export interface Reading {
  /** where the tool began to read, and where it is */
  start: number;
  at: number;
  end: number;
  /** how many pages are fetched ahead of it */
  window: number;
}
export interface Wanted {
  from: number;
  to: number;
}

/**
 * The first fetch of a reader that begins somewhere: four pages, 256 KB, are 20 ms of a 100 Mbit/s line, half a round
 * trip to a far origin.
 */
const FIRST_RUN = 4;
/** The longest single request: several at once fill a line that one connection does not. */
const LONGEST_RUN = 8;
/** How far to read ahead of a tool that has taken more than a glance: 1.25 MB, in five requests side by side. */
export const FIRST_WINDOW = 20;
const GLANCE = 2;

/**
 * The window after a tool had to wait: wider, up to three megabytes, which is six requests side by side. A tool that
 * parses more slowly than the line sends never gets there, so little is wasted when it stops.
 */
const WIDEST = 48;
export const widened = (window: number): number => Math.min(WIDEST, window * 3);

const pagesOf = (bytes: number): number => Math.ceil(bytes / PAGE_SIZE);

/** The run that a tool waits for. It grows with what the tool has read in one go. */
export function demandedRun(reading: Reading, has: (page: number) => boolean): Run {
  const first = Math.floor(reading.at / PAGE_SIZE);
  const read = pagesOf(reading.at - reading.start);
  return { first, count: clip(first, Math.min(LONGEST_RUN, Math.max(FIRST_RUN, read)), pagesOf(reading.end), has) };
}

/**
 * The next run worth fetching before anybody waits for it: what the format says will be read, then what follows each
 * reader.
 */
export function nextRun(
  readings: Iterable<Reading>,
  wanted: Iterable<Wanted>,
  has: (page: number) => boolean,
): Run | undefined {
  for (const { from, to } of wanted) {
    const run = missing(Math.floor(from / PAGE_SIZE), pagesOf(to), has, LONGEST_RUN);
    if (run !== undefined) return run;
  }
  for (const reading of readings) {
    const read = pagesOf(reading.at - reading.start);
    if (read < GLANCE) continue;
    const length = reading.window > FIRST_WINDOW ? LONGEST_RUN : FIRST_RUN;
    const first = Math.floor(reading.at / PAGE_SIZE);
    const end = pagesOf(reading.end);
    const run = missing(first, Math.min(first + reading.window, end), has, length);
    // The edge moves page by page as the tool reads: a request for each page would be mostly headers and round trips.
    if (run !== undefined && (run.count === length || run.first + run.count === end || has(run.first + run.count)))
      return run;
  }
  return undefined;
}

function missing(from: number, to: number, has: (page: number) => boolean, length: number): Run | undefined {
  for (let page = from; page < to; page++) {
    if (!has(page)) return { first: page, count: clip(page, length, to, has) };
  }
  return undefined;
}

function clip(first: number, count: number, end: number, has: (page: number) => boolean): number {
  let length = 1;
  while (length < count && first + length < end && !has(first + length)) length++;
  return length;
}
