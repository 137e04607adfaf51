/**
 * Whether an origin answers so fast that reading ahead gains nothing: what a tool does not read would only cost CPU
 * time, of the agent and of the origin.
 */

/** From a request to the head of its answer, on one machine or in one rack. */
export const NEAR_MS = 5;

/** A shorter body says nothing of a line. */
const ENOUGH = 128 << 10;
/** Below this, a transfer is a late turn of this process. */
const LEAST_MS = 2;
/** Of the last transfer in the mean of all. */
const SHARE = 0.25;

export class Distance {
  readonly #nearMs: number;
  #fastestMs = Infinity;
  #connectedMs = Infinity;
  #sendsSlowly = false;
  #bytesPerMs = 0;

  constructor(nearMs: number) {
    this.#nearMs = nearMs;
  }

  /** How long its host took to take a connection: the first answer took that, too. */
  connected(ms: number): void {
    this.#connectedMs = ms;
  }

  answered(ms: number): void {
    // What was estimated by slower answers is too much.
    if (ms < this.#fastestMs / 2) this.#bytesPerMs = 0;
    this.#fastestMs = Math.min(this.#fastestMs, ms);
  }

  /** For the next bytes of a body. An origin may answer at once, and then send slowly. */
  waited(ms: number): void {
    this.#sendsSlowly ||= ms > 2 * this.#nearMs;
  }

  /** A whole answer, from its request on. What it took beyond the fastest answer to any request was its transfer. */
  received(bytes: number, ms: number): void {
    this.transferred(bytes, ms - this.#fastestMs);
  }

  /** A body, from the head of its answer on. */
  transferred(bytes: number, ms: number): void {
    if (bytes < ENOUGH) return;
    const rate = bytes / Math.max(LEAST_MS, ms);
    this.#bytesPerMs = this.#bytesPerMs === 0 ? rate : this.#bytesPerMs + SHARE * (rate - this.#bytesPerMs);
  }

  /** Bytes that one connection brings in a round trip. */
  get inFlight(): number {
    return this.#bytesPerMs === 0 ? 0 : this.#bytesPerMs * Math.min(this.#fastestMs, this.#connectedMs);
  }

  get isNear(): boolean {
    return this.#fastestMs <= this.#nearMs && !this.#sendsSlowly;
  }
}
