/**
 * Parses a playlist line by line to its end, whatever it contains: each syntax error is noted with its position, and
 * parsing continues. A million lines take some hundred bytes each; tags that only describe a segment are not kept
 * separately.
 */
import { checkedAttributes, type Attributes } from './attributes.ts';
import {
  badDuration,
  byteRange,
  number,
  text,
  wholeNumber,
  type ByteRange,
  type Key,
  type Part,
  type Playlist,
  type Rendition,
  type Segment,
  type Tag,
  type Variant,
  initSectionOf,
  keyOf,
  partOf,
} from './playlist.ts';
import { distance, nearest } from '../../base/nearest.ts';
import { INTEGER, isDate, TAGS, timeOfDate, type TagSpec } from './grammar.ts';
import { quote } from './rule.ts';
import type { Note } from './rules/catalog.ts';

export interface ParseContext extends Elsewhere {
  url: string;
  base: string;
  bytes?: number;
  /** False: the text ends before the end of the playlist. */
  whole?: boolean;
  /** By `performance.now()`: lines not read by then are not checked. */
  until?: number | undefined;
  /** Maximum number of lines to read. */
  mostLines?: number;
}

const NO_ATTRIBUTES: Attributes = new Map();
const NO_KEYS: readonly Key[] = [];
/** Shared, never modified. */
const NO_PARTS: Part[] = [];
/** Maximum number of formats of the same key; no player supports more. */
const MOST_KEYS = 16;
/** A longer line is examined only up to this length. */
const LONGEST_LINE = 1 << 20;
/**
 * Bounds of the lines read and the tags kept: a hostile playlist of very short lines would otherwise fill any memory.
 */
export const MOST_LINES = 1_200_000;
const MOST_TAGS = 100_000;
/** This many lines take a few milliseconds; then the clock is checked. */
const LINES_AT_ONCE = 4096;

/** A playlist as far as it was read. */
interface Draft extends Playlist {
  counts: Map<string, { count: number; line: number }>;
  tags: Tag[];
  segments: Segment[];
  variants: Variant[];
  renditions: Rendition[];
}

class Reading {
  readonly note: Note;
  readonly variables: ReturnType<typeof openVariables>;
  readonly playlist: Draft;
  /** The segment that the tags read so far describe. */
  next = segmentAfter({ keys: NO_KEYS, map: undefined, bitrate: undefined });
  /** Line of a tag that describes a segment. */
  pending = 0;
  /** Line of a tag whose segment may arrive with the next reload. */
  later = 0;
  streamInf: Tag | undefined;
  keyOpen = false;
  /** Whether tags were left out. */
  cut = false;
  /** Unknown names that were compared with those of tags. */
  guessed = 0;
  /** Whether EXT-X-ENDLIST is there, misspelt. */
  endMeant = false;

  constructor({ url, base, bytes = 0, whole = true, ...elsewhere }: ParseContext, note: Note) {
    this.note = note;
    this.variables = openVariables(elsewhere, note);
    this.playlist = {
      url,
      base,
      kind: 'unknown',
      lines: 0,
      bytes,
      whole,
      version: undefined,
      versionLine: 0,
      counts: new Map(),
      tags: [],
      variables: this.variables.values,
      targetDuration: undefined,
      mediaSequence: 0n,
      discontinuitySequence: 0,
      type: undefined,
      ended: false,
      iframesOnly: false,
      partTarget: undefined,
      segments: [],
      openParts: NO_PARTS,
      skipped: 0,
      variants: [],
      renditions: [],
    };
  }

  get line(): number {
    return this.playlist.lines;
  }

  expand = (value: string): string => this.variables.expand(value, this.line);
}

/** Keys, init section and bit rate apply until others are named. */
const segmentAfter = ({ keys, map, bitrate }: Pick<Segment, 'keys' | 'map' | 'bitrate'>) => ({
  uri: '',
  line: 0,
  infLine: 0,
  duration: 0,
  sequence: 0n,
  discontinuity: false,
  gap: false,
  range: undefined as ByteRange | undefined,
  date: undefined as number | undefined,
  keys,
  map,
  bitrate,
  parts: NO_PARTS,
});

