import { SourceError } from '../error.ts';

/**
 * Notices a source that trickles: by bytes in each minute that is spent in waiting for it. The time in which a tool
 * does something else, or holds its own connection back, does not count.
 */
export interface PaceOptions {
  /** Bytes for each window; 0: any pace will do. */
  minBytes: number;
  windowMs?: number;
}

const MINUTE_MS = 60_000;
/** What a whole answer counts at least: a playlist of small files is slow by its round trips and not by its bytes. */
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

  /** A reader begins to wait for the origin. */
  begin(): void {
    if (this.#waiting++ === 0) this.#run();
  }

  end(): void {
    if (--this.#waiting === 0) this.#rest();
  }

  async during<T>(promise: Promise<T>): Promise<T> {
    this.begin();
    try {
      return await promise;
    } finally {
      this.end();
    }
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

  /** An answer has come to its end in good order. */
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
      // The process stood still: what has come meanwhile is not read yet.
      if (performance.now() - this.#since > leftMs + LATE_MS) {
        this.#waitedMs = 0;
        this.#run();
        return;
      }
      this.#over = true;
      this.#onSlow(new SourceError('cut', 'the source is too slow', { reason: 'slow' }));
    }, leftMs).unref();
  }

  #rest(): void {
    clearTimeout(this.#late);
    if (this.#late !== undefined)
      this.#waitedMs = Math.min(this.#windowMs, this.#waitedMs + performance.now() - this.#since);
  }
}
