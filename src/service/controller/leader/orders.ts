/** Reservations of runners for jobs, and the leader's orders to runners. */
import {
  RUNNER_PROTOCOL,
  SUBJECT,
  type Begin,
  type Cancel,
  type Go,
  type OrderAnswer,
  type Prepare,
  type Renew,
} from '../../../platform/bus/messages.ts';
import type { Bus } from '../../../platform/bus/connect.ts';
import { BusError } from '../../../platform/bus/errors.ts';
import type { Job } from './job.ts';
import { now, type TermState } from './term_state.ts';

/**
 * `silent`: no answer in time. `absent`: nobody listened, so the runner did not get the order. `cut-off`: this replica
 * lost its own connection meanwhile, and the runner may have got it.
 */
export type Said = OrderAnswer | { ok: false; why: 'silent' | 'absent' | 'cut-off' };

/** An agent answers an order before it acts on it, so a later answer indicates a fault. */
const ANSWER_MS = 1_500;

async function say(bus: Bus, subject: string, order: object): Promise<Said> {
  try {
    return await bus.request<OrderAnswer>(subject, order, ANSWER_MS);
  } catch (error) {
    const code = error instanceof BusError ? error.code : undefined;
    return { ok: false, why: code === 'no-responders' ? 'absent' : code === 'disconnected' ? 'cut-off' : 'silent' };
  }
}

const sendPrepare = (bus: Bus, uid: string, order: Prepare): Promise<Said> => say(bus, SUBJECT.prepare(uid), order);
export const sendBegin = (bus: Bus, uid: string, order: Begin): Promise<Said> => say(bus, SUBJECT.begin(uid), order);
export const sendGo = (bus: Bus, uid: string, order: Go): Promise<Said> => say(bus, SUBJECT.go(uid), order);
export const sendCancel = (bus: Bus, uid: string, order: Cancel): Promise<Said> => say(bus, SUBJECT.cancel(uid), order);
export const sendRenew = (bus: Bus, uid: string, order: Renew): Promise<Said> => say(bus, SUBJECT.renew(uid), order);

/** True if a runner is reserved for the job. */
export function reserve(state: TermState, job: Job): boolean {
  const { runners, pools } = state.deps;
  if (job.runner && runners.get(job.runner.uid)?.task?.job === job.key) return true;
  if (!runners.hasFree(job.pool)) return false;
  const runner = pools.choose(job, () => fewestOfOthers(state, job));
  if (!runner) return false;
  runners.reserve(runner, job.key, job.attempt + 1, job.tenant, job.account);
  job.runner = { pod: runner.pod, uid: runner.uid };
  job.prepared = false;
  return true;
}

/**
 * The fewest runners held by another account that waits in the job's pool; undefined if no other account waits there.
 */
function fewestOfOthers(state: TermState, { pool, account }: Job): number | undefined {
  if (state.contenders?.pool !== pool) state.contenders = { pool, least: leastHolding(state, pool) };
  return state.contenders.least.find((one) => one.account !== account)?.held;
}

/**
 * The two waiting accounts of a pool that hold the fewest runners. For any account, they include the minimum over the
 * others.
 */
function leastHolding(state: TermState, pool: string): { account: number; held: number }[] {
  const { runners } = state.deps;
  const held = new Map<number, number>();
  for (const { pool: of, account } of state.retrying) if (of === pool) held.set(account, runners.held(pool, account));
  for (const { account } of state.ledger.heads(pool)) held.set(account, runners.held(pool, account));
  return [...held]
    .map(([account, count]) => ({ account, held: count }))
    .sort((a, b) => a.held - b.held)
    .slice(0, 2);
}

/**
 * Releases the job's runner and notifies it, so that neither side has to wait for a time-out. Returns the runner's
 * answer, if it had an order.
 */
export function letGo(
  state: TermState,
  job: Job,
  why: Cancel['why'],
  attempt = job.attempt + (job.state === 'running' ? 0 : 1),
): Promise<Said> | undefined {
  const { runner, prepared } = job;
  if (!runner) return undefined;
  const { bus, runners, term } = state.deps;
  const said =
    prepared || attempt === job.attempt
      ? sendCancel(bus, runner.uid, { epoch: term.epoch, job: job.key, attempt, why })
      : undefined;
  runners.release(runner.uid, job.key, now());
  job.runner = undefined;
  job.prepared = false;
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

/** A runner that refuses will also refuse the `go`, so the answer says only whether it can begin early. */
export function prepare(state: TermState, job: Job): Promise<Said> | undefined {
  if (!job.runner || job.prepared) return undefined;
  job.prepared = true;
  return sendPrepare(state.deps.bus, job.runner.uid, orderFor(state, job));
}
