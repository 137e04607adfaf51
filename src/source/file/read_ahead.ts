/** Decides what to fetch next, in pages. Pure; OriginFile does the fetching. */
import { PAGE_SIZE } from './cache.ts';

export interface Run {
  first: number;
  count: number;
}
export interface Reading {
  /** where the tool began to read, and its position */
  start: number;
  at: number;
  end: number;
  /** number of pages fetched ahead of it */
  window: number;
  /** number of pages that it reads before anything is fetched ahead of it */
  glance: number;
}
/** How a file is read ahead at first. */
export interface Beginning {
  glance: number;
  /** number of pages */
  window: number;
}
export interface Wanted {
  from: number;
  to: number;
}

/**
 * First fetch of a reader at a new position: four pages, 256 KB, take 20 ms on a 100 Mbit/s line, half a round trip to
 * a distant origin.
 */
const FIRST_RUN = 4;
/** The longest run that a tool waits for. */
const LONGEST_RUN = 8;
/**
 * Read-ahead for a tool that has read more than a glance: three megabytes in six parallel requests, or what one
 * connection would have on its way to the tool without this proxy. With 1.25 MB, mediainfo waited one round trip more
 * for mp4 files.
 */
export const OF_FILE: Beginning = { glance: 2, window: 48 };
/** Tools end after less than that of a file without pictures. */
export const OF_SOUND: Beginning = { glance: 2, window: 20 };
/**
 * ffprobe opens the second segment of HLS without reading it: what the buffers of a connection take is no reading. The
 * first answer has eight pages, so that this delays little. It reads little of the others, too.
 */
export const OF_PART: Beginning = { glance: 5, window: 20 };
export const firstWindow = (window: number, inFlight: number): number =>
  Math.min(WIDEST, Math.max(window, Math.ceil(inFlight / PAGE_SIZE)));

/**
 * The window after a tool had to wait: wider, up to three megabytes, or to twice what one connection brings in a round
 * trip, in six parallel requests: systems let as much be on its way to a tool without this proxy. A tool that parses
 * more slowly than the line delivers never gets there, so little is wasted when it stops.
 */
const WIDE = 48;
const WIDEST = 256;
const REQUESTS = 6;
export const widest = (inFlight: number): number =>
  Math.min(WIDEST, Math.max(WIDE, Math.ceil((2 * inFlight) / PAGE_SIZE)));
export const widened = (window: number, most: number): number => Math.min(most, window * 3);

const pagesOf = (bytes: number): number => Math.ceil(bytes / PAGE_SIZE);

/** The run that a tool waits for. It grows with the amount that the tool has read contiguously. */
export function demandedRun(reading: Reading, has: (page: number) => boolean): Run {
  const first = Math.floor(reading.at / PAGE_SIZE);
  const read = pagesOf(reading.at - reading.start);
  return { first, count: clip(first, Math.min(LONGEST_RUN, Math.max(FIRST_RUN, read)), pagesOf(reading.end), has) };
}

/**
 * The next run worth fetching in advance: first what the format predicts, then what follows each reader. `most`: the
 * pages of the cache that a reader may fill, because a page evicted before it is read is fetched twice.
 */
export function nextRun(
  readings: Iterable<Reading>,
  wanted: Iterable<Wanted>,
  has: (page: number) => boolean,
  most = WIDE,
): Run | undefined {
  for (const { from, to } of wanted) {
    const run = missing(Math.floor(from / PAGE_SIZE), pagesOf(to), has, LONGEST_RUN);
    if (run !== undefined) return run;
  }
  for (const reading of readings) {
    const read = pagesOf(reading.at - reading.start);
    if (read < reading.glance) continue;
    const window = Math.min(reading.window, most);
    const length = Math.max(FIRST_RUN, Math.floor(window / REQUESTS));
    const first = Math.floor(reading.at / PAGE_SIZE);
    const end = pagesOf(reading.end);
    const run = missing(first, Math.min(first + window, end), has, length);
    // The edge moves page by page as the tool reads: a request per page would be mostly headers and round trips.
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
