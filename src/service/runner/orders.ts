/**
 * Decides what an agent does with an order, and with what happens to its job. Pure: from the state and the event to the
 * answer, the next state and the effects. The state is deliberately small: a restarted agent knows nothing, and a new
 * leader asks.
 */
import {
  type Attempt,
  type Cancel,
  type Go,
  type Heartbeat,
  type Lease,
  type OrderAnswer,
  PREPARE_TTL_MS,
  type Prepare,
  type Renew,
  RUNNER_PROTOCOL,
  type RunnerUse,
} from '../../platform/bus/messages.ts';
import type { RunnerPhase } from '../../platform/bus/runner_phase.ts';

export interface Task extends Attempt {
  stage: 'prepared' | 'running';
  since: number;
}

export interface State {
  /** The newest epoch seen: orders of older leaders are refused. */
  epoch: number;
  /** Bound by the first prepare or go, for the runner's life. */
  tenant: string | undefined;
  draining: boolean;
  /** This process is about to be replaced by that of the pod's next life. */
  renewing: boolean;
  task: Task | undefined;
  /** Results not yet confirmed by a collector. */
  publishing: readonly Attempt[];
  /** Recent tasks, so that a duplicate order runs once. */
  recent: readonly string[];
  /** Number of collected results, in all lives of the pod. */
  jobsDone: number;
  /** Monotonic ms since which the agent has been idle. */
  idleSince: number;
}

export type Effect =
  | { do: 'prepare'; order: Prepare }
  | { do: 'run'; order: Go }
  /** Releases everything prepared for the task. */
  | { do: 'release' }
  /** Ends the tools and publishes nothing. */
  | { do: 'abandon'; why: string }
  /** A result need not be sent any more. */
  | { do: 'withdraw'; result: Attempt }
  /** For the log: the agent accepts no new job from now on. */
  | { do: 'drain'; why: string };

/** What moves the state of an agent: the orders of its leader, and what happens to its job and results. */
export type Event =
  | { type: 'prepare'; order: Prepare }
  | { type: 'go'; order: Go }
  /** `used`: by the source and the checks of the task. */
  | { type: 'cancel'; order: Cancel; used?: Omit<RunnerUse, 'ms'> }
  | { type: 'renew'; order: Renew }
  /** The answer to a heartbeat. */
  | { type: 'lease'; lease: LeaseOrders }
  | { type: 'lease-lost' }
  /** A prepared task may have waited for too long. */
  | { type: 'time' }
  | { type: 'ran' }
  | { type: 'collected' | 'dropped'; result: Attempt }
  | { type: 'drain'; why: string };

type LeaseOrders = Omit<Lease, 'leaseMs'>;

export interface Decision {
  state: State;
  answer: OrderAnswer;
  effects: Effect[];
}

const RECENT = 16;
/** Maximum number of results kept in memory beside a running job. */
const MOST_PUBLISHING = 2;

export const initialState = (now: number, jobsBefore = 0): State => ({
  epoch: 0,
  tenant: undefined,
  draining: false,
  renewing: false,
  task: undefined,
  publishing: [],
  recent: [],
  jobsDone: jobsBefore,
  idleSince: now,
});

export const keyOf = ({ job, attempt }: Attempt): string => `${job}/${attempt}`;
const same = (a: Attempt | undefined, b: Attempt): boolean =>
  a !== undefined && a.job === b.job && a.attempt === b.attempt;

const refuse = (state: State, why: Extract<OrderAnswer, { ok: false }>['why']): Decision => ({
  state,
  answer: { ok: false, why },
  effects: [],
});
const accept = (state: State, ...effects: Effect[]): Decision => ({ state, answer: { ok: true }, effects });

