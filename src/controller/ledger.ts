/**
 * Who waits and who runs: per-token queues, FIFO within a token and fair between tokens, and the count of slots that each token holds.
 * Pure state, no clock and no I/O; every operation is O(1) in the number of jobs, so 50,000 live jobs cost no more per event than 50.
 *
 * A token's jobs stand in lanes, one per pool: a ten-minute validation at the head of a queue must not hold up a one-second probe behind it.
 * The slots are counted over all lanes.
 */
import { Fifo } from './fifo.ts';

export interface Entry {
  /** Name of the ProbeJob. */
  key: string;
  token: number;
  lane: string;
}

interface Token<E extends Entry> {
  id: number;
  limit: number;
  held: number;
  lanes: Map<string, Fifo<E>>;
  waiting: number;
}

export class Ledger<E extends Entry> {
  #tokens = new Map<number, Token<E>>();
  /** Tokens with waiting jobs in a lane, in turn order. A Set keeps insertion order and deletes in O(1). */
  #turns = new Map<string, Set<number>>();
  #waiting = new Map<string, E>();
  #holders = new Map<string, E>();
  #perLane = new Map<string, number>();

  #count(entry: E, by: 1 | -1): void {
    this.#token(entry.token).waiting += by;
    this.#perLane.set(entry.lane, (this.#perLane.get(entry.lane) ?? 0) + by);
  }

  /** A token that reached its limit has left the turns: it comes back at their end when a slot is free again. */
  #backIntoTurns(token: Token<E>): void {
    if (token.held >= token.limit) return;
    for (const [lane, queue] of token.lanes) if (queue.size > 0) this.#turn(lane).add(token.id);
  }

  #token(id: number): Token<E> {
    let token = this.#tokens.get(id);
    if (!token) {
      token = { id, limit: Number.POSITIVE_INFINITY, held: 0, lanes: new Map(), waiting: 0 };
      this.#tokens.set(id, token);
    }
    return token;
  }

  #turn(lane: string): Set<number> {
    let turn = this.#turns.get(lane);
    if (!turn) this.#turns.set(lane, (turn = new Set()));
    return turn;
  }

  #forgetIfIdle(token: Token<E>): void {
    if (token.held === 0 && token.waiting === 0) this.#tokens.delete(token.id);
  }

  get waiting(): number {
    return this.#waiting.size;
  }
  get held(): number {
    return this.#holders.size;
  }
  isWaiting(key: string): boolean {
    return this.#waiting.has(key);
  }
  holds(key: string): boolean {
    return this.#holders.has(key);
  }
  waitingIn(lane: string): number {
    return this.#perLane.get(lane) ?? 0;
  }
  heldBy(tokenId: number): number {
    return this.#tokens.get(tokenId)?.held ?? 0;
  }
  waitingOf(tokenId: number): number {
    return this.#tokens.get(tokenId)?.waiting ?? 0;
  }
  limitOf(tokenId: number): number {
    return this.#tokens.get(tokenId)?.limit ?? Number.POSITIVE_INFINITY;
  }

  /** Sets a token's limit. A lower one takes no slot away: it holds from the next admission. */
  setLimit(tokenId: number, limit: number): void {
    const token = this.#token(tokenId);
    token.limit = limit;
    this.#backIntoTurns(token);
  }

  enqueue(entry: E, limit: number): void {
    if (this.#waiting.has(entry.key) || this.#holders.has(entry.key)) return;
    const token = this.#token(entry.token);
    token.limit = limit;
    let lane = token.lanes.get(entry.lane);
    if (!lane) token.lanes.set(entry.lane, (lane = new Fifo()));
    lane.push(entry);
    this.#count(entry, 1);
    this.#waiting.set(entry.key, entry);
    if (token.held < limit) this.#turn(entry.lane).add(entry.token);
  }

  /**
   * The next job in a lane that may run, in turn between tokens: a token at its limit is passed over, and so is one whose
   * head `fits` refuses (no runner for its tenant). The job leaves the queue and holds a slot; its token goes to the end of the turn.
   */
  take(lane: string, fits: (entry: E) => boolean): E | undefined {
    const turn = this.#turns.get(lane);
    if (!turn) return undefined;
    for (const id of turn) {
      const token = this.#tokens.get(id);
      const queue = token?.lanes.get(lane);
      const head = queue?.peek((entry) => this.#waiting.get(entry.key) === entry);
      if (!token || !queue || !head || token.held >= token.limit) {
        turn.delete(id);
        continue;
      }
      if (!fits(head)) continue;
      queue.shift();
      this.#count(head, -1);
      token.held++;
      this.#waiting.delete(head.key);
      this.#holders.set(head.key, head);
      turn.delete(id);
      if (queue.size > 0) turn.add(id);
      return head;
    }
    return undefined;
  }

  /** The next job of each token that its limit would let run in a lane now: who waits, however long the queues. */
  *heads(lane: string): Iterable<E> {
    for (const id of this.#turns.get(lane) ?? []) {
      const token = this.#tokens.get(id);
      if (!token || token.held >= token.limit) continue;
      const head = token.lanes.get(lane)?.peek((entry) => this.#waiting.get(entry.key) === entry);
      if (head) yield head;
    }
  }

  /** The jobs in a lane that their token's limit would let run now: what is asked of runners, however long the queues behind them. */
  *nextUp(lane: string): Iterable<E> {
    for (const id of this.#turns.get(lane) ?? []) {
      const token = this.#tokens.get(id);
      if (token) yield* token.lanes.get(lane)?.first(token.limit - token.held, (entry) => this.#waiting.get(entry.key) === entry) ?? [];
    }
  }

  /** A job that is known to hold a slot already (a new leader's list). */
  hold(entry: E, limit: number): void {
    if (this.#holders.has(entry.key)) return;
    const token = this.#token(entry.token);
    token.limit = limit;
    token.held++;
    this.#holders.set(entry.key, entry);
  }

  /** Whether a job that is about to come would be admitted at once: used to prepare a runner early. */
  wouldRun(tokenId: number, lane: string, limit: number): boolean {
    const token = this.#tokens.get(tokenId);
    if (!token) return limit > 0;
    return token.held < limit && (token.lanes.get(lane)?.size ?? 0) === 0;
  }

  /** The job is gone from here, wherever it stood. */
  remove(key: string): void {
    const waiting = this.#waiting.get(key);
    if (waiting) {
      this.#waiting.delete(key);
      this.#count(waiting, -1);
      this.#forgetIfIdle(this.#token(waiting.token));
      return;
    }
    const holder = this.#holders.get(key);
    if (!holder) return;
    this.#holders.delete(key);
    const token = this.#token(holder.token);
    token.held--;
    this.#backIntoTurns(token);
    this.#forgetIfIdle(token);
  }

  /** Every waiting job, oldest first; for conditions and for demand by tenant. */
  *waitingEntries(): Iterable<E> {
    yield* this.#waiting.values();
  }
}
