/** The outputs of one tool side by side, as it printed them: walked together, so that only changes cost memory. */
import { isObject } from '../../base/is_object.ts';
import type { ReportTool } from '../tools/probe_report.ts';
import { changeOver } from './change.ts';
import type { Findings, Labelled } from './findings.ts';
import { renamedTo } from './known.ts';

/** What says which version printed it, and so differs always. */
const OWN_NAMES: ReadonlySet<string> = new Set(['creatingLibrary', 'program_version', 'library_versions']);
/** Outputs of the tools are nested up to ten deep. */
const DEEPEST = 64;

/** Where the walk stands: names are put together only where something is told. */
interface Place {
  parent: Place | undefined;
  text: string;
  generic: string;
  collapsed: boolean;
  depth: number;
}
type Values = readonly unknown[];
type Runs = readonly Labelled[];

const own = (object: Record<string, unknown>, key: string): unknown =>
  Object.hasOwn(object, key) ? object[key] : undefined;

const PLAIN_NAME = /^[A-Za-z_@][\w-]*$/;
const named = (name: string): string => (PLAIN_NAME.test(name) ? name : `["${name.replaceAll(/["\\]/g, '\\$&')}"]`);

function pathOf(place: Place, part: 'text' | 'generic'): string {
  const parts: string[] = [];
  for (let at: Place | undefined = place; at; at = at.parent) parts.push(at[part]);
  return parts.reduceRight((path, one) => (path === '' || one.startsWith('[') ? path + one : `${path}.${one}`), '');
}

export function compareRaw(
  tool: ReportTool,
  runs: readonly (Labelled & { output: unknown })[],
  findings: Findings,
): void {
  const root: Place = { parent: undefined, text: '', generic: '', collapsed: false, depth: 0 };
  const outputs = runs.map(({ output }) => output);
  new Walk(tool, findings).values(root, runs, outputs);
}

/** Runs and values are in parallel: of those runs that have what the value stands in. */
class Walk {
  readonly #tool: ReportTool;
  readonly #findings: Findings;

  constructor(tool: ReportTool, findings: Findings) {
    this.#tool = tool;
    this.#findings = findings;
  }

  values(place: Place, runs: Runs, values: Values): void {
    if (values.every((value) => value === values[0])) return;
    const here = values.filter((value) => value !== undefined);
    if (here.length < values.length) {
      this.#tell(place, runs, values);
      if (here.length < 2 || typeof here[0] !== 'object') return;
    }
    const among = here.length === values.length ? runs : runs.filter((_, at) => values[at] !== undefined);
    if (place.depth < DEEPEST && here.every(isObject)) this.#objects(place, among, here);
    else if (place.depth < DEEPEST && here.every(Array.isArray)) this.#lists(place, among, here);
    else if (here.length === values.length) this.#tell(place, runs, values);
  }

  /** `to`: the new name, where the field was renamed. */
  #tell(place: Place, runs: Runs, values: Values, to?: string): void {
    const found = changeOver(values);
    const change = to !== undefined && (found === undefined || found === 'rounding') ? 'renamed' : found;
    if (change === undefined) return;
    this.#findings.add({
      tool: this.#tool,
      level: 'raw',
      path: pathOf(place, 'text'),
      generic: pathOf(place, 'generic'),
      change,
      to: to === undefined ? undefined : pathOf({ ...place, text: named(to) }, 'text'),
      collapsed: place.collapsed,
      runs,
      values,
    });
  }

  #objects(place: Place, runs: Runs, objects: readonly Record<string, unknown>[]): void {
    const { collapsed, depth } = place;
    const names = new Set(objects.flatMap((object) => Object.keys(object)));
    const generic = pathOf(place, 'generic');
    const here = (name: string): Place => {
      const text = named(name);
      return { parent: place, text, generic: text, collapsed, depth: depth + 1 };
    };
    // Renamed ones first: the new name stands alone in one of the objects.
    for (const name of names) {
      const to = renamedTo(this.#tool, generic, name);
      if (to === undefined) continue;
      const isRenamed = (object: Record<string, unknown>) =>
        own(object, name) === undefined && own(object, to) !== undefined;
      if (!objects.some(isRenamed)) continue;
      const values = objects.map((object) => own(object, name) ?? own(object, to));
      this.#tell(here(name), runs, values, to);
      names.delete(name);
      names.delete(to);
    }
    for (const name of names) {
      if (depth === 0 && OWN_NAMES.has(name)) continue;
      const values = objects.map((object) => own(object, name));
      this.values(here(name), runs, values);
    }
  }

  #lists(place: Place, runs: Runs, lists: readonly Values[]): void {
    const { items, byPosition } = matched(place.text, lists);
    const collapsed = byPosition || place.collapsed;
    for (const { label, values } of items)
      this.values({ parent: place, text: label, generic: '[]', collapsed, depth: place.depth + 1 }, runs, values);
  }
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

function matched(list: string, lists: readonly Values[]): { items: Item[]; byPosition: boolean } {
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
function byName({ member, isPlace }: Naming, lists: readonly Values[]): Item[] | undefined {
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
