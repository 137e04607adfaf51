/** Messages between test/run.ts and the processes that run its test files (test/part.ts). */
import type { Wait } from './waits.ts';

export interface Counts {
  passes: number;
  failures: number;
  /** The skipped tests, by file and title. */
  skipped: string[];
  /** The failed tests with their errors. */
  failed: string[];
}

/** To the process. Without a file, it ends. */
export interface Order {
  file?: string;
}

/** From the process: its result of a file, or, without one, that it is ready. */
export interface Report {
  done?: Counts & { file: string; seconds: number; cpu: number; waits: Wait[] };
}

/** Follows the output of each file. */
export const END_OF_FILE = '\u0000';
