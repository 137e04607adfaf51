/** Explains why a job waits and why it ended, for `kubectl describe pj`. */
import { PROBE_JOBS } from '../../../platform/kube/client.ts';
import type { EventRecorder } from '../../../platform/kube/events.ts';
import type { Pools } from '../pools/pools.ts';
import type { Job } from './job.ts';
import type { Ledger } from './ledger.ts';
import type { WaitingReason } from './waiting_marks.ts';

export function explain(
  events: EventRecorder,
  { key: name, namespace, uid }: Job,
  reason: string,
  message: string,
): void {
  events.record(PROBE_JOBS, { metadata: { name, namespace, uid } }, { type: 'Warning', reason, message });
}

export function whyWaiting(ledger: Ledger<Job>, pools: Pools, job: Job): WaitingReason {
  const { account } = job;
  const [accountHeld, accountLimit] = [ledger.heldByAccount(account), ledger.limitOfAccount(account)];
  // Checked first: if both limits are reached, raising the token's would not help.
  if (accountHeld >= accountLimit) {
    const message =
      `account ${account} runs ${accountHeld} of at most ${accountLimit} jobs, over all its users and tokens; ` +
      `${ledger.waitingOfAccount(account)} jobs wait`;
    return { reason: 'AccountAtLimit', message };
  }
  const limit = ledger.limitOf(job.token);
  const held = ledger.heldBy(job.token);
  if (held >= limit)
    return {
      reason: 'TokenAtLimit',
      message: `token ${job.token} runs ${held} of at most ${limit} jobs; ${ledger.waitingOf(job.token)} jobs wait`,
    };
  const waiting = ledger.waitingOf(job.token);
  return (
    pools.whyWaiting(job) ?? {
      reason: 'Queued',
      message: `waiting for its turn; ${waiting} jobs of its token wait`,
    }
  );
}
