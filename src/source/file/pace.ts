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

export class Pace {
  readonly #min: number;
  readonly #windowMs: number;
  readonly #onSlow: (error: SourceError) => void;
  #waiting = 0;
  #since = 0;
  #waitedMs = 0;
  #bytes = 0;
  #late: NodeJS.Timeout | undefined;
  #over = false;

  constructor({ minBytes, windowMs = MINUTE_MS }: PaceOptions, onSlow: (error: SourceError) => void) {
    this.#min = minBytes;
    this.#windowMs = windowMs;
    this.#onSlow = onSlow;
  }

  /** A reader starts to wait for the origin. */
  begin(): void {
    if (this.#waiting++ === 0) this.#run();
  }

  end(): void {
    if (--this.#waiting === 0) this.#rest();
  }

  received(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < this.#min) return;
    this.#bytes = 0;
    this.#waitedMs = 0;
    if (this.#waiting === 0) return;
    clearTimeout(this.#late);
    this.#run();
  }

  /** A response was received completely. */
  whole(bytes: number): void {
    this.received(Math.max(0, WHOLE_ANSWER - bytes));
  }

  close(): void {
    this.#over = true;
    clearTimeout(this.#late);
  }

  #run(): void {
    if (this.#over || this.#min === 0) return;
    this.#since = performance.now();
    const leftMs = this.#windowMs - this.#waitedMs;
    this.#late = setTimeout(() => {
      // The process was suspended: data that arrived meanwhile has not been read yet.
      if (performance.now() - this.#since > leftMs + LATE_MS) {
        this.#waitedMs = 0;
        this.#run();
        return;
      }
      this.#over = true;
      this.#onSlow(cut('slow', 'the source is too slow'));
    }, leftMs).unref();
  }

  #rest(): void {
    clearTimeout(this.#late);
    if (this.#late !== undefined)
      this.#waitedMs = Math.min(this.#windowMs, this.#waitedMs + performance.now() - this.#since);
  }
}
