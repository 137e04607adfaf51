/** Admits a pool's waiting jobs within the available runners and limits, and orders their runners to start. */
import { qc } from '../../../media/tools/qc.ts';
import type { Assignment } from '../../../platform/bus/messages.ts';
import { frequentIf, requestFields, runnerFields } from '../../../base/log.ts';
import { backoff, pause, retry } from '../../../base/retry.ts';
import { isKubeError, isPolicyNotReady, outcomeUnknown } from '../../../platform/kube/client.ts';
import { stamp } from '../../../platform/kube/conditions.ts';
import type { ProbeJobStatus } from '../../../platform/kube/probe_job.ts';
import { isStoreError } from '../../../platform/store/errors.ts';
import { sendGo } from '../pools/send_order.ts';
import { afterRefusal } from '../retry_policy.ts';
import { attemptEnded } from './chunk.ts';
import { endOf } from './ends.ts';
import { beganAt, resultPathOf, stateOf, type Job } from './job.ts';
import { admittedStatus, readLive, WRITE_MS, writeStatus } from './job_status.ts';
import { leaseSafe, type Term } from './lease_guard.ts';
import { POD_GONE, lost, replaceIfLeading } from './losses.ts';
import { orderFor, reserve } from './orders.ts';
import { assignedPolicy } from './policies.ts';
import { refusalOf } from './resolve_job.ts';
import { now, type TermState, type TermStateDeps } from './term_state.ts';

/** Jobs of a pool in one turn of the event loop: each has an order and a write, and a pool up to 1,000 free runners. */
const ADMITTED_AT_ONCE = 50;

export function admitNext(state: TermState, pool: string): void {
  let left = ADMITTED_AT_ONCE;
  state.contenders = undefined;
  for (const job of state.jobs.retrying()) {
    if (left === 0) break;
    if (job.pool !== pool || !reserve(state, job)) continue;
    state.contenders = undefined;
    left -= 1;
    void state.move(job, { is: 'turn' });
  }
  for (; left > 0; left -= 1) {
    const job = state.ledger.take(pool, (entry) => reserve(state, entry));
    if (!job) break;
    state.contenders = undefined;
    const refusal = refusalOf(state.tokens.known(job.token), state.deps.store.clock.now());
    void state.move(job, refusal ? { is: 'ended', end: endOf(refusal) } : { is: 'turn' });
  }
  if (left === 0) state.schedule(pool, setImmediate);
  state.deps.pools.demandChanged(pool);
}

export async function admit(state: TermState, job: Job): Promise<void> {
  const written = await writeAdmission(state.deps, job, () => state.live && stateOf(job) === 'admitting');
  // The job ended during the write: it must not start any more, and its end has already released the runner.
  if (!state.live || stateOf(job) !== 'admitting') return;
  if (written === 'written') return state.move(job, { is: 'written' });
  // Deleted or ended elsewhere: the watch reports which. Release everything held for it.
  if (written === 'gone') return state.move(job, { is: 'gone', object: undefined });
  const error = 'the job could not be admitted: the API server rejects its status';
  await state.move(job, { is: 'ended', end: { status: 500, reason: 'InternalError', error } });
}

export function startAttempt(state: TermState, job: Job): void {
  const { term, metrics, log, runners } = state.deps;
  job.attempt += 1;
  // The value from the status, which also goes into the record, and not a later clock reading.
  const queueTimeMs = job.status?.queueTimeMs ?? 0;
  if (job.attempt === 1) metrics.admitted(job.pool, queueTimeMs);
  const named = { ...requestFields({ id: job.id, job: job.key }), ...runnerFields(job.runner) };
  log.info(
    { ...frequentIf(job.attempt === 1), ...named, attempt: job.attempt, queueTimeMs, epoch: term.epoch },
    'admitted',
  );
  const runner = job.runner && runners.get(job.runner.uid);
  if (runner) runners.confirm(runner, job.key, job.attempt, job.chunk !== undefined);
}

/** What the quota leaves for content checks, if the job has some and a quota limits them. */
async function decodableFor({ tokens, deps: { store, log } }: TermState, job: Job): Promise<number | undefined> {
  if (!job.assignment.tools.some(({ name }) => name === qc.name)) return undefined;
  try {
    const token = await tokens.of(job.token);
    return (token && (await store.decodableSeconds(token))) ?? undefined;
  } catch (error) {
    // The quota was not used up when the request was opened.
    log.warn({ err: error, ...requestFields({ id: job.id, job: job.key }) }, 'cannot read what a quota leaves');
    return undefined;
  }
}

