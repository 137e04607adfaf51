/** Reads values of unknown type: a wrong type becomes undefined. */
import { isObject } from '../../base/is_object.ts';

export type Json = unknown;
export interface JsonObject {
  readonly [key: string]: unknown;
}

export const objectOf = (value: Json): JsonObject => (isObject(value) ? value : {});
export const listOf = (value: Json): readonly unknown[] =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];

const LONGEST = 1000;
export function textOf(value: Json): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  return text === '' ? undefined : text.slice(0, LONGEST);
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?$/;
const LARGEST = 1e18;
export function numberOf(value: Json): number | undefined {
  const number =
    typeof value === 'number' ? value : typeof value === 'string' && NUMBER.test(value.trim()) ? Number(value) : NaN;
  return Number.isFinite(number) && Math.abs(number) < LARGEST ? number : undefined;
}
export const wholeOf = (value: Json): number | undefined => {
  const number = numberOf(value);
  return number === undefined ? undefined : Math.round(number);
};
export const positiveOf = (value: Json): number | undefined => {
  const number = numberOf(value);
  return number !== undefined && number > 0 ? number : undefined;
};

/** Matches keys in any case and with a language suffix: muxers write `language`, `LANGUAGE` and `BPS-eng`. */
export function tagOf(tags: JsonObject, ...names: string[]): string | undefined {
  for (const [key, value] of Object.entries(tags)) {
    const plain = key.toLowerCase().replace(/-[a-z]{3}$/, '');
    if (names.includes(plain)) {
      const text = textOf(value);
      if (text !== undefined) return text;
    }
  }
  return undefined;
}

/** A table without a prototype, because it is indexed with arbitrary tool output such as `constructor`. */
export const table = <T>(entries: Record<string, T>): Readonly<Record<string, T>> =>
  Object.assign(Object.create(null) as Record<string, T>, entries);

/** Rows of a table for words that stay as they are. */
export const unchanged = (words: string): Record<string, string> =>
  Object.fromEntries(words.split(' ').map((word) => [word, word]));

/** Removes members without a value. */
export function known<T>(values: Record<string, T | undefined>): Record<string, T> {
  const kept: Record<string, T> = {};
  for (const key in values) if (values[key] !== undefined) kept[key] = values[key];
  return kept;
}
