/** What this program reads of the resources; everything may be missing in a status that is not written yet. */

interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
}
export interface Metadata {
  name: string;
  namespace?: string;
  uid?: string;
  creationTimestamp?: string;
  labels?: Record<string, string>;
}
export interface List<T> {
  items: T[];
}
export interface Job {
  metadata: Metadata;
  spec: {
    kind?: string;
    source?: { display?: string; url?: string };
    token?: { id: number };
    createdBy?: string;
    tools?: { name: string; version?: string }[];
  };
  status?: {
    conditions?: Condition[];
    admittedBy?: { token?: number };
    startedAt?: string;
    completedAt?: string;
    queueTimeMs?: number;
    durationMs?: number;
    attempts?: number;
    runner?: { pod: string };
    tools?: { name: string; version?: string; success?: boolean; durationMs?: number }[];
    policy?: { name?: string; outcome: string; failed?: string[] };
    summary?: string;
    resultPath?: string;
  };
}
export interface Pool {
  metadata: Metadata;
  spec: { serves: { kinds: string[] }; minReady?: number; maxPods?: number };
  status?: { conditions?: Condition[]; ready?: number; busy?: number; starting?: number };
}
export interface Tool {
  metadata: Metadata;
  spec: { tool: string; version: string; latest?: boolean };
  status?: { conditions?: Condition[]; reported?: string };
}
export interface Event {
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  lastTimestamp?: string;
  involvedObject?: { kind?: string; name?: string };
}
export interface Pod {
  metadata: Metadata;
  spec?: { containers?: { name: string }[] };
}

export const conditionOf = (
  { status }: { status?: { conditions?: Condition[] } },
  type: string,
): Condition | undefined => status?.conditions?.find((one) => one.type === type);

/** The reason of `Succeeded` is the state of a job: Queued, Running, Completed … */
export const stateOf = (job: Job): string => conditionOf(job, 'Succeeded')?.reason ?? 'New';
export const hasEnded = (job: Job): boolean => job.status?.completedAt !== undefined;
