/** Creates a ProbeJob, however long the API server is away, up to a deadline: a name that is there already is ours. */
import { setTimeout as pause } from 'node:timers/promises';
import { isKubeError, outcomeUnknown, PROBE_JOBS, type KubeClient } from '../../kube/client.ts';
import type { ProbeJob } from '../../kube/resources.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
/** One try. The job of a warm request is created in 3 to 4 ms; a try that takes this long is repeated. */
const TRY_MS = 5_000;

export const worthAnotherTry = (error: unknown): boolean =>
  outcomeUnknown(error) || isKubeError(error, 'too-many-requests', 'unauthorized');

/**
 * Throws the last error where it gave up: after `withinMs`, when the signal says so, or when another try cannot help.
 */
export async function createJob(
  kube: Pick<KubeClient, 'create'>,
  job: ProbeJob,
  options: { withinMs: number; signal: AbortSignal },
): Promise<void> {
  const deadline = performance.now() + options.withinMs;
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    try {
      await kube.create(PROBE_JOBS, job, { deadlineMs: TRY_MS, serverTimeoutMs: TRY_MS });
      return;
    } catch (error) {
      if (isKubeError(error, 'already-exists')) return;
      const longer = Math.max(wait * (0.5 + Math.random()), isKubeError(error) ? (error.retryAfterMs ?? 0) : 0);
      if (!worthAnotherTry(error) || options.signal.aborted || performance.now() + longer > deadline) throw error;
      await pause(longer, undefined, { signal: options.signal }).catch(() => {
        throw error;
      });
    }
  }
}
