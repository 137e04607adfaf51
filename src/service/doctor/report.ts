/** Findings as text, and the values that follow from them. */
import { stringify } from 'yaml';
import { STATUSES, type Finding, type Status } from './finding.ts';

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
