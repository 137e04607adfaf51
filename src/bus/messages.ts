/**
 * What is said over NATS: every subject and every message, once. NATS is a road, never the record:
 * each message here may be lost or come twice, and its receiver is written for that.
 */
import Type, { type Static, type TSchema } from 'typebox';
import type { Kind, PolicyStatus, ProbeJobSpec, Reason } from '../kube/probe_job.ts';
import type { Wall } from '../kube/probe_pool.ts';
import { PolicyResultSchema, type PolicyResult } from '../policy/schema.ts';
import type { Policy } from '../policy/types.ts';
import type { Source } from '../source/source.ts';
import type { SourceException } from '../source_exception.ts';
import type { ReportTool } from '../tools/probe_report.ts';
import { RESULTS, TOOLS, type ToolName } from '../tools/table.ts';

/**
 * Of orders and heartbeats. A runner of another protocol gets no job: it finishes the one that it has, and is replaced.
 * 2: an Assignment holds the parsed Source; in 1 it held the text of the address.
 * 3: a job may have several versions of one tool (`compare`), and a policy.
 */
export const RUNNER_PROTOCOL = 3;
/** Of results alone: during an upgrade, collectors of the old version record results of the new one, and vice versa. */
export const RESULT_PROTOCOL = 1;

export const SUBJECT = {
  /** API to leader: a job that is being created. Lets the leader prepare a runner; never admits. */
  early: 'py.early',
  /** Agent to leader, a request: its state; answered with a Lease. */
  heartbeat: (podUid: string) => `py.hb.${podUid}`,
  heartbeats: 'py.hb.*',
  /** Leader to one agent; all are requests. */
  prepare: (podUid: string) => `py.run.${podUid}.prepare`,
  go: (podUid: string) => `py.run.${podUid}.go`,
  cancel: (podUid: string) => `py.run.${podUid}.cancel`,
  /** Any collector to one agent: the result is recorded, stop resending. */
  collected: (podUid: string) => `py.run.${podUid}.collected`,
  runner: (podUid: string) => `py.run.${podUid}.>`,
  /** A new leader to every agent: send a heartbeat now. */
  report: 'py.run.all.report',
  /** Agent to the collectors, in JetStream: one result (Result), its tool output inline or in chunks. */
  result: (podUid: string) => `py.res.${podUid}`,
  results: 'py.res.*',
  /** Agent to the collectors, in JetStream: one piece of a large result. */
  chunk: (podUid: string, job: string, attempt: number, index: number) =>
    `py.chunk.${podUid}.${job}.${attempt}.${index}`,
  chunks: 'py.chunk.>',
  /** Whoever closed a request to the API replica that waits for it. */
  ended: (replica: string) => `py.end.${replica}`,
  /** Whoever closed a request to the leader. */
  closed: 'py.closed',
} as const;

export const STREAM = { results: 'PY_RESULTS', chunks: 'PY_CHUNKS', consumer: 'collectors' } as const;

/**
 * How long an agent goes on with a job although no leader answers it. Longer than a failover (7 s), shorter than
 * RUNNER_SILENCE_MS.
 */
export const TASK_LEASE_MS = 15_000;
/** How long an agent may be silent before the leader takes it for lost. */
export const RUNNER_SILENCE_MS = 20_000;
export const HEARTBEAT_MS = 2_000;
/** A prepared runner frees itself after this when no go came. */
export const PREPARE_TTL_MS = 2_000;
/** Results up to this size (compressed) ride in one message; larger ones are cut into chunks of it. */
export const CHUNK_BYTES = 512 * 1024;
/** Envelopes up to this size ride in the notice to the API. */
export const INLINE_ENVELOPE_BYTES = 256 * 1024;

