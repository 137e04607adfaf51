/** A parsed playlist: tags with their positions, and what is derived from them. */
import type { Attributes } from './attributes.ts';
import { numeric } from './figures.ts';

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
  sequence: number;
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
  mediaSequence: number;
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
