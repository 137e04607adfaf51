/**
 * Jobs that the watch has not shown. The sweep ensures that every accepted request gets an end: it ends open rows whose
 * ProbeJob was never created, or was deleted while there was no leader. Those of a chunk go back to their batch.
 *
 * The other part detects a watch that is frozen or lost an event. The watch's own watchdog reacts after 100 s, and a
 * single lost event stays unnoticed. The API announces each job separately over NATS: an announced job that the watch
 * has not delivered is looked up, and if it exists the cache is listed again.
 */
import { PROBE_JOBS, isKubeError } from '../../../platform/kube/client.ts';
import { requestFields } from '../../../base/log.ts';
import { BEFORE_ALL, type OpenRow } from '../../../platform/store/requests.ts';
import { chunkOf } from '../../../platform/store/uuid.ts';
import { endRequest } from './ends.ts';
import type { Leader } from './leader.ts';
import type { LeaderDeps } from './term_state.ts';

/** A watch event takes milliseconds, but a create may be delayed by a busy API server. */
const SHOWN_WITHIN_MS = 3_000;
/**
 * Rate limit of the look-ups: callers who disconnect leave no job to be found, and a thousand of them a second must not
 * cause a thousand look-ups.
 */
const LOOK_AGAIN_MS = 2_000;

export type LateWatch = ReturnType<typeof lateWatch>;

/** Both calls take a request id, which is also the name of a job created by the API. */
export function lateWatch(leader: Leader) {
  const { kube, jobs, namespace, log } = leader.deps;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  const shown = (name: string): boolean => leader.knows(name) || jobs.get(`${namespace}/${name}`) !== undefined;

  /** The cache is stale; may be reported by any part. */
  const behind = (name: string): Promise<void> => {
    if (!reading)
      log.warn(
        requestFields({ id: name, job: name }),
        'the cache of ProbeJobs is behind the API server, listing them again',
      );
    reading ??= jobs.relist().finally(() => {
      reading = undefined;
    });
    return reading;
  };

  const look = async (name: string): Promise<void> => {
    if (!leader.live || shown(name) || performance.now() - lookedAt < LOOK_AGAIN_MS) return;
    lookedAt = performance.now();
    try {
      await kube.get(PROBE_JOBS, name, { namespace, deadlineMs: LOOK_AGAIN_MS });
    } catch (error) {
      if (isKubeError(error, 'not-found')) return;
      // The connection may be frozen like the watch: the retry uses another one.
      const named = requestFields({ id: name, job: name });
      log.debug({ err: error, ...named }, 'cannot look up a ProbeJob that the watch has not shown, will retry');
      told(name);
      return;
    }
    if (leader.live && !shown(name)) await behind(name);
  };

  /** A job is being created. */
  function told(name: string): void {
    if (leader.live) setTimeout(() => void look(name), SHOWN_WITHIN_MS).unref();
  }

  return { told, behind };
}

/**
 * The API retries the creation of a job for the whole queue time-out. Only after that can a row without a job be
 * considered abandoned.
 */
const GRACE_MS = 10_000;
const BATCH = 200;

export const isOverdue = (row: OpenRow, now: number): boolean =>
  now > row.submittedAt.getTime() + row.queueTimeoutMs + GRACE_MS;

async function existingOf({ kube, namespace }: LeaderDeps, names: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    names.map((name) =>
      kube.get(PROBE_JOBS, name, { namespace }).then(
        () => [name],
        (error: unknown) => {
          if (isKubeError(error, 'not-found')) return [];
          throw error;
        },
      ),
    ),
  );
  return found.flat();
}

/** Each run looks at one page of the open rows, behind that of the run before: the oldest ones may all have a job. */
export function makeSweep(leader: Leader, late: Pick<LateWatch, 'behind'>): () => Promise<number> {
  const { deps } = leader;
  const { store, jobs, term } = deps;
  let after = BEFORE_ALL;

  /** Whether it was ended or taken back. */
  const endLost = async (row: OpenRow): Promise<boolean> => {
    const chunk = chunkOf(row.id);
    const names = chunk === undefined ? [row.id] : [row.id, chunk];
    if (names.some((name) => leader.knows(name) || jobs.countBy('id', name) > 0)) return false;
    const [existing] = await existingOf(deps, names);
    if (existing !== undefined) {
      // The leader knows jobs only from the cache, so without a new list this one would never end.
      void late.behind(existing);
      return false;
    }
    // Nothing of a chunk without a job runs: its items wait again.
    const { id, submittedAt } = row;
    if (chunk !== undefined && (await store.returnItems({ ids: [id], submittedAt })) > 0) return true;
    await endRequest(
      deps,
      { id, key: id, submittedAt, attempt: 0, status: undefined },
      {
        status: 500,
        reason: 'Cancelled',
        error: 'the request was lost before it ran: its ProbeJob is gone',
      },
      term.signal,
    );
    return true;
  };

  return async () => {
    const now = store.clock.now();
    const rows = await store.openRows(after, new Date(now - GRACE_MS), BATCH);
    let ended = 0;
    for (const row of rows) {
      after = row;
      if (leader.live && isOverdue(row, now) && (await endLost(row))) ended++;
    }
    if (rows.length < BATCH) after = BEFORE_ALL;
    return ended;
  };
}
