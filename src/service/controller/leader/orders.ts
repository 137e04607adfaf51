/** Which runner a job reserves, and what the leader orders it to do. */
import { getOrMake } from '../../../base/get_or_make.ts';
import { RUNNER_PROTOCOL, type Cancel } from '../../../platform/bus/messages.ts';
import { nodeOf } from '../pools/plan.ts';
import { sendCancel, sendPrepare, type Said } from '../pools/send_order.ts';
import type { Runner } from '../pools/runners.ts';
import { isResolved, type Job } from './job.ts';
import { now, type TermState } from './term_state.ts';

/** True if a runner is reserved for the job. */
export function reserve(state: TermState, job: Job): boolean {
  const { runners, pools } = state.deps;
  if (job.runner && runners.get(job.runner.uid)?.task?.job === job.key) return true;
  if (!runners.hasFree(job.pool)) return false;
  const waits = new Map<string, number>();
  const mayBegin = (one: Runner): boolean =>
    !job.background || getOrMake(waits, nodeOf(one), () => waitMs(state, job, one)) === 0;
  const runner = pools.choose(job, () => fewestOfOthers(state, job), mayBegin);
  if (!runner) {
    if (waits.size > 0) state.scheduleLater(job.pool, Math.min(...waits.values()));
    return false;
  }
  if (!job.background) state.pace.callerSeen(runner, now());
  runners.reserve(runner, job.key, job.attempt + 1, job.tenant, job.account);
  job.runner = { pod: runner.pod, uid: runner.uid };
  return true;
}

/** How long an item waits before it may ask for its turn again. */
export function waitMs({ pace, jobs, deps: { runners } }: TermState, job: Job, runner: Runner): number {
  const isItem = (key: string): boolean => {
    const record = jobs.get(key);
    // A runner may not have said yet that its job is over: nobody waits for that one.
    return !isResolved(record) || record.background === true;
  };
  return pace.waitMs(job.key, runner, { runners: runners.all(), isItem }, now());
}

/**
 * The fewest runners held by another account that waits in the job's pool; undefined if no other account waits there.
 * Jobs in the background are no others to a job that a caller waits for.
 */
function fewestOfOthers(state: TermState, { pool, account, background = false }: Job): number | undefined {
  if (state.contenders?.pool !== pool || state.contenders.background !== background)
    state.contenders = { pool, background, least: leastHolding(state, pool, background) };
  return state.contenders.least.find((one) => one.account !== account)?.held;
}

/**
 * The two waiting accounts of a pool that hold the fewest runners. For any account, they include the minimum over the
 * others.
 */
function leastHolding(state: TermState, pool: string, background: boolean): { account: number; held: number }[] {
  const { runners } = state.deps;
  const held = new Map<number, number>();
  for (const { pool: of, account, ...job } of state.jobs.retrying())
    if (of === pool && (background || !job.background)) held.set(account, runners.held(pool, account));
  for (const { account } of state.ledger.heads(pool, background)) held.set(account, runners.held(pool, account));
  return [...held]
    .map(([account, count]) => ({ account, held: count }))
    .sort((a, b) => a.held - b.held)
    .slice(0, 2);
}

/**
 * Releases the job's runner and notifies it, so that neither side has to wait for a time-out. Returns the runner's
 * answer, if there is one.
 */
export function letGo(state: TermState, job: Job, why: Cancel['why'], attempt: number): Promise<Said> | undefined {
  const { runner } = job;
  if (!runner) return undefined;
  const { bus, runners, term } = state.deps;
  const said = sendCancel(bus, runner.uid, { epoch: term.epoch, job: job.key, attempt, why });
  runners.release(runner.uid, job.key, now());
  job.runner = undefined;
  state.schedule(job.pool);
  return said;
}

export function orderFor(state: TermState, job: Job) {
  return {
    protocol: RUNNER_PROTOCOL,
    epoch: state.deps.term.epoch,
    job: job.key,
    requestId: job.id,
    attempt: job.attempt + (job.state === 'running' ? 0 : 1),
    tenant: job.tenant,
    assignment: job.assignment,
  };
}

/** The answer decides nothing: a runner that refuses will also refuse the `go`. */
export function prepare(state: TermState, job: Job): void {
  if (job.runner) void sendPrepare(state.deps.bus, job.runner.uid, orderFor(state, job));
}
