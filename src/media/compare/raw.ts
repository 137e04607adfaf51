/** The outputs of one tool side by side, as it printed them: walked together, so that only changes cost memory. */
import type { ReportTool } from '../tools/probe_report.ts';
import { changeOver } from './change.ts';
import type { Findings, Labelled } from './findings.ts';
import { renamedTo } from './known.ts';

/** What says which version printed it, and so differs always. */
const OWN_NAMES: ReadonlySet<string> = new Set(['creatingLibrary', 'program_version', 'library_versions']);
/** Outputs of the tools are nested up to ten deep. */
const DEEPEST = 64;

interface Run extends Labelled {
  output: unknown;
}

/** Where the walk stands: names are put together only where something is told. */
interface Place {
  parent: Place | undefined;
  text: string;
  generic: string;
  collapsed: boolean;
}

interface Walk {
  tool: ReportTool;
  findings: Findings;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const own = (object: Record<string, unknown>, key: string): unknown =>
  Object.hasOwn(object, key) ? object[key] : undefined;

const PLAIN_NAME = /^[A-Za-z_@][\w-]*$/;
const named = (name: string): string => (PLAIN_NAME.test(name) ? name : `["${name.replaceAll(/["\\]/g, '\\$&')}"]`);

function pathOf(place: Place | undefined, part: 'text' | 'generic'): string {
  const parts: string[] = [];
  for (let at = place; at; at = at.parent) parts.push(at[part]);
  return parts.reduceRight((path, one) => (path === '' || one.startsWith('[') ? path + one : `${path}.${one}`), '');
}

export function compareRaw(tool: ReportTool, runs: readonly Run[], findings: Findings): void {
  compareValues(
    { tool, findings },
    undefined,
    runs,
    runs.map(({ output }) => output),
    0,
  );
}

/** `runs` and `values` in parallel: of those runs that have what the value stands in. */
function compareValues(
  walk: Walk,
  place: Place | undefined,
  runs: readonly Labelled[],
  values: readonly unknown[],
  depth: number,
): void {
  if (values.every((value) => value === values[0])) return;
  const here = values.filter((value) => value !== undefined);
  if (here.length < values.length) {
    tell(walk, place, runs, values);
    if (here.length < 2 || typeof here[0] !== 'object') return;
  }
  const among = here.length === values.length ? runs : runs.filter((_, at) => values[at] !== undefined);
  if (depth < DEEPEST && here.every(isObject)) compareObjects(walk, place, among, here, depth);
  else if (depth < DEEPEST && here.every(Array.isArray)) compareLists(walk, place, among, here, depth);
  else if (here.length === values.length) tell(walk, place, runs, values);
}

function tell(walk: Walk, place: Place | undefined, runs: readonly Labelled[], values: readonly unknown[]): void {
  const { tool, findings } = walk;
  const change = changeOver(values);
  if (change === undefined) return;
  findings.add({
    tool,
    level: 'raw',
    path: pathOf(place, 'text'),
    generic: pathOf(place, 'generic'),
    change,
    collapsed: place?.collapsed === true,
    runs,
    values,
  });
}

function compareObjects(
  walk: Walk,
  place: Place | undefined,
  runs: readonly Labelled[],
  objects: readonly Record<string, unknown>[],
  depth: number,
): void {
  const names = new Set<string>();
  for (const object of objects) for (const name of Object.keys(object)) names.add(name);
  const generic = pathOf(place, 'generic');
  const here = (name: string): Place => ({
    parent: place,
    text: named(name),
    generic: named(name),
    collapsed: place?.collapsed === true,
  });
  // Renamed ones first: the new name stands alone in one of the objects.
  for (const name of names) {
    const to = renamedTo(walk.tool, generic, name);
    if (to === undefined) continue;
    const isRenamed = (object: Record<string, unknown>) =>
      own(object, name) === undefined && own(object, to) !== undefined;
    if (!objects.some(isRenamed)) continue;
    const values = objects.map((object) => own(object, name) ?? own(object, to));
    compareRenamed(walk, here(name), to, runs, values);
    names.delete(name);
    names.delete(to);
  }
  for (const name of names) {
    if (depth === 0 && OWN_NAMES.has(name)) continue;
    const values = objects.map((object) => own(object, name));
    compareValues(walk, here(name), runs, values, depth + 1);
  }
}

function compareRenamed(
  walk: Walk,
  place: Place,
  to: string,
  runs: readonly Labelled[],
  values: readonly unknown[],
): void {
  const change = changeOver(values);
  walk.findings.add({
    tool: walk.tool,
    level: 'raw',
    path: pathOf(place, 'text'),
    generic: pathOf(place, 'generic'),
    change: change === undefined || change === 'rounding' ? 'renamed' : change,
    to: pathOf({ ...place, text: named(to) }, 'text'),
    collapsed: place.collapsed,
    runs,
    values,
  });
}

function compareLists(
  walk: Walk,
  place: Place | undefined,
  runs: readonly Labelled[],
  lists: readonly (readonly unknown[])[],
  depth: number,
): void {
  const { items, byPosition } = matched(place?.text ?? '', lists);
  items.forEach(({ label, values }) => {
    const here: Place = {
      parent: place,
      text: label,
      generic: '[]',
      collapsed: byPosition || place?.collapsed === true,
    };
    compareValues(walk, here, runs, values, depth + 1);
  });
}

/** The items of lists side by side: by what names an item, where something does; else by their position. */
interface Item {
  /** As it stands in the path: `[0]`, `[@type=Audio][1]`. */
  label: string;
  /** One for each list; undefined: it does not have the item. */
  values: unknown[];
}

interface Naming {
  member: string;
  /** Its value is the place that callers know: `streams[2]`. */
  isPlace: boolean;
}

/** By the name of the list. What ffprobe and mediainfo print beside these has no names. */
const NAMINGS: ReadonlyMap<string, Naming> = new Map([
  ['streams', { member: 'index', isPlace: true }],
  ['stream_groups', { member: 'index', isPlace: true }],
  ['programs', { member: 'program_id', isPlace: false }],
  ['chapters', { member: 'id', isPlace: false }],
  ['side_data_list', { member: 'side_data_type', isPlace: false }],
  ['track', { member: '@type', isPlace: false }],
]);

const LONGEST_NAME = 100;

function nameOf(item: unknown, member: string): string | undefined {
  if (typeof item !== 'object' || item === null || !Object.hasOwn(item, member)) return undefined;
  const value = (item as Record<string, unknown>)[member];
  return typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, LONGEST_NAME) : undefined;
}

