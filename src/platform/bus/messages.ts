/**
 * All NATS subjects and messages. NATS is only the transport, never the record: each message may be lost or duplicated,
 * and its receiver handles both.
 */
import type { Kind, PolicyStatus, Reason } from '../kube/probe_job.ts';
import type { Wall } from '../kube/probe_pool.ts';
import type { Policy } from '../../media/policy/schema.ts';
import type { Source } from '../../source/source.ts';
import type { SourceException } from '../../base/source_settings.ts';
import type { FramesOption, ReportTool } from '../../media/tools/probe_report.ts';
import type { ToolName } from '../../media/tools/table.ts';
import type { RunnerPhase } from './runner_phase.ts';

/**
 * Protocol of orders and heartbeats. A runner of another protocol gets no jobs: it finishes its current one and is
 * replaced.
 */
export const RUNNER_PROTOCOL = 2;
/**
 * Protocol of results. It is separate because during an upgrade collectors of either version record results of the
 * other.
 */
export const RESULT_PROTOCOL = 1;

/** `runner`: its id (runner_id.ts). */
export const SUBJECT = {
  /** API to leader, a request with a ProbeJob, which the leader creates if it can admit it at once. */
  create: 'py.create',
  /** API to leader, a request (ItemToCancel): one request of a chunk is cancelled; the reply is a CancelAnswer. */
  cancelItem: 'py.cancel',
  /** Agent to leader, a request with the agent's state; answered with a Lease. */
  heartbeat: (runner: string) => `py.hb.${runner}`,
  heartbeats: 'py.hb.*',
  /** Leader to one agent; all are requests. */
  prepare: (runner: string) => `py.run.${runner}.prepare`,
  go: (runner: string) => `py.run.${runner}.go`,
  cancel: (runner: string) => `py.run.${runner}.cancel`,
  renew: (runner: string) => `py.run.${runner}.renew`,
  /** Any collector to one agent: the result is recorded, stop sending it. */
  collected: (runner: string) => `py.run.${runner}.collected`,
  runner: (runner: string) => `py.run.${runner}.>`,
  /** A new leader to every agent: send a heartbeat now. */
  report: 'py.run.all.report',
  /** Agent to any collector, a request with a small result (Result); answered with Offered. */
  offer: (runner: string) => `py.offer.${runner}`,
  offers: 'py.offer.*',
  /** Agent to the collectors, over JetStream: one result (Result), its tool output inline or in chunks. */
  result: (runner: string) => `py.res.${runner}`,
  results: 'py.res.*',
  /** Agent to the collectors, over JetStream: one chunk of a large result. */
  chunk: (runner: string, job: string, attempt: number, index: number) =>
    `py.chunk.${runner}.${job}.${attempt}.${index}`,
  chunks: 'py.chunk.>',
  /** From the recorder of an end to the API replica that waits for it. */
  ended: (replica: string) => `py.end.${replica}`,
  /** From the recorder of an end to the leader. */
  closed: 'py.closed',
  /** API to leader: empty request for the state of the cluster; the reply is a ClusterSnapshot. */
  cluster: 'py.cluster',
} as const;

export const STREAM = { results: 'PY_RESULTS', chunks: 'PY_CHUNKS', consumer: 'collectors' } as const;

/**
 * How long an agent continues a job without an answer from a leader. Longer than a failover (7 s), shorter than
 * RUNNER_SILENCE_MS.
 */
export const TASK_LEASE_MS = 15_000;
/** Silence after which the leader considers an agent lost. */
export const RUNNER_SILENCE_MS = 20_000;
export const HEARTBEAT_MS = 2_000;
/** A prepared runner releases itself if no `go` arrives within this time. */
export const PREPARE_TTL_MS = 2_000;
/** Results up to this (compressed) size are sent in one message; larger ones in chunks of this size. */
export const CHUNK_BYTES = 512 * 1024;
/** Envelopes up to this size are included in the notice to the API. */
export const INLINE_ENVELOPE_BYTES = 256 * 1024;

