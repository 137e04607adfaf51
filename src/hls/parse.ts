/**
 * Reads a playlist line by line to its end, whatever stands in it: each line that breaks a rule of syntax is noted with
 * its place, and the next one is read. A million lines take some hundred bytes each: tags that only make up a segment
 * are not kept besides.
 */
import { readAttributes, type Attributes } from './attributes.ts';
import { formError, isDate, TAGS, timeOfDate, type TagSpec } from './grammar.ts';
import type { ByteRange, InitSection, Key, Part, Playlist, Rendition, Segment, Tag, Variant } from './playlist.ts';
import { quote, type Note } from './rule.ts';

export interface ParseContext {
  url: string;
  base: string;
  bytes?: number;
  /** False: what is given breaks off before the end of the playlist. */
  whole?: boolean;
  /**
   * What EXT-X-DEFINE takes from elsewhere: variables of the multivariant playlist, parameters of the playlist's own
   * address.
   */
  imports?: ReadonlyMap<string, string>;
  /** By `performance.now()`: what is not read by then is not judged. */
  until?: number;
  /** More lines are not read. */
  mostLines?: number;
  parameter?: (name: string) => string | undefined;
}

const NO_ATTRIBUTES: Attributes = new Map();
const NO_KEYS: readonly Key[] = [];
/** Never added to. */
const NO_PARTS: Part[] = [];
/** The same key in more formats than this is none of a player's. */
const MOST_KEYS = 16;
const SEGMENT_TAGS = new Set([
  'EXTINF',
  'EXT-X-BYTERANGE',
  'EXT-X-DISCONTINUITY',
  'EXT-X-PROGRAM-DATE-TIME',
  'EXT-X-GAP',
  'EXT-X-BITRATE',
]);
/** A longer line is looked at no further than this. */
const LONGEST_LINE = 1 << 20;
/**
 * Lines that are read, and what is kept of them: a hostile list of the shortest lines would otherwise fill any memory.
 */
export const MOST_LINES = 1_200_000;
const MOST_TAGS = 100_000;
/** What is not kept past the limit need not be read, either: nothing of the segments hangs on it. */
const ASIDE = new Set([
  'EXT-X-DATERANGE',
  'EXT-X-STREAM-INF',
  'EXT-X-I-FRAME-STREAM-INF',
  'EXT-X-MEDIA',
  'EXT-X-SESSION-DATA',
  'EXT-X-SESSION-KEY',
  'EXT-X-PRELOAD-HINT',
  'EXT-X-RENDITION-REPORT',
  'EXT-X-CONTENT-STEERING',
  'EXT-X-START',
]);
/** So many lines take some milliseconds: then the clock is looked at. */
const LINES_AT_ONCE = 4096;
/** What variables put in, in one text and in all: a variable made of variables doubles with every line. */
const MOST_EXPANDED = { each: 65_536, all: 32 << 20 };

