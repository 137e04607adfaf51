/**
 * What an agent does with an order. Pure: from the state and the order to the answer, the next state and what is to be
 * done. The state is small on purpose: an agent that starts anew knows nothing, and a leader that starts anew asks.
 */
import {
  type Cancel,
  type Go,
  type Heartbeat,
  type OrderAnswer,
  PREPARE_TTL_MS,
  type Prepare,
  RUNNER_PROTOCOL,
  type RunnerPhase,
} from '../bus/messages.ts';

export interface Task {
  job: string;
  attempt: number;
  stage: 'prepared' | 'running';
  since: number;
}

export interface State {
  /** The newest leader's term that was seen: orders of older ones are refused. */
  epoch: number;
  /** The first prepare or go binds the pod to it for its life. */
  tenant: string | undefined;
  draining: boolean;
  task: Task | undefined;
  /** Results that no collector has confirmed yet. */
  publishing: readonly { job: string; attempt: number }[];
  /** What ran lately, so that an order that comes twice runs once. */
  recent: readonly string[];
  /** Results that were collected. */
  jobsDone: number;
  /** Monotonic ms: since when nothing is to be done. */
  idleSince: number;
}

export type Effect =
  | { do: 'prepare'; order: Prepare }
  | { do: 'run'; order: Go }
  /** Whatever was prepared for the task is let go. */
  | { do: 'release' }
  /** The tools are ended, and nothing is published. */
  | { do: 'abandon'; why: string };

export interface Decision {
  state: State;
  answer: OrderAnswer;
  effects: Effect[];
}

const RECENT = 16;
/** Results in the agent's memory beside a running job. */
const MOST_PUBLISHING = 2;

export const initialState = (now: number): State => ({
  epoch: 0,
  tenant: undefined,
  draining: false,
  task: undefined,
  publishing: [],
  recent: [],
  jobsDone: 0,
  idleSince: now,
});

const key = ({ job, attempt }: { job: string; attempt: number }): string => `${job}/${attempt}`;
const same = (a: { job: string; attempt: number } | undefined, b: { job: string; attempt: number }): boolean =>
  a !== undefined && a.job === b.job && a.attempt === b.attempt;

const refuse = (state: State, why: Extract<OrderAnswer, { ok: false }>['why']): Decision => ({
  state,
  answer: { ok: false, why },
  effects: [],
});
const accept = (state: State, ...effects: Effect[]): Decision => ({ state, answer: { ok: true }, effects });

export function phaseOf(state: State): RunnerPhase {
  if (state.draining) return 'draining';
  if (state.task) return state.task.stage;
  return state.publishing.length > 0 ? 'publishing' : 'idle';
}

/**
 * What the leader has to hear at once, because no order of its own says so: that the pod can take a job again, or will
 * take none. Beats at a prepare, a go and a publication told it what it knew, and each was a round trip over the same
 * threads as the job's own way.
 */
export const isNews = (before: State, after: State): boolean =>
  before.draining !== after.draining || (phaseOf(after) === 'idle' && phaseOf(before) !== 'idle');

/** What is refused before anything else is looked at. */
function gate(state: State, order: Prepare): Extract<OrderAnswer, { ok: false }>['why'] | undefined {
  if (order.protocol !== RUNNER_PROTOCOL) return 'protocol';
  if (order.epoch < state.epoch) return 'epoch';
  if (state.tenant !== undefined && state.tenant !== order.tenant) return 'tenant';
  return undefined;
}

const known = (state: State, order: { job: string; attempt: number }): boolean =>
  (state.task?.stage === 'running' && same(state.task, order)) || state.recent.includes(key(order));

const busy = (state: State): boolean => state.task?.stage === 'running' || state.publishing.length >= MOST_PUBLISHING;

