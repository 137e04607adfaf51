/**
 * Parses a playlist line by line to its end, whatever it contains: each syntax error is noted with its position, and
 * parsing continues. A million lines take some hundred bytes each; tags that only describe a segment are not kept
 * separately.
 */
import { checkedAttributes, type Attributes } from './attributes.ts';
import {
  badDuration,
  byteRange,
  numeric,
  wholeNumber,
  type ByteRange,
  type InitSection,
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
import { isDate, TAGS, timeOfDate } from './grammar.ts';
import { quote } from './rule.ts';
import type { Note } from './rules/catalog.ts';

export interface ParseContext extends Elsewhere {
  url: string;
  base: string;
  bytes?: number;
  /** False: the text ends before the end of the playlist. */
  whole?: boolean;
  /** By `performance.now()`: lines not read by then are not checked. */
  until?: number;
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

export function parsePlaylist(
  source: string,
  {
    url,
    base,
    bytes = source.length,
    whole = true,
    imports,
    until = Infinity,
    mostLines = MOST_LINES,
    parameter,
  }: ParseContext,
  note: Note,
): Playlist {
  const counts = new Map<string, { count: number; line: number }>();
  const tags: Tag[] = [];
  const segments: Segment[] = [];
  const variants: Variant[] = [];
  const renditions: Rendition[] = [];
  const variables = openVariables({ imports, parameter }, note);
  const expand = (text: string): string => variables.expand(text, line);
  let version: number | undefined;
  let versionLine = 0;
  let targetDuration: number | undefined;
  let mediaSequence = 0;
  let discontinuitySequence = 0;
  let playlistType: 'VOD' | 'EVENT' | undefined;
  let partTarget: number | undefined;
  let skipped = 0;

  // State that applies to the next segment, or from here on.
  let infLine = 0;
  let duration = 0;
  let discontinuity = false;
  let gap = false;
  let range: ByteRange | undefined;
  let date: number | undefined;
  let pending = 0;
  /** Line of a tag whose segment may arrive with the next reload. */
  let later = 0;
  let keys = NO_KEYS;
  let keyOpen = false;
  let map: InitSection | undefined;
  let bitrate: number | undefined;
  let parts: Part[] = NO_PARTS;
  let streamInf: Tag | undefined;

  let line = 0;
  let cut = false;
  let read = whole;

  const length = source.length;
  for (let at = 0; at < length;) {
    let end = source.indexOf('\n', at);
    if (end === -1) end = length;
    let content = source.slice(at, end > at && source.charCodeAt(end - 1) === 13 ? end - 1 : end);
    at = end + 1;
    if (line >= mostLines) {
      note('analysis-cut', line, `the first ${line} lines were read`);
      read = false;
      break;
    }
    if (line !== 0 && line % LINES_AT_ONCE === 0 && performance.now() > until) {
      note('analysis-cut', line, `the first ${line} lines were read within the time limit`);
      read = false;
      break;
    }
    line++;
    if (content.length > LONGEST_LINE) {
      note('line-too-long', line, `${content.length} characters`);
      content = content.slice(0, LONGEST_LINE);
    }
    if (content === '') {
      if (line === 1) note('not-a-playlist', 1, 'the first line is empty');
      continue;
    }
    const first = content.charCodeAt(0);
    if (line === 1) judgeFirstLine(content, note);
    const last = content.charCodeAt(content.length - 1);
    if (
      first === 32 ||
      first === 9 ||
      ((last === 32 || last === 9) && (first !== 35 || (content.startsWith('#EXT') && !content.startsWith('#EXTINF'))))
    ) {
      note('line-whitespace', line, undefined, first === 32 || first === 9 ? 1 : content.trimEnd().length + 1);
      content = content.trim();
      if (content === '') continue;
    }
    if (content.includes('\r')) note('line-ending', line);

    if (content.charCodeAt(0) !== 35) {
      const uri = content.includes('{$') ? expand(content) : content;
      if (streamInf !== undefined) {
        if (!cut) variants.push({ tag: streamInf, uri, line, iframes: false });
        streamInf = undefined;
        continue;
      }
      for (const key of keys) key.used++;
      if (range !== undefined && range.offset === undefined) {
        const before = segments.at(-1);
        if (before?.uri === uri && before.range !== undefined && before.range.offset !== undefined)
          range = { length: range.length, offset: before.range.offset + before.range.length };
        else note('byterange-offset', line, 'the segment before is not of the same resource');
      }
      segments.push({
        uri,
        line,
        infLine,
        duration,
        sequence: mediaSequence + skipped + segments.length,
        discontinuity,
        gap,
        range,
        date,
        keys,
        map,
        bitrate,
        parts,
      });
      infLine = 0;
      duration = 0;
      discontinuity = false;
      gap = false;
      range = undefined;
      date = undefined;
      pending = 0;
      later = 0;
      keyOpen = false;
      parts = NO_PARTS;
      continue;
    }

    if (!content.startsWith('#EXT')) {
      if (/^#\s*ext(?:m3u|inf|-x-)/i.test(content)) note('tag-spelling', line, quote(content));
      continue;
    }
    const colon = content.indexOf(':');
    const name = colon === -1 ? content.slice(1) : content.slice(1, colon);
    const value = colon === -1 ? '' : content.slice(colon + 1);
    const seen = counts.get(name);
    if (seen === undefined) counts.set(name, { count: 1, line });
    else seen.count++;

    // Fast path for the most frequent tag.
    if (name === 'EXTINF') {
      if (infLine !== 0) note('extinf-double', infLine);
      infLine = line;
      pending = line;
      const comma = value.indexOf(',');
      const figure = comma === -1 ? value : value.slice(0, comma);
      if (comma === -1) note('extinf-comma', line);
      duration = /^\d+(\.\d*)?$/.test(figure) ? Number(figure) : badDuration(figure, line, note);
      continue;
    }

    const spec = TAGS.get(name);
    if (spec === undefined) {
      note(
        /^EXT-?X?-?/i.test(name) && [...TAGS.keys()].includes(name.toUpperCase().trim())
          ? 'tag-spelling'
          : 'tag-unknown',
        line,
        quote(name),
      );
      continue;
    }
    if (seen !== undefined && spec.once === true) note('tag-duplicate', line, `${name}; first in line ${seen.line}`);
    if (spec.value === 'none' && value !== '') note('tag-value', line, `${name} takes no value`);
    if (spec.value !== 'none' && value === '') note('tag-value', line, `${name} without a value`);
    const attributes =
      spec.value === 'attributes' && !(cut && spec.aside)
        ? checkedAttributes(content, colon === -1 ? content.length : colon + 1, { name, line, spec }, expand, note)
        : NO_ATTRIBUTES;
    const tag: Tag = { name, line, value: spec.value === 'attributes' ? '' : value, attributes };
    if (tags.length < MOST_TAGS && !spec.ofSegment) tags.push(tag);
    else if (tags.length === MOST_TAGS && !cut) {
      cut = true;
      note('analysis-cut', line, `the first ${MOST_TAGS} tags were judged`);
    }
    const get = (attribute: string): string | undefined => attributes.get(attribute)?.value;
    if (streamInf !== undefined && name !== 'EXT-X-ENDLIST') {
      note('stream-inf-uri', streamInf.line);
      streamInf = undefined;
    }
    switch (name) {
      case 'EXT-X-VERSION':
        versionLine = line;
        version ??= wholeNumber(value, name, line, note);
        break;
      case 'EXT-X-DEFINE':
        variables.define(tag);
        break;
      case 'EXT-X-TARGETDURATION':
        targetDuration ??= wholeNumber(value, name, line, note);
        if (segments.length > 0) note('tag-late', line, name);
        break;
      case 'EXT-X-MEDIA-SEQUENCE':
        if (segments.length > 0) note('tag-late', line, name);
        else mediaSequence = wholeNumber(value, name, line, note) ?? 0;
        break;
      case 'EXT-X-DISCONTINUITY-SEQUENCE':
        if (segments.length > 0 || counts.has('EXT-X-DISCONTINUITY')) note('tag-late', line, name);
        discontinuitySequence = wholeNumber(value, name, line, note) ?? 0;
        break;
      case 'EXT-X-PLAYLIST-TYPE':
        if (value === 'VOD' || value === 'EVENT') playlistType ??= value;
        else note('tag-value', line, `${name}: ${quote(value)} is neither EVENT nor VOD`);
        break;
      case 'EXT-X-PART-INF':
        partTarget = numeric(get('PART-TARGET'));
        break;
      case 'EXT-X-BYTERANGE': {
        const found = byteRange(value);
        if (found === undefined) note('tag-value', line, `${name}: ${quote(value)} is not <length>[@<offset>]`);
        range = found;
        pending = line;
        break;
      }
      case 'EXT-X-DISCONTINUITY':
        if (discontinuity) note('discontinuity-double', line);
        discontinuity = true;
        later = line;
        break;
      case 'EXT-X-GAP':
        gap = true;
        later = line;
        break;
      case 'EXT-X-BITRATE':
        bitrate = wholeNumber(value, name, line, note);
        break;
      case 'EXT-X-PROGRAM-DATE-TIME':
        if (!isDate(value)) note('date-form', line, quote(value));
        else {
          if (!/([Zz]|[+-]\d{2}(:?\d{2})?)$/.test(value)) note('date-zone', line, quote(value));
          date = timeOfDate(value);
        }
        later = line;
        break;
      case 'EXT-X-KEY': {
        const key = keyOf(tag);
        if (key.method === 'NONE') keys = NO_KEYS;
        // Consecutive tags are the same key in several formats; after a segment, the next one replaces them.
        else keys = keyOpen ? [...keys.filter(({ format }) => format !== key.format), key].slice(-MOST_KEYS) : [key];
        keyOpen = key.method !== 'NONE';
        break;
      }
      case 'EXT-X-MAP':
        map = initSectionOf(tag, keys);
        break;
      case 'EXT-X-PART': {
        const part = partOf(tag);
        const before = parts.at(-1);
        if (part.range !== undefined && part.range.offset === undefined)
          if (before?.uri !== part.uri || before.range === undefined)
            note('byterange-offset', line, 'the part before is not of the same resource');
        if (parts === NO_PARTS) parts = [];
        parts.push(part);
        break;
      }
      case 'EXT-X-SKIP':
        skipped = numeric(get('SKIPPED-SEGMENTS')) ?? 0;
        break;
      case 'EXT-X-STREAM-INF':
        streamInf = tag;
        break;
      case 'EXT-X-I-FRAME-STREAM-INF':
        if (!cut) variants.push({ tag, uri: get('URI') ?? '', line, iframes: true });
        break;
      case 'EXT-X-MEDIA':
        if (!cut) renditions.push({ tag, type: get('TYPE') ?? '', group: get('GROUP-ID') ?? '', uri: get('URI') });
        break;
      default:
        break;
    }
  }
  if (streamInf !== undefined && read) note('stream-inf-uri', streamInf.line);
  if (pending !== 0 && read) note('segment-tag-alone', infLine === 0 ? pending : infLine);
  else if (later !== 0 && counts.has('EXT-X-ENDLIST')) note('segment-tag-alone', later);

  const kind = kindOf({ counts, segments, variants }, note);

  return {
    url,
    base,
    kind,
    lines: line,
    bytes,
    whole: read,
    version,
    versionLine,
    counts,
    tags,
    variables: variables.values,
    targetDuration,
    mediaSequence,
    discontinuitySequence,
    type: playlistType,
    ended: counts.has('EXT-X-ENDLIST'),
    iframesOnly: counts.has('EXT-X-I-FRAMES-ONLY'),
    partTarget,
    segments,
    openParts: parts,
    skipped,
    variants,
    renditions,
  };
}

/** By its tags. */
export function kindOf(
  { counts, segments, variants }: Pick<Playlist, 'counts' | 'segments' | 'variants'>,
  note: Note,
): Playlist['kind'] {
  let kind: Playlist['kind'] = 'unknown';
  const deciding = [...counts].filter(([name]) => TAGS.get(name)?.decides);
  const media = deciding.find(([name]) => TAGS.get(name)?.in === 'media');
  const multivariant = deciding.find(([name]) => TAGS.get(name)?.in === 'multivariant');
  if (media !== undefined && multivariant !== undefined) {
    note('playlist-mixed', Math.max(media[1].line, multivariant[1].line), `${media[0]} and ${multivariant[0]}`);
    kind =
      media[1].line < multivariant[1].line && segments.length > 0 && variants.length === 0 ? 'media' : 'multivariant';
  } else if (multivariant !== undefined) kind = 'multivariant';
  else if (media !== undefined || segments.length > 0) kind = 'media';
  return kind;
}

export function judgeFirstLine(content: string, note: Note): void {
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
export interface Elsewhere {
  /** Variables of the multivariant playlist. */
  imports?: ReadonlyMap<string, string> | undefined;
  /** Query parameters of the playlist's own address. */
  parameter?: ((name: string) => string | undefined) | undefined;
}

export interface Variables {
  values: Map<string, string>;
  define(tag: Tag): void;
  expand(text: string, line: number): string;
}

export function openVariables(elsewhere: Elsewhere, note: Note): Variables {
  const values = new Map<string, string>();
  let expanded = 0;
  return {
    values,
    define: (tag) => define(tag, values, elsewhere, note),
    expand(text, line) {
      if (expanded > MOST_EXPANDED.all) return text;
      let added = 0;
      const result = text.replace(/\{\$([A-Za-z0-9_-]+)\}/g, (reference, name: string) => {
        const value = values.get(name);
        if (value === undefined) note('variable-undefined', line, name);
        if (value === undefined || added > MOST_EXPANDED.each) return reference;
        added += value.length;
        return value;
      });
      expanded += added;
      if (added > MOST_EXPANDED.each) note('line-too-long', line, 'after its variables were expanded');
      return added > MOST_EXPANDED.each ? text : result;
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
