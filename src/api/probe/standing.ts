/** The state of a request without an end, from its ProbeJob. */
import { isKubeError, PROBE_JOBS } from '../../kube/client.ts';
import { conditionOf } from '../../kube/conditions.ts';
import { WAITING, type ProbeJob, type WaitingCause } from '../../kube/probe_job.ts';
import { requestFields } from '../../log.ts';
import type { RequestRecord } from '../../store/records.ts';
import type { Deps } from '../deps.ts';
import type { Standing } from './description/answers.ts';

/** Texts for the caller. The conditions' own messages name accounts and pools. */
const WAITING_TEXTS: Readonly<Record<WaitingCause, string>> = {
  Queued: 'the request waits for its turn',
  TokenAtLimit: 'the token runs as many requests as its limit allows',
  AccountAtLimit: 'the account runs as many requests as its limit allows, over all its users and tokens',
  AccountAtShare: 'the account holds its share of the runners, and other accounts wait too',
  NoRunner: 'no runner is free',
  IsolationMissing: 'no runner has the isolation that the installation requires',
};

const isWaiting = (reason: string | undefined): reason is WaitingCause => WAITING.some((known) => known === reason);

async function jobOf(
  { kube, settings, log }: Pick<Deps, 'kube' | 'settings' | 'log'>,
  id: string,
): Promise<ProbeJob | null> {
  try {
    return await kube.get(PROBE_JOBS, id, { namespace: settings.namespace, deadlineMs: 2_000 });
  } catch (error) {
    if (!isKubeError(error, 'not-found')) log.warn({ err: error, ...requestFields({ id }) }, 'cannot read a ProbeJob');
    return null;
  }
}

/** A job that does not exist yet, or cannot be read, is reported as queued. */
function standingOf(job: ProbeJob | null, id: string, submittedAt: Date, elapsedMs: number): Standing {
  const { status } = job ?? {};
  const condition = conditionOf(status, 'Admitted');
  const reason = conditionOf(status, 'Succeeded')?.reason;
  const admitted = condition?.status === 'True' ? (status?.startedAt ?? condition.lastTransitionTime) : null;
  const running = admitted !== null && !isWaiting(reason);
  const queueTime = running ? (status?.queueTimeMs ?? 0) : Math.max(0, Math.round(elapsedMs));
  return {
    success: true,
    metadata: { request_id: id, queue_time: queueTime, io_usage: 0 },
    state: running ? 'running' : 'queued',
    steps: {
      queued: submittedAt.toISOString(),
      admitted,
      // The order to a runner directly follows the admission. No status has the time of a later attempt.
      running: running && (status?.attempts ?? 1) <= 1 ? admitted : null,
    },
    waiting: isWaiting(reason) ? { reason, text: WAITING_TEXTS[reason] } : null,
  };
}

export async function standing(
  deps: Pick<Deps, 'kube' | 'settings' | 'log' | 'store'>,
  { id, submittedAt }: Pick<RequestRecord, 'id' | 'submittedAt'>,
): Promise<Standing> {
  const job = await jobOf(deps, id);
  return standingOf(job, id, submittedAt, deps.store.clock.now() - submittedAt.getTime());
}