/** Everything a runner needs for a job. Apart from the API's memory, the only place where a source is in plain text. */
export interface Assignment {
  kind: Kind;
  /** Includes credentials. */
  source: Source;
  /** The second source of a comparison of two: every tool runs on both. */
  other?: Source;
  tools: AssignedTool[];
  /** Analysis time, counted from admission. */
  timeoutMs: number;
  maxBytes: number;
  /** What the monthly quota leaves for content checks, as far as one limits them. Omitted in a `prepare`. */
  decodableSeconds?: number;
  allow: SourceException[];
  report: { enabled: boolean; diff: boolean; prefer: ReportTool | null; frames?: FramesOption };
  /** One more run of ffprobe, over all packets. */
  timeline?: boolean;
  /** The policy to evaluate. Omitted in a `prepare`. */
  policy?: { name: string | null; revision: number | null; document: Policy } | undefined;
}

export interface AssignedTool {
  name: ToolName;
  /** An exact version, never `latest`. */
  version: string;
  timeoutMs: number;
  options: Record<string, string>;
  /** From the ProbeTool, with `{root}` and `{node}` not yet replaced. */
  command: string[];
  /** The binary's version output, for the result; absent if its proof did not record it. */
  build?: string;
  /** Tools (`tool/version`) that must be mounted, if not its own image: set for tools built into the runner. */
  uses?: string[];
}

/** The two sources of a comparison, in the order of the request. */
export const SIDES = ['a', 'b'] as const;
export type Side = (typeof SIDES)[number];

/** A run of a tool: with a side, if the job has two sources. */
export interface Run {
  name: ToolName;
  version: string;
  side?: Side;
}

export const runsFor = (tools: readonly Run[], ofTwo: boolean): Run[] =>
  (ofTwo ? SIDES : [undefined]).flatMap((side) =>
    tools.map(({ name, version }) => ({ name, version, ...(side === undefined ? {} : { side }) })),
  );

/** What a result says of a run that printed nothing. */
export const withoutResult = ({ name, version, side }: Run) => ({
  name,
  version,
  ...(side === undefined ? {} : { side }),
  success: false,
  durationMs: 0,
  usageMs: 0,
  exitCode: null,
  signal: null,
  format: 'text' as const,
  output: null,
});

/** Identifies a run within a job: two versions of one tool are two runs, and so is one version on two sources. */
export const runKey = ({ name, version, side }: { name: string; version: string; side?: Side }): string =>
  side === undefined ? `${name} ${version}` : `${side}: ${name} ${version}`;

/** On which source a run was, in front of what is said of it. */
export const sideText = ({ side }: Pick<Run, 'side'>): string => (side === undefined ? '' : `${side}: `);

export interface Attempt {
  job: string;
  attempt: number;
}

/** `epoch`: agents refuse one older than they have seen. `requestId` is only for the agent's log. */
export interface Order extends Attempt {
  epoch: number;
  requestId?: string;
}

export interface Prepare extends Order {
  protocol: number;
  /** The tenant by the pool's reuse scope. The first prepare or go binds the pod to it. */
  tenant: string;
  assignment: Assignment;
}
/** Contains everything: a `go` works without a previous `prepare`. */
export interface Go extends Prepare {
  /** Remaining analysis time in milliseconds. */
  remainingMs: number;
}
export interface Cancel extends Order {
  why: 'cancelled' | 'deadline' | 'superseded';
}
/**
 * Asks an agent without work to clean its tools container, and to begin its next life in a new process. No other order
 * follows an `ok`.
 */
export interface Renew {
  epoch: number;
}
/** What a job that gives no result has cost: bytes read from its origins, and time since its tools were started. */
export interface RunnerUse {
  bytes: number;
  ms: number;
  /** Of media, by content checks. */
  decodedSeconds?: number;
}
/** `used`: by the job that was cancelled. */
export type OrderAnswer =
  | { ok: true; used?: RunnerUse }
  | { ok: false; why: 'epoch' | 'busy' | 'draining' | 'tenant' | 'tools' | 'protocol' | 'unclean' };