/** What a runner needs to run a job; the only place beside the API's memory where a source stands in clear. */
export interface Assignment {
  kind: Kind;
  /** Credentials included. */
  source: Source;
  tools: AssignedTool[];
  /** Analysis time, counted from admission. */
  timeoutMs: number;
  maxBytes: number;
  allow: SourceException[];
  report: { enabled: boolean; diff: boolean; prefer: ReportTool | null };
  /** What the result is judged by. A prepare leaves it out. */
  policy?: { name: string | null; revision: number | null; document: Policy } | undefined;
}

export interface AssignedTool {
  name: ToolName;
  /** Exact, never `latest`. */
  version: string;
  timeoutMs: number;
  options: Record<string, string>;
  /** From the ProbeTool: `{root}` and `{node}` still in it. */
  command: string[];
  /** What the binary says of itself, for the result; absent where its proof did not tell. */
  build?: string;
  /**
   * The tools (`tool/version`) that must be mounted for it, where that is not its own image: set for a tool that comes
   * with the product.
   */
  uses?: string[];
}

/** What names a run within a job, in assignments, results and status: two versions of one tool are two runs. */
export const runKey = ({ name, version }: { name: string; version: string }): string => `${name} ${version}`;

/**
 * Names the leader's term: agents refuse an older epoch than they have seen. `requestId` is for the agent's log alone.
 */
export interface Order {
  epoch: number;
  job: string;
  attempt: number;
  requestId?: string;
}

export interface Prepare extends Order {
  protocol: number;
  /** Who may share a pod: made from the pool's reuse scope. The first prepare or go binds the pod to it. */
  tenant: string;
  assignment: Assignment;
}
/** Carries everything again: a go works without a prepare before it. */
export interface Go extends Prepare {
  /** Milliseconds of the analysis time that are left. */
  remainingMs: number;
}
export interface Cancel extends Order {
  why: 'cancelled' | 'deadline' | 'superseded';
}
export interface Collected {
  job: string;
  attempt: number;
}

export type OrderAnswer =
  { ok: true } | { ok: false; why: 'epoch' | 'busy' | 'draining' | 'tenant' | 'tools' | 'protocol' };

export type Walls = Partial<Record<Wall, boolean>>;

export type RunnerPhase = 'idle' | 'prepared' | 'running' | 'publishing' | 'draining';

export interface Heartbeat {
  protocol: number;
  pod: string;
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
  jobsDone: number;
  /** Milliseconds since the agent was ready; and since it last had a job. */
  ageMs: number;
  idleMs: number;
  /** Which walls stand around the pod; a wall that is left out is not known. */
  walls?: Walls;
}
/** The answer to a heartbeat renews the task lease. `drain`: finish and exit. */
export interface Lease {
  epoch: number;
  leaseMs: number;
  drain?: boolean;
  cancel?: { job: string; attempt: number };
}

const oneOf = <const T extends string>(values: readonly T[]) => Type.Unsafe<T>({ type: 'string', enum: [...values] });
const orNull = <T extends TSchema>(schema: T) => Type.Unsafe<Static<T> | null>({ anyOf: [schema, { type: 'null' }] });
const milliseconds = Type.Number({ minimum: 0, maximum: 1e10 });

const FailureCode = oneOf([
  'origin-unreachable',
  'source-forbidden',
  'source-too-large',
  'source-cut',
  'timeout',
  'crashed',
  'out-of-memory',
  'output-too-large',
  'failed',
  'unavailable',
]);
export type FailureCode = Static<typeof FailureCode>;

const resultOf = <const N extends string>(names: readonly N[]) =>
  Type.Object({
    name: oneOf(names),
    version: Type.String({ maxLength: 64 }),
    build: Type.Optional(Type.String({ maxLength: 256 })),
    success: Type.Boolean(),
    /** From spawn to end, by the monotonic clock. */
    durationMs: milliseconds,
    usageMs: milliseconds,
    exitCode: orNull(Type.Integer()),
    signal: orNull(Type.String({ maxLength: 32 })),
    /** Absent on success. Redacted, for the caller. */
    error: Type.Optional(Type.String({ maxLength: 65_536 })),
    failure: Type.Optional(FailureCode),
    /** How `output` is to be read: a JSON text kept byte for byte, or text of another format. */
    format: oneOf(['json', 'text']),
    /** What the tool printed, addresses put back and redacted. Null where it printed nothing. */
    output: orNull(Type.String()),
  });
