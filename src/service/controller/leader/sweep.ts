/**
 * Ensures that every accepted request gets an end: ends open rows whose ProbeJob was never created, or was deleted
 * while there was no leader.
 */
import { PROBE_JOBS, isKubeError, type KubeClient } from '../../../platform/kube/client.ts';
import type { Logger } from '../../../base/log.ts';
import type { OpenRow } from '../../../platform/store/records.ts';
import type { Store } from '../../../platform/store/store.ts';
import { endRequest, type EndDeps } from './end_write.ts';

/**
 * The API retries the creation of a job for the whole queue time-out. Only after that can a row without a job be
 * considered abandoned.
 */
const GRACE_MS = 10_000;
const BATCH = 200;

export const isOverdue = (row: OpenRow, now: number): boolean =>
  now > row.submittedAt.getTime() + row.queueTimeoutMs + GRACE_MS;

export interface SweepDeps extends EndDeps {
  store: Store;
  kube: KubeClient;
  log: Logger;
  namespace: string;
  knows: (name: string) => boolean;
  cached: (name: string) => boolean;
  /** The job exists, but is missing in the cache. */
  behind: (name: string) => void;
}

export async function sweep(deps: SweepDeps, signal: AbortSignal): Promise<number> {
  const { store, kube, namespace } = deps;
  const now = store.clock.now();
  const rows = await store.openRows(new Date(now - GRACE_MS), BATCH);
  let ended = 0;
  for (const row of rows) {
    if (signal.aborted) break;
    if (!isOverdue(row, now) || deps.knows(row.id) || deps.cached(row.id)) continue;
    try {
      await kube.get(PROBE_JOBS, row.id, { namespace });
      // The leader knows jobs only from the cache, so without a new list this one would never end.
      deps.behind(row.id);
      continue;
    } catch (error) {
      if (!isKubeError(error, 'not-found')) throw error;
    }
    await endRequest(
      deps,
      { id: row.id, key: row.id, submittedAt: row.submittedAt, attempt: 0, status: undefined },
      {
        state: 'error',
        status: 500,
        reason: 'Cancelled',
        error: 'the request was lost before it ran: its ProbeJob is gone',
      },
      signal,
    );
    ended++;
  }
  return ended;
}