export function onPrepare(before: State, order: Prepare, now: number): Decision {
  const why = gate(before, order);
  if (why) return refuse(before, why);
  const state = { ...before, epoch: order.epoch };
  if (known(state, order) || same(state.task, order)) return accept(state);
  if (state.draining) return refuse(state, 'draining');
  if (busy(state)) return refuse(state, 'busy');
  // What was prepared for another job gives way: the leader knows best which comes next.
  const release: Effect[] = state.task ? [{ do: 'release' }] : [];
  return accept(
    { ...state, tenant: order.tenant, task: { job: order.job, attempt: order.attempt, stage: 'prepared', since: now } },
    ...release,
    { do: 'prepare', order },
  );
}

export function onGo(before: State, order: Go, now: number): Decision {
  const why = gate(before, order);
  if (why) return refuse(before, why);
  const state = { ...before, epoch: order.epoch };
  if (known(state, order)) return accept(state);
  // A job that was prepared before the drain began is as good as running.
  if (state.draining && !same(state.task, order)) return refuse(state, 'draining');
  if (busy(state)) return refuse(state, 'busy');
  const release: Effect[] = state.task && !same(state.task, order) ? [{ do: 'release' }] : [];
  return accept(
    { ...state, tenant: order.tenant, task: { job: order.job, attempt: order.attempt, stage: 'running', since: now } },
    ...release,
    { do: 'run', order },
  );
}

export function onCancel(before: State, order: Cancel, now: number): Decision {
  if (order.epoch < before.epoch) return refuse(before, 'epoch');
  const state = { ...before, epoch: order.epoch };
  if (same(state.task, order))
    return accept(
      { ...state, task: undefined, idleSince: now },
      state.task?.stage === 'running' ? { do: 'abandon', why: order.why } : { do: 'release' },
    );
  // The end of a job that is cancelled is written already: its result is of no use to anyone.
  return accept(settle(state, order, now, false));
}

/** The answer to a heartbeat. An older leader's says nothing. */
export function onLease(
  before: State,
  lease: { epoch: number; drain?: boolean; cancel?: { job: string; attempt: number } },
  now: number,
): { state: State; effects: Effect[]; renews: boolean; drain: boolean } {
  if (lease.epoch < before.epoch) return { state: before, effects: [], renews: false, drain: false };
  let state: State = { ...before, epoch: lease.epoch };
  let effects: Effect[] = [];
  if (lease.cancel)
    ({ state, effects } = onCancel(state, { ...lease.cancel, epoch: lease.epoch, why: 'cancelled' }, now));
  return { state, effects, renews: true, drain: lease.drain === true };
}

/** A prepare that no go followed. */
export function onTime(state: State, now: number): { state: State; effects: Effect[] } {
  if (state.task?.stage !== 'prepared' || now - state.task.since < PREPARE_TTL_MS) return { state, effects: [] };
  return { state: { ...state, task: undefined, idleSince: now }, effects: [{ do: 'release' }] };
}

/** No leader has renewed the lease: the job is another's by now. */
export function onLeaseLost(state: State, now: number): { state: State; effects: Effect[] } {
  if (state.task?.stage !== 'running') return { state, effects: [] };
  return { state: { ...state, task: undefined, idleSince: now }, effects: [{ do: 'abandon', why: 'lease-lost' }] };
}

/** The tools are done; the result goes out. */
export function onRan(state: State, now: number): State {
  if (state.task?.stage !== 'running') return state;
  const { job, attempt } = state.task;
  return {
    ...state,
    task: undefined,
    publishing: [...state.publishing, { job, attempt }],
    recent: [...state.recent, key(state.task)].slice(-RECENT),
    idleSince: now,
  };
}

/** `collected` of a result, or the agent gave it up. */
export function settle(state: State, of: { job: string; attempt: number }, now: number, collected: boolean): State {
  const left = state.publishing.filter((result) => !same(result, of));
  if (left.length === state.publishing.length) return state;
  return { ...state, publishing: left, jobsDone: state.jobsDone + (collected ? 1 : 0), idleSince: now };
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