/** The one place in which an agent's state changes. */
export function transition(state: State, event: Event, now: number): Decision {
  switch (event.type) {
    case 'prepare':
      return onPrepare(state, event.order, now);
    case 'go':
      return onGo(state, event.order, now);
    case 'cancel':
      return onCancel(state, event.order, now, event.used);
    case 'renew':
      return onRenew(state, event.order, now);
    case 'lease':
      return onLease(state, event.lease, now);
    case 'lease-lost':
      return onLeaseLost(state, now);
    case 'time':
      return onTime(state, now);
    case 'ran':
      return accept(onRan(state, now));
    case 'collected':
      return withdrawn(state, onCollected(state, event.result, now), event.result);
    case 'dropped':
      return withdrawn(state, onDropped(state, event.result, now), event.result);
    case 'drain':
      return state.draining ? accept(state) : accept(onDrain(state), { do: 'drain', why: event.why });
  }
}

export function phaseOf(state: State): RunnerPhase {
  if (state.draining) return 'draining';
  if (state.task) return state.task.stage;
  return state.publishing.length > 0 ? 'publishing' : 'idle';
}

/**
 * Changes that are reported to the leader at once, because no order implies them: the pod can take a job again, or
 * takes none any more. Heartbeats after a prepare, a go and a publication only repeated what the leader knew, and each
 * was a round trip on the threads that serve the job.
 */
export const isNews = (before: State, after: State): boolean =>
  before.draining !== after.draining || (phaseOf(after) === 'idle' && phaseOf(before) !== 'idle');

/** Checks that come before all others. */
function gate(state: State, order: Prepare): Extract<OrderAnswer, { ok: false }>['why'] | undefined {
  if (order.protocol !== RUNNER_PROTOCOL) return 'protocol';
  if (order.epoch < state.epoch) return 'epoch';
  if (state.tenant !== undefined && state.tenant !== order.tenant) return 'tenant';
  return undefined;
}

const known = (state: State, order: Attempt): boolean =>
  (state.task?.stage === 'running' && same(state.task, order)) || state.recent.includes(keyOf(order));

const busy = (state: State): boolean => state.task?.stage === 'running' || state.publishing.length >= MOST_PUBLISHING;

/** A task that is not admitted gives way to another order: the leader decides which comes next. */
const giveWay = (task: Task | undefined): Effect[] => (task ? [{ do: 'release' }] : []);

export function onPrepare(before: State, order: Prepare, now: number): Decision {
  const why = gate(before, order);
  if (why) return refuse(before, why);
  const state = { ...before, epoch: order.epoch };
  if (known(state, order) || same(state.task, order)) return accept(state);
  if (state.draining || state.renewing) return refuse(state, 'draining');
  if (busy(state)) return refuse(state, 'busy');
  const task: Task = { job: order.job, attempt: order.attempt, stage: 'prepared', since: now };
  return accept({ ...state, tenant: order.tenant, task }, ...giveWay(state.task), { do: 'prepare', order });
}

export function onGo(before: State, order: Go, now: number): Decision {
  const why = gate(before, order);
  if (why) return refuse(before, why);
  const state = { ...before, epoch: order.epoch };
  if (known(state, order)) return accept(state);
  // A job that was prepared before the drain counts as running.
  if (state.renewing || (state.draining && !same(state.task, order))) return refuse(state, 'draining');
  if (busy(state)) return refuse(state, 'busy');
  const next = {
    ...state,
    tenant: order.tenant,
    task: { job: order.job, attempt: order.attempt, stage: 'running', since: now },
  } as const;
  const { task } = before;
  return accept(next, ...(same(task, order) ? [] : giveWay(task)), { do: 'run', order });
}

/** Only without a result that somebody waits for. What was not admitted gives way. */
export function onRenew(before: State, order: Renew, now: number): Decision {
  if (order.epoch < before.epoch) return refuse(before, 'epoch');
  const state = { ...before, epoch: order.epoch };
  if (state.draining) return refuse(state, 'draining');
  if (state.task?.stage === 'running' || state.publishing.length > 0) return refuse(state, 'busy');
  return accept({ ...state, renewing: true, task: undefined, idleSince: now }, ...giveWay(state.task));
}

