/** The leader's view of a ProbeJob: its request, resolved against the tools and pools of the cluster. */
import { TIMEOUT_MS, TOOL_TIMEOUT_MS } from '../../../base/limits.ts';
import { runKey, type AssignedTool, type Assignment } from '../../../platform/bus/messages.ts';
import type { Kind, ProbeJob, ProbeJobStatus, Reason, ToolRequest } from '../../../platform/kube/probe_job.ts';
import type { Policy } from '../../../media/policy/types.ts';
import { ENDPOINT_TOOLS, FILE_ROWS, TOOL_TABLE, type EndpointTool, type ToolName } from '../../../media/tools/table.ts';
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

const isEndpoint = (kind: Kind): kind is EndpointTool => ENDPOINT_TOOLS.some((name) => name === kind);

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

export interface AvailableTool {
  tool: ToolName;
  version: string;
  latest: boolean;
  command: string[];
  /** The version output of the binary. */
  build?: string;
  /** Tools that must be mounted, if not its own image. */
  uses?: string[];
}

/** Tools of a job that names none. */
function defaultTools(kind: Kind): readonly ToolName[] {
  if (isEndpoint(kind)) return [kind];
  return kind === 'file' ? FILE_ROWS.flatMap((row) => ('args' in row && row.file.byDefault ? [row.name] : [])) : [];
}

/** Checks that only a job created by hand can fail: the API validates a comparison before it creates the job. */
function checkRuns({ spec: { kind } }: ProbeJob, tools: readonly AssignedTool[], ofTwo: boolean): void {
  const keys = tools.map(runKey);
  const twice = keys.find((key, at) => keys.indexOf(key) !== at);
  if (twice !== undefined)
    throw new Refusal('InvalidRequest', 400, `spec.tools: ${twice} twice; each version of a tool runs once`);
  const again = tools.find(({ name }, at) => tools.findIndex((other) => other.name === name) !== at);
  if (kind === 'compare') {
    if (ofTwo && (again !== undefined || tools.length === 0))
      throw new Refusal(
        'InvalidRequest',
        400,
        'spec.tools: a comparison of two sources needs one version of each tool',
      );
    if (!ofTwo && again === undefined)
      throw new Refusal('InvalidRequest', 400, 'spec.tools: a comparison needs at least two versions of one tool');
    return;
  }
  if (ofTwo) throw new Refusal('InvalidRequest', 400, 'spec.source: only the kind compare has two sources');
  if (again)
    throw new Refusal(
      'InvalidRequest',
      400,
      `spec.tools: two versions of ${again.name}; only the kind compare runs several versions of one tool`,
    );
}

/**
 * Resolves the requested versions: `latest` becomes the current version. A version that the cluster lacks is refused
 * and never replaced by another.
 * `pinned`: versions from the job's policy, for a job that names no tools. `ofTwo`: the job has two sources.
 */
export function resolveTools(
  job: ProbeJob,
  available: readonly AvailableTool[],
  { pinned = {}, ofTwo = false }: { pinned?: Policy['uses']; ofTwo?: boolean } = {},
): AssignedTool[] {
  const pins: Partial<Record<ToolName, string>> = pinned;
  const wanted: ToolRequest[] =
    job.spec.tools ?? defaultTools(job.spec.kind).map((name) => ({ name, version: pins[name] ?? 'latest' }));
  const tools = wanted.map((request): AssignedTool => {
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
      ...(found.build === undefined ? {} : { build: found.build }),
      ...(found.uses ? { uses: found.uses } : {}),
    };
  });
  checkRuns(job, tools, ofTwo);
  return tools;
}

export const toolsLine = (tools: readonly { name: string; version: string }[]): string =>
  tools.map(({ name, version }) => `${name} ${version}`).join(', ');
