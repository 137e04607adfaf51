/** Collects changed fields: as many as there is room for, the others are counted. News goes before what is known. */
import { knownChange } from './known.ts';
import { CHANGES, LONGEST_PATH, LONGEST_VALUE, MOST_FIELDS, MOST_TEXT, type Change, type Level } from './limits.ts';
import type { ChangedField, Comparison, Summary } from './schema.ts';
import type { ReportTool } from '../tools/probe_report.ts';

/** One run of a tool, as it is compared with the others of the same tool. */
export interface Labelled {
  /** Its version, or `a` and `b`. */
  label: string;
  version: string;
}

export interface Found {
  tool: ReportTool;
  level: Level;
  path: string;
  /** The path with all places of lists taken out: `streams[].tags.language`. */
  generic: string;
  change: Change;
  to?: string | undefined;
  /** In a list that is matched by position: told once for all items. */
  collapsed?: boolean;
  runs: readonly Labelled[];
  /** One for each run; undefined: it does not have the field. */
  values: readonly unknown[];
}

type Counts = Summary['changes'];
interface Told {
  field: ChangedField;
  place: number;
}

/** Generic paths of lists that are remembered; a list of further ones is counted item by item. */
const MOST_COLLAPSED = 2_000;

export class Findings {
  readonly #news: Told[] = [];
  readonly #known: Told[] = [];
  readonly #collapsed = new Map<string, ChangedField>();
  readonly #changes: Counts = Object.fromEntries(CHANGES.map((change) => [change, 0])) as Counts;
  readonly #levels: Record<Level, number> = { canonical: 0, raw: 0 };
  readonly #notCompared: Summary['not_compared'] = [];
  #fields = 0;
  #knownFields = 0;

  add(found: Found): void {
    const key = found.collapsed ? `${found.tool} ${found.change} ${found.generic}` : undefined;
    const first = key === undefined ? undefined : this.#collapsed.get(key);
    if (first) {
      first.count = (first.count ?? 1) + 1;
      return;
    }
    this.#fields += 1;
    this.#changes[found.change] = (this.#changes[found.change] ?? 0) + 1;
    this.#levels[found.level] += 1;
    const known = knownChange(found);
    if (known) this.#knownFields += 1;
    const list = known ? this.#known : this.#news;
    if (list.length >= MOST_FIELDS) return;
    const { tool, level, change, to } = found;
    const field: ChangedField = {
      path: shownPath(found.path),
      tool,
      level,
      change,
      ...(to === undefined ? {} : { to: shownPath(to) }),
      values: Object.fromEntries(
        found.values.flatMap((value, at) => (value === undefined ? [] : [[found.runs[at]!.label, shown(value)]])),
      ),
      ...(known ? { known } : {}),
    };
    list.push({ field, place: this.#fields });
    if (key !== undefined && this.#collapsed.size < MOST_COLLAPSED) this.#collapsed.set(key, field);
  }

  notCompared(tool: ReportTool, run: string, why: string): void {
    if (this.#notCompared.length < 32) this.#notCompared.push({ tool, run, why });
  }

  end(): Comparison {
    let room = MOST_TEXT;
    const told = [...this.#news, ...this.#known].slice(0, MOST_FIELDS).filter(({ field }) => {
      // As it is stored: a JSON text within a JSON text.
      room -= Buffer.byteLength(JSON.stringify(JSON.stringify(field)));
      return room >= 0;
    });
    const fields = told.sort((a, b) => a.place - b.place).map(({ field }) => field);
    return {
      fields,
      summary: {
        fields: this.#fields,
        told: fields.length,
        known: this.#knownFields,
        ...this.#levels,
        changes: this.#changes,
        not_compared: this.#notCompared,
      },
    };
  }
}

/** Values as they are told: scalars, cut to a bounded length; objects as the beginning of their JSON. */
type Shown = string | number | boolean | null;

/** Never ends with half of a character. */
function cut(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const whole = text.slice(0, longest - 1);
  return `${/[\ud800-\udbff]$/.test(whole) ? whole.slice(0, -1) : whole}…`;
}

const DEEPEST = 4;

/** As JSON, as far as there is room: an object may be huge, and nested without end. */
function beginning(value: unknown, room: number, depth = 0): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, room));
  if (typeof value !== 'object' || value === null) return String(value);
  const isList = Array.isArray(value);
  if (depth >= DEEPEST) return isList ? '[…]' : '{…}';
  let text = isList ? '[' : '{';
  let first = true;
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue;
    if (!first) text += ',';
    first = false;
    if (text.length > room) break;
    const member = (value as Record<string, unknown>)[key];
    if (!isList) text += `${JSON.stringify(key.slice(0, room))}:`;
    text += beginning(member, room - text.length, depth + 1);
  }
  return text + (isList ? ']' : '}');
}

function shown(value: unknown): Shown {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'string') return cut(value, LONGEST_VALUE);
  return cut(beginning(value, LONGEST_VALUE), LONGEST_VALUE);
}

const shownPath = (path: string): string => cut(path, LONGEST_PATH);
