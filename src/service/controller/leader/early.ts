/**
 * Early starts: while the API creates a ProbeJob, a runner opens the source and begins the tools. It keeps what they
 * print until the job is admitted, so the writes of an admission and the work of the tools pass side by side. A slot of
 * the token and the account is held from before the first order.
 *
 * Nothing outlives the term: a runner begins only with a number that it has just made, the leader looks at its lease
 * when it has that number, and the launcher ends what was begun before that lease can pass to another.
 */
import { EARLY_OVER_MS, EARLY_TERM_MS } from '../../../platform/bus/early.ts';
import { PREPARE_TTL_MS, type Early } from '../../../platform/bus/messages.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import { requestFields } from '../../../base/log.ts';
import { sendBegin } from '../pools/send_order.ts';
import { Refusal, idOf, isResolved, stateOf, type EventOf, type Job, type JobRecord } from './job.ts';
import { letGo, prepare, reserve } from './orders.ts';
import { takeIn } from './resolve_job.ts';
import { intakeDeps, now, slotsOf, type TermState } from './term_state.ts';

/** The API is creating a job that could run at once. */
export async function announced(state: TermState, { job: name, namespace, spec }: Early): Promise<void> {
  if (!state.ready || !state.live || state.jobs.get(name)) return;
  const object: ProbeJob = { apiVersion: '', kind: 'ProbeJob', metadata: { name, namespace }, spec };
  if (!spec.token || !spec.source.sealed) return;
  try {
    const { job, token } = await takeIn(intakeDeps(state), object);
    if (!state.live || state.jobs.get(name)) return;
    const slots = slotsOf(token);
    if (!state.ledger.wouldRun(job, slots)) return;
    state.contenders = undefined;
    if (!reserve(state, job)) return;
    await state.move({ key: name, state: 'none' }, { is: 'announced', job, slots });
  } catch (error) {
    if (!(error instanceof Refusal))
      state.deps.log.debug(
        { err: error, ...requestFields({ id: idOf(object), job: name }) },
        'cannot prepare a runner early',
      );
  }
}

export function holdEarlySlot(state: TermState, job: Job, { slots }: EventOf<'announced'>): void {
  const slot = `early ${job.key}`;
  const { token, account, pool } = job;
  state.ledger.hold({ key: slot, token, account, pool }, slots);
  // The watch event follows within milliseconds. If it does not, runner and slot must come back.
  const timer = setTimeout(() => void state.move(job, { is: 'expired' }), PREPARE_TTL_MS + 300);
  job.early = { job, slot, timer, begunAt: undefined };
}

/** The states in which an early start may still become the run of its job. */
const DUE: ReadonlySet<string> = new Set(['early', 'intake', 'admitting']);

export async function beginEarly(state: TermState, job: Job): Promise<void> {
  const { early, runner } = job;
  const said = await prepare(state, job);
  if (!early || !runner || !said?.ok || said.number === undefined) return;
  // The job may have been created meanwhile, or dropped, or have gone on to another runner.
  if (!DUE.has(stateOf(job)) || job.early !== early || job.runner?.uid !== runner.uid) return;
  const { bus, term, startsEarly } = state.deps;
  // In one turn: what is begun with a number that exists already ends within this term.
  if (!startsEarly || !state.live || !term.stillLeading(EARLY_TERM_MS)) return;
  early.begunAt = now();
  state.jobs.begun.add(early);
  setTimeout(() => state.jobs.begun.delete(early), EARLY_OVER_MS).unref();
  // The answer decides nothing: a runner that refuses runs the job at its `go`.
  void sendBegin(bus, runner.uid, {
    epoch: term.epoch,
    job: job.key,
    requestId: job.id,
    attempt: job.attempt + 1,
    number: said.number,
  });
}

/** The job is admitted, and its `go` is next. */
export function admittedEarly(state: TermState, job: Job): void {
  if (job.early && state.jobs.begun.delete(job.early)) state.deps.metrics.startedEarly('admitted');
  job.early = undefined;
}

/**
 * Nobody creates the job, or it may not run. The slot is free when the tools are gone: the runner has answered, or its
 * launcher has ended them.
 */
export function dropEarly(state: TermState, job: JobRecord): void {
  if (!isResolved(job) || !job.early) return;
  const { early, account } = job;
  clearTimeout(early.timer);
  job.early = undefined;
  const said = letGo(state, job, 'cancelled', job.attempt + 1);
  const free = (): void => {
    state.jobs.begun.delete(early);
    state.ledger.remove(early.slot);
    state.scheduleAll(account);
  };
  if (early.begunAt === undefined) return free();
  state.deps.metrics.startedEarly('dropped');
  setTimeout(free, Math.max(0, early.begunAt + EARLY_OVER_MS - now())).unref();
  void said?.then(({ ok }) => {
    if (ok) free();
  });
}

/** The term ends on purpose: resolves when nothing that it began is left, as far as the runners say or by its time. */
export async function endEarly(state: TermState): Promise<void> {
  for (const { job, timer, begunAt } of state.jobs.early()) {
    clearTimeout(timer);
    if (begunAt === undefined) void letGo(state, job, 'cancelled', job.attempt + 1);
  }
  await Promise.all(
    [...state.jobs.begun].map(async ({ job, begunAt = 0 }) => {
      const time = Promise.withResolvers<void>();
      const timer = setTimeout(time.resolve, Math.max(0, begunAt + EARLY_OVER_MS - now()));
      const said = letGo(state, job, 'cancelled', job.attempt + 1)?.then(({ ok }) => (ok ? undefined : time.promise));
      await Promise.race([time.promise, said ?? time.promise]);
      clearTimeout(timer);
    }),
  );
}
