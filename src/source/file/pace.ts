import { cut, type SourceError } from '../error.ts';

/**
 * Detects a source that sends too slowly, by the bytes in each minute spent waiting for it. Time in which a tool does
 * something else, or pauses its connection, does not count.
 */
export interface PaceOptions {
  /** Minimum bytes per window; 0: no minimum. */
  minBytes: number;
  windowMs?: number;
}

const MINUTE_MS = 60_000;
/** Minimum credit for a complete response: a playlist of small files is slow because of round trips, not bytes. */
const WHOLE_ANSWER = 4096;

const LATE_MS = 1000;

export type Pace = ReturnType<typeof makePace>;

export function makePace({ minBytes, windowMs = MINUTE_MS }: PaceOptions, onSlow: (error: SourceError) => void) {
  let waiting = 0;
  let since = 0;
  let waitedMs = 0;
  let bytes = 0;
  let late: NodeJS.Timeout | undefined;
  let isOver = false;

  const run = (): void => {
    if (isOver || minBytes === 0) return;
    since = performance.now();
    const leftMs = windowMs - waitedMs;
    late = setTimeout(() => {
      // The process was suspended: data that arrived meanwhile has not been read yet.
      if (performance.now() - since > leftMs + LATE_MS) {
        waitedMs = 0;
        run();
        return;
      }
      isOver = true;
      onSlow(cut('slow', 'the source is too slow'));
    }, leftMs).unref();
  };
  const rest = (): void => {
    clearTimeout(late);
    if (late !== undefined) waitedMs = Math.min(windowMs, waitedMs + performance.now() - since);
  };
  const received = (count: number): void => {
    bytes += count;
    if (bytes < minBytes) return;
    bytes = 0;
    waitedMs = 0;
    if (waiting === 0) return;
    clearTimeout(late);
    run();
  };
  return {
    received,
    /** A reader starts to wait for the origin. */
    begin(): void {
      if (waiting++ === 0) run();
    },
    end(): void {
      if (--waiting === 0) rest();
    },
    /** A response was received completely. */
    whole: (count: number): void => received(Math.max(0, WHOLE_ANSWER - count)),
    close(): void {
      isOver = true;
      clearTimeout(late);
    },
  };
}
