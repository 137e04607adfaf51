/** Conditions of a status: read by type, and set so that the transition time of one whose status stays is kept. */
import type { Condition } from './resource.ts';
import type { ProbeJobStatus } from './probe_job.ts';
import type { ProbeTool } from './probe_tool.ts';

interface Conditioned {
  conditions?: Condition[] | undefined;
}

export const conditionOf = (status: Conditioned | undefined, type: string): Condition | undefined =>
  status?.conditions?.find((one) => one.type === type);

export const isTrue = (status: Conditioned | undefined, type: string): boolean =>
  conditionOf(status, type)?.status === 'True';

/** A moment as a status shows it. All persisted times are by Postgres' clock, which counts fractions. */
export const stamp = (ms: number): string => new Date(Math.floor(ms)).toISOString();

/** A condition without its time, which follows from its status. */
export type Change = Omit<Condition, 'lastTransitionTime'>;

/** The conditions of a status that has no others. */
export const withTimes = (previous: Conditioned | undefined, changes: readonly Change[], now: string): Condition[] =>
  changes.map((change) => {
    const before = conditionOf(previous, change.type);
    return { ...change, lastTransitionTime: before?.status === change.status ? before.lastTransitionTime : now };
  });

/** The conditions of a status after some of them changed. */
export const setConditions = (
  previous: Conditioned | undefined,
  changes: readonly Change[],
  now: string,
): Condition[] => [
  ...(previous?.conditions ?? []).filter(({ type }) => !changes.some((change) => change.type === type)),
  ...withTimes(previous, changes, now),
];

/** The job has its end. */
export const isFinished = (status: ProbeJobStatus | undefined): boolean => {
  const succeeded = conditionOf(status, 'Succeeded')?.status;
  return succeeded === 'True' || succeeded === 'False';
};

/** Holds a slot of its token: what `kubectl get pj` shows as Running. */
export const isAdmitted = (status: ProbeJobStatus | undefined): boolean =>
  !isFinished(status) && isTrue(status, 'Admitted');

/** Its image was mounted and executed. */
export const isAvailable = ({ status }: ProbeTool): boolean => isTrue(status, 'Available');
/** Pools leave it out, because runners cannot get its image. */
export const isDegraded = ({ status }: ProbeTool): boolean => isTrue(status, 'Degraded');
