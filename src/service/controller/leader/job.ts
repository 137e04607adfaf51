/** The leader's view of a ProbeJob: its request, resolved against the tools and pools of the cluster. */
import { TIMEOUT_MS } from '../../../base/limits.ts';
import type { Assignment } from '../../../platform/bus/messages.ts';
import type { Kind, ProbeJob, ProbeJobStatus, Reason } from '../../../platform/kube/probe_job.ts';
import { ENDPOINT_TOOLS, TOOL_TABLE, type EndpointTool } from '../../../media/tools/table.ts';
import type { Entry } from './ledger.ts';
import type { JobPolicy } from './policies.ts';

export interface Job extends Entry {
  /** Request id: the name of a job created by the API, or metadata.uid of one created by hand. */
  id: string;
  namespace: string;
  uid: string;
  kind: Kind;
  submittedAt: Date;
  queueTimeoutMs: number;
  timeoutMs: number;
  tenant: string;
  assignment: Assignment;
  policy: JobPolicy | undefined;
  status: ProbeJobStatus | undefined;
  resourceVersion: string;
  state: 'waiting' | 'admitting' | 'running' | 'retrying' | 'ending';
  attempt: number;
  /** Attempts that failed because the runner refused the job. */
  refusals: number;
  /** Attempts whose runner was not connected. */
  absences: number;
  runner: { pod: string; uid: string } | undefined;
  /** Monotonic time of the last `go` order. */
  goAt: number;
  /** A `prepare` order was sent for this attempt. */
  prepared: boolean;
  timers: NodeJS.Timeout[];
  /** The object no longer exists. */
  gone: boolean;
}

/** Reads the state through a function, because the compiler would assume that it is unchanged after an await. */
export const stateOf = (job: Job): Job['state'] => job.state;

export const isEndpoint = (kind: Kind): kind is EndpointTool => ENDPOINT_TOOLS.some((name) => name === kind);

export const timeoutOf = ({ spec: { kind, timeoutMs } }: ProbeJob): number =>
  timeoutMs ?? (isEndpoint(kind) ? (TOOL_TABLE[kind]?.endpoint?.timeoutMs ?? TIMEOUT_MS) : TIMEOUT_MS);

const resultPath = (id: string): string => `/v1/probe/${id}`;
export const resultPathOf = (job: { id: string }): string => resultPath(job.id);

export const isHandMade = (job: ProbeJob): boolean => job.spec.token === undefined;
export const idOf = (job: ProbeJob): string => (isHandMade(job) ? (job.metadata.uid ?? '') : job.metadata.name);
export const submittedAtOf = (job: ProbeJob): Date =>
  new Date((isHandMade(job) ? undefined : job.spec.submittedAt) ?? job.metadata.creationTimestamp ?? 0);

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
