/** Writes to a ProbeJob's status, and reads the object back after a write that failed. */
import { PROBE_JOBS, isKubeError, type KubeClient } from '../../../platform/kube/client.ts';
import { isFinished } from '../../../platform/kube/conditions.ts';
import type { ProbeJob, ProbeJobStatus } from '../../../platform/kube/probe_job.ts';
import type { TurnOptions, WriteTurns } from './write_turns.ts';

/** Server-side time-out of a status write: a write that has not landed by then never does. */
export const WRITE_MS = 1_500;
const ANSWER_MS = WRITE_MS + 500;

/** The object, and its last known resourceVersion. */
export interface StatusTarget {
  key: string;
  namespace: string;
  uid: string;
  resourceVersion: string;
}

/**
 * One patch at the known resourceVersion: another object may exist under the same name by now, and lists in a status
 * are replaced as a whole.
 */
export const writeStatus = (
  kube: KubeClient,
  { key, namespace, resourceVersion }: StatusTarget,
  status: ProbeJobStatus,
): Promise<ProbeJob> =>
  kube.mergePatchStatus(PROBE_JOBS, key, status, {
    namespace,
    resourceVersion,
    serverTimeoutMs: WRITE_MS,
    deadlineMs: ANSWER_MS,
  });

export type Live = { is: 'open' | 'finished'; object: ProbeJob } | { is: 'gone' } | { is: 'unknown' };

/** `gone`: deleted, or replaced by another object of the same name. `unknown`: the API server did not answer. */
export async function readLive(
  { kube, writes }: { kube: KubeClient; writes: WriteTurns },
  { key, namespace, uid }: StatusTarget,
  options: TurnOptions,
): Promise<Live> {
  try {
    const read = () => kube.get(PROBE_JOBS, key, { namespace, deadlineMs: ANSWER_MS });
    const object = await writes.run(read, options);
    if (object.metadata.uid !== uid) return { is: 'gone' };
    return { is: isFinished(object.status) ? 'finished' : 'open', object };
  } catch (error) {
    return { is: isKubeError(error, 'not-found') ? 'gone' : 'unknown' };
  }
}