const POLICY_PAUSES = { first: 50, longest: 2_000 };

/** Retries until Postgres answers or the attempt is over: what its runner has not begun is no lost attempt. */
function policyFor({ deps, documents }: TermState, job: Job): Promise<Assignment['policy']> | undefined {
  const { policy, attempt } = job;
  if (!policy) return undefined;
  const named = requestFields({ id: job.id, job: job.key });
  const isWanted = (): boolean => stateOf(job) === 'running' && job.attempt === attempt;
  return retry(() => assignedPolicy(documents, policy), {
    ...POLICY_PAUSES,
    signal: deps.term.signal,
    when: (error) => isStoreError(error, 'unreachable', 'timeout') && isWanted(),
    onRetry: (error) => deps.log.warn({ err: error, ...named }, 'cannot read a policy, will retry'),
  });
}

export async function go(state: TermState, job: Job): Promise<void> {
  const { bus, store, runners, pools } = state.deps;
  const { attempt, runner } = job;
  // The first item of a chunk, while it waited.
  const cancelled = job.chunk?.cancelled.get(attempt);
  if (cancelled) return attemptEnded(state, job, await cancelled);
  if (!runner || !runners.get(runner.uid)) return lost(state, job, attempt, POD_GONE);
  // Until it is ordered, a runner that reports to be idle has not lost the job.
  job.goAt = Infinity;
  const startedAt = beganAt(job) ?? store.clock.now();
  const decodableSeconds = await decodableFor(state, job);
  let policy: Assignment['policy'];
  try {
    policy = await policyFor(state, job);
  } catch (error) {
    state.deps.log.warn({ err: error, ...requestFields({ id: job.id, job: job.key }) }, 'cannot read a policy');
    await lost(state, job, attempt, { cause: 'policy', why: 'cannot read its policy' });
    return;
  }
  if (!state.live || job.attempt !== attempt || stateOf(job) !== 'running') return;
  if (job.chunk?.cancelled.has(attempt)) return;
  const order = orderFor(state, job);
  const remainingMs = Math.max(1, Math.round(startedAt + job.timeoutMs - store.clock.now()));
  job.goAt = now();
  const said = await sendGo(bus, runner.uid, {
    ...order,
    assignment: {
      ...order.assignment,
      ...(policy ? { policy } : {}),
      ...(decodableSeconds === undefined ? {} : { decodableSeconds }),
    },
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

/** Required remaining lease time before a write: the write's time-out and a margin. */
export const LEASE_MARGIN_MS = WRITE_MS + 500;
const PAUSES = { first: 20, longest: 500 };
/** The job fails after this many admissions that the API server rejected as invalid, not because of load. */
const MAX_REFUSALS = 5;

/**
 * Returns once the outcome of the write is known: a slot is released only if the write certainly did not land.
 * `isWanted`: false if the job ended meanwhile.
 */
async function writeAdmission(
  deps: TermStateDeps,
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
    if (isAdmittedBy(term, job)) return 'written';
  }
}

type Attempt = Pick<Job, 'status' | 'attempt' | 'runner'>;

/** The job's status, as it was read last, is the admission that this leader writes now. */
export const isAdmittedBy = (term: Pick<Term, 'epoch'>, { status, attempt, runner }: Attempt): boolean =>
  status?.admittedBy?.epoch === term.epoch && status.attempts === attempt + 1 && status.runner?.uid === runner?.uid;

export const admissionOf = ({ term, store }: TermStateDeps, job: Job): ProbeJobStatus =>
  admittedStatus(
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

async function writeOnce(deps: TermStateDeps, job: Job, isWanted: () => boolean): Promise<'written' | 'gone'> {
  const { term, kube } = deps;
  await leaseSafe(term, LEASE_MARGIN_MS);
  if (!isWanted()) return 'gone';
  const updated = await writeStatus(kube, job, admissionOf(deps, job));
  job.status = updated.status;
  job.resourceVersion = updated.metadata.resourceVersion ?? '';
  // A CRD with a subresource drops the status and accepts the rest.
  if (!isAdmittedBy(term, job)) throw new Error('the CRD of ProbeJob is too old: it drops the status of a job');
  return 'written';
}