export function parsePlaylist(source: string, context: ParseContext, note: Note): Playlist {
  const state = new Reading({ bytes: source.length, ...context }, note);
  readLines(state, source, context);
  const { playlist } = state;
  const { counts } = playlist;
  playlist.kind = kindOf(playlist, note);
  // A recording whose end is misspelt is not a live stream.
  playlist.ended = counts.has('EXT-X-ENDLIST') || state.endMeant;
  playlist.iframesOnly = counts.has('EXT-X-I-FRAMES-ONLY');
  playlist.openParts = state.next.parts;
  return playlist;
}

function readLines(state: Reading, source: string, { mostLines = MOST_LINES, until = Infinity }: ParseContext): void {
  const { playlist } = state;
  for (let at = 0; at < source.length;) {
    let end = source.indexOf('\n', at);
    if (end === -1) end = source.length;
    const content = source.slice(at, end > at && source.charCodeAt(end - 1) === 13 ? end - 1 : end);
    at = end + 1;
    const bound = boundOf(state.line, mostLines, until);
    if (bound !== undefined) {
      state.note('analysis-cut', state.line, bound);
      playlist.whole = false;
      break;
    }
    playlist.lines++;
    readLine(state, content);
  }
  const { pending, later, streamInf, next } = state;
  if (streamInf !== undefined && playlist.whole) state.note('stream-inf-uri', streamInf.line);
  if (pending !== 0 && playlist.whole) state.note('segment-tag-alone', next.infLine || pending);
  else if (later !== 0 && playlist.counts.has('EXT-X-ENDLIST')) state.note('segment-tag-alone', later);
}

/** The bound that ends the reading behind this line. */
function boundOf(line: number, mostLines: number, until: number): string | undefined {
  if (line >= mostLines) return `the first ${line} lines were read`;
  if (line !== 0 && line % LINES_AT_ONCE === 0 && performance.now() > until)
    return `the first ${line} lines were read within the time limit`;
  return undefined;
}

