/** A ProbeJob as the leader holds it: what it asks for, resolved against what the cluster has. */
import { TIMEOUT_MS, TOOL_TIMEOUT_MS } from '../../limits.ts';
import type { AssignedTool, Assignment } from '../../bus/messages.ts';
import type { Kind, ProbeJob, ProbeJobStatus, Reason, ToolRequest } from '../../kube/probe_job.ts';
import { FILE_ROWS, TOOL_TABLE, type ToolName } from '../../tools/table.ts';
import type { Entry } from './ledger.ts';

export interface Job extends Entry {
  /** Request id: the name of a job that the API made, metadata.uid of one made by hand. */
  id: string;
  namespace: string;
  uid: string;
  kind: Kind;
  submittedAt: Date;
  queueTimeoutMs: number;
  timeoutMs: number;
  tenant: string;
  assignment: Assignment;
  status: ProbeJobStatus | undefined;
  resourceVersion: string;
  state: 'waiting' | 'admitting' | 'running' | 'retrying' | 'ending';
  attempt: number;
  /** Attempts that came to nothing because the runner did not take the job. */
  refusals: number;
  runner: { pod: string; uid: string } | undefined;
  /** Monotonic time of the last order to go. */
  goAt: number;
  /** A prepare for this attempt was sent. */
  prepared: boolean;
  timers: NodeJS.Timeout[];
  /** Its object is no longer there. */
  gone: boolean;
}

/** The state may have moved on during an await; the compiler would believe the last assignment. */
export const stateOf = (job: Job): Job['state'] => job.state;

export const timeoutOf = ({ spec: { kind, timeoutMs } }: ProbeJob): number =>
  timeoutMs ?? (kind === 'file' ? TIMEOUT_MS : (TOOL_TABLE[kind]?.endpoint?.timeoutMs ?? TIMEOUT_MS));

const resultPath = (id: string): string => `/v1/probe/${id}`;
export const resultPathOf = (job: { id: string }): string => resultPath(job.id);

export const isHandMade = (job: ProbeJob): boolean => job.spec.token === undefined;
export const idOf = (job: ProbeJob): string => (isHandMade(job) ? (job.metadata.uid ?? '') : job.metadata.name);
export const submittedAtOf = (job: ProbeJob): Date =>
  new Date((isHandMade(job) ? undefined : job.spec.submittedAt) ?? job.metadata.creationTimestamp ?? 0);

/** A job that cannot run, and what its caller is told. */
export class Refusal extends Error {
  readonly reason: Reason;
  readonly status: number;
  constructor(reason: Reason, status: number, message: string) {
    super(message);
    this.reason = reason;
    this.status = status;
  }
}

export interface AvailableTool {
  tool: ToolName;
  version: string;
  latest: boolean;
  command: string[];
  /** What it needs mounted, where that is not its own image. */
  uses?: string[];
}

/** Of a job that names none. */
const defaultTools = (kind: Kind): readonly ToolName[] =>
  kind === 'file' ? FILE_ROWS.flatMap((row) => ('args' in row && row.file.byDefault ? [row.name] : [])) : [kind];

/**
 * Versions as names: `latest` to the one that it stands for now; one that the cluster lacks is refused, never replaced
 * by another.
 */
export function resolveTools(job: ProbeJob, available: readonly AvailableTool[]): AssignedTool[] {
  const wanted: ToolRequest[] =
    job.spec.tools ?? defaultTools(job.spec.kind).map((name) => ({ name, version: 'latest' }));
  return wanted.map((request) => {
    const candidates = available.filter(({ tool }) => tool === request.name);
    const found = candidates.find(({ version, latest }) =>
      request.version === 'latest' ? latest : version === request.version,
    );
    if (!found) {
      const has = candidates.map(({ version }) => version).join(', ');
      throw new Refusal(
        'ToolUnavailable',
        400,
        `${request.name}: version "${request.version}" is not available; available: ${has === '' ? 'none' : has}`,
      );
    }
    return {
      name: request.name,
      version: found.version,
      timeoutMs: Math.min(request.timeoutMs ?? TOOL_TABLE[request.name]?.timeoutMs ?? TOOL_TIMEOUT_MS, timeoutOf(job)),
      options: request.options ?? {},
      command: found.command,
      ...(found.uses ? { uses: found.uses } : {}),
    };
  });
}

export const toolsLine = (tools: readonly { name: string; version: string }[]): string =>
  tools.map(({ name, version }) => `${name} ${version}`).join(', ');
