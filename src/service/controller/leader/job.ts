/**
 * One job in the leader, from the announcement of its request to the end that is written into it. A record is in one
 * state, and `TRANSITIONS` is the only place that says which event moves it where, and what is done then. The page
 * docs/job-states.md is made from it.
 */
import { TIMEOUT_MS } from '../../../base/limits.ts';
import type { Assignment, Run, RunnerUse } from '../../../platform/bus/messages.ts';
import { conditionOf } from '../../../platform/kube/conditions.ts';
import type { Kind, ProbeJob, ProbeJobStatus, Reason } from '../../../platform/kube/probe_job.ts';
import { requestOfChunk } from '../../../platform/store/uuid.ts';
import type { Source } from '../../../source/source.ts';
import { ENDPOINT_TOOLS, TOOL_TABLE, type EndpointTool } from '../../../media/tools/table.ts';
import type { LossCause } from '../metrics.ts';
import type { Said } from '../pools/send_order.ts';
import type { JobKey } from '../../../platform/kube/served_namespaces.ts';
import type { JobEnd } from './job_status.ts';
import type { Entry, SlotLimits } from './ledger.ts';

/** The states of a job, and what each means. */
export const JOB_STATES = {
  none: 'The leader has no record of the job.',
  creating:
    'The leader creates the ProbeJob with its admission, as the API described it. A slot is held and a runner ' +
    'prepared.',
  suspended: 'The watch has shown the ProbeJob, and its `spec.suspend` is true or was. It counts for nothing.',
  intake:
    'The watch has shown the ProbeJob. Token, source, policy and tools are being resolved, in the order of its ' +
    'account. A job that an earlier leader admitted counts for its token already.',
  refused: 'The job cannot run. Its end is being written.',
  waiting: 'The job stands in the queue of its token.',
  admitting: 'The job has a slot and a runner, and its admission is being written.',
  running: 'The job is admitted, and its runner is responsible for it.',
  lost: 'The attempt was lost. Its result may have been recorded just before, which is looked up.',
  retrying: 'The job keeps its slot and waits for another runner.',
  ending:
    'The end of the job is decided. It is recorded in Postgres, unless a collector did that, and then written into ' +
    'its status. The slot is held until then.',
} as const;
export type JobState = keyof typeof JOB_STATES;

/** A job whose ProbeJob is not resolved yet, or was refused. */
export interface UnresolvedJob {
  key: JobKey;
  state: Extract<JobState, 'none' | 'suspended' | 'intake' | 'refused'>;
}

/** A request, resolved against the tools and pools of the cluster. */
export interface Job extends Entry {
  state: Exclude<JobState, 'suspended' | 'refused'>;
  /**
   * Request id: the name of a job created by the API, or metadata.uid of one created by hand. Of a chunk, that of the
   * item that runs.
   */
  id: string;
  namespace: string;
  uid: string;
  kind: Kind;
  labels: Readonly<Record<string, string>> | undefined;
  submittedAt: Date;
  queueTimeoutMs: number;
  timeoutMs: number;
  /** Of one made by hand, once it has ended. */
  ttlSeconds: number | undefined;
  tenant: string;
  assignment: Assignment;
  chunk?: Chunk | undefined;
  policy: JobPolicy | undefined;
  status: ProbeJobStatus | undefined;
  resourceVersion: string;
  timers: NodeJS.Timeout[];
  /** The attempt that runs, or ran last; 0 before the first admission. */
  attempt: number;
  /** Attempts that failed because the runner refused the job. */
  refusals: number;
  /** Attempts whose runner was not connected. */
  absences: number;
  /** Reserved for it while admitting, and responsible for it while running. */
  runner: { pod: string; uid: string } | undefined;
  /** Running: monotonic time of the last `go` order; Infinity before it. */
  goAt: number;
  /** Running: monotonic time of the last write of its progress. */
  progressAt: number;
  /** The answer of its runner to the order that took the job, or the item of a chunk, away. */
  stopped: Promise<Said> | undefined;
  /** Ending: the object no longer exists. */
  gone: boolean;
  /**
   * Another object that was created under its name, and is taken in when the end of this one is written. Creating: the
   * object that the watch has shown.
   */
  successor: ProbeJob | undefined;
}

