/** What this program reads of the resources. */
import { conditionOf } from '../../platform/kube/conditions.ts';
import type { KubeEvent, Pod as KubePod } from '../../platform/kube/kinds.ts';
import type { ProbeJob } from '../../platform/kube/probe_job.ts';
import type { ProbePool } from '../../platform/kube/probe_pool.ts';
import type { ProbeTool } from '../../platform/kube/probe_tool.ts';

export interface List<T> {
  items: T[];
}
type Read<T extends { spec?: unknown; status?: unknown }> = Pick<T, Extract<'metadata' | 'spec' | 'status', keyof T>>;
export type Job = Read<ProbeJob>;
export type Pool = Read<ProbePool>;
export type Tool = Read<ProbeTool>;
export type Pod = Read<KubePod>;
export type Event = Partial<KubeEvent>;

/** The reason of `Succeeded` is the state of a job: Queued, Running, Completed … */
export const stateOf = ({ status }: Job): string => conditionOf(status, 'Succeeded')?.reason ?? 'New';
export const hasEnded = ({ status }: Job): boolean => status?.completedAt !== undefined;
