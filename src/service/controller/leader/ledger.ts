/**
 * Queues per token, and the slots held by each token and account. Turns are fair between accounts first, then between
 * the tokens of an account (otherwise more tokens would mean a larger share), and first in, first out within a token.
 * Pure state without clock or I/O. Every operation is O(1) in the number of jobs, so 50,000 live jobs cost no more per
 * event than 50.
 *
 * A token has one queue per pool: a ten-minute validation at the head of a queue must not delay a one-second probe
 * behind it. Slots are counted over all pools.
 *
 * Jobs in the background (items of batches) have queues and turns of their own, their lane, which comes second: a batch
 * must not delay callers who wait. After some jobs of the first lane the second has one turn, so it never starves.
 */
import { Fifo } from '../../../base/fifo.ts';
import { getOrMake } from '../../../base/get_or_make.ts';
import { Tally } from '../../../base/tally.ts';
import type { JobKey } from '../../../platform/kube/served_namespaces.ts';

export interface Entry {
  key: JobKey;
  token: number;
  /** The token's account: its root user. */
  account: number;
  pool: string;
  background?: boolean | undefined;
}

/** Of a pool: names of pools have no blanks. */
const laneOf = ({ pool, background }: Pick<Entry, 'pool' | 'background'>): string =>
  background ? `${pool} background` : pool;
/** Jobs that pass those in the background, before one of these has its turn. */
export const MOST_PASSING = 8;

/** Concurrent slots. An account without a limit has Infinity. */
export interface SlotLimits {
  token: number;
  account: number;
}

/** Of a token or an account. */
interface Counts {
  limit: number;
  held: number;
  waiting: number;
}
const NO_JOBS: Readonly<Counts> = { limit: Number.POSITIVE_INFINITY, held: 0, waiting: 0 };

interface Token<E extends Entry> extends Counts {
  id: number;
  account: Account;
  queues: Map<string, Fifo<E>>;
}

interface Account extends Counts {
  id: number;
  /**
   * Per lane: the account's tokens with waiting jobs and a free slot, in turn order. A Set keeps insertion order and
   * deletes in O(1).
   */
  turns: Map<string, Set<number>>;
  /** Pools that the account was served in, most recent last. */
  served: Set<string>;
}

export class Ledger<E extends Entry> {
  #tokens = new Map<number, Token<E>>();
  #accounts = new Map<number, Account>();
  /**
   * Per lane: accounts below their limit with an eligible token, in turn order. Entries that cannot run are dropped
   * when reached.
   */
  #turns = new Map<string, Set<number>>();
  #waiting = new Map<string, E>();
  #waitingByLane = new Tally<string>();
  /** Per pool: jobs taken since one in the background was, while there were any. */
  #passing = new Tally<string>();
  #holders = new Map<string, Entry>();
  #isWaiting = (entry: E): boolean => this.#waiting.get(entry.key) === entry;

  #account(id: number): Account {
    return getOrMake(this.#accounts, id, () => ({ id, ...NO_JOBS, turns: new Map(), served: new Set() }));
  }

  #token(id: number, accountId: number): Token<E> {
    const account = this.#account(accountId);
    return getOrMake(this.#tokens, id, () => ({ id, ...NO_JOBS, account, queues: new Map() }));
  }

