/** How far a job is that runs for long, in the status of its ProbeJob: as its runner reports it. */
import { requestFields } from '../../../base/log.ts';
import { isKubeError } from '../../../platform/kube/client.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import { stateOf, type Job } from './job.ts';
import { readLive, writeStatus } from './job_status.ts';
import { ensureLeading } from './lease_guard.ts';
import { now, type TermState } from './term_state.ts';

/** Each is a write of the API server, and an event of its watches. */
const EVERY_MS = 10_000;

/** A write that does not succeed is not repeated: the next report comes soon. */
export async function noteProgress({ deps, live }: TermState, job: Job, progress: number): Promise<void> {
  const { kube, log, term, writes } = deps;
  const isDue = now() - Math.max(job.goAt, job.progressAt) >= EVERY_MS;
  if (!isDue || job.status?.progress === progress || !live || !writes.isWell) return;
  job.progressAt = now();
  const turn = { account: job.account, later: true };
  const { attempt, resourceVersion } = job;
  // What was written meanwhile is newer than the answer.
  const take = ({ metadata, status }: ProbeJob): void => {
    if (stateOf(job) !== 'running' || job.attempt !== attempt || job.resourceVersion !== resourceVersion) return;
    job.status = status;
    job.resourceVersion = metadata.resourceVersion ?? '';
  };
  try {
    const write = async (): Promise<ProbeJob | undefined> => {
      await ensureLeading(term);
      return stateOf(job) === 'running' ? writeStatus(kube, { ...job, resourceVersion }, { progress }) : undefined;
    };
    const written = await writes.run(write, turn);
    if (written) take(written);
  } catch (error) {
    log.debug({ err: error, ...requestFields({ id: job.id, job: job.key }) }, 'the progress of a job is not written');
    if (!isKubeError(error, 'conflict')) return;
    const found = await readLive(deps, job, turn);
    if (found.is === 'open') take(found.object);
  }
}
