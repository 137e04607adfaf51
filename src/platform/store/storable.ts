/**
 * Converts values to ones that Postgres accepts. Postgres rejects U+0000 in text and jsonb, lone surrogates in jsonb,
 * and numbers out of range. Without this, one such byte in a tool's message would make its request's end impossible to
 * record.
 */

/** A safety bound per text, not a product limit: callers limit their fields far below it. */
export const MAX_TEXT = 1_048_576;
const REPLACEMENT = '\uFFFD';

/** Replaces U+0000 and lone surrogates by U+FFFD, and truncates at the bound. */
export function storable(text: string): string {
  const bounded = text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text;
  return bounded.toWellFormed().replaceAll('\0', REPLACEMENT);
}

/** A jsonb parameter. Plain strings are sent as text, so JSON needs this marker. */
export class Jsonb {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

// Of these characters, JSON.stringify escapes exactly U+0000 and lone surrogates. `\\` is matched as one unit, so an
// escaped backslash before "u0000" stays unchanged.
const ESCAPE = /\\(u0000|ud[89a-f][0-9a-f]{2}|.)/g;

/** Null and undefined become SQL null. */
export function jsonb(value: unknown): Jsonb | null {
  if (value === null || value === undefined) return null;
  const text = JSON.stringify(value);
  return new Jsonb(
    text.includes('\\u')
      ? text.replace(ESCAPE, (all, escaped: string) => (escaped.length > 1 ? REPLACEMENT : all))
      : text,
  );
}

const whole =
  (least: number, most: number) =>
  (value: number): number =>
    Number.isNaN(value) ? 0 : Math.min(most, Math.max(least, Math.round(value)));
export const smallint = whole(0, 32_767);
export const integer = whole(0, 2_147_483_647);
export const bigint = whole(0, Number.MAX_SAFE_INTEGER);

/** pg sends an invalid Date as text that no timestamp column accepts. */
export const timestamp = (value: Date | null): Date | null =>
  value === null || Number.isNaN(value.getTime()) ? null : value;

function parameter(value: unknown): unknown {
  if (typeof value === 'string') return storable(value);
  if (value instanceof Jsonb) return value.text;
  if (Array.isArray(value)) return value.map(parameter);
  // pg would serialize a plain object itself, bypassing jsonb().
  if (typeof value === 'object' && value !== null && !(value instanceof Date) && !ArrayBuffer.isView(value))
    throw new TypeError('a jsonb parameter must be wrapped in jsonb()');
  return value;
}

/** Every parameter of every query passes through here. */
export const parameters = (values: readonly unknown[]): unknown[] => values.map(parameter);
