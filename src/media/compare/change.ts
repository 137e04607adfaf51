/** What kind of change lies between two values. */
import { CHANGES, type Change } from './limits.ts';

/** Undefined: the run does not have the field. */
export type Value = unknown;

const stronger = (a: Change | undefined, b: Change | undefined): Change | undefined =>
  a === undefined || (b !== undefined && CHANGES.indexOf(b) < CHANGES.indexOf(a)) ? b : a;

const NUMBER = /^[+-]?\d{1,18}(?:\.(\d{1,18}))?$/;

/** How a number is printed: its value and its decimals. */
function printed(value: Value): { number: number; decimals: number } | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  const found = NUMBER.exec(String(value));
  return found ? { number: Number(found[0]), decimals: found[1]?.length ?? 0 } : undefined;
}

/** The same number, or one of them is the other with fewer decimals. */
function isRounding(one: Value, other: Value): boolean {
  const [a, b] = [printed(one), printed(other)];
  if (!a || !b) return false;
  if (a.number === b.number) return true;
  const coarse = Math.min(a.decimals, b.decimals);
  return coarse > 0 && a.decimals !== b.decimals && Math.abs(a.number - b.number) <= 0.500001 * 10 ** -coarse;
}

const kindOf = (value: Value): string => (value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value);

/** `rounds`: whether two values of one type say the same within what may be rounded. */
export function changeOf(
  before: Value,
  after: Value,
  rounds: (before: Value, after: Value) => boolean = isRounding,
): Change | undefined {
  if (before === after) return undefined;
  if (before === undefined) return 'added';
  if (after === undefined) return 'removed';
  const kind = kindOf(before);
  if (kind !== kindOf(after)) return 'type';
  // What differs within them is told of their members.
  if (kind === 'object' || kind === 'list') return undefined;
  return rounds(before, after) ? 'rounding' : 'value';
}

/** The strongest change from one run to the next. */
export function changeOver(
  values: readonly Value[],
  rounds?: (before: Value, after: Value) => boolean,
): Change | undefined {
  let found: Change | undefined;
  for (let at = 1; at < values.length; at++) found = stronger(found, changeOf(values[at - 1], values[at], rounds));
  return found;
}
