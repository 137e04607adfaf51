/** Whether the list of known changes explains a change. */
import { byNewest } from '../../base/version_order.ts';
import type { ReportTool } from '../tools/probe_report.ts';
import type { Found, Labelled } from './findings.ts';
import { KNOWN_CHANGES, type KnownEntry } from './known_changes.ts';
import { changeOf } from './change.ts';
import type { Change } from './limits.ts';
import type { ChangedField } from './schema.ts';

const byPath = new Map<string, KnownEntry[]>();
for (const entry of KNOWN_CHANGES)
  for (const path of entry.paths) {
    const key = `${entry.tool} ${path}`;
    byPath.set(key, [...(byPath.get(key) ?? []), entry]);
  }

/** Old name to new one, by tool: `pkt_pts` to `pts`. */
const RENAMES: Readonly<Record<ReportTool, ReadonlyMap<string, string>>> = { ffprobe: new Map(), mediainfo: new Map() };
for (const { tool, paths, to } of KNOWN_CHANGES)
  if (to !== undefined) for (const path of paths) (RENAMES[tool] as Map<string, string>).set(path, to);

/** The new name of a member, where a release renamed it. `generic`: the path of the object, without places. */
export const renamedTo = (tool: ReportTool, generic: string, name: string): string | undefined =>
  RENAMES[tool].get(generic === '' ? name : `${generic}.${name}`);

const MIRRORED: Partial<Record<Change, Change>> = { added: 'removed', removed: 'added' };

/** Whether one of the two has the release and the other does not. */
const crosses = (release: string, before: Labelled, after: Labelled): boolean =>
  byNewest(before.version, release) > 0 !== byNewest(after.version, release) > 0;

/** What explains the change from one run to the next. */
function explanation(entries: readonly KnownEntry[], one: Change, before: Labelled, after: Labelled) {
  const backwards = byNewest(before.version, after.version) < 0;
  const forward = backwards ? (MIRRORED[one] ?? one) : one;
  return entries.find(({ release, change }) => change.includes(forward) && crosses(release, before, after));
}

/** Every step from run to run must be explained: what is left is news. With several the first is told. */
function explained(entries: readonly KnownEntry[], { change, runs, values, to }: Found): KnownEntry | undefined {
  let first: KnownEntry | undefined;
  for (let at = 1; at < runs.length; at++) {
    const [before, after] = [runs[at - 1]!, runs[at]!];
    // Of a renamed field the values are the same; which step renamed it, the list says.
    const one = to === undefined ? changeOf(values[at - 1], values[at]) : change;
    if (one === undefined) continue;
    const found = explanation(entries, one, before, after);
    if (!found && to === undefined) return undefined;
    first ??= found;
  }
  return first;
}

export function knownChange(found: Found): ChangedField['known'] {
  for (const path of ancestors(found.generic.replace(/^programs\[\]\.(?=streams\[\])/, ''))) {
    const entries = byPath.get(`${found.tool} ${path}`);
    const entry = entries && explained(entries, found);
    if (entry) return { release: entry.release, note: entry.note };
  }
  return undefined;
}

/** `a.b.c` itself, then `a.b.*`, then `a.*`. */
function* ancestors(generic: string): Generator<string> {
  yield generic;
  for (let at = generic.lastIndexOf('.'); at > 0; at = generic.lastIndexOf('.', at - 1))
    yield `${generic.slice(0, at)}.*`;
}
