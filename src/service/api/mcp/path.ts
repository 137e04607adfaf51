/** Paths into a result: `probe_report.response.streams[0].codec.name`; `["…"]` for other names. */

const STEP = /\.?([^.[\]"]+)|\[(\d{1,9})\]|\[("(?:[^"\\]|\\.)*")\]/y;
const PLAIN = /^[A-Za-z_@][\w@-]*$/;
/** Deeper parts are not looked into. */
export const DEEPEST = 48;

export type Step = string | number;

/** Null: not a path. */
export function parsePath(text: string): Step[] | null {
  const steps: Step[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < text.length) {
    const match = STEP.exec(text);
    if (!match || steps.length >= DEEPEST) return null;
    const [, name, index, quoted] = match;
    if (quoted === undefined) steps.push(name ?? Number(index));
    else
      try {
        steps.push(JSON.parse(quoted) as string);
      } catch {
        return null;
      }
  }
  return steps;
}

export const joined = (path: string, step: Step): string => {
  if (typeof step === 'number') return `${path}[${step}]`;
  if (!PLAIN.test(step)) return `${path}[${JSON.stringify(step)}]`;
  return path === '' ? step : `${path}.${step}`;
};

export type Found = { value: unknown } | { missing: string; names: string[] };

const MOST_NAMES = 40;

const has = (value: unknown, step: Step): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.hasOwn(value, step) &&
  // The length of a list is none of its items.
  (!Array.isArray(value) || /^\d+$/.test(String(step)));

/** The part of a value, or how far the path leads and what is there. */
export function partOf(value: unknown, steps: readonly Step[]): Found {
  let at = '';
  let here = value;
  for (const step of steps) {
    if (!has(here, step)) return { missing: at, names: namesIn(here) };
    here = (here as Record<Step, unknown>)[step];
    at = joined(at, step);
  }
  return { value: here };
}

function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.length === 0 ? [] : [`[0] to [${value.length - 1}]`];
  if (typeof value !== 'object' || value === null) return [];
  return Object.keys(value).slice(0, MOST_NAMES);
}
