/**
 * Whether an origin answers so fast that reading ahead gains nothing: what a tool does not read would only cost CPU
 * time, of the agent and of the origin.
 */

/** From a request to the head of its answer, on one machine or in one rack. */
export const NEAR_MS = 5;

export class Distance {
  readonly #nearMs: number;
  #fastestMs = Infinity;
  #sendsSlowly = false;

  constructor(nearMs: number) {
    this.#nearMs = nearMs;
  }

  answered(ms: number): void {
    this.#fastestMs = Math.min(this.#fastestMs, ms);
  }

  /** For the next bytes of a body. An origin may answer at once, and then send slowly. */
  waited(ms: number): void {
    this.#sendsSlowly ||= ms > 2 * this.#nearMs;
  }

  get isNear(): boolean {
    return this.#fastestMs <= this.#nearMs && !this.#sendsSlowly;
  }
}
