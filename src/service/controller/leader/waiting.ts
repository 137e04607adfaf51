/** Explains why a job waits and why it ended, for `kubectl get pj` and `describe pj`. */
import { makeYield } from '../../../base/turns.ts';
import { PROBE_JOBS } from '../../../platform/kube/client.ts';
import type { EventRecorder } from '../../../platform/kube/events.ts';
import type { Pools } from '../pools/pools.ts';
import type { Job } from './job.ts';
import type { Ledger } from './ledger.ts';
import { stamp } from '../../../platform/kube/conditions.ts';
import type { WaitingCause } from '../../../platform/kube/probe_job.ts';
import { nameOf } from '../../../platform/kube/served_namespaces.ts';
import { waitingStatus, writeStatus } from './job_status.ts';
import type { TermState } from './term_state.ts';

export function explain(
  events: EventRecorder,
  { key, namespace, uid }: Pick<Job, 'key' | 'namespace' | 'uid'>,
  reason: string,
  message: string,
): void {
  events.record(PROBE_JOBS, { metadata: { name: nameOf(key), namespace, uid } }, { type: 'Warning', reason, message });
}

export function whyWaiting(ledger: Ledger<Job>, pools: Pools, job: Job): WaitingReason {
  const account = ledger.account(job.account);
  // Checked first: if both limits are reached, raising the token's would not help.
  if (account.held >= account.limit) {
    const message =
      `account ${job.account} runs ${account.held} of at most ${account.limit} jobs, over all its users and tokens; ` +
      `${account.waiting} jobs wait`;
    return { reason: 'AccountAtLimit', message };
  }
  const { limit, held, waiting } = ledger.token(job.token);
  if (held >= limit)
    return {
      reason: 'TokenAtLimit',
      message: `token ${job.token} runs ${held} of at most ${limit} jobs; ${waiting} jobs wait`,
    };
  return (
    pools.whyWaiting(job) ?? {
      reason: 'Queued',
      message: `waiting for its turn; ${waiting} jobs of its token wait`,
    }
  );
}

export interface WaitingReason {
  reason: WaitingCause;
  message: string;
}

const yielded = makeYield();

/**
 * Writes the reason why a job waits into its status. Concurrency is bounded, and a mark is left out while half of the
 * calls that the API server answers in time are under way: ten thousand waiting jobs must not keep it from admissions.
 * `GET cluster` and the metric have the reasons of those that are left out.
 */
export const markWaiting = (state: TermState, job: Job): Promise<void> => state.marks.run(() => mark(state, job));

async function mark({ deps, ledger }: TermState, job: Job): Promise<void> {
  const { kube, metrics, pools, store, term, writes } = deps;
  if (job.state !== 'waiting' || term.signal.aborted) return;
  const { reason, message } = whyWaiting(ledger, pools, job);
  metrics.waited(reason);
  if (writes.running * 2 > writes.bound) return yielded();
  try {
    const version = job.resourceVersion;
    const status = waitingStatus(job.status, reason, message, stamp(store.clock.now()));
    const updated = await writeStatus(kube, job, status);
    if (job.resourceVersion === version) {
      job.resourceVersion = updated.metadata.resourceVersion ?? version;
      job.status = updated.status;
    }
  } catch {
    // The mark is only informative: losing it to an admission or a busy API server is no error.
  }
}
