/** What the pods of a preflight are doing. */
import type { NotStarted } from '../../service/doctor/finding.ts';
import type { Event, Metadata } from '../kubectl/resources.ts';

interface ContainerState {
  waiting?: { reason?: string; message?: string };
  terminated?: { exitCode: number };
}

export interface DoctorPod {
  metadata: Metadata;
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    containerStatuses?: { state?: ContainerState }[];
  };
}

export const hasRun = ({ status }: DoctorPod): boolean =>
  status?.containerStatuses?.some(({ state }) => state?.terminated !== undefined) === true;

/** It failed before its container ran: an eviction, or a kubelet that refuses it. */
export const wasRefused = (pod: DoctorPod): boolean => pod.status?.phase === 'Failed' && !hasRun(pod);

/** These do not pass by waiting. */
const FINAL = ['CreateContainerError', 'CreateContainerConfigError', 'InvalidImageName', 'ErrImageNeverPull'];
export const isStuck = ({ status }: DoctorPod): boolean =>
  status?.containerStatuses?.some(({ state }) => FINAL.includes(state?.waiting?.reason ?? '')) === true;

/** The newest warning says more than `ContainerCreating`. */
export function whyNotStarted(pod: DoctorPod | undefined, warnings: readonly Event[]): NotStarted {
  const { status } = pod ?? {};
  const waiting = status?.containerStatuses?.map(({ state }) => state?.waiting).find(Boolean);
  const unscheduled = status?.conditions?.find((one) => one.type === 'PodScheduled' && one.status === 'False');
  const newest = warnings.at(-1);
  if (status?.phase === 'Failed' && status.reason) return { reason: status.reason, message: status.message ?? '' };
  if (waiting?.reason && waiting.message) return { reason: waiting.reason, message: waiting.message };
  if (unscheduled) return { reason: unscheduled.reason ?? 'Unschedulable', message: unscheduled.message ?? '' };
  if (newest) return { reason: newest.reason ?? 'Warning', message: newest.message ?? '' };
  return { reason: waiting?.reason ?? 'NotCreated', message: 'no reason was given' };
}
