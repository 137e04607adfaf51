/**
 * The order of intake: one job after another within an account, and accounts side by side, so that a job that waits for
 * Postgres or the API server holds up nobody else's. Jobs created by hand in the release's namespace are a chain of
 * their own.
 */
import { getOrMake } from '../../../base/get_or_make.ts';
import { makeTurns, makeYield } from '../../../base/turns.ts';

/** Jobs in intake at once, one of each chain. They share the connections to Postgres with the results. */
const AT_ONCE = 8;

export class IntakeChains {
  readonly #turns = makeTurns(AT_ONCE);
  readonly #yield = makeYield();
  /** By chain: when its last job is taken in. A chain without jobs is forgotten. */
  readonly #ends = new Map<string, Promise<void>>();
  /** The chain of each token in intake: it stays the same when the token's account becomes known meanwhile. */
  readonly #tokens = new Map<number | string, { chain: string; jobs: number }>();

  /** `token`: its id, or the namespace of a tenant. `account`: its account, if it is known. `work` may not fail. */
  add(token: number | string, account: number | undefined, work: () => Promise<void>): void {
    const chain = account === undefined ? `token ${token}` : `account ${account}`;
    const of = getOrMake(this.#tokens, token, () => ({ chain, jobs: 0 }));
    of.jobs += 1;
    const before = this.#ends.get(of.chain) ?? Promise.resolve();
    const end = before
      .then(() =>
        this.#turns.run(async () => {
          await this.#yield();
          await work();
        }),
      )
      .finally(() => {
        of.jobs -= 1;
        if (of.jobs === 0) this.#tokens.delete(token);
        if (this.#ends.get(of.chain) === end) this.#ends.delete(of.chain);
      });
    this.#ends.set(of.chain, end);
  }

  /** Number of chains with jobs. */
  get size(): number {
    return this.#ends.size;
  }

  /** Resolves when all jobs that are in intake now have been taken in. */
  async settled(): Promise<void> {
    await Promise.all(this.#ends.values());
  }
}
