/**
 * Detects a watch that is frozen or lost an event. The watch's own watchdog reacts after 100 s, and a single lost event
 * stays unnoticed. The API announces each job separately over NATS: an announced job that the watch has not delivered
 * is looked up, and if it exists the cache is listed again.
 */
import { PROBE_JOBS, isKubeError, type KubeClient } from '../../../platform/kube/client.ts';
import type { Reflector } from '../../../platform/kube/reflector.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import { type Logger, requestFields } from '../../../base/log.ts';

/** A watch event takes milliseconds, but a create may be delayed by a busy API server. */
const SHOWN_WITHIN_MS = 3_000;
/**
 * Rate limit of the look-ups: callers who disconnect leave no job to be found, and a thousand of them a second must not
 * cause a thousand look-ups.
 */
const LOOK_AGAIN_MS = 2_000;

export interface LateWatchDeps {
  kube: KubeClient;
  jobs: Pick<Reflector<ProbeJob>, 'get' | 'relist'>;
  namespace: string;
  log: Logger;
  /** Whether the leader already has this job, from any source. */
  knows: (name: string) => boolean;
  signal: AbortSignal;
}

/** Both calls take a request id, which is also the name of a job created by the API. */
export interface LateWatch {
  /** A job is being created. */
  told(name: string): void;
  /** The cache is stale; may be reported by any part. */
  behind(name: string): Promise<void>;
}

export function lateWatch({ kube, jobs, namespace, log, knows, signal }: LateWatchDeps): LateWatch {
  let lookedAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  const shown = (name: string): boolean => knows(name) || jobs.get(`${namespace}/${name}`) !== undefined;

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
    if (signal.aborted || shown(name) || performance.now() - lookedAt < LOOK_AGAIN_MS) return;
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
    if (!signal.aborted && !shown(name)) await behind(name);
  };

  function told(name: string): void {
    if (!signal.aborted) setTimeout(() => void look(name), SHOWN_WITHIN_MS).unref();
  }

  return { told, behind };
}
