/**
 * Refuses early where the whole queue is full: what would be made only to be refused costs a row and an object of the
 * cluster. The figure is a second old, with what this replica has opened since; the leader's own guard stays the last
 * word.
 */
import type { Logger } from '../../log.ts';
import type { Store } from '../../store/store.ts';
import { ApiError } from '../errors.ts';

export interface QueueRoom {
  /** Throws what the caller is told. Costs nothing: the figure is brought up to date beside it. */
  check(): void;
  opened(): void;
}

const FRESH_MS = 1_000;
/** Older than this, it says nothing. */
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
      // A full queue needs many that wait: what was opened since, and may run at once, makes none of an empty one.
      if (now() - at > STALE_MS || waiting === 0 || waiting + since < maxQueued) return;
      throw new ApiError('queue-full', { retryAfterS: RETRY_AFTER_S });
    },
    opened() {
      since += 1;
    },
  };
}