function readLine(state: Reading, given: string): void {
  const line = state.line;
  let content = given;
  if (content.length > LONGEST_LINE) {
    state.note('line-too-long', line, `${content.length} characters`);
    content = content.slice(0, LONGEST_LINE);
  }
  if (content === '') {
    if (line === 1) state.note('not-a-playlist', 1, 'the first line is empty');
    return;
  }
  if (line === 1) judgeFirstLine(content, state.note);
  if (hasStraySpace(content)) {
    const isFirst = isSpace(content.charCodeAt(0));
    state.note('line-whitespace', line, undefined, isFirst ? 1 : content.trimEnd().length + 1);
    content = content.trim();
    if (content === '') return;
  }
  if (content.includes('\r')) state.note('line-ending', line);
  if (content.charCodeAt(0) !== HASH) readAddress(state, content);
  else if (content.startsWith('#EXT')) readTag(state, content);
  else if (/^#\s*ext(?:m3u|inf|-x-)/i.test(content))
    noteMisspelt(state, content, meantBy(state, content.slice(1).split(':', 1)[0]!));
}

/** Of a variant, or of the segment that the tags before it describe. */
function readAddress(state: Reading, content: string): void {
  const uri = content.includes('{$') ? state.expand(content) : content;
  const { playlist, next, line, streamInf } = state;
  if (streamInf !== undefined) {
    if (!state.cut) playlist.variants.push({ tag: streamInf, uri, line, iframes: false });
    state.streamInf = undefined;
    return;
  }
  for (const key of next.keys) key.used++;
  next.uri = uri;
  next.line = line;
  next.sequence = playlist.mediaSequence + BigInt(playlist.skipped + playlist.segments.length);
  next.range = placed(state, next.range, uri);
  playlist.segments.push(next);
  state.next = segmentAfter(next);
  state.pending = 0;
  state.later = 0;
  state.keyOpen = false;
}

/** A range without an offset begins where the one before it ends. */
function placed(state: Reading, range: ByteRange | undefined, uri: string): ByteRange | undefined {
  if (range === undefined || range.offset !== undefined) return range;
  const before = state.playlist.segments.at(-1);
  if (before?.uri === uri && before.range !== undefined && before.range.offset !== undefined)
    return { length: range.length, offset: before.range.offset + before.range.length };
  state.note('byterange-offset', state.line, 'the segment before is not of the same resource');
  return range;
}

function readTag(state: Reading, content: string): void {
  const line = state.line;
  const colon = content.indexOf(':');
  const name = colon === -1 ? content.slice(1) : content.slice(1, colon);
  const value = colon === -1 ? '' : content.slice(colon + 1);
  const seen = state.playlist.counts.get(name);
  if (seen === undefined) state.playlist.counts.set(name, { count: 1, line });
  else seen.count++;
  // Fast path for the most frequent tag.
  if (name === 'EXTINF') return readDuration(state, value);
  const spec = TAGS.get(name);
  if (spec === undefined) {
    const meant = meantBy(state, name);
    if (meant === undefined) state.note('tag-unknown', line, quote(name));
    else noteMisspelt(state, name, meant);
    return;
  }
  if (seen !== undefined && spec.once === true)
    state.note('tag-duplicate', line, `${name}; first in line ${seen.line}`);
  if (spec.value === 'none' && value !== '') state.note('tag-value', line, `${name} takes no value`);
  if (spec.value !== 'none' && value === '') state.note('tag-value', line, `${name} without a value`);
  const hasAttributes = spec.value === 'attributes';
  const from = colon === -1 ? content.length : colon + 1;
  const attributes =
    hasAttributes && !(state.cut && spec.aside)
      ? checkedAttributes(content, from, { name, line, spec }, state.expand, state.note)
      : NO_ATTRIBUTES;
  const tag: Tag = { name, line, value: hasAttributes ? '' : value, attributes };
  keep(state, tag, spec);
  if (state.streamInf !== undefined && name !== 'EXT-X-ENDLIST') {
    state.note('stream-inf-uri', state.streamInf.line);
    state.streamInf = undefined;
  }
  READERS[name]?.(state, tag);
}

function keep(state: Reading, tag: Tag, { ofSegment }: TagSpec): void {
  const { tags } = state.playlist;
  if (tags.length < MOST_TAGS && !ofSegment) tags.push(tag);
  else if (tags.length === MOST_TAGS && !state.cut) {
    state.cut = true;
    state.note('analysis-cut', tag.line, `the first ${MOST_TAGS} tags were judged`);
  }
}

function readDuration(state: Reading, value: string): void {
  const line = state.line;
  if (state.next.infLine !== 0) state.note('extinf-double', state.next.infLine);
  state.next.infLine = line;
  state.pending = line;
  const comma = value.indexOf(',');
  const figure = comma === -1 ? value : value.slice(0, comma);
  if (comma === -1) state.note('extinf-comma', line);
  state.next.duration = /^\d+(\.\d*)?$/.test(figure) ? Number(figure) : badDuration(figure, line, state.note);
}

const figureOf = ({ note }: Reading, { name, line, value }: Tag): number | undefined =>
  wholeNumber(value, name, line, note);

/** What a tag of each name says. */
const READERS: Readonly<Record<string, (state: Reading, tag: Tag) => void>> = {
  'EXT-X-VERSION'(state, tag) {
    state.playlist.versionLine = tag.line;
    state.playlist.version ??= figureOf(state, tag);
  },
  'EXT-X-DEFINE': ({ variables }, tag) => variables.define(tag),
  'EXT-X-TARGETDURATION'(state, tag) {
    state.playlist.targetDuration ??= figureOf(state, tag);
    if (state.playlist.segments.length > 0) state.note('tag-late', tag.line, tag.name);
  },
  'EXT-X-MEDIA-SEQUENCE'(state, tag) {
    if (state.playlist.segments.length > 0) return state.note('tag-late', tag.line, tag.name);
    const near = figureOf(state, tag) ?? 0;
    state.playlist.mediaSequence = BigInt(INTEGER.test(tag.value) ? tag.value : near);
  },
  'EXT-X-DISCONTINUITY-SEQUENCE'(state, tag) {
    const { segments, counts } = state.playlist;
    if (segments.length > 0 || counts.has('EXT-X-DISCONTINUITY')) state.note('tag-late', tag.line, tag.name);
    state.playlist.discontinuitySequence = figureOf(state, tag) ?? 0;
  },
  'EXT-X-PLAYLIST-TYPE'({ playlist, note }, { name, line, value }) {
    if (value === 'VOD' || value === 'EVENT') playlist.type ??= value;
    else note('tag-value', line, `${name}: ${quote(value)} is neither EVENT nor VOD`);
  },
  'EXT-X-PART-INF'({ playlist }, tag) {
    playlist.partTarget = number(tag, 'PART-TARGET');
  },
  'EXT-X-SKIP'({ playlist }, tag) {
    playlist.skipped = Number(/^\d{1,15}/.exec(text(tag, 'SKIPPED-SEGMENTS') ?? '')?.[0] ?? 0);
  },
  'EXT-X-BYTERANGE'(state, { name, line, value }) {
    const range = byteRange(value);
    if (range === undefined) state.note('tag-value', line, `${name}: ${quote(value)} is not <length>[@<offset>]`);
    state.next.range = range;
    state.pending = line;
  },
  'EXT-X-DISCONTINUITY'(state, { line }) {
    if (state.next.discontinuity) state.note('discontinuity-double', line);
    state.next.discontinuity = true;
    state.later = line;
  },
  'EXT-X-GAP'(state, { line }) {
    state.next.gap = true;
    state.later = line;
  },
  'EXT-X-BITRATE'(state, tag) {
    state.next.bitrate = figureOf(state, tag);
  },
  'EXT-X-PROGRAM-DATE-TIME'(state, { line, value }) {
    if (!isDate(value)) state.note('date-form', line, quote(value));
    else {
      if (!/([Zz]|[+-]\d{2}(:?\d{2})?)$/.test(value)) state.note('date-zone', line, quote(value));
      state.next.date = timeOfDate(value);
    }
    state.later = line;
  },
  /** Consecutive tags are the same key in several formats; after a segment, the next one replaces them. */
  'EXT-X-KEY'(state, tag) {
    const key = keyOf(tag);
    const others = state.keyOpen ? state.next.keys.filter(({ format }) => format !== key.format) : NO_KEYS;
    state.next.keys = key.method === 'NONE' ? NO_KEYS : [...others, key].slice(-MOST_KEYS);
    state.keyOpen = key.method !== 'NONE';
  },
  'EXT-X-MAP'({ next }, tag) {
    next.map = initSectionOf(tag, next.keys);
  },
  'EXT-X-PART'({ next, note }, tag) {
    const part = partOf(tag);
    const before = next.parts.at(-1);
    if (part.range !== undefined && part.range.offset === undefined)
      if (before?.uri !== part.uri || before.range === undefined)
        note('byterange-offset', tag.line, 'the part before is not of the same resource');
    if (next.parts === NO_PARTS) next.parts = [];
    next.parts.push(part);
  },
  'EXT-X-STREAM-INF'(state, tag) {
    state.streamInf = tag;
  },
  'EXT-X-I-FRAME-STREAM-INF'({ cut, playlist }, tag) {
    if (!cut) playlist.variants.push({ tag, uri: text(tag, 'URI') ?? '', line: tag.line, iframes: true });
  },
  'EXT-X-MEDIA'({ cut, playlist }, tag) {
    const [type = '', group = ''] = [text(tag, 'TYPE'), text(tag, 'GROUP-ID')];
    if (!cut) playlist.renditions.push({ tag, type, group, uri: text(tag, 'URI') });
  },
};

const HASH = 35;
const isSpace = (code: number): boolean => code === 32 || code === 9;

/** White space before a line, or after one that is not a comment or the title of a segment. */
function hasStraySpace(content: string): boolean {
  const first = content.charCodeAt(0);
  if (isSpace(first)) return true;
  if (!isSpace(content.charCodeAt(content.length - 1))) return false;
  return first !== HASH || (content.startsWith('#EXT') && !content.startsWith('#EXTINF'));
}

/** Bounds the cost of hostile playlists: each guess takes some ten microseconds. */
const MOST_GUESSED = 100;

/** The tag that is meant by a name: the same but for case, or for a letter or two. Vendors' tags are further away. */
function meantBy(state: Reading, given: string): string | undefined {
  const name = given.trim().toUpperCase();
  if (TAGS.has(name)) return name;
  if (state.guessed >= MOST_GUESSED) return undefined;
  state.guessed++;
  const near = nearest(
    name,
    [...TAGS.keys()].filter(({ length }) => Math.abs(length - name.length) <= 2),
  );
  return near !== undefined && distance(name, near) <= (near.length < 12 ? 1 : 2) ? near : undefined;
}

function noteMisspelt(state: Reading, shown: string, meant: string | undefined): void {
  if (meant === 'EXT-X-ENDLIST') state.endMeant = true;
  state.note('tag-spelling', state.line, `${quote(shown)}${meant === undefined ? '' : `; did you mean ${meant}?`}`);
}

/** By its tags. */
function kindOf({ counts, segments, variants }: Playlist, note: Note): Playlist['kind'] {
  const deciding = [...counts].filter(([name]) => TAGS.get(name)?.decides);
  const media = deciding.find(([name]) => TAGS.get(name)?.in === 'media');
  const multivariant = deciding.find(([name]) => TAGS.get(name)?.in === 'multivariant');
  if (media !== undefined && multivariant !== undefined) {
    note('playlist-mixed', Math.max(media[1].line, multivariant[1].line), `${media[0]} and ${multivariant[0]}`);
    const isMedia = media[1].line < multivariant[1].line && segments.length > 0 && variants.length === 0;
    return isMedia ? 'media' : 'multivariant';
  }
  if (multivariant !== undefined) return 'multivariant';
  return media !== undefined || segments.length > 0 ? 'media' : 'unknown';
}

function judgeFirstLine(content: string, note: Note): void {
  if (!content.startsWith('#EXTM3U'))
    note(
      'not-a-playlist',
      1,
      /^\s*<(!doctype|html|\?xml|head|body)/i.test(content)
        ? 'it is a page of HTML or XML'
        : `the first line is ${quote(content)}`,
    );
  // Without #EXTM3U, the next three lines show whether it is meant to be a playlist.
  else if (content.trimEnd() !== '#EXTM3U') note('tag-value', 1, 'EXTM3U takes no value');
}

/** Maximum length of expansions, per text and in total: a variable defined by variables doubles with every line. */
const MOST_EXPANDED = { each: 65_536, all: 32 << 20 };

/** Values that EXT-X-DEFINE takes from outside the playlist. */
interface Elsewhere {
  /** Variables of the multivariant playlist. */
  imports?: ReadonlyMap<string, string> | undefined;
  /** Query parameters of the playlist's own address. */
  parameter?: ((name: string) => string | undefined) | undefined;
}

function openVariables(elsewhere: Elsewhere, note: Note) {
  const values = new Map<string, string>();
  let expanded = 0;
  return {
    values,
    define: (tag: Tag): void => define(tag, values, elsewhere, note),
    expand(given: string, line: number): string {
      if (expanded > MOST_EXPANDED.all) return given;
      let added = 0;
      const result = given.replace(/\{\$([A-Za-z0-9_-]+)\}/g, (reference, name: string) => {
        const value = values.get(name);
        if (value === undefined) note('variable-undefined', line, name);
        if (value === undefined || added > MOST_EXPANDED.each) return reference;
        added += value.length;
        return value;
      });
      expanded += added;
      if (added > MOST_EXPANDED.each) note('line-too-long', line, 'after its variables were expanded');
      return added > MOST_EXPANDED.each ? given : result;
    },
  };
}

function define(tag: Tag, values: Map<string, string>, { imports, parameter }: Elsewhere, note: Note): void {
  const [name, imported, query] = ['NAME', 'IMPORT', 'QUERYPARAM'].map(
    (attribute) => tag.attributes.get(attribute)?.value,
  );
  const given = [name, imported, query].filter((value) => value !== undefined);
  const variable = given[0] ?? '';
  const value = tag.attributes.get('VALUE')?.value;
  if (given.length !== 1)
    note(
      'define-form',
      tag.line,
      given.length === 0 ? 'none of NAME, IMPORT and QUERYPARAM' : 'more than one of NAME, IMPORT and QUERYPARAM',
    );
  else if (!/^[A-Za-z0-9_-]+$/.test(variable)) note('define-name', tag.line, quote(variable));
  if (name !== undefined && value === undefined) note('define-form', tag.line, 'NAME without VALUE');
  if (name === undefined && value !== undefined) note('define-form', tag.line, 'VALUE without NAME');
  if (values.has(variable)) note('define-duplicate', tag.line, variable);
  if (name !== undefined) values.set(variable, value ?? '');
  else if (imported !== undefined) {
    const found = imports?.get(imported);
    if (found === undefined && imports !== undefined) note('define-import', tag.line, imported);
    values.set(imported, found ?? '');
  } else if (query !== undefined) {
    const found = parameter?.(query);
    if (found === undefined && parameter !== undefined) note('define-parameter', tag.line, query);
    values.set(query, found ?? '');
  }
}