/** Several items of a batch, which one runner reads one after the other. Each is an attempt of the job. */
export interface Chunk {
  sources: readonly Source[];
  /** The attempt whose end is known: the next item has not begun yet. */
  endedAttempt?: number;
  /** When the item that runs began, if it is not the first one. */
  itemBeganAt?: number;
  /** The last question to the record whether its requests are wanted, with its monotonic time. */
  asked?: { at: number; answer: Promise<boolean> };
  /** Items that a caller has cancelled, by their place: each end, once it is recorded. They are passed over. */
  cancelled: Map<number, Promise<JobEnd>>;
  /** An earlier leader admitted it: it ends with the item that runs. */
  isFound?: true;
}

/** By the clock of the record: when the job was admitted first, or when the item of a chunk that runs began. */
export const beganAt = ({ chunk, status }: Pick<Job, 'chunk' | 'status'>): number | undefined =>
  chunk?.itemBeganAt ?? (Date.parse(status?.startedAt ?? '') || undefined);

/** Of a job that no event has met. */
export const noState = () => ({
  state: 'none' as const,
  timers: [],
  refusals: 0,
  absences: 0,
  runner: undefined,
  goAt: 0,
  progressAt: 0,
  stopped: undefined,
  gone: false,
  successor: undefined,
});

export type JobRecord = UnresolvedJob | Job;

export const isResolved = (record: JobRecord | undefined): record is Job =>
  record !== undefined && 'assignment' in record;

/**
 * The policy of a job, without its document: that is read when the runner gets the job, because 10,000 jobs may wait
 * and a document may have 64 KB.
 */
export interface JobPolicy {
  account: number;
  name: string | null;
  revision: number | null;
  digest: string;
}

/** An end without a result. */
export interface End {
  status: number;
  reason: Reason;
  /** Public text. */
  error: string;
  /** Runs that timed out: the caller gets an envelope with an error for each. */
  timedOut?: readonly Run[];
  /** How long each of them ran at most. */
  ranMs?: number;
  /** By a runner that had begun the job, as far as it says so. */
  used?: RunnerUse | undefined;
}

/** What happens to a job. */
export const JOB_EVENTS = {
  announced: 'The API has opened a request that can run at once.',
  dropped: 'The leader cannot create the ProbeJob, or it exists already. The watch will show it.',
  suspended: 'The watch shows the ProbeJob, which is suspended.',
  resumed: 'The watch shows the ProbeJob, which is suspended no longer, as its status does not say yet.',
  seen: 'The watch shows the ProbeJob.',
  failed: 'Resolving the job failed, not because of the job.',
  refused: 'Resolved: the job cannot run.',
  queued: 'Resolved: the job has to wait.',
  found: 'Resolved: an earlier leader admitted the job.',
  turn: 'The job has a slot and a reserved runner.',
  written: 'The admission is written, with the job or into it.',
  lost: 'The runner of the attempt is gone, silent or does not accept the job.',
  retry: 'No end is recorded, and the job may run again.',
  ended: 'The leader ends the job without a result: cancelled, timed out, refused late.',
  passed: 'An end is recorded of the item of a chunk that runs, and the next one may begin.',
  recorded: 'An end is recorded: that of the attempt that runs, or nothing runs.',
  outrun: 'An end is recorded: that of an earlier attempt.',
  gone: 'The ProbeJob was deleted.',
  settled: 'The end is written into the status.',
} as const;
export type EventName = keyof typeof JOB_EVENTS;

/** An event, with what is known then. */
export type JobEvent =
  /** `answer`: called as soon as it is known whether the leader has created the object. */
  | { is: 'announced'; job: Job; slots: SlotLimits; object: ProbeJob; answer: (created: boolean) => void }
  | { is: 'suspended' | 'resumed' | 'seen' | 'failed'; object: ProbeJob }
  | { is: 'refused'; object: ProbeJob; refusal: Refusal }
  | { is: 'queued' | 'found'; job: Job; slots: SlotLimits }
  | { is: 'dropped' | 'turn' | 'written' | 'retry' | 'passed' }
  | { is: 'lost'; cause: LossCause; why: string }
  /** `job`: it was resolved just now. */
  | { is: 'ended'; end: End; job?: Job }
  | { is: 'recorded' | 'outrun'; end: JobEnd }
  | { is: 'gone'; object: ProbeJob | undefined }
  /** `done`: the object with its end; undefined if the object no longer exists. */
  | { is: 'settled'; end: JobEnd; done: ProbeJob | undefined };

type Matching<Event extends JobEvent, Name extends EventName> = Event extends JobEvent
  ? [Event['is'] & Name] extends [never]
    ? never
    : Event
  : never;