  #forgetIfIdle(token: Token<E>): void {
    if (token.held === 0 && token.waiting === 0) this.#tokens.delete(token.id);
    const { account } = token;
    if (account.held === 0 && account.waiting === 0) this.#accounts.delete(account.id);
  }

  #countWaiting(token: Token<E>, entry: E, by: 1 | -1): void {
    token.waiting += by;
    token.account.waiting += by;
    this.#waitingByLane.add(laneOf(entry), by);
  }

  #countHeld(token: Token<E>, by: 1 | -1): void {
    token.held += by;
    token.account.held += by;
  }

  /**
   * Appends the token to its account's turn, and the account to the pool's, if the token has waiting jobs and a free
   * slot. Existing entries keep their place.
   */
  #intoTurn(token: Token<E>, pool: string): void {
    const { account } = token;
    if (token.held >= token.limit || (token.queues.get(pool)?.size ?? 0) === 0) return;
    getOrMake(account.turns, pool, () => new Set()).add(token.id);
    if (account.held < account.limit) this.#accountIntoTurn(account, pool);
  }

  #accountIntoTurn(account: Account, pool: string): void {
    getOrMake(this.#turns, pool, () => new Set()).add(account.id);
  }

  /** A slot became free or a limit was raised: entries that left the turns at a limit return at the end. */
  #backIntoTurns(token: Token<E>): void {
    for (const pool of token.queues.keys()) this.#intoTurn(token, pool);
    this.#accountBackIntoTurns(token.account);
  }

  #accountBackIntoTurns(account: Account): void {
    if (account.held >= account.limit) return;
    for (const [pool, tokens] of account.turns) if (tokens.size > 0) this.#accountIntoTurn(account, pool);
  }

  get waiting(): number {
    return this.#waiting.size;
  }
  get held(): number {
    return this.#holders.size;
  }
  waitingIn(pool: string): number {
    return this.#waitingByLane.of(pool) + this.#waitingByLane.of(laneOf({ pool, background: true }));
  }
  isWaiting(key: string): boolean {
    return this.#waiting.has(key);
  }
  holds(key: string): boolean {
    return this.#holders.has(key);
  }
  token(id: number): Readonly<Counts> {
    return this.#tokens.get(id) ?? NO_JOBS;
  }
  account(id: number): Readonly<Counts> {
    return this.#accounts.get(id) ?? NO_JOBS;
  }

  /**
   * Sets the limits of a token with jobs, and of its account. A lower limit takes no slot away: it applies from the
   * next admission.
   */
  setLimits(tokenId: number, limits: SlotLimits): void {
    const token = this.#tokens.get(tokenId);
    if (!token) return;
    token.limit = limits.token;
    token.account.limit = limits.account;
    this.#backIntoTurns(token);
  }

  enqueue(entry: E, limits: SlotLimits): void {
    if (this.#waiting.has(entry.key) || this.#holders.has(entry.key)) return;
    const token = this.#token(entry.token, entry.account);
    getOrMake(token.queues, laneOf(entry), () => new Fifo()).push(entry);
    this.#countWaiting(token, entry, 1);
    this.#waiting.set(entry.key, entry);
    this.setLimits(entry.token, limits);
  }

  /**
   * Takes the next job of a pool that may run: in turn between accounts, then between the tokens of an account. An
   * account or token at its limit is skipped, and so is a token whose head `fits` refuses (no runner for its tenant).
   * The job leaves the queue and holds a slot; its token and account go to the end of their turns.
   */
  take(pool: string, fits: (entry: E) => boolean): E | undefined {
    const behind = laneOf({ pool, background: true });
    const lanes = this.#passing.of(pool) < MOST_PASSING ? [pool, behind] : [behind, pool];
    for (const lane of lanes) {
      const taken = this.#takeIn(lane, fits);
      if (!taken) continue;
      if (lane === behind || this.#waitingByLane.of(behind) === 0) this.#passing.add(pool, -this.#passing.of(pool));
      else this.#passing.add(pool);
      return taken;
    }
    return undefined;
  }

  #takeIn(lane: string, fits: (entry: E) => boolean): E | undefined {
    const turn = this.#turns.get(lane);
    if (!turn) return undefined;
    for (const id of turn) {
      const account = this.#accounts.get(id);
      if (!account || account.held >= account.limit) {
        turn.delete(id);
        continue;
      }
      const taken = this.#takeOf(account, lane, fits);
      if ((account.turns.get(lane)?.size ?? 0) === 0) turn.delete(id);
      if (!taken) continue;
      if (turn.delete(id)) turn.add(id);
      return taken;
    }
    return undefined;
  }

  #takeOf(account: Account, lane: string, fits: (entry: E) => boolean): E | undefined {
    const tokens = account.turns.get(lane) ?? new Set<number>();
    for (const id of tokens) {
      const token = this.#tokens.get(id);
      const queue = token?.queues.get(lane);
      const head = queue?.peek(this.#isWaiting);
      if (!token || !queue || !head || token.held >= token.limit) {
        tokens.delete(id);
        continue;
      }
      if (!fits(head)) continue;
      queue.shift();
      this.#countWaiting(token, head, -1);
      this.#countHeld(token, 1);
      this.#waiting.delete(head.key);
      this.#holders.set(head.key, head);
      account.served.delete(head.pool);
      account.served.add(head.pool);
      tokens.delete(id);
      if (queue.size > 0) tokens.add(id);
      return head;
    }
    return undefined;
  }

  /**
   * The order in which pools are offered a slot of an account. In a fixed order the first pool would take every slot of
   * an account at its limit.
   */
  poolsByTurn(accountId: number, pools: readonly string[]): string[] {
    const served = [...(this.#accounts.get(accountId)?.served ?? [])];
    return pools.toSorted((a, b) => served.indexOf(a) - served.indexOf(b));
  }

  /**
   * The next job of each token that may run in a pool now, within its own and its account's limit, regardless of queue
   * lengths. With `background`, those in the background, too.
   */
  *heads(pool: string, background = true): Iterable<E> {
    if (background) yield* this.heads(laneOf({ pool, background }), false);
    for (const id of this.#turns.get(pool) ?? []) {
      const account = this.#accounts.get(id);
      if (!account || account.held >= account.limit) continue;
      for (const tokenId of account.turns.get(pool) ?? []) {
        const token = this.#tokens.get(tokenId);
        const head = token && token.held < token.limit ? token.queues.get(pool)?.peek(this.#isWaiting) : undefined;
        if (head) yield head;
      }
    }
  }

  /**
   * The jobs of a pool that the limits would let run now: the demand for runners, regardless of queue lengths. An
   * account's tokens alternate, as in `take`.
   */
  *nextUp(pool: string): Iterable<E> {
    const tokens = new Tally<number>();
    const accounts = new Tally<number>();
    for (const lane of [pool, laneOf({ pool, background: true })])
      for (const next of this.#nextIn(lane, accounts, tokens)) {
        tokens.add(next.token);
        accounts.add(next.account);
        yield next;
      }
  }

  /** `accounts`, `tokens`: what they get of the lanes before. */
  *#nextIn(lane: string, accounts: Tally<number>, tokens: Tally<number>): Iterable<E> {
    for (const id of this.#turns.get(lane) ?? []) {
      const account = this.#accounts.get(id);
      if (!account) continue;
      let room = account.limit - account.held - accounts.of(id);
      let heads = [...(account.turns.get(lane) ?? [])].flatMap((tokenId) => {
        const token = this.#tokens.get(tokenId);
        const left = token ? token.limit - token.held - tokens.of(tokenId) : 0;
        const jobs = token?.queues.get(lane)?.first(left, this.#isWaiting);
        return jobs ? [jobs[Symbol.iterator]()] : [];
      });
      while (room > 0 && heads.length > 0) {
        const left: typeof heads = [];
        for (const head of heads) {
          if (room <= 0) break;
          const next = head.next();
          if (next.done) continue;
          room--;
          left.push(head);
          yield next.value;
        }
        heads = left;
      }
    }
  }

  /**
   * Counts a job that already holds a slot (from a new leader's list). Its limits may be unknown until the next job of
   * its token waits.
   */
  hold(entry: Entry, limits?: SlotLimits): void {
    if (!this.#holders.has(entry.key)) {
      this.#countHeld(this.#token(entry.token, entry.account), 1);
      this.#holders.set(entry.key, entry);
    }
    if (limits) this.setLimits(entry.token, limits);
  }

  /** Whether a job about to be created would be admitted at once. */
  wouldRun({ token, account, ...place }: Omit<Entry, 'key'>, limits: SlotLimits): boolean {
    if (this.token(token).held >= limits.token || this.account(account).held >= limits.account) return false;
    if (place.background && this.#waitingByLane.of(place.pool) > 0) return false;
    return (this.#tokens.get(token)?.queues.get(laneOf(place))?.size ?? 0) === 0;
  }

  /** Removes the job, whether it waits or runs. */
  remove(key: string): void {
    const waiting = this.#waiting.get(key);
    if (waiting) {
      this.#waiting.delete(key);
      const token = this.#token(waiting.token, waiting.account);
      this.#countWaiting(token, waiting, -1);
      this.#forgetIfIdle(token);
      return;
    }
    const holder = this.#holders.get(key);
    if (!holder) return;
    this.#holders.delete(key);
    const token = this.#token(holder.token, holder.account);
    this.#countHeld(token, -1);
    this.#backIntoTurns(token);
    this.#forgetIfIdle(token);
  }

  /** Accounts that have jobs. */
  accounts(): Iterable<Readonly<Counts & { id: number }>> {
    return this.#accounts.values();
  }

  /** The first job of each queue, whether it may start or not. The oldest waiting job is one of them. */
  *fronts(): Iterable<E> {
    for (const { queues } of this.#tokens.values())
      for (const queue of queues.values()) {
        const front = queue.peek(this.#isWaiting);
        if (front) yield front;
      }
  }

  /** All waiting jobs, oldest first, for conditions and for the demand by tenant. */
  waitingEntries(): Iterable<E> {
    return this.#waiting.values();
  }
}
