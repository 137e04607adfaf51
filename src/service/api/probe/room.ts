/**
 * Refuses requests early, while the queue or the cluster has no room for them. Costs a caller nothing: the figures are
 * refreshed in the background, and old ones are ignored.
 */
import { queueShare } from '../../../base/limits.ts';
import type { Logger } from '../../../base/log.ts';
import { Tally } from '../../../base/tally.ts';
import { oneRun } from '../../../base/turns.ts';
import { PROBE_JOBS, type KubeClient } from '../../../platform/kube/client.ts';
import type { Store } from '../../../platform/store/store.ts';
import { ACCOUNT_QUEUE_FULL } from '../../result/texts.ts';
import { ApiError } from '../errors.ts';

const RETRY_AFTER_S = 10;

// The queue is full, or an account has its share of it: each request would cost a row and a cluster object just to be
// refused. The figures are up to a second old, plus what this replica has opened since. The leader's own check remains
// authoritative.

const QUEUE_FRESH_MS = 1_000;
const QUEUE_STALE_MS = 5_000;

export function makeQueueRoom(
  { store, log }: { store: Pick<Store, 'waitingRequests'>; log: Logger },
  maxQueued: number,
  now = (): number => performance.now(),
) {
  const share = queueShare(maxQueued);
  /** By account. */
  let waiting = new Tally<number>();
  /** Opened here since the figures were asked for, and since they are asked for again. */
  let since = new Tally<number>();
  let sinceAsked: Tally<number> | undefined;
  let at = -Infinity;

  const ask = async (): Promise<void> => {
    sinceAsked = new Tally();
    try {
      waiting = new Tally(await store.waitingRequests());
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
    /** Throws an error for the caller. */
    check(account: number): void {
      if (now() - at > QUEUE_FRESH_MS && !sinceAsked) void ask();
      if (now() - at > QUEUE_STALE_MS) return;
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

// The cluster holds too many ProbeJobs, and etcd is shared: a share of the requests is refused that grows with the
// number, so that no more are created than can be deleted. The count is the API server's own and needs no leader.

const OBJECTS_FRESH_MS = 5_000;
/** Without the API server nothing is created. */
const OBJECTS_STALE_MS = 30_000;
/** Beside those that wait and those that have finished: jobs that run, and those that are being deleted. */
const OTHERS = 2_000;

/** How many ProbeJobs there are at most while finished ones are deleted as fast as they come. */
export const usualObjects = (limits: { maxQueued: number; finishedMax: number }): number =>
  limits.maxQueued + limits.finishedMax + OTHERS;

/** None up to the usual number, all from one and a half times of it. Pure. */
export const refusedShare = (objects: number, usual: number): number =>
  Math.min(1, Math.max(0, (objects - usual) / (usual / 2)));

export function makeObjectRoom(
  { kube, log, namespace }: { kube: Pick<KubeClient, 'list'>; log: Logger; namespace: string },
  usual: number,
  now = (): number => performance.now(),
) {
  let share = 0;
  /** Refusals that are due, below 1 after each check. */
  let owed = 0;
  let at = -Infinity;

  const count = oneRun(async () => {
    try {
      const { items, remaining } = await kube.list(PROBE_JOBS, { namespace, limit: 1, deadlineMs: OBJECTS_FRESH_MS });
      const objects = items.length + remaining;
      const before = share;
      share = refusedShare(objects, usual);
      at = now();
      if (share > 0 !== before > 0) log.warn({ objects, usual, share }, 'share of refused requests changed');
    } catch (error) {
      log.debug({ err: error }, 'cannot count ProbeJobs');
    }
  });

  return {
    /** Throws an error for the caller. */
    check(): void {
      if (now() - at > OBJECTS_FRESH_MS) void count();
      if (now() - at > OBJECTS_STALE_MS || share === 0) return;
      owed += share;
      if (owed < 1) return;
      owed -= 1;
      throw new ApiError('unavailable', {
        text: 'too many requests are unfinished or have just ended; try again later',
        retryAfterS: RETRY_AFTER_S,
        reason: 'objects',
      });
    },
  };
}
