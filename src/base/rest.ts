/** The rest between two rounds of work. A notice ends it, and one that comes during a round lets none begin. */
export class Rest {
  readonly #stopping: AbortSignal;
  #isWoken = false;
  #wake = (): void => {};

  /** Once this is aborted, nothing rests. */
  constructor(stopping: AbortSignal) {
    this.#stopping = stopping;
    stopping.addEventListener('abort', () => this.end());
  }

  /** A round begins: what was noticed before is its work. */
  begin(): void {
    this.#isWoken = false;
  }

  /** Also the next one, if none is taken now. */
  end(): void {
    this.#isWoken = true;
    this.#wake();
  }

  take(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isWoken || this.#stopping.aborted) return resolve();
      const timer = setTimeout(resolve, ms);
      timer.unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
