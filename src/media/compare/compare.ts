/** What the runs of a tool say differently: several versions on one file, or one version on two files. Pure. */
import { isObject } from '../../base/is_object.ts';
import { isShown } from '../report/compare.ts';
import { ruleOf } from '../report/fields.ts';
import { readFfprobe } from '../report/normalise/ffprobe.ts';
import { readMediainfo } from '../report/normalise/mediainfo.ts';
import { valueOf } from '../report/normalise/ratio.ts';
import { type Field, type Fields, type Side, type SideStream, STREAM_TYPES, type StreamType } from '../report/side.ts';
import { frameOf, same } from '../report/tolerances.ts';
import { REPORT_TOOLS, type ReportTool } from '../tools/probe_report.ts';
import { changeOver } from './change.ts';
import { Findings, type Found, type Labelled } from './findings.ts';
import { renamedTo } from './known.ts';
import type { Comparison } from './schema.ts';

export interface ComparedRun extends Labelled {
  tool: ReportTool;
  /** What the tool printed; null: it failed, or printed no JSON. */
  output: { bytes: number; text(): string } | null;
}

/**
 * Of one run. What JSON.parse makes of an output takes several times its size, and all that are compared are held at
 * once: of more than ALL_BYTES the last ones are left out.
 */
const MOST_BYTES = 16 * 1024 * 1024;
const ALL_BYTES = 2 * MOST_BYTES;

const MB = 1024 * 1024;
/**
 * Commas in all of them. A parsed value takes about 100 bytes, however short its text is. ffprobe prints a value in 30
 * bytes; two outputs of 16 MB with a value in 9 bytes made the agent peak at 700 MB, and its container has 640.
 */
const MOST_VALUES = 1_500_000;
const COMMA = 44;

function commasIn(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) === COMMA) count += 1;
  return count;
}

/** The outputs of one tool, as far as there is room for them. */
function read(tool: ReportTool, runs: readonly ComparedRun[], findings: Findings) {
  let room = ALL_BYTES;
  let values = MOST_VALUES;
  return runs.flatMap(({ label, version, output }) => {
    const not = (why: string): [] => {
      findings.notCompared(tool, label, why);
      return [];
    };
    if (output === null) return not('it gave no JSON');
    const { bytes } = output;
    if (bytes > MOST_BYTES) return not(`its output of ${Math.ceil(bytes / MB)} MB is over ${MOST_BYTES / MB} MB`);
    if (bytes > room) return not(`the outputs of all runs are over ${ALL_BYTES / MB} MB`);
    try {
      const text = output.text();
      const commas = commasIn(text);
      if (commas > values) return not(`the outputs of all runs have more than ${MOST_VALUES} values`);
      const parsed: unknown = JSON.parse(text);
      room -= bytes;
      values -= commas;
      return [{ label, version, output: parsed }];
    } catch {
      return not('its output is not valid JSON');
    }
  });
}

/**
 * Runs of a tool are compared in the order in which they come; a tool with one run is compared with nothing. Without
 * `raw`: after normalisation alone.
 */
export function compareRuns(runs: readonly ComparedRun[], { raw = true } = {}): Comparison {
  const findings = new Findings();
  for (const tool of REPORT_TOOLS) {
    const own = runs.filter((run) => run.tool === tool);
    if (own.length < 2) continue;
    const told = read(tool, own, findings);
    if (told.length < 2) continue;
    compareCanonical(tool, told, findings);
    if (raw) compareRaw(tool, told, findings);
  }
  return findings.end();
}

// The runs of one tool after normalisation: what a reader of probe_report would notice.

const READ = { ffprobe: readFfprobe, mediainfo: readMediainfo } as const;

interface Run extends Labelled {
  output: unknown;
}

function compareCanonical(tool: ReportTool, runs: readonly Run[], findings: Findings): void {
  const judged = runs.flatMap((run) => {
    const side = READ[tool](run.output, run.version);
    if (!side) findings.notCompared(tool, run.label, 'the output names neither a container nor streams');
    return side ? [{ run, side }] : [];
  });
  if (judged.length < 2) return;
  const among = judged.map(({ run }) => run);
  const sides = judged.map(({ side }) => side);
  const add: Add = (found) => findings.add({ tool, level: 'canonical', ...found });
  const slowest = Math.max(
    frameOf({}),
    ...sides.flatMap(({ streams }) => streams.map(({ fields }) => frameOf(fields))),
  );
  const containers = sides.map(({ container }) => container);
  compareFields({ path: 'container', generic: 'container', of: 'container', frame: slowest }, among, containers, add);
  for (const type of STREAM_TYPES) compareStreams(type, among, sides, add);
}

type Add = (found: Omit<Found, 'tool' | 'level'>) => void;
interface Part {
  path: string;
  generic: string;
  of: 'container' | 'stream';
  frame: number;
}

function compareStreams(type: StreamType, runs: readonly Labelled[], sides: readonly Side[], add: Add): void {
  for (const [nth, streams] of rows(sides.map((side) => side.streams.filter((one) => one.type === type))).entries()) {
    const [path, generic] = [`${type}[${nth}]`, `${type}[]`];
    const seen = streams.flatMap((stream, at) => (stream ? [{ stream, run: runs[at]! }] : []));
    if (seen.length < streams.length) {
      const values = streams.map((stream) => stream && (stream.fields['codec.name'] ?? type));
      // That the codec differs as well is told of the field.
      const change = changeOver(streams.map((stream) => stream && type))!;
      add({ path, generic, change, runs, values });
    }
    const frame = Math.max(...seen.map(({ stream }) => frameOf(stream.fields)));
    const [among, fields] = [seen.map(({ run }) => run), seen.map(({ stream }) => stream.fields)];
    compareFields({ path, generic, of: 'stream', frame }, among, fields, add);
  }
}

/** The same stream of each run: by the container's number of it where every run names all of them, else in order. */
function rows(streams: readonly SideStream[][]): (SideStream | undefined)[][] {
  const ids = streams.map((list) => list.map(({ id }) => id));
  const named = ids.every((list) => list.every((id) => id !== undefined) && new Set(list).size === list.length);
  if (named) {
    const all = [...new Set(ids.flat())];
    return all.map((id) => streams.map((list) => list.find((stream) => stream.id === id)));
  }
  const most = Math.max(...streams.map(({ length }) => length));
  return Array.from({ length: most }, (_, at) => streams.map((list) => list[at]));
}

function compareFields(part: Part, runs: readonly Labelled[], said: readonly Fields[], add: Add): void {
  if (said.length < 2) return;
  const duration = Number(said.find((fields) => fields['duration'] !== undefined)?.['duration'] ?? 0);
  const names = new Set(said.flatMap((fields) => Object.keys(fields)));
  for (const field of names) {
    if (!isShown(field)) continue;
    const tolerance = ruleOf(field)[part.of];
    const rounds = (a: unknown, b: unknown): boolean =>
      tolerance !== undefined &&
      valueOf(a) !== undefined &&
      valueOf(b) !== undefined &&
      same(a as Field, b as Field, tolerance, part.frame, duration);
    const values = said.map((fields) => (Object.hasOwn(fields, field) ? fields[field] : undefined));
    const change = changeOver(values, rounds);
    if (change !== undefined)
      add({ path: `${part.path}.${field}`, generic: `${part.generic}.${field}`, change, runs, values });
  }
}

// The outputs of one tool side by side, as it printed them: walked together, so that only changes cost memory.

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

function compareRaw(tool: ReportTool, runs: readonly (Labelled & { output: unknown })[], findings: Findings): void {
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
