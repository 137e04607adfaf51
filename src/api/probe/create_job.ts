/** Creates a ProbeJob, however long the API server is away, up to a deadline: a name that is there already is ours. */
import { isKubeError, outcomeUnknown, PROBE_JOBS, type KubeClient } from '../../kube/client.ts';
import type { ProbeJob } from '../../kube/resources.ts';
import { retry } from '../../retry.ts';

const PAUSES = { first: 100, longest: 2_000 };
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
  const create = async (): Promise<void> => {
    try {
      await kube.create(PROBE_JOBS, job, { deadlineMs: TRY_MS, serverTimeoutMs: TRY_MS });
    } catch (error) {
      if (!isKubeError(error, 'already-exists')) throw error;
    }
  };
  await retry(create, {
    ...PAUSES,
    until: performance.now() + options.withinMs,
    signal: options.signal,
    when: (error) => worthAnotherTry(error) && ((isKubeError(error) && error.retryAfterMs) || true),
  });
}
