/**
 * Makes a value one that Postgres takes. Postgres refuses U+0000 in text and jsonb, lone surrogates in jsonb, and
 * numbers outside their column: without this, one such byte in a tool's message keeps the end of its request from ever
 * being recorded.
 */

/** A bound for one text, not a limit of the product: callers bound their own fields far below it. */
export const MAX_TEXT = 1_048_576;
const REPLACEMENT = '\uFFFD';

/** U+0000 and lone surrogates become U+FFFD; what is over the bound is cut. */
export function storable(text: string): string {
  const bounded = text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text;
  return bounded.toWellFormed().replaceAll('\0', REPLACEMENT);
}

/** A jsonb parameter: plain strings are text, so JSON must be marked as such. */
export class Jsonb {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

// JSON.stringify writes U+0000 and lone surrogates, and nothing else of the two kinds, as escapes. `\\` is taken as
// one, so that an escaped backslash before "u0000" is left alone.
const ESCAPE = /\\(u0000|ud[89a-f][0-9a-f]{2}|.)/g;

/** Null and undefined are SQL's null. */
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

/** An invalid Date is sent as text that no timestamp column takes. */
export const timestamp = (value: Date | null): Date | null =>
  value === null || Number.isNaN(value.getTime()) ? null : value;

function parameter(value: unknown): unknown {
  if (typeof value === 'string') return storable(value);
  if (value instanceof Jsonb) return value.text;
  if (Array.isArray(value)) return value.map(parameter);
  // pg would write a plain object as JSON of its own, past jsonb().
  if (typeof value === 'object' && value !== null && !(value instanceof Date) && !ArrayBuffer.isView(value))
    throw new TypeError('a jsonb parameter must be wrapped in jsonb()');
  return value;
}

/** The one door: every parameter of every query passes it. */
export const parameters = (values: readonly unknown[]): unknown[] => values.map(parameter);
