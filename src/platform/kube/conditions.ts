/** Conditions of a status: read by type, and set so that an unchanged status keeps its transition time. */
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

/** A timestamp for a status. All persisted times are by Postgres' clock, which has fractions of a millisecond. */
export const stamp = (ms: number): string => new Date(Math.floor(ms)).toISOString();

/** A condition without its transition time, which is derived. */
export type Change = Omit<Condition, 'lastTransitionTime'>;

/** The complete conditions of a status, with transition times. */
export const withTimes = (previous: Conditioned | undefined, changes: readonly Change[], now: string): Condition[] =>
  changes.map((change) => {
    const before = conditionOf(previous, change.type);
    return { ...change, lastTransitionTime: before?.status === change.status ? before.lastTransitionTime : now };
  });

/** The conditions of a status with some of them changed. */
export const setConditions = (
  previous: Conditioned | undefined,
  changes: readonly Change[],
  now: string,
): Condition[] => [
  ...(previous?.conditions ?? []).filter(({ type }) => !changes.some((change) => change.type === type)),
  ...withTimes(previous, changes, now),
];

/** The job has ended, or the batch. */
export const isFinished = (status: Conditioned | undefined): boolean => {
  const succeeded = conditionOf(status, 'Succeeded')?.status;
  return succeeded === 'True' || succeeded === 'False';
};

/** The job holds a slot of its token: shown as Running by `kubectl get pj`. */
export const isAdmitted = (status: ProbeJobStatus | undefined): boolean =>
  !isFinished(status) && isTrue(status, 'Admitted');

/** The tool's image was mounted and executed. */
export const isAvailable = ({ status }: ProbeTool): boolean => isTrue(status, 'Available');
/** Why it is not: its image is new, or another one, and nothing is wrong with it so far. */
export const PROVING = 'Proving';
export const isBeingProven = ({ status }: ProbeTool): boolean => conditionOf(status, 'Available')?.reason === PROVING;
/** Pools leave the tool out, because runners cannot pull its image. */
export const isDegraded = ({ status }: ProbeTool): boolean => isTrue(status, 'Degraded');
