/** A parsed playlist: tags with their positions, and what is derived from them. */
import type { Attributes } from './attributes.ts';
import { INTEGER } from './grammar.ts';
import { quote } from './rule.ts';
import type { Note } from './rules/catalog.ts';

export interface Tag {
  name: string;
  line: number;
  value: string;
  attributes: Attributes;
}

export interface ByteRange {
  length: number;
  /* Undefined: where the previous one of the same resource ended. */ offset: number | undefined;
}

export interface Part {
  uri: string;
  line: number;
  duration: number;
  independent: boolean;
  gap: boolean;
  range: ByteRange | undefined;
}

export interface Key {
  tag: Tag;
  method: string;
  uri: string | undefined;
  iv: string | undefined;
  format: string;
  /* Segments that it applies to. */ used: number;
}
export interface InitSection {
  tag: Tag;
  uri: string;
  range: ByteRange | undefined;
  keys: readonly Key[];
}

export interface Segment {
  uri: string;
  line: number;
  /** Line of its EXTINF; 0 if it has none. */
  infLine: number;
  duration: number;
  sequence: bigint;
  discontinuity: boolean;
  gap: boolean;
  range: ByteRange | undefined;
  /** Milliseconds, if it has its own EXT-X-PROGRAM-DATE-TIME. */
  date: number | undefined;
  keys: readonly Key[];
  map: InitSection | undefined;
  /** In kbit/s, from EXT-X-BITRATE. */
  bitrate: number | undefined;
  parts: readonly Part[];
}

export interface Variant {
  tag: Tag;
  uri: string;
  line: number;
  iframes: boolean;
}
export interface Rendition {
  tag: Tag;
  type: string;
  group: string;
  uri: string | undefined;
}

export type PlaylistKind = 'media' | 'multivariant' | 'unknown';

export interface Playlist {
  /** In displayable form; references are resolved against `base`. */
  url: string;
  base: string;
  kind: PlaylistKind;
  lines: number;
  bytes: number;
  /** False if the playlist exceeds the read limit, so its end is unknown. */
  whole: boolean;
  version: number | undefined;
  versionLine: number;
  /** Number of occurrences of each tag, and line of the first. */
  counts: ReadonlyMap<string, { count: number; line: number }>;
  /** All tags except those represented by a segment or a part. */
  tags: readonly Tag[];
  variables: ReadonlyMap<string, string>;

  targetDuration: number | undefined;
  /** Up to 2^64-1, as a clock in nanoseconds has it: a number would not be exact. */
  mediaSequence: bigint;
  discontinuitySequence: number;
  type: 'VOD' | 'EVENT' | undefined;
  ended: boolean;
  iframesOnly: boolean;
  partTarget: number | undefined;
  segments: readonly Segment[];
  /** Parts of the segment that is not complete yet. */
  openParts: readonly Part[];
  /** Number of segments that a delta update omits. */
  skipped: number;

  variants: readonly Variant[];
  renditions: readonly Rendition[];

  /** Its first lines as they were read, where the report shows them. */
  head?: string;
}

export const isLive = ({ kind, ended, type, whole }: Playlist): boolean =>
  kind === 'media' && !ended && type !== 'VOD' && whole;
export const has = (playlist: Playlist, tag: string): boolean => playlist.counts.has(tag);
export const lineOf = (playlist: Playlist, tag: string): number => playlist.counts.get(tag)?.line ?? 1;
export const tagsOf = (playlist: Playlist, name: string): Tag[] => playlist.tags.filter((tag) => tag.name === name);
export const text = (tag: Tag, name: string): string | undefined => tag.attributes.get(name)?.value;
export const number = (tag: Tag, name: string): number | undefined => numeric(text(tag, name));
export const durationOf = (playlist: Playlist): number =>
  playlist.segments.reduce((sum, { duration }) => sum + duration, 0);

/** An invalid number is noted, and parsed as far as possible. */
export function wholeNumber(value: string, name: string, line: number, note: Note): number | undefined {
  if (INTEGER.test(value)) return Number(value);
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

const numeric = (value: string | undefined): number | undefined => {
  const figure = Number.parseFloat(value ?? '');
  return Number.isFinite(figure) ? figure : undefined;
};

export function byteRange(value: string): ByteRange | undefined {
  const match = /^(\d{1,16})(?:@(\d{1,16}))?$/.exec(value);
  return match === null
    ? undefined
    : { length: Number(match[1]), offset: match[2] === undefined ? undefined : Number(match[2]) };
}

export const keyOf = (tag: Tag): Key => ({
  tag,
  method: text(tag, 'METHOD') ?? '',
  uri: text(tag, 'URI'),
  iv: text(tag, 'IV'),
  format: text(tag, 'KEYFORMAT') ?? 'identity',
  used: 0,
});

export function initSectionOf(tag: Tag, keys: readonly Key[]): InitSection {
  const range = byteRange(text(tag, 'BYTERANGE') ?? '');
  return {
    tag,
    uri: text(tag, 'URI') ?? '',
    range: range === undefined ? undefined : { length: range.length, offset: range.offset ?? 0 },
    keys,
  };
}

export const partOf = (tag: Tag): Part => ({
  uri: text(tag, 'URI') ?? '',
  line: tag.line,
  duration: numeric(text(tag, 'DURATION')) ?? 0,
  independent: text(tag, 'INDEPENDENT') === 'YES',
  gap: text(tag, 'GAP') === 'YES',
  range: byteRange(text(tag, 'BYTERANGE') ?? ''),
});