export type EventOf<Name extends EventName> = Matching<JobEvent, Name>;

type On<State, Event extends JobEvent = JobEvent, Of extends JobRecord = Job> = (
  state: State,
  job: Of,
  event: Event,
) => void | Promise<void>;

/**
 * What is done in a transition: begun at once, in order, when the job is in its new state. The functions are `EFFECTS`
 * (leader.ts).
 */
export interface Effects<State> {
  create: On<State, EventOf<'announced'>>;
  'note object': On<State, EventOf<'suspended' | 'resumed' | 'seen'>>;
  'mark suspended': On<State, EventOf<'suspended'>, JobRecord>;
  'mark resumed': On<State, EventOf<'resumed'>, JobRecord>;
  'count slot': On<State, EventOf<'seen'>, JobRecord>;
  resolve: On<State, EventOf<'seen'>, JobRecord>;
  'resolve later': On<State, EventOf<'failed'>, JobRecord>;
  'write refusal': On<State, EventOf<'refused'>, JobRecord>;
  enqueue: On<State, EventOf<'queued'>>;
  'hold slot': On<State, EventOf<'announced' | 'found'>>;
  'limit queue time': On<State>;
  'limit run time': On<State>;
  prepare: On<State>;
  'write admission': On<State>;
  'start attempt': On<State>;
  go: On<State>;
  'next item': On<State>;
  supersede: On<State>;
  'look up end': On<State, EventOf<'lost'>>;
  'find pool': On<State>;
  'admit others': On<State>;
  'leave queue': On<State>;
  'let go': On<State>;
  stop: On<State, EventOf<'ended' | 'gone'>>;
  disarm: On<State>;
  'mark gone': On<State, EventOf<'gone'>>;
  'record end': On<State, EventOf<'ended' | 'gone'>>;
  'write end': On<State, EventOf<'recorded' | 'outrun'>>;
  'record cancellation': On<State, EventOf<'gone'>, JobRecord>;
  'release slot': On<State, JobEvent, JobRecord>;
  'report end': On<State, EventOf<'settled'>>;
  'take successor': On<State>;
}
export type Effect = keyof Effects<unknown>;

export interface Transition {
  to: JobState;
  effects: readonly Effect[];
}

const to = (state: JobState, ...effects: Effect[]): Transition => ({ to: state, effects });
/** The event may arrive, and means nothing to a job in this state. */
const IGNORED = 'ignored';

/** The ends of a job that does not run. `before`: what it leaves. */
const endsFrom = (...before: Effect[]) => ({
  ended: to('ending', ...before, 'disarm', 'record end'),
  recorded: to('ending', ...before, 'disarm', 'write end'),
  outrun: to('ending', ...before, 'disarm', 'write end'),
  gone: to('ending', 'mark gone', ...before, 'disarm', 'record end'),
});

