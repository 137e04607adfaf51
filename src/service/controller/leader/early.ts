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
import { Refusal, idOf, stateOf, type Job } from './job.ts';
import { sendBegin } from '../pools/send_order.ts';
import { letGo, prepare, reserve } from './orders.ts';
import { takeIn } from './resolve_job.ts';
import { intakeDeps, now, slotsOf, type TermState } from './term_state.ts';

export interface EarlyStart {
  job: Job;
  /** The key of its slot in the ledger, until the job is created. */
  slot: string;
  timer: NodeJS.Timeout;
  /** Monotonic time of the order to begin; undefined before. */
  begunAt: number | undefined;
}

/** The API is creating a job that could run at once. */
export async function startEarly(state: TermState, { job: name, namespace, spec }: Early): Promise<void> {
  if (!state.ready || !state.live || state.jobs.has(name) || state.taking.has(name) || state.early.has(name)) return;
  const object: ProbeJob = { apiVersion: '', kind: 'ProbeJob', metadata: { name, namespace }, spec };
  if (!spec.token || !spec.source.sealed) return;
  try {
    const { job, token } = await takeIn(intakeDeps(state), object);
    if (!state.live || state.jobs.has(name) || state.taking.has(name) || state.early.has(name)) return;
    if (!state.ledger.wouldRun(job, slotsOf(token))) return;
    state.contenders = undefined;
    if (!reserve(state, job)) return;
    const slot = `early ${name}`;
    const { token: of, account, pool } = job;
    state.ledger.hold({ key: slot, token: of, account, pool }, slotsOf(token));
    // The watch event follows within milliseconds. If it does not, runner and slot must come back.
    const timer = setTimeout(() => dropEarly(state, early), PREPARE_TTL_MS + 300);
    const early: EarlyStart = { job, slot, timer, begunAt: undefined };
    state.early.set(name, early);
    await begin(state, early);
  } catch (error) {
    if (!(error instanceof Refusal))
      state.deps.log.debug(
        { err: error, ...requestFields({ id: idOf(object), job: name }) },
        'cannot prepare a runner early',
      );
  }
}

async function begin(state: TermState, early: EarlyStart): Promise<void> {
  const { job } = early;
  const { runner } = job;
  const said = await prepare(state, job);
  if (!runner || !said?.ok || said.number === undefined) return;
  // The job may have been created meanwhile, or dropped, or have gone on to another runner.
  const isDue = state.early.get(job.key) === early || stateOf(job) === 'admitting';
  if (!isDue || job.runner?.uid !== runner.uid || !state.deps.startsEarly) return;
  const { bus, term } = state.deps;
  // In one turn: what is begun with a number that exists already ends within this term.
  if (!state.live || !term.stillLeading(EARLY_TERM_MS)) return;
  early.begunAt = now();
  state.begun.set(job.key, early);
  setTimeout(() => over(state, early), EARLY_OVER_MS).unref();
  // The answer decides nothing: a runner that refuses runs the job at its `go`.
  void sendBegin(bus, runner.uid, {
    epoch: term.epoch,
    job: job.key,
    requestId: job.id,
    attempt: job.attempt + 1,
    number: said.number,
  });
}

const over = (state: TermState, early: EarlyStart): void => {
  if (state.begun.get(early.job.key) === early) state.begun.delete(early.job.key);
};

/** The job was created: it takes the place of what was prepared for it. */
export function takeEarly(state: TermState, name: string): EarlyStart | undefined {
  const early = state.early.get(name);
  clearTimeout(early?.timer);
  state.early.delete(name);
  return early;
}

/** The job is admitted, and its `go` is next. */
export function admittedEarly(state: TermState, job: Job): void {
  if (!state.begun.delete(job.key)) return;
  state.deps.metrics.startedEarly('admitted');
}

/**
 * Nobody creates the job, or it may not run. The slot is free when the tools are gone: the runner has answered, or its
 * launcher has ended them.
 */
export function dropEarly(state: TermState, early: EarlyStart): void {
  const { job, slot, begunAt } = early;
  if (state.early.get(job.key) === early) takeEarly(state, job.key);
  const said = letGo(state, job, 'cancelled');
  const free = (): void => {
    over(state, early);
    state.ledger.remove(slot);
    state.scheduleAll(job.account);
  };
  if (begunAt === undefined) return free();
  state.deps.metrics.startedEarly('dropped');
  setTimeout(free, Math.max(0, begunAt + EARLY_OVER_MS - now())).unref();
  void said?.then(({ ok }) => {
    if (ok) free();
  });
}

/** The term ends on purpose: resolves when nothing that it began is left, as far as the runners say or by its time. */
export async function endEarly(state: TermState): Promise<void> {
  for (const early of state.early.values()) {
    clearTimeout(early.timer);
    if (early.begunAt === undefined) void letGo(state, early.job, 'cancelled');
  }
  await Promise.all(
    [...state.begun.values()].map(async (early) => {
      const left = (early.begunAt ?? 0) + EARLY_OVER_MS - now();
      const time = Promise.withResolvers<void>();
      const timer = setTimeout(time.resolve, Math.max(0, left));
      const said = letGo(state, early.job, 'cancelled')?.then(({ ok }) => (ok ? undefined : time.promise));
      await Promise.race([time.promise, said ?? time.promise]);
      clearTimeout(timer);
    }),
  );
}
