/**
 * Rejects requests early while the whole queue is full, because each would cost a row and a cluster object just to be
 * refused. The figure is up to a second old, plus what this replica has opened since. The leader's own check remains
 * authoritative.
 */
import type { Logger } from '../../log.ts';
import type { Store } from '../../store/store.ts';
import { ApiError } from '../errors.ts';

export interface QueueRoom {
  /** Throws an error for the caller. Costs nothing: the figure is refreshed in the background. */
  check(): void;
  opened(): void;
}

const FRESH_MS = 1_000;
/** An older figure is ignored. */
const STALE_MS = 5_000;
const RETRY_AFTER_S = 10;

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
}): QueueRoom {
  let waiting = 0;
  let since = 0;
  let at = -Infinity;
  let asking: Promise<void> | undefined;

  const ask = async (): Promise<void> => {
    const before = since;
    try {
      waiting = await store.waitingRequests();
      since -= before;
      at = now();
    } catch (error) {
      log.warn({ err: error }, 'cannot read the length of the queue');
    }
  };

  return {
    check() {
      if (now() - at > FRESH_MS)
        asking ??= ask().finally(() => {
          asking = undefined;
        });
      // A full queue needs waiting requests: those opened since may run at once and do not fill an empty queue.
      if (now() - at > STALE_MS || waiting === 0 || waiting + since < maxQueued) return;
      throw new ApiError('queue-full', { retryAfterS: RETRY_AFTER_S });
    },
    opened() {
      since += 1;
    },
  };
}