/** Tags that only make sense in one kind of playlist decide which it is. */
const DECIDES: Readonly<Record<string, 'media' | 'multivariant'>> = {
  EXTINF: 'media',
  'EXT-X-TARGETDURATION': 'media',
  'EXT-X-MEDIA-SEQUENCE': 'media',
  'EXT-X-ENDLIST': 'media',
  'EXT-X-PLAYLIST-TYPE': 'media',
  'EXT-X-I-FRAMES-ONLY': 'media',
  'EXT-X-PART': 'media',
  'EXT-X-PART-INF': 'media',
  'EXT-X-STREAM-INF': 'multivariant',
  'EXT-X-I-FRAME-STREAM-INF': 'multivariant',
  'EXT-X-MEDIA': 'multivariant',
  'EXT-X-SESSION-DATA': 'multivariant',
  'EXT-X-SESSION-KEY': 'multivariant',
  'EXT-X-CONTENT-STEERING': 'multivariant',
};

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
  const variables = new Map<string, string>();
  let version: number | undefined;
  let versionLine = 0;
  let targetDuration: number | undefined;
  let mediaSequence = 0;
  let discontinuitySequence = 0;
  let playlistType: 'VOD' | 'EVENT' | undefined;
  let partTarget: number | undefined;
  let skipped = 0;

  // What holds for the next segment, or from here on.
  let infLine = 0;
  let duration = 0;
  let discontinuity = false;
  let gap = false;
  let range: ByteRange | undefined;
  let date: number | undefined;
  let pending = 0;
  /** A tag whose segment may come with the next reload. */
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
  let expanded = 0;
  const expand = (text: string): string => {
    if (expanded > MOST_EXPANDED.all) return text;
    let added = 0;
    const result = text.replace(/\{\$([A-Za-z0-9_-]+)\}/g, (reference, name: string) => {
      const value = variables.get(name);
      if (value === undefined) note('variable-undefined', line, name);
      if (value === undefined || added > MOST_EXPANDED.each) return reference;
      added += value.length;
      return value;
    });
    expanded += added;
    if (added > MOST_EXPANDED.each) note('line-too-long', line, 'with its variables put in');
    return added > MOST_EXPANDED.each ? text : result;
  };
  const attributesOf = (content: string, start: number, name: string, spec: TagSpec): Attributes => {
    const attributes = readAttributes(content, start, expand, (rule, detail, column) =>
      note(rule, line, `${name}: ${detail}`, column),
    );
    const known = spec.attributes ?? {};
    for (const [attribute, found] of attributes) {
      const wanted = Object.hasOwn(known, attribute) ? known[attribute] : undefined;
      if (wanted === undefined) {
        if (!attribute.startsWith('X-') && !attribute.startsWith('REQ-'))
          note('attribute-unknown', line, `${name}: ${quote(attribute)}`, found.column);
        else if (
          !found.quoted &&
          formError({ form: 'hex' }, found.value, false) !== undefined &&
          formError({ form: 'signed' }, found.value, false) !== undefined &&
          name === 'EXT-X-DATERANGE'
        )
          note('attribute-type', line, `${name}: ${attribute} is neither in quotes nor a number`, found.column);
        continue;
      }
      const { type } = wanted;
      const error = formError(type, found.value, found.quoted);
      if (error !== undefined)
        note('attribute-type', line, `${name}: ${attribute}=${quote(found.value)} ${error}`, found.column);
      else if (type.form === 'enum' && !type.values.includes(found.value))
        note(
          'attribute-value',
          line,
          `${name}: ${attribute}=${quote(found.value)} is none of ${type.values.join(', ')}`,
          found.column,
        );
      else if (type.form === 'list' && !found.value.split(',').every((word) => type.values.includes(word.trim())))
        note(
          'attribute-value',
          line,
          `${name}: ${attribute}=${quote(found.value)} is none of ${type.values.join(', ')}`,
          found.column,
        );
      else if (found.quoted && found.value === '' && attribute !== 'VALUE')
        note('attribute-value', line, `${name}: ${attribute} is empty`, found.column);
    }
    for (const [attribute, { required }] of Object.entries(known))
      if (required === true && !attributes.has(attribute))
        note('attribute-missing', line, `${name} without ${attribute}`);
    return attributes;
  };
  const wholeNumber = (value: string, name: string): number | undefined => {
    if (/^\d{1,16}$/.test(value)) return Number(value);
    note('tag-value', line, `${name}: ${quote(value)} is no whole number`);
    const near = Number.parseInt(value, 10);
    return Number.isFinite(near) && near >= 0 ? near : undefined;
  };

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
      note('analysis-cut', line, `the first ${line} lines were read, and then the time was over`);
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
    if (line === 1) {
      if (!content.startsWith('#EXTM3U'))
        note(
          'not-a-playlist',
          1,
          /^\s*<(!doctype|html|\?xml|head|body)/i.test(content)
            ? 'it is a page of HTML or XML'
            : `the first line is ${quote(content)}`,
        );
      // Without it nothing says that it is one: three lines more tell whether it is meant to be.
      else if (content.trimEnd() !== '#EXTM3U') note('tag-value', 1, 'EXTM3U: nothing may follow it');
    }
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
        else note('byterange-offset', line, 'the segment before is no part of the same resource');
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

    // By far the most frequent one.
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
      spec.value === 'attributes' && !(cut && ASIDE.has(name))
        ? attributesOf(content, colon === -1 ? content.length : colon + 1, name, spec)
        : NO_ATTRIBUTES;
    const tag: Tag = { name, line, value: spec.value === 'attributes' ? '' : value, attributes };
    if (tags.length < MOST_TAGS && !SEGMENT_TAGS.has(name) && name !== 'EXT-X-PART') tags.push(tag);
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
        version ??= wholeNumber(value, name);
        break;
      case 'EXT-X-DEFINE':
        define({ tag, variables, imports, parameter, note });
        break;
      case 'EXT-X-TARGETDURATION':
        targetDuration ??= wholeNumber(value, name);
        if (segments.length > 0) note('tag-late', line, name);
        break;
      case 'EXT-X-MEDIA-SEQUENCE':
        if (segments.length > 0) note('tag-late', line, name);
        else mediaSequence = wholeNumber(value, name) ?? 0;
        break;
      case 'EXT-X-DISCONTINUITY-SEQUENCE':
        if (segments.length > 0 || counts.has('EXT-X-DISCONTINUITY')) note('tag-late', line, name);
        discontinuitySequence = wholeNumber(value, name) ?? 0;
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
        if (found === undefined) note('tag-value', line, `${name}: ${quote(value)} is no <length>[@<offset>]`);
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
        bitrate = wholeNumber(value, name);
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
        const method = get('METHOD') ?? '';
        const key: Key = {
          tag,
          method,
          uri: get('URI'),
          iv: get('IV'),
          format: get('KEYFORMAT') ?? 'identity',
          used: 0,
        };
        if (method === 'NONE') keys = NO_KEYS;
        // Several in a row are the same key in several formats; after a segment the next one takes their place.
        else keys = keyOpen ? [...keys.filter(({ format }) => format !== key.format), key].slice(-MOST_KEYS) : [key];
        keyOpen = method !== 'NONE';
        break;
      }
      case 'EXT-X-MAP': {
        const found = byteRange(get('BYTERANGE') ?? '');
        map = {
          tag,
          uri: get('URI') ?? '',
          range: found === undefined ? undefined : { length: found.length, offset: found.offset ?? 0 },
          keys,
        };
        break;
      }
      case 'EXT-X-PART': {
        const found = byteRange(get('BYTERANGE') ?? '');
        const part: Part = {
          uri: get('URI') ?? '',
          line,
          duration: numeric(get('DURATION')) ?? 0,
          independent: get('INDEPENDENT') === 'YES',
          gap: get('GAP') === 'YES',
          range: found,
        };
        const before = parts.at(-1);
        if (
          found !== undefined &&
          found.offset === undefined &&
          (before?.uri !== part.uri || before.range === undefined)
        )
          note('byterange-offset', line, 'the part before is no part of the same resource');
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

  let kind: Playlist['kind'] = 'unknown';
  const media = [...counts].find(([name]) => DECIDES[name] === 'media');
  const multivariant = [...counts].find(([name]) => DECIDES[name] === 'multivariant');
  if (media !== undefined && multivariant !== undefined) {
    note('playlist-mixed', Math.max(media[1].line, multivariant[1].line), `${media[0]} and ${multivariant[0]}`);
    kind =
      media[1].line < multivariant[1].line && segments.length > 0 && variants.length === 0 ? 'media' : 'multivariant';
  } else if (multivariant !== undefined) kind = 'multivariant';
  else if (media !== undefined || segments.length > 0) kind = 'media';
  if (kind === 'media')
    for (const [name, { line: where }] of counts)
      if (TAGS.get(name)?.in === 'multivariant' && DECIDES[name] === undefined) note('playlist-mixed', where, name);

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
    variables,
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

function badDuration(figure: string, line: number, note: Note): number {
  note('extinf-duration', line, `${quote(figure)} is no decimal number from 0 up`);
  const near = Number.parseFloat(figure);
  return Number.isFinite(near) && near > 0 ? near : 0;
}

const numeric = (value: string | undefined): number | undefined => {
  const figure = Number.parseFloat(value ?? '');
  return Number.isFinite(figure) ? figure : undefined;
};

function byteRange(value: string): ByteRange | undefined {
  const match = /^(\d{1,16})(?:@(\d{1,16}))?$/.exec(value);
  return match === null
    ? undefined
    : { length: Number(match[1]), offset: match[2] === undefined ? undefined : Number(match[2]) };
}

interface Defining {
  tag: Tag;
  variables: Map<string, string>;
  imports: ReadonlyMap<string, string> | undefined;
  parameter: ((name: string) => string | undefined) | undefined;
  note: Note;
}

function define({ tag, variables, imports, parameter, note }: Defining): void {
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
  if (variables.has(variable)) note('define-duplicate', tag.line, variable);
  if (name !== undefined) variables.set(variable, value ?? '');
  else if (imported !== undefined) {
    const found = imports?.get(imported);
    if (found === undefined && imports !== undefined) note('define-import', tag.line, imported);
    variables.set(imported, found ?? '');
  } else if (query !== undefined) {
    const found = parameter?.(query);
    if (found === undefined && parameter !== undefined) note('define-parameter', tag.line, query);
    variables.set(query, found ?? '');
  }
}