function matched(list: string, lists: readonly (readonly unknown[])[]): { items: Item[]; byPosition: boolean } {
  const naming = NAMINGS.get(list);
  const byTheirNames = naming && byName(naming, lists);
  if (byTheirNames) return { items: byTheirNames, byPosition: false };
  const longest = Math.max(...lists.map(({ length }) => length));
  const items = Array.from({ length: longest }, (_, at) => ({
    label: `[${at}]`,
    values: lists.map((values) => values[at]),
  }));
  return { items, byPosition: true };
}

/** Undefined where an item has no name. Of several with one name the first is the first, the second the second. */
function byName({ member, isPlace }: Naming, lists: readonly (readonly unknown[])[]): Item[] | undefined {
  const items = new Map<string, Item>();
  for (const [place, values] of lists.entries()) {
    const seen = new Map<string, number>();
    for (const value of values) {
      const name = nameOf(value, member);
      if (name === undefined) return undefined;
      const nth = seen.get(name) ?? 0;
      seen.set(name, nth + 1);
      const label = `${isPlace ? `[${name}]` : `[@${member.replace(/^@/, '')}=${name}]`}${nth === 0 ? '' : `[${nth}]`}`;
      let item = items.get(label);
      if (!item) items.set(label, (item = { label, values: lists.map(() => undefined) }));
      item.values[place] = value;
    }
  }
  return [...items.values()];
}
