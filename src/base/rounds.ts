import { pause } from './retry.ts';

interface RoundsOptions {
  /** May return the time to rest after it. */
  round: () => Promise<number | void>;
  failed: (error: unknown) => void;
  /** After a failure, and after a round that returns no other time. */
  restMs: number;
  /** Before each next round, also where a notice asks for it: what is noticed together is the work of one. */
  gapMs?: number;
}

/** Rounds of work, one at a time, with a rest between two. A notice ends the rest. */
export class Rounds {
  readonly #options: RoundsOptions;
  readonly #stopping = new AbortController();
  #notice = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: RoundsOptions) {
    this.#options = options;
    // Not before the constructor of their owner has ended.
    this.#running = Promise.resolve().then(() => this.#run());
  }

  /** Aborted by `stop`. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** The next round begins without a rest. */
  again(): void {
    this.#notice.abort();
  }

  /** Resolves when the round that is under way has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('this replica is shutting down'));
    this.again();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { restMs, gapMs = 0 } = this.#options;
    while (!this.signal.aborted) {
      // What was noticed before is the work of this round.
      this.#notice = new AbortController();
      const ms = (await this.#round()) ?? restMs;
      if (gapMs > 0) await pause(gapMs, this.signal);
      if (ms > 0) await pause(ms, this.#notice.signal);
    }
  }

  async #round(): Promise<number | void> {
    try {
      return await this.#options.round();
    } catch (error) {
      this.#options.failed(error);
    }
  }
}