export type Walls = Partial<Record<Wall, boolean>>;

export interface Heartbeat {
  protocol: number;
  pod: string;
  /** Id of the runner. */
  uid: string;
  namespace: string;
  pool: string;
  /** Generation label of the pod. */
  generation: string;
  phase: RunnerPhase;
  epoch: number;
  tenant?: string;
  job?: string;
  attempt?: number;
  /** Of the declared duration that content checks have decoded, in percent; absent if that is not known. */
  progress?: number;
  /** In all lives of its pod. */
  jobsDone: number;
  /** Milliseconds since the agent was ready, and since its last job. */
  ageMs: number;
  idleMs: number;
  /** The walls around the pod; an absent one is unknown. */
  walls?: Walls;
  /** Of its node. */
  cores?: number;
}
/** The answer to a heartbeat, which renews the task lease. `drain`: finish and exit. */
export interface Lease {
  epoch: number;
  leaseMs: number;
  drain?: boolean;
  cancel?: Attempt;
}

/** Header of a result: the message's JSON, with the body `inline` or in separate chunks. */
export interface Result {
  protocol: number;
  job: string;
  attempt: number;
  epoch: number;
  /** Id of the runner. */
  podUid: string;
  encoding: 'zstd' | 'identity';
  /** Inflated size of the body; the collector inflates neither beyond it nor beyond its own limit. */
  size: number;
  sha256: string;
  chunks: number;
  /** The (compressed) body in base64, if chunks is 0. */
  inline?: string;
}

/** Whether the offered result is recorded. Otherwise JetStream keeps it until a collector has done so. */
export interface Offered {
  recorded: boolean;
}
/** A collector that takes longer is slow or gone. What it records nevertheless is found to have an end already. */
export const OFFER_ANSWER_MS = 1_000;

/** Everything the API needs to answer a waiting caller. */
export interface Ended {
  id: string;
  /** HTTP status of the response. */
  status: number;
  reason: Reason;
  queueTimeMs: number;
  /**
   * The stored body (a ResultBody, zstd) in base64, if it is small. Absent if there is none, or it must be read from
   * Postgres.
   */
  body?: string;
  /** Whether there is a body. */
  hasBody: boolean;
  /** Inflated size of the body; absent if its recorder did not know it. */
  inflatedBytes?: number;
  /** Public text, as recorded; absent if at least one requested tool succeeded. */
  error?: string;
  /** Beside it: why the first tool failed (src/base/causes.ts). */
  code?: string;
  /** Set if it was answered from the cache. */
  cache?: FromCache;
}

/** The request that a result is from, how long before the file was read, and what asking its host took. */
export interface FromCache {
  /** Absent: the caller may not read that request. */
  requestId?: string;
  ageS: number;
  ioBytes: number;
}

export interface Closed {
  id: string;
  job: string;
  namespace: string;
  attempt: number;
  reason: Reason;
  summary: string;
  tools: { name: ToolName; version: string; success: boolean; durationMs: number }[];
  policy?: PolicyStatus | undefined;
}

/** A request of a chunk, which has no ProbeJob of its own to be deleted. */
export interface ItemToCancel {
  id: string;
}
/** True: the leader has stopped what runs of it, and its end is recorded. False: that is left to the API. */
export interface CancelAnswer {
  ended: boolean;
}
/** The API records the end itself after this time. */
export const CANCEL_ANSWER_MS = 2_000;

/** To the description of a ProbeJob that does not exist yet. False: the API creates it. */
export interface CreateAnswer {
  created: boolean;
}
/** The API creates the ProbeJob itself after this time. Of two creates, one finds the object of the other. */
export const CREATE_ANSWER_MS = 1_000;
