/**
 * Rejects requests early while the whole queue is full, or an account has its share of it, because each would cost a
 * row and a cluster object just to be refused. The figures are up to a second old, plus what this replica has opened
 * since. The leader's own check remains authoritative.
 */
import { queueShare } from '../../../base/limits.ts';
import type { Logger } from '../../../base/log.ts';
import { ACCOUNT_QUEUE_FULL } from '../../result/texts.ts';
import type { Store } from '../../../platform/store/store.ts';
import { ApiError } from '../errors.ts';

const FRESH_MS = 1_000;
/** Older figures are ignored. */
const STALE_MS = 5_000;
const RETRY_AFTER_S = 10;

/** Requests by account. */
class Counts {
  readonly #of: Map<number, number>;
  total: number;
  constructor(of = new Map<number, number>()) {
    this.#of = of;
    this.total = [...of.values()].reduce((sum, one) => sum + one, 0);
  }
  of = (account: number): number => this.#of.get(account) ?? 0;
  add(account: number): void {
    this.#of.set(account, this.of(account) + 1);
    this.total += 1;
  }
}

export function makeQueueRoom({
  store,
  log,
  maxQueued,
  now = () => performance.now(),
}: {
  store: Pick<Store, 'waitingRequests'>;
  log: Logger;
  maxQueued: number;
  now?: () => number;
}) {
  const share = queueShare(maxQueued);
  let waiting = new Counts();
  /** Opened here since the figures were asked for, and since they are asked for again. */
  let since = new Counts();
  let sinceAsked: Counts | undefined;
  let at = -Infinity;

  const ask = async (): Promise<void> => {
    sinceAsked = new Counts();
    try {
      waiting = new Counts(await store.waitingRequests());
      since = sinceAsked;
      at = now();
    } catch (error) {
      log.warn({ err: error }, 'cannot read the length of the queue');
    } finally {
      sinceAsked = undefined;
    }
  };

  // A full queue needs waiting requests: those opened since may run at once and do not fill an empty queue.
  const isFull = (places: number, waits: number, opened: number): boolean => waits > 0 && waits + opened >= places;

  return {
    /** Throws an error for the caller. Costs nothing: the figures are refreshed in the background. */
    check(account: number): void {
      if (now() - at > FRESH_MS && !sinceAsked) void ask();
      if (now() - at > STALE_MS) return;
      if (isFull(maxQueued, waiting.total, since.total))
        throw new ApiError('queue-full', { retryAfterS: RETRY_AFTER_S });
      if (isFull(share, waiting.of(account), since.of(account)))
        throw new ApiError('queue-full', { text: ACCOUNT_QUEUE_FULL, retryAfterS: RETRY_AFTER_S });
    },
    opened(account: number): void {
      since.add(account);
      sinceAsked?.add(account);
    },
  };
}
