/**
 * Memory of pages, reused by the pages of all jobs of an agent. Left to the garbage collector, the pages of a file of
 * 10 MB cause one or two full collections, which took half of the agent's CPU time.
 */

/** Small enough that a seek fetches little, large enough that a thousand pages are cheap to manage. */
export const PAGE_SIZE = 65536;

/** Unused memory that is kept: enough for a file that is read to its end by a tool in step with the origin. */
const MOST_KEPT = 512;
/** A runner without a job keeps none. */
const KEPT_MS = 10_000;

export class PageMemory {
  readonly #most: number;
  readonly #keptMs: number;
  #unused: Buffer[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor({ most = MOST_KEPT, keptMs = KEPT_MS }: { most?: number; keptMs?: number } = {}) {
    this.#most = most;
    this.#keptMs = keptMs;
  }

  /** Its bytes are undefined: of an earlier page, or of anything that this process has freed. */
  take(): Buffer {
    return this.#unused.pop() ?? Buffer.allocUnsafeSlow(PAGE_SIZE);
  }

  give(bytes: Buffer): void {
    if (this.#unused.length >= this.#most) return;
    this.#unused.push(bytes);
    if (this.#timer) this.#timer.refresh();
    else this.#timer = setTimeout(() => this.clear(), this.#keptMs).unref();
  }

  /** Number of unused pages. */
  get unused(): number {
    return this.#unused.length;
  }

  clear(): void {
    this.#unused = [];
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
