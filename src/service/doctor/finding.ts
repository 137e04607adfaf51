/** What the preflight finds out about a cluster. Pods print it, and the command line reads it. */
import { stringify } from 'yaml';
import type { Settings } from './settings.ts';

const STATUSES = ['pass', 'warn', 'fail', 'unknown'] as const;
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

// Findings as text, and the values that follow from them.

interface Tree {
  [name: string]: unknown;
}

/** The values of all findings as one document. A failed check's values win over those of a passed one. */
export function valuesOf(findings: readonly Finding[]): Tree {
  const tree: Tree = {};
  const byWeight = findings.toSorted((a, b) => STATUSES.indexOf(a.status) - STATUSES.indexOf(b.status));
  for (const { set = {} } of byWeight)
    for (const [path, value] of Object.entries(set)) {
      const names = path.split('.');
      const last = names.pop()!;
      let at = tree;
      for (const name of names) at = (at[name] ??= {}) as Tree;
      const before = at[last];
      at[last] = Array.isArray(before) && Array.isArray(value) ? [...before, ...(value as unknown[])] : value;
    }
  return tree;
}

const GAP = '  ';
const width = (texts: readonly string[]): number => Math.max(0, ...texts.map(({ length }) => length));

/** One line for each finding; below a warning or a failure what was wanted, and why. */
export function textOf(findings: readonly Finding[]): string {
  const most = width(findings.map(({ title }) => title));
  const statuses = width(STATUSES);
  const indent = ' '.repeat(statuses + GAP.length + most + GAP.length);
  const lines = findings.flatMap(({ status, title, found, wanted, why }) => [
    [status.padEnd(statuses), title.padEnd(most), found].join(GAP),
    ...(status === 'pass' || status === 'unknown' ? [] : [`${indent}wanted: ${wanted}`, `${indent}${why}`]),
  ]);
  const values = valuesOf(findings);
  const isEmpty = Object.keys(values).length === 0;
  return `${lines.join('\n')}\n${isEmpty ? '' : `\nValues to set:\n\n${stringify(values, { lineWidth: 0 })}`}`;
}

export const hasFailed = (findings: readonly Finding[]): boolean => findings.some(({ status }) => status === 'fail');

/** What a pod prints for the command line, on one line of its log. */
export const encoded = (findings: readonly Finding[]): string => JSON.stringify({ doctor: 1, findings });

const isFinding = (value: unknown): value is Finding => {
  const one = value as Partial<Finding> | null;
  return (
    typeof one === 'object' &&
    one !== null &&
    STATUSES.includes(one.status as Status) &&
    [one.id, one.title, one.found, one.wanted, one.why].every((text) => typeof text === 'string')
  );
};

/** Undefined: the log has no findings. */
export function decoded(log: string): Finding[] | undefined {
  for (const line of log.split('\n').toReversed()) {
    if (!line.startsWith('{"doctor":1,')) continue;
    try {
      const { findings } = JSON.parse(line) as { findings: unknown };
      if (Array.isArray(findings) && findings.every(isFinding)) return findings;
    } catch {
      // A line that was cut.
    }
  }
  return undefined;
}
