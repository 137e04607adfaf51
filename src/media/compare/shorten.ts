/** Values as they are told: scalars, cut to a bounded length; objects as the beginning of their JSON. */
import { LONGEST_PATH, LONGEST_VALUE } from './limits.ts';

export type Shown = string | number | boolean | null;

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

export function shown(value: unknown): Shown {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'string') return cut(value, LONGEST_VALUE);
  return cut(beginning(value, LONGEST_VALUE), LONGEST_VALUE);
}

export const shownPath = (path: string): string => cut(path, LONGEST_PATH);
