/**
 * The order of intake: one job after another within an account, and accounts side by side, so that a job that waits for
 * Postgres or the API server holds up nobody else's. Jobs created by hand are a chain of their own.
 */
import { makeTurns } from '../../../base/turns.ts';

/** Jobs in intake at once, one of each chain. They share the connections to Postgres with the results. */
const AT_ONCE = 8;

export class IntakeChains {
  readonly #turns = makeTurns(AT_ONCE);
  /** The last job of each chain. A chain without jobs is forgotten. */
  readonly #last = new Map<string, Promise<void>>();
  /** The chain of each token in intake: it stays the same when the token's account becomes known meanwhile. */
  readonly #tokens = new Map<number, { chain: string; jobs: number }>();

  /** `account`: that of the token, if it is known. `work` must not fail. */
  add(token: number, account: number | undefined, work: () => Promise<void>): void {
    const of = this.#tokens.get(token) ?? {
      chain: account === undefined ? `token ${token}` : `account ${account}`,
      jobs: 0,
    };
    this.#tokens.set(token, of);
    of.jobs += 1;
    const before = this.#last.get(of.chain) ?? Promise.resolve();
    const last = before
      .then(() => this.#turns.run(work))
      .finally(() => {
        of.jobs -= 1;
        if (of.jobs === 0) this.#tokens.delete(token);
        if (this.#last.get(of.chain) === last) this.#last.delete(of.chain);
      });
    this.#last.set(of.chain, last);
  }

  /** Number of chains with jobs. */
  get size(): number {
    return this.#last.size;
  }

  /** Resolves when all jobs that are in intake now have been taken in. */
  async settled(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}
