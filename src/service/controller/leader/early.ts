/**
 * Early starts: while the ProbeJob is being created, a runner opens the source and begins the tools. It keeps what they
 * print until the job is admitted, so the write of the admission and the work of the tools pass side by side. A slot of
 * the token and the account is held from before the first order.
 *
 * Nothing outlives the term: a runner begins only with a number that it has just made, the leader looks at its lease
 * when it has that number, and the launcher ends what was begun before that lease can pass to another.
 */
import { EARLY_OVER_MS, EARLY_TERM_MS } from '../../../platform/bus/messages.ts';
import { sendBegin } from '../pools/send_order.ts';
import { stateOf, type Job } from './job.ts';
import { letGo, prepare } from './orders.ts';
import { now, type TermState } from './term_state.ts';

export async function beginEarly(state: TermState, job: Job): Promise<void> {
  const { runner } = job;
  const said = await prepare(state, job);
  if (!runner || !said?.ok || said.number === undefined) return;
  // Admitted meanwhile, dropped, or deleted.
  if (stateOf(job) !== 'creating') return;
  const { bus, term, config } = state.deps;
  // In one turn: what is begun with a number that exists already ends within this term.
  if (!config.earlyStart || !state.live || !term.stillLeading(EARLY_TERM_MS)) return;
  const early = { job, begunAt: now() };
  job.early = early;
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
 * The leader does not create the job. The slot is free when the tools are gone: the runner has answered, or its
 * launcher has ended them. It is held under another key until then, because the job itself may come back at once.
 */
export function dropEarly(state: TermState, job: Job): void {
  const { early, token, account, pool } = job;
  job.early = undefined;
  const said = letGo(state, job, 'cancelled', job.attempt + 1);
  const slot = { key: `early ${job.key}`, token, account, pool };
  state.ledger.handOver(job.key, slot);
  const free = (): void => {
    if (early) state.jobs.begun.delete(early);
    state.ledger.remove(slot.key);
    state.scheduleAll(account);
  };
  if (!early) return free();
  state.deps.metrics.startedEarly('dropped');
  setTimeout(free, Math.max(0, early.begunAt + EARLY_OVER_MS - now())).unref();
  void said?.then(({ ok }) => {
    if (ok) free();
  });
}

/** The term ends on purpose: resolves when nothing that it began is left, as far as the runners say or by its time. */
export async function endEarly(state: TermState): Promise<void> {
  await Promise.all(
    [...state.jobs.begun].map(async ({ job, begunAt }) => {
      const time = Promise.withResolvers<void>();
      const timer = setTimeout(time.resolve, Math.max(0, begunAt + EARLY_OVER_MS - now()));
      const said = letGo(state, job, 'cancelled', job.attempt + 1)?.then(({ ok }) => (ok ? undefined : time.promise));
      await Promise.race([time.promise, said ?? time.promise]);
      clearTimeout(timer);
    }),
  );
}