const ToolResult = resultOf(TOOLS);
export type ToolResult = Static<typeof ToolResult>;
/** What stands under `probe_report`: no tool, but shown and counted as one. */
const ReportResult = resultOf(RESULTS);
export type ReportResult = Static<typeof ReportResult>;

/** Of a job of the kind `compare`: what its runs say differently, a Comparison (src/compare/schema.ts) as JSON. */
const ComparisonResult = Type.Object({ durationMs: milliseconds, output: Type.String({ maxLength: 256 * 1024 }) });
export type ComparisonResult = Static<typeof ComparisonResult>;

/** A runner of a later version may say more of a rule: bounds hold for what is known of it here. */
const growing = (schema: unknown): unknown =>
  Array.isArray(schema)
    ? schema.map(growing)
    : typeof schema === 'object' && schema !== null
      ? Object.fromEntries(
          Object.entries(schema)
            .filter(([keyword]) => keyword !== 'additionalProperties')
            .map(([keyword, value]) => [keyword, growing(value)]),
        )
      : schema;
const Verdict = Type.Unsafe<PolicyResult>(growing(PolicyResultSchema) as object);

/**
 * What a body may inflate to, for collectors and for answers: two tools at the agent's cap on their output, a report
 * and the JSON around them. It holds for a runner that is not ours any more, too.
 */
export const RESULT_BYTES = 256 * 1024 * 1024;

/** The body of a result, before compression and cutting. */
export const ResultBody = Type.Object({
  tools: Type.Array(ToolResult, { maxItems: 8 }),
  report: Type.Optional(ReportResult),
  /** Tools of the job that did not run, because the source is not of their kind. */
  skipped: Type.Optional(Type.Array(oneOf(TOOLS), { maxItems: 8 })),
  comparison: Type.Optional(ComparisonResult),
  policy: Type.Optional(Verdict),
  ioUsage: Type.Number({ minimum: 0, maximum: 1e15 }),
  /** What the source proxy knows of the origin, decides between 400, 404 and 200. */
  source: Type.Optional(
    Type.Object({
      failure: FailureCode,
      status: Type.Optional(Type.Integer()),
      message: Type.String({ maxLength: 65_536 }),
    }),
  ),
});
export type ResultBody = Static<typeof ResultBody>;

/** Header of a result: travels as the message's JSON, with `inline` or with chunks beside it. */
export interface Result {
  protocol: number;
  job: string;
  attempt: number;
  epoch: number;
  podUid: string;
  encoding: 'zstd' | 'identity';
  /** Size of the body once inflated; the collector refuses to inflate past it, or past its own cap. */
  size: number;
  sha256: string;
  chunks: number;
  /** base64 of the (compressed) body when chunks is 0. */
  inline?: string;
}

/** What the API needs to answer a waiting caller. */
export interface Ended {
  id: string;
  /** HTTP status of the answer. */
  status: number;
  reason: Reason;
  queueTimeMs: number;
  /**
   * base64 of the stored body (a ResultBody, zstd), where it is small enough; absent where there is none or it must be
   * read from Postgres.
   */
  body?: string;
  /** Whether there is a body at all. */
  hasBody: boolean;
  /** What the body inflates to; absent where its recorder did not know. */
  inflatedBytes?: number;
  /** Public text, as it is recorded; absent where every tool that was asked for succeeded, or some of them. */
  error?: string;
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

export interface Early {
  job: string;
  namespace: string;
  spec: ProbeJobSpec;
}
