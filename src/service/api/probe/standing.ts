/** The state of a request without an end, from its ProbeJob. */
import { isKubeError, PROBE_JOBS } from '../../../platform/kube/client.ts';
import { conditionOf } from '../../../platform/kube/conditions.ts';
import { WAITING, type ProbeJobStatus, type WaitingCause } from '../../../platform/kube/probe_job.ts';
import { requestFields } from '../../../base/log.ts';
import { chunkOf } from '../../../platform/store/uuid.ts';
import type { RequestRecord } from '../../../platform/store/requests.ts';
import type { Deps } from '../deps.ts';
import type { Standing } from './answer_schemas.ts';

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

type StandingDeps = Pick<Deps, 'kube' | 'settings' | 'log' | 'store'>;

async function statusOf({ kube, settings, log }: StandingDeps, id: string): Promise<ProbeJobStatus | undefined> {
  try {
    return (await kube.get(PROBE_JOBS, chunkOf(id) ?? id, { namespace: settings.namespace, deadlineMs: 2_000 })).status;
  } catch (error) {
    if (!isKubeError(error, 'not-found')) log.warn({ err: error, ...requestFields({ id }) }, 'cannot read a ProbeJob');
    return undefined;
  }
}

/** A job that does not exist yet, or cannot be read, is reported as queued. */
function standingOf(status: ProbeJobStatus | undefined, id: string, submittedAt: Date, elapsedMs: number): Standing {
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
    progress: running ? (status?.progress ?? null) : null,
    waiting: isWaiting(reason) ? { reason, text: WAITING_TEXTS[reason] } : null,
  };
}

export type StandingOf = (request: Pick<RequestRecord, 'id' | 'submittedAt'>) => Promise<Standing>;

/** A status is read once a second at most, however often its request is asked for. */
const FRESH_MS = 1_000;

export function makeStanding(deps: StandingDeps, now = (): number => performance.now()): StandingOf {
  /** Oldest first. */
  const read = new Map<string, { status: Promise<ProbeJobStatus | undefined>; until: number }>();
  return async ({ id, submittedAt }) => {
    for (const [one, { until }] of read) {
      if (until > now()) break;
      read.delete(one);
    }
    let known = read.get(id);
    if (!known) read.set(id, (known = { status: statusOf(deps, id), until: now() + FRESH_MS }));
    const status = await known.status;
    return standingOf(status, id, submittedAt, deps.store.clock.now() - submittedAt.getTime());
  };
}
