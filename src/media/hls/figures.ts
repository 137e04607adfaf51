/** Numbers in playlists. An invalid number is noted, and parsed as far as possible. */
import type { ByteRange } from './playlist.ts';
import { quote } from './rule.ts';
import type { Note } from './rules/catalog.ts';

export function wholeNumber(value: string, name: string, line: number, note: Note): number | undefined {
  if (/^\d{1,16}$/.test(value)) return Number(value);
  note('tag-value', line, `${name}: ${quote(value)} is not a whole number`);
  const near = Number.parseInt(value, 10);
  return Number.isFinite(near) && near >= 0 ? near : undefined;
}

/** Handles a duration that is not a decimal number from 0 up. */
export function badDuration(figure: string, line: number, note: Note): number {
  note('extinf-duration', line, `${quote(figure)} is not a decimal number from 0 up`);
  const near = Number.parseFloat(figure);
  return Number.isFinite(near) && near > 0 ? near : 0;
}

export const numeric = (value: string | undefined): number | undefined => {
  const figure = Number.parseFloat(value ?? '');
  return Number.isFinite(figure) ? figure : undefined;
};

export function byteRange(value: string): ByteRange | undefined {
  const match = /^(\d{1,16})(?:@(\d{1,16}))?$/.exec(value);
  return match === null
    ? undefined
    : { length: Number(match[1]), offset: match[2] === undefined ? undefined : Number(match[2]) };
}
