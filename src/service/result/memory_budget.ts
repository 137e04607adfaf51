/**
 * The memory budget of one replica for results that are read, returned or sent to webhooks. A place is reserved before
 * the body is read and released when none of it is held any more. One account holds at most half, and streamed results
 * at most three quarters, so neither many large results nor many slow readers block small ones.
 */

import { Tally } from '../../base/tally.ts';
import { makePaces, type Pace, type PaceOf } from './pace.ts';

/**
 * Memory per inflated byte of a result up to 1 MB: the bytes, the parsed string, its outputs, the response and the
 * socket's buffer. bench/api/memory_charge.ts measured a peak of 1.8 to 3.7 with 32 concurrent responses and of 5.3
 * with 8, garbage included; the rest is margin.
 */
const HELD_PER_BYTE = 6;
/** Memory beyond the body: the request, its record, the decoder. */
const LEAST = 64 * 1024;
/**
 * Memory of a streamed result of any size: the decoder's window of 2 MB, a slice from Postgres and its copies, slices
 * in transit. bench/api/memory_charge.ts measured a peak of 4 to 15 MB each with 8 concurrent responses, most of it
 * uncollected slices.
 */
export const STREAMED_BYTES = 16 * 1024 * 1024;

const STREAMED_SHARE = 0.75;
const ACCOUNT_SHARE = 0.5;
/** Waiting time for room, and the maximum number of waiters; one account has at most half of them. */
const WAIT_MS = 5_000;
const MOST_WAITING = 128;
/** A streamed response takes a few seconds. */
const RETRY_AFTER_S = 5;

export class OverBudget extends Error {
  readonly code = 'over-budget';
  readonly retryAfterS = RETRY_AFTER_S;
  constructor() {
    super('the memory budget of results is used up');
  }
}

export interface Want {
  /** Inflated size of the result; null: unknown, so it is streamed. */
  inflatedBytes: number | null;
  /** The root user: sub-users and tokens count against it. */
  account: number;
  /** An aborted caller stops waiting. */
  signal?: AbortSignal | undefined;
}

/** `release` is idempotent; the end of a scope that holds it by `using` calls it. */
export interface Place extends Disposable {
  readonly bytes: number;
  /** Shared by the account. */
  readonly pace: Pace;
  release(): void;
}

export interface MemoryBudgetOptions {
  totalBytes: number;
  /** Results up to this size are held as a whole. */
  wholeBytes: number;
  waitMs?: number;
  /** The pace of each account. */
  paceOf?: PaceOf;
  onRefused?: (why: 'account' | 'replica') => void;
}

interface Waiter {
  account: number;
  bytes: number;
  streamed: boolean;
  grant(): void;
}

export class MemoryBudget {
  readonly #options: MemoryBudgetOptions;
  readonly #paceOf: PaceOf;
  readonly #byAccount = new Tally<number>();
  readonly #waiters = new Set<Waiter>();
  #used = 0;
  #streaming = 0;

  constructor(options: MemoryBudgetOptions) {
    this.#options = options;
    this.#paceOf = options.paceOf ?? makePaces();
  }

  get totalBytes(): number {
    return this.#options.totalBytes;
  }
  used(): number {
    return this.#used;
  }
  waiting(): number {
    return this.#waiters.size;
  }

  /** Rejects with OverBudget, or with the signal's reason. */
  async reserve({ inflatedBytes, account, signal }: Want): Promise<Place> {
    signal?.throwIfAborted();
    const streamed = inflatedBytes === null || inflatedBytes > this.#options.wholeBytes;
    const bytes = Math.min(
      streamed ? STREAMED_BYTES : LEAST + inflatedBytes * HELD_PER_BYTE,
      this.totalBytes * ACCOUNT_SHARE,
    );
    const one: Waiter = { account, bytes, streamed, grant: () => {} };
    if (this.#fits(one)) return this.#take(one);
    if (!this.#mayWait(one)) throw this.#refuse(one);
    return new Promise<Place>((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', gone);
        this.#waiters.delete(one);
      };
      const gone = (): void => {
        settle();
        reject(signal!.reason as Error);
      };
      const timer = setTimeout(() => {
        settle();
        reject(this.#refuse(one));
      }, this.#options.waitMs ?? WAIT_MS);
      one.grant = () => {
        settle();
        resolve(this.#take(one));
      };
      signal?.addEventListener('abort', gone, { once: true });
      this.#waiters.add(one);
    });
  }

  #fitsAccount({ account, bytes }: Waiter): boolean {
    return this.#byAccount.of(account) + bytes <= this.totalBytes * ACCOUNT_SHARE;
  }

  #fits(one: Waiter): boolean {
    const { bytes, streamed } = one;
    const hasRoom = this.#used + bytes <= this.totalBytes;
    const mayStream = !streamed || this.#streaming + bytes <= this.totalBytes * STREAMED_SHARE;
    return this.#fitsAccount(one) && hasRoom && mayStream;
  }

  #mayWait({ account }: Waiter): boolean {
    const ofAccount = [...this.#waiters].filter((waiter) => waiter.account === account).length;
    return this.#waiters.size < MOST_WAITING && ofAccount < MOST_WAITING * ACCOUNT_SHARE;
  }

  #refuse(one: Waiter): OverBudget {
    this.#options.onRefused?.(this.#fitsAccount(one) ? 'replica' : 'account');
    return new OverBudget();
  }

  #count({ account, streamed }: Waiter, bytes: number): void {
    this.#used += bytes;
    if (streamed) this.#streaming += bytes;
    this.#byAccount.add(account, bytes);
  }

  #take(one: Waiter): Place {
    this.#count(one, one.bytes);
    let held = true;
    const release = (): void => {
      if (!held) return;
      held = false;
      this.#count(one, -one.bytes);
      // In order, but a waiter that does not fit does not block later ones.
      for (const waiter of this.#waiters) if (this.#fits(waiter)) waiter.grant();
    };
    return { bytes: one.bytes, pace: this.#paceOf(one.account), release, [Symbol.dispose]: release };
  }
}
