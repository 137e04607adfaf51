/**
 * The cache of jobs lives off its watch, and a watch can be frozen, or have lost an event, with nobody the wiser: its
 * own watchdog looks after 100 s, and an event that never came is missed by nobody. But the API tells of each job on
 * another road; one that it told of and the watch has not shown is looked for, and where it is there the cache is read
 * anew.
 */
import { PROBE_JOBS, isKubeError, type KubeClient } from '../../kube/client.ts';
import type { Reflector } from '../../kube/reflector.ts';
import type { ProbeJob } from '../../kube/probe_job.ts';
import { type Logger, requestFields } from '../../log.ts';

/** A watch event takes milliseconds; a create that has to wait for a busy API server takes its time. */
const SHOWN_WITHIN_MS = 3_000;
/**
 * A caller who gave up leaves nothing to be found, and a thousand a second of them must not become a thousand
 * questions.
 */
const LOOK_AGAIN_MS = 2_000;

export interface LateWatchDeps {
  kube: KubeClient;
  jobs: Pick<Reflector<ProbeJob>, 'get' | 'relist'>;
  namespace: string;
  log: Logger;
  /** Whether the leader has taken it, from wherever. */
  knows: (name: string) => boolean;
  signal: AbortSignal;
}

/** Both names come from the API, by its word or by its row: such a job is named by its request's id. */
export interface LateWatch {
  /** A job is being created. */
  told(name: string): void;
  /** The cache is wrong, whoever found out. */
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
      // The connection may be frozen as the watch is: the next one is another.
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