export function onCancel(
  before: State,
  order: Cancel,
  now: number,
  used: Omit<RunnerUse, 'ms'> = { bytes: 0 },
): Decision {
  if (order.epoch < before.epoch) return refuse(before, 'epoch');
  const state = { ...before, epoch: order.epoch };
  const { task } = state;
  if (task && same(task, order)) {
    const runs = task.stage === 'running';
    return {
      state: { ...state, task: undefined, idleSince: now },
      answer: { ok: true, used: { ...used, ms: runs ? Math.round(now - task.since) : 0 } },
      effects: [runs ? { do: 'abandon', why: order.why } : { do: 'release' }],
    };
  }
  // The end of a cancelled job is already recorded, so its result is not needed.
  return withdrawn(state, onDropped(state, order, now), order);
}

const withdrawn = (before: State, after: State, { job, attempt }: Attempt): Decision =>
  after === before ? accept(after) : accept(after, { do: 'withdraw', result: { job, attempt } });

/** Handles the answer to a heartbeat. An older leader's is refused: it renews nothing. */
export function onLease(before: State, lease: LeaseOrders, now: number): Decision {
  if (lease.epoch < before.epoch) return refuse(before, 'epoch');
  const kept = { ...before, epoch: lease.epoch };
  const { state, effects } = lease.cancel
    ? onCancel(kept, { ...lease.cancel, epoch: lease.epoch, why: 'cancelled' }, now)
    : accept(kept);
  if (lease.drain !== true || state.draining) return accept(state, ...effects);
  return accept(onDrain(state), ...effects, { do: 'drain', why: 'requested by the leader' });
}

/** Releases a prepared task that no go followed. */
export function onTime(state: State, now: number): Decision {
  const { task } = state;
  if (task?.stage !== 'prepared' || now - task.since < PREPARE_TTL_MS) return accept(state);
  return accept({ ...state, task: undefined, idleSince: now }, { do: 'release' });
}

/** No leader has renewed the lease: the job may run elsewhere by now. */
export function onLeaseLost(state: State, now: number): Decision {
  if (state.task?.stage !== 'running') return accept(state);
  return accept({ ...state, task: undefined, idleSince: now }, { do: 'abandon', why: 'lease-lost' });
}

/** The tools have finished; the result is published. */
export function onRan(state: State, now: number): State {
  if (state.task?.stage !== 'running') return state;
  const { job, attempt } = state.task;
  return {
    ...state,
    task: undefined,
    publishing: [...state.publishing, { job, attempt }],
    recent: [...state.recent, keyOf(state.task)].slice(-RECENT),
    idleSince: now,
  };
}

/** A result need not be sent any more: it was not collected in time, or its job has another end. */
export function onDropped(state: State, of: Attempt, now: number): State {
  const left = state.publishing.filter((result) => !same(result, of));
  return left.length === state.publishing.length ? state : { ...state, publishing: left, idleSince: now };
}

export function onCollected(state: State, of: Attempt, now: number): State {
  const after = onDropped(state, of, now);
  return after === state ? state : { ...after, jobsDone: state.jobsDone + 1 };
}

export const onDrain = (state: State): State => ({ ...state, draining: true });
export const isFinished = (state: State): boolean =>
  state.draining && state.task?.stage !== 'running' && state.publishing.length === 0;

export type Identity = Pick<Heartbeat, 'protocol' | 'pod' | 'uid' | 'namespace' | 'pool' | 'generation'>;

export function heartbeatOf(state: State, identity: Identity, readyAt: number, now: number): Heartbeat {
  const current = state.task ?? state.publishing.at(-1);
  const phase = phaseOf(state);
  return {
    ...identity,
    phase,
    epoch: state.epoch,
    ...(state.tenant === undefined ? {} : { tenant: state.tenant }),
    ...(current ? { job: current.job, attempt: current.attempt } : {}),
    jobsDone: state.jobsDone,
    ageMs: Math.round(now - readyAt),
    idleMs: current ? 0 : Math.round(now - state.idleSince),
  };
}
