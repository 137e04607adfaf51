/** What the preflight finds out about a cluster. Pods print it, and the command line reads it. */
import type { Settings } from './settings.ts';

export const STATUSES = ['pass', 'warn', 'fail', 'unknown'] as const;
/** warn: it works with a wall less, or slower. unknown: it could not be found out. */
export type Status = (typeof STATUSES)[number];

/** Values of the chart by their path: `{'tools.delivery': 'bundled'}`. */
export type Values = Readonly<Record<string, string | number | boolean | readonly unknown[] | object>>;

export interface Verdict {
  status: Status;
  found: string;
  /** Values that fit what was found. Lists of several findings are joined. */
  set?: Values | undefined;
}

/** What is looked at, what is wanted of it, and why. */
interface Subject {
  id: string;
  title: string;
  wanted: string;
  why: string;
}

export interface Finding extends Subject, Verdict {}

/** Why a pod of the preflight did not run: the reason of Kubernetes, and its message. */
export interface NotStarted {
  reason: string;
  message: string;
}

export interface Check<Measured> extends Subject {
  verdict(measured: Measured): Verdict;
  /** Where the lack of it keeps the pod from starting. Absent or undefined: then nothing is known. */
  notStarted?(why: NotStarted): Verdict | undefined;
}

/** A check that runs in a pod. */
export interface Probe<Measured> extends Check<Measured> {
  collect(settings: Settings): Promise<Measured>;
}

/** A check of what its `collect` makes. */
export const probeOf = <Measured>(one: Probe<Measured>): Probe<Measured> => one;

export const findingOf = ({ id, title, wanted, why }: Subject, { status, found, set }: Verdict): Finding => ({
  id,
  title,
  status,
  found,
  wanted,
  why,
  ...(set === undefined ? {} : { set }),
});

const unknown = (found: string): Verdict => ({ status: 'unknown', found });

export async function examine<Measured>(probe: Probe<Measured>, settings: Settings): Promise<Finding> {
  try {
    return findingOf(probe, probe.verdict(await probe.collect(settings)));
  } catch (error) {
    return findingOf(probe, unknown(`not measured: ${(error as Error).message}`));
  }
}

/** These say nothing about any check: the image could not be pulled, or the namespace takes no such pod. */
const UNRELATED = [
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'FailedCreate',
  'NotCreated',
];

export function withoutPod(check: Check<never>, why: NotStarted): Finding {
  const verdict = UNRELATED.includes(why.reason) ? undefined : check.notStarted?.(why);
  return findingOf(check, verdict ?? unknown(`the pod did not start: ${why.reason}: ${why.message}`));
}

/** `0.4 ms`, `12 ms`, `1.3 s`. */
export function shownMs(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}
