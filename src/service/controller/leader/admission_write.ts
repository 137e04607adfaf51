/** The write that admits a job. From then on the job counts against its token's limit. */
import { isKubeError, outcomeUnknown, type KubeClient } from '../../../platform/kube/client.ts';
import { type Logger, requestFields } from '../../../base/log.ts';
import { backoff, pause } from '../../../base/retry.ts';
import type { Store } from '../../../platform/store/store.ts';
import { stamp } from '../../../platform/kube/conditions.ts';
import { admittedStatus } from './job_status.ts';
import { resultPathOf, type Job } from './job.ts';
import { leaseSafe, type Term } from './lease_guard.ts';
import { readLive, WRITE_MS, writeStatus } from './status_write.ts';
import type { WriteTurns } from './write_turns.ts';

/** Required remaining lease time before a write: the write's time-out and a margin. */
const LEASE_MARGIN_MS = WRITE_MS + 500;
const PAUSES = { first: 20, longest: 500 };
/** The job fails after this many admissions that the API server rejected as invalid, not because of load. */
const MAX_REFUSALS = 5;

/**
 * The API server does not know the kind of a policy's parameter, up to half a minute after its CRD is installed, or has
 * not read the objects of that kind since its start.
 */
const isPolicyNotReady = (error: unknown): boolean =>
  isKubeError(error, 'invalid', 'forbidden') &&
  /denied request: failed to configure (policy|binding)/.test(error.message);

export interface AdmissionDeps {
  term: Term;
  kube: KubeClient;
  store: Store;
  log: Logger;
  writes: WriteTurns;
}

/**
 * Returns once the outcome of the write is known: a slot is released only if the write certainly did not land.
 * `isWanted`: false if the job ended meanwhile.
 */
export async function writeAdmission(
  deps: AdmissionDeps,
  job: Job,
  isWanted: () => boolean,
): Promise<'written' | 'gone' | 'refused'> {
  const { term, log, writes } = deps;
  const turn = { account: job.account };
  let refusals = 0;
  const wait = backoff(PAUSES);
  for (;;) {
    try {
      return await writes.run(() => writeOnce(deps, job, isWanted), turn);
    } catch (error) {
      if (isKubeError(error, 'not-found')) return 'gone';
      const fields = { err: error, ...requestFields({ id: job.id, job: job.key }) };
      if (isPolicyNotReady(error))
        log.warn(fields, 'the API server cannot evaluate an admission policy yet, will retry');
      else if (!isKubeError(error, 'conflict', 'too-many-requests', 'unauthorized') && !outcomeUnknown(error)) {
        log.error(fields, 'the API server rejected an admission');
        if (++refusals >= MAX_REFUSALS) return 'refused';
      }
    }
    await pause(wait.next());
    const live = await readLive(deps, job, turn);
    if (live.is === 'gone' || live.is === 'finished') return 'gone';
    if (live.is === 'unknown') continue;
    job.status = live.object.status;
    job.resourceVersion = live.object.metadata.resourceVersion ?? '';
    if (
      job.status?.admittedBy?.epoch === term.epoch &&
      job.status.attempts === job.attempt + 1 &&
      job.status.runner?.uid === job.runner?.uid
    )
      return 'written';
  }
}

async function writeOnce(
  { term, kube, store }: AdmissionDeps,
  job: Job,
  isWanted: () => boolean,
): Promise<'written' | 'gone'> {
  await leaseSafe(term, LEASE_MARGIN_MS);
  if (!isWanted()) return 'gone';
  const status = admittedStatus(
    job.status,
    {
      holder: term.holder,
      epoch: term.epoch,
      token: job.token,
      account: job.account,
      runner: job.runner ?? { pod: '', uid: '' },
      attempt: job.attempt + 1,
      queueTimeMs: Math.max(0, Math.round(store.clock.now() - job.submittedAt.getTime())),
      resultPath: resultPathOf(job),
      tools: job.assignment.tools.map(({ name, version }) => ({ name, version })),
      ofTwo: job.assignment.other !== undefined,
    },
    stamp(store.clock.now()),
  );
  const updated = await writeStatus(kube, job, status);
  job.status = updated.status;
  job.resourceVersion = updated.metadata.resourceVersion ?? '';
  return 'written';
}
