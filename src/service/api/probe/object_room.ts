/**
 * Refuses requests while the cluster holds too many ProbeJobs, because etcd is shared: a share of them that grows with
 * the number, so that no more are created than can be deleted. The count is the API server's own and needs no leader.
 */
import { PROBE_JOBS, type KubeClient } from '../../../platform/kube/client.ts';
import type { Logger } from '../../../base/log.ts';
import { ApiError } from '../errors.ts';

const FRESH_MS = 5_000;
/** An older count is ignored: without the API server nothing is created. */
const STALE_MS = 30_000;
const RETRY_AFTER_S = 10;
/** Beside those that wait and those that have finished: jobs that run, and those that are being deleted. */
const OTHERS = 2_000;

/** How many ProbeJobs there are at most while finished ones are deleted as fast as they come. */
export const usualObjects = (limits: { maxQueued: number; finishedMax: number }): number =>
  limits.maxQueued + limits.finishedMax + OTHERS;

/** None up to the usual number, all from one and a half times of it. Pure. */
export const refusedShare = (objects: number, usual: number): number =>
  Math.min(1, Math.max(0, (objects - usual) / (usual / 2)));

export function makeObjectRoom({
  kube,
  log,
  namespace,
  usual,
  now = () => performance.now(),
}: {
  kube: Pick<KubeClient, 'list'>;
  log: Logger;
  namespace: string;
  usual: number;
  now?: () => number;
}) {
  let share = 0;
  /** Refusals that are due, below 1 after each check. */
  let owed = 0;
  let at = -Infinity;
  let counting: Promise<void> | undefined;

  const count = async (): Promise<void> => {
    try {
      const { items, remaining } = await kube.list(PROBE_JOBS, { namespace, limit: 1, deadlineMs: FRESH_MS });
      const objects = items.length + remaining;
      const before = share;
      share = refusedShare(objects, usual);
      at = now();
      if (share > 0 !== before > 0) log.warn({ objects, usual, share }, 'share of refused requests changed');
    } catch (error) {
      log.debug({ err: error }, 'cannot count ProbeJobs');
    }
  };

  return {
    /** Throws an error for the caller. Costs nothing: the count is refreshed in the background. */
    check(): void {
      if (now() - at > FRESH_MS)
        counting ??= count().finally(() => {
          counting = undefined;
        });
      if (now() - at > STALE_MS || share === 0) return;
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
