/** Admits a pool's waiting jobs within the available runners and limits, and orders their runners to start. */
import type { Assignment } from '../../../platform/bus/messages.ts';
import { requestFields, runnerFields } from '../../../base/log.ts';
import { afterRefusal } from '../retry_policy.ts';
import { writeAdmission } from './admission_write.ts';
import { armDeadline } from './deadlines.ts';
import { admittedEarly } from './early.ts';
import { endJob, endOf, objectGone } from './ends.ts';
import { stateOf, type Job } from './job.ts';
import { disarm } from './lease_guard.ts';
import { POD_GONE, lost, replaceIfLeading } from './losses.ts';
import { assignedPolicy } from './policies.ts';
import { orderFor, prepare, reserve, sendGo } from './orders.ts';
import { refusalOf } from './resolve_job.ts';
import { now, type TermState } from './term_state.ts';

export function admitNext(state: TermState, pool: string): void {
  state.contenders = undefined;
  for (const job of state.retrying) {
    if (job.pool !== pool || !reserve(state, job)) continue;
    state.retrying.delete(job);
    state.contenders = undefined;
    void admit(state, job);
  }
  for (;;) {
    const job = state.ledger.take(pool, (entry) => reserve(state, entry));
    if (!job) break;
    state.contenders = undefined;
    const refusal = refusalOf(state.tokens.known(job.token), state.deps.store.clock.now());
    if (refusal) void endJob(state, job, endOf(refusal));
    else void admit(state, job);
  }
  state.deps.pools.demandChanged(pool);
}

export async function admit(state: TermState, job: Job): Promise<void> {
  const { term, store, metrics, log, runners } = state.deps;
  const again = job.state === 'retrying';
  job.state = 'admitting';
  void prepare(state, job);
  const written = await writeAdmission(state.deps, job, () => state.live && stateOf(job) === 'admitting');
  // The job ended during the write: it must not start any more, and its end has already released the runner.
  if (!state.live || stateOf(job) !== 'admitting') return;
  if (written === 'gone') {
    // Deleted or ended elsewhere: the watch reports which. Release everything held for it.
    await objectGone(state, job);
    return;
  }
  if (written === 'refused') {
    await endJob(state, job, {
      state: 'error',
      status: 500,
      reason: 'InternalError',
      error: 'the job could not be admitted: the API server rejects its status',
    });
    return;
  }
  job.attempt += 1;
  job.state = 'running';
  // The value from the status, which also goes into the record, and not a later clock reading.
  const queueTimeMs = job.status?.queueTimeMs ?? 0;
  if (!again) {
    disarm(job);
    armDeadline(state, job, store.clock.now());
    metrics.admitted(job.pool, queueTimeMs);
  }
  const named = { ...requestFields({ id: job.id, job: job.key }), ...runnerFields(job.runner) };
  log.info({ ...named, attempt: job.attempt, queueTimeMs, epoch: term.epoch }, 'admitted');
  const runner = job.runner && runners.get(job.runner.uid);
  if (!runner || !job.runner) {
    await lost(state, job, job.attempt, POD_GONE);
    return;
  }
  runners.confirm(runner, job.key, job.attempt);
  admittedEarly(state, job);
  await go(state, job);
}

async function go(state: TermState, job: Job): Promise<void> {
  const { bus, store, runners, pools } = state.deps;
  const { attempt, runner } = job;
  if (!runner) return;
  job.goAt = now();
  const startedAt = Date.parse(job.status?.startedAt ?? '') || store.clock.now();
  let policy: Assignment['policy'];
  try {
    policy = job.policy && (await assignedPolicy(state.documents, job.policy));
  } catch (error) {
    state.deps.log.warn({ err: error, ...requestFields({ id: job.id, job: job.key }) }, 'cannot read a policy');
    await lost(state, job, attempt, { cause: 'policy', why: 'cannot read its policy' });
    return;
  }
  if (!state.live || job.attempt !== attempt || stateOf(job) !== 'running') return;
  const order = orderFor(state, job);
  const remainingMs = Math.max(1, Math.round(startedAt + job.timeoutMs - store.clock.now()));
  const said = await sendGo(bus, runner.uid, {
    ...order,
    ...(policy ? { assignment: { ...order.assignment, policy } } : {}),
    remainingMs,
  });
  if (said.ok) runners.accepted(runner.uid);
  // After the connection was lost, heartbeats tell whether the runner has the order.
  if (said.ok || said.why === 'cut-off') return;
  if (!state.live || job.attempt !== attempt || job.state !== 'running') return;
  const next = afterRefusal(said.why, runners.refused(runner.uid, now()));
  if (said.why === 'absent') job.absences += 1;
  else if (next.refused) job.refusals += 1;
  if (next.replaceIfLeading) replaceIfLeading(state, runner.uid);
  if (next.endPod) pools.endPod(runner.uid, next.endPod);
  await lost(
    state,
    job,
    attempt,
    said.why === 'silent'
      ? { cause: 'silent', why: `runner ${runner.pod} did not answer` }
      : said.why === 'absent'
        ? { cause: 'absent', why: `runner ${runner.pod} is not connected to NATS` }
        : { cause: 'refused', why: `runner ${runner.pod} refused the job (${said.why})` },
  );
}
