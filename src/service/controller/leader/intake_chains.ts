/**
 * The order of intake: one job after another within an account, and accounts side by side, so that a job that waits for
 * Postgres or the API server holds up nobody else's. Jobs created by hand in the release's namespace are a chain of
 * their own.
 */
import { getOrMake } from '../../../base/get_or_make.ts';
import { makeTurns } from '../../../base/turns.ts';

/** Jobs in intake at once, one of each chain. They share the connections to Postgres with the results. */
const AT_ONCE = 8;
/**
 * Jobs of a chain whose sources are open or being opened: one after the other, half of the CPU is the wake-up of the
 * thread pool, and a takeover of 2,500 jobs took 4.4 s in place of 3.3.
 */
const AHEAD = 4;

export class IntakeChains {
  readonly #turns = makeTurns(AT_ONCE);
  /** By chain: when each of its last jobs is taken in, AHEAD at most. A chain without jobs is forgotten. */
  readonly #ends = new Map<string, Promise<void>[]>();
  /** The chain of each token in intake: it stays the same when the token's account becomes known meanwhile. */
  readonly #tokens = new Map<number | string, { chain: string; jobs: number }>();

  /**
   * `token`: its id, or the namespace of a tenant. `account`: its account, if it is known. `open` is over before `work`
   * begins; neither may fail.
   */
  add(token: number | string, account: number | undefined, open: () => Promise<void>, work: () => Promise<void>): void {
    const chain = account === undefined ? `token ${token}` : `account ${account}`;
    const of = getOrMake(this.#tokens, token, () => ({ chain, jobs: 0 }));
    of.jobs += 1;
    const ends = getOrMake(this.#ends, of.chain, () => []);
    const before = ends.at(-1) ?? Promise.resolve();
    const room = (ends.length < AHEAD ? undefined : ends.shift()) ?? Promise.resolve();
    const opened = room.then(open);
    const end = before
      .then(() => opened)
      .then(() => this.#turns.run(work))
      .finally(() => {
        of.jobs -= 1;
        if (of.jobs === 0) this.#tokens.delete(token);
        if (ends.at(-1) === end) this.#ends.delete(of.chain);
      });
    ends.push(end);
  }

  /** Number of chains with jobs. */
  get size(): number {
    return this.#ends.size;
  }

  /** Resolves when all jobs that are in intake now have been taken in. */
  async settled(): Promise<void> {
    await Promise.all([...this.#ends.values()].map((ends) => ends.at(-1)));
  }
}