/** By state and event. A pair that is missing is impossible. */
export const TRANSITIONS: Readonly<Record<JobState, Partial<Record<EventName, Transition | typeof IGNORED>>>> = {
  none: {
    announced: to('creating', 'hold slot', 'prepare', 'create'),
    suspended: to('suspended', 'mark suspended'),
    resumed: to('suspended', 'mark resumed'),
    seen: to('intake', 'count slot', 'resolve'),
    gone: to('none', 'record cancellation', 'release slot'),
    // An answer may come after the end.
    lost: IGNORED,
    ended: IGNORED,
    recorded: IGNORED,
    outrun: IGNORED,
  },
  creating: {
    announced: IGNORED,
    // By the leader or by another: the answer to the create says which.
    suspended: to('creating', 'note object'),
    resumed: to('creating', 'note object'),
    seen: to('creating', 'note object'),
    written: to('running', 'limit run time', 'start attempt', 'go'),
    dropped: to('none', 'let go', 'release slot'),
    gone: to('ending', 'mark gone', 'let go', 'record end'),
  },
  suspended: {
    announced: IGNORED,
    suspended: to('suspended', 'mark suspended'),
    resumed: to('suspended', 'mark resumed'),
    seen: to('intake', 'count slot', 'resolve'),
    gone: to('none'),
  },
  intake: {
    announced: IGNORED,
    suspended: IGNORED,
    resumed: IGNORED,
    seen: IGNORED,
    failed: to('intake', 'resolve later'),
    refused: to('refused', 'write refusal'),
    queued: to('waiting', 'enqueue', 'limit queue time', 'admit others'),
    found: to('running', 'hold slot', 'limit run time'),
    ended: to('ending', 'record end'),
    gone: to('none', 'record cancellation', 'release slot'),
  },
  refused: {
    announced: IGNORED,
    suspended: IGNORED,
    resumed: IGNORED,
    seen: IGNORED,
    gone: to('none', 'record cancellation', 'release slot'),
    settled: to('none', 'release slot'),
  },
  waiting: {
    announced: IGNORED,
    turn: to('admitting', 'prepare', 'write admission'),
    lost: IGNORED,
    ...endsFrom('leave queue', 'let go'),
  },
  admitting: {
    announced: IGNORED,
    written: to('running', 'disarm', 'limit run time', 'start attempt', 'go'),
    // Its pod may be gone. That shows when the admission is written.
    lost: IGNORED,
    ...endsFrom('let go'),
  },
  running: {
    announced: IGNORED,
    lost: to('lost', 'supersede', 'look up end'),
    ended: to('ending', 'stop', 'disarm', 'record end'),
    passed: to('running', 'disarm', 'next item', 'limit run time', 'go'),
    recorded: to('ending', 'disarm', 'write end'),
    // The attempt that runs is obsolete, and would exceed the limit once the slot is free.
    outrun: to('ending', 'supersede', 'disarm', 'write end'),
    gone: to('ending', 'mark gone', 'stop', 'disarm', 'record end'),
  },
  lost: {
    announced: IGNORED,
    lost: IGNORED,
    retry: to('retrying', 'find pool', 'admit others'),
    ...endsFrom(),
  },
  retrying: {
    announced: IGNORED,
    turn: to('admitting', 'prepare', 'write admission'),
    lost: IGNORED,
    ...endsFrom(),
  },
  ending: {
    announced: IGNORED,
    lost: IGNORED,
    ended: IGNORED,
    recorded: IGNORED,
    outrun: IGNORED,
    gone: to('ending', 'mark gone'),
    settled: to('none', 'release slot', 'take successor', 'report end'),
  },
};

/** Undefined: nothing happens. Throws if the job cannot get this event in its state. */
export function transition(state: JobState, event: EventName): Transition | undefined {
  const found = TRANSITIONS[state][event];
  if (found === undefined) throw new Error(`a job that is ${state} cannot be ${event}`);
  return found === IGNORED ? undefined : found;
}

/** Reads the state through a function, because the compiler would assume that it is unchanged after an await. */
export const stateOf = (job: JobRecord): JobState => job.state;

export const isEndpoint = (kind: Kind): kind is EndpointTool => ENDPOINT_TOOLS.some((name) => name === kind);

export const timeoutOf = ({ spec: { kind, timeoutMs } }: ProbeJob): number =>
  timeoutMs ?? (isEndpoint(kind) ? (TOOL_TABLE[kind]?.endpoint?.timeoutMs ?? TIMEOUT_MS) : TIMEOUT_MS);

export const resultPathOf = ({ id }: { id: string }): string => `/v1/probe/${id}`;

export const isHandMade = (job: ProbeJob): boolean => job.spec.token === undefined;
/** The request that an attempt is of. The attempts of a chunk are its items. */
export const requestOf = ({ metadata, spec }: ProbeJob, attempt: number): string =>
  spec.token === undefined
    ? (metadata.uid ?? '')
    : spec.items === undefined
      ? metadata.name
      : requestOfChunk(metadata.name, attempt);
/** Of a chunk, the first one. */
export const idOf = (job: ProbeJob): string => requestOf(job, 1);
/** One that was suspended was submitted when it was resumed. */
export function submittedAtOf(job: ProbeJob): Date {
  const { metadata, spec, status } = job;
  const suspended = conditionOf(status, 'Suspended');
  const resumedAt = suspended?.status === 'False' ? suspended.lastTransitionTime : undefined;
  return new Date((isHandMade(job) ? resumedAt : spec.submittedAt) ?? metadata.creationTimestamp ?? 0);
}

/** A job that cannot run, with the text for its caller. */
export class Refusal extends Error {
  readonly reason: Reason;
  readonly status: number;
  /** False: the job was refused before its request was opened, so there is no end to record. */
  readonly opened: boolean;
  constructor(reason: Reason, status: number, message: string, opened = true) {
    super(message);
    this.reason = reason;
    this.status = status;
    this.opened = opened;
  }
}

export const invalid = (message: string): Refusal => new Refusal('InvalidRequest', 400, message);
