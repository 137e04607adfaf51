/**
 * A MediaConch policy as one of ours. What it demands of a track, every such track has to satisfy, and there has to be
 * one: MediaConch fails where a field or track is missing, and so do these rules.
 */
import { SaxesParser } from 'saxes';
import { oneLine } from '../../base/printable.ts';
import { codecOf } from '../report/normalise/codec.ts';
import { fromMediainfo as colourOf, rangeOf } from '../report/normalise/colour.ts';
import { fromMediainfo as containerOf } from '../report/normalise/container.ts';
import { PolicyError } from './error.ts';
import { LONGEST_NAME, LONGEST_TEXT, MOST_CONDITIONS, MOST_RULES } from './limits.ts';
import type { Condition, Operators, Policy, Rule } from './schema.ts';
import type { Level, Operand, Scalar } from './types.ts';

const MOST_UNTRANSLATED = 200;

export function translate(text: string): { policy: Policy; untranslated: string[] } {
  const root = elementsIn(text);
  if (root.name !== 'policy')
    throw new PolicyError('', `must begin with a policy element, and begins with ${oneLine(root.name, 50)}`);
  const untranslated: string[] = [];
  const not = (element: Element, why: string): undefined => {
    if (untranslated.length < MOST_UNTRANSLATED)
      untranslated.push(`${oneLine(element.attributes['name'] ?? element.name, LONGEST_NAME)}: ${why}`);
    return undefined;
  };
  const members = root.children.filter(({ name }) => name === 'rule' || name === 'policy');
  // What all have to satisfy is a list of rules already; one of many is one rule.
  const tops = typeOf(root) === 'or' ? [root] : members;
  const names = new Map<string, number>();
  const rules: Rule[] = [];
  for (const element of tops) {
    const made = element.name === 'rule' ? ruleOf(element, not) : groupOf(element, not);
    if (made === undefined) continue;
    if (rules.length >= MOST_RULES) throw new PolicyError('', `has more than ${MOST_RULES} rules`);
    const level = levelOf(element, not);
    rules.push({ name: nameOf(element, names), ...(level === 'warn' ? { level } : {}), ...made });
  }
  if (rules.length === 0)
    throw new PolicyError(
      '',
      `has no rule that can be translated${untranslated.length > 0 ? ` (${untranslated[0]})` : ''}`,
    );
  const description = [root.attributes['name'], root.children.find(({ name }) => name === 'description')?.text.trim()]
    .filter((part) => part !== undefined && part !== '')
    .join(': ');
  const policy: Policy = {
    ...(description === '' ? {} : { description: oneLine(description.slice(0, LONGEST_TEXT - 1), LONGEST_TEXT - 1) }),
    rules,
  };
  return { policy, untranslated };
}

type Not = (element: Element, why: string) => undefined;

function typeOf(element: Element): 'and' | 'or' {
  const type = element.attributes['type'] ?? 'and';
  if (type !== 'and' && type !== 'or')
    throw new PolicyError('', `the type of a policy must be and or or, not "${oneLine(type, 20)}"`);
  return type;
}

/** `names`: those that are used, each with the number that the last one of the same name got. */
function nameOf({ attributes, name }: Element, names: Map<string, number>): string {
  const given = (attributes['name'] ?? '')
    .replaceAll(/[^\w .:+/()#,-]+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const base = given.slice(0, LONGEST_NAME - 5).trim() || name;
  let number = names.get(base) ?? 1;
  let unique = base;
  while (names.has(unique)) unique = `${base} ${++number}`;
  if (unique !== base) names.set(base, number);
  names.set(unique, 1);
  return unique;
}

function levelOf(element: Element, not: Not): Level {
  const level = element.attributes['level'] ?? '';
  if (level === 'info') not(element, 'level info is a warning here');
  else if (!['', 'fail', 'error', 'warn', 'warning'].includes(level))
    not(element, `level "${oneLine(level, 20)}" is unknown; it fails here`);
  return ['warn', 'warning', 'info'].includes(level) ? 'warn' : 'fail';
}

function groupOf(element: Element, not: Not): Condition | undefined {
  const conditions: Condition[] = [];
  for (const child of element.children) {
    if (child.name !== 'rule' && child.name !== 'policy') continue;
    if ((child.attributes['level'] ?? '') !== '') not(child, 'a level inside a group has no effect here');
    const made = child.name === 'rule' ? ruleOf(child, not) : groupOf(child, not);
    if (made === undefined) continue;
    if (conditions.length >= MOST_CONDITIONS)
      throw new PolicyError('', `has a group of more than ${MOST_CONDITIONS} rules`);
    conditions.push(made);
  }
  if (conditions.length === 0) return not(element, 'nothing of it can be translated');
  return typeOf(element) === 'or' ? { any: conditions } : { all: conditions };
}

/** By MediaConch's operators; the value is what stands between the tags, or another field. */
const OPERATORS = new Map<string, (value: Operand) => Operators>([
  ['=', (value) => ({ is: value })],
  ['!=', (value) => ({ not: value })],
  ['<', (value) => ({ below: value })],
  ['<=', (value) => ({ 'at-most': value })],
  ['>', (value) => ({ above: value })],
  ['>=', (value) => ({ 'at-least': value })],
]);

function ruleOf(element: Element, not: Not): Condition | undefined {
  const { attributes } = element;
  const scope = attributes['scope'] ?? '';
  if (!['', 'mi', 'mil'].includes(scope))
    return not(element, `scope ${oneLine(scope, 20)} reads MediaTrace, which is not part of the report`);
  const [track, field] = [attributes['tracktype'] ?? '', attributes['value'] ?? ''];
  if (track === '' || field === '') return not(element, 'has no tracktype or no value');
  const occurrence = occurrenceOf(attributes['occurrence']);
  if (occurrence === undefined) return not(element, 'its occurrence is neither * nor a number from 1');
  const source = element.children.find(({ name }) => name === 'source');
  const text = element.text.trim();
  if (text === 'compare') return not(element, 'compares with a reference file');
  const where: Where = { track, field, occurrence };
  const operator = attributes['operator'] ?? '';
  if (source) return against(element, where, operator, source, not);
  switch (operator) {
    case '':
    case 'exists':
      return onOutput(element, where, { exists: true }, not);
    case 'must not exist':
      return onOutput(element, where, { absent: true }, not);
    case 'starts with':
      return onOutput(element, where, { exists: true, 'starts-with': text }, not);
    case 'must not start with': {
      const starts = onOutput(element, where, { 'starts-with': text }, not);
      return starts && { none: [{ ...starts, match: 'any' }] };
    }
  }
  const make = OPERATORS.get(operator);
  if (make === undefined) return not(element, `operator "${oneLine(operator, 30)}" is unknown`);
  const canonical = canonicalOf(where, operator);
  const value = canonical?.value(text);
  if (canonical && value !== undefined) return onField(where, canonical.field, { exists: true, ...make(value) });
  return onOutput(element, where, { exists: true, ...make(text) }, not);
}

interface Where {
  track: string;
  field: string;
  /** `all`, or the number of the track from 0. */
  occurrence: 'all' | number;
}

function occurrenceOf(text: string | undefined): Where['occurrence'] | undefined {
  if (text === undefined || text === '' || text === '*') return 'all';
  return /^[1-9]\d{0,3}$/.test(text) ? Number(text) - 1 : undefined;
}

function canonicalOf({ track, field }: Where, operator: string): Canonical | undefined {
  const fields = track === 'General' ? GENERAL : Object.hasOwn(TRACKS, track) ? TRACKS[track]!.fields : {};
  const canonical = Object.hasOwn(fields, field) ? fields[field] : undefined;
  return canonical?.wordsOnly && operator !== '=' && operator !== '!=' ? undefined : canonical;
}

function onField({ track, occurrence }: Where, field: string, operators: Operators): Condition {
  if (track === 'General') return { field, ...operators };
  const each = TRACKS[track]!.each;
  if (occurrence !== 'all') return { field: `${each}[${occurrence}].${field}`, ...operators };
  const every: Condition = { each, field, ...operators };
  return operators.absent === true ? every : { all: [{ count: each, 'at-least': 1 }, every] };
}

function rawPathOf({ track, field, occurrence }: Where): string | undefined {
  const inner = jsonPath(field);
  if (inner === undefined || !/^[A-Za-z]{1,20}$/.test(track)) return undefined;
  return `track[@type=${track}]${occurrence === 'all' ? '' : `[${occurrence}]`}.${inner}`;
}

function onOutput(element: Element, where: Where, operators: Operators, not: Not): Condition | undefined {
  const path = rawPathOf(where);
  if (path === undefined) return not(element, `${oneLine(where.field, 50)} is not in mediainfo's JSON`);
  return { tool: 'mediainfo', path, ...operators };
}

/** Compares two fields, both as mediainfo prints them. */
function against(element: Element, where: Where, operator: string, source: Element, not: Not): Condition | undefined {
  const { tracktype = where.track, value = where.field, occurrence } = source.attributes;
  const make = OPERATORS.get(operator);
  if (make === undefined) return not(element, `operator "${oneLine(operator, 30)}" cannot compare two fields`);
  const place = occurrenceOf(occurrence);
  if (occurrence === '*' || place === undefined) return not(element, 'compares with every track of another type');
  const path = rawPathOf({ track: tracktype, field: value, occurrence: place === 'all' ? 0 : place });
  if (path === undefined) return not(element, `${oneLine(value, 50)} is not in mediainfo's JSON`);
  return onOutput(element, where, { exists: true, ...make({ path }) }, not);
}

interface Element {
  name: string;
  attributes: Readonly<Record<string, string>>;
  children: Element[];
  text: string;
}

const MOST_ELEMENTS = 10_000;
const DEEPEST = 32;
const LONGEST_INNER_TEXT = 10_000;

/** No DTD, no entities but XML's own, bounded in depth and number. */
function elementsIn(text: string): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' };
  const open = [root];
  let count = 0;
  const parser = new SaxesParser({ xmlns: false });
  parser.on('doctype', () => {
    throw new PolicyError('', 'must not have a DOCTYPE');
  });
  parser.on('error', (error) => {
    throw new PolicyError('', `is not valid XML: ${oneLine(error.message, 100)}`);
  });
  parser.on('opentag', ({ name, attributes }) => {
    if (++count > MOST_ELEMENTS) throw new PolicyError('', `has more than ${MOST_ELEMENTS} elements`);
    if (open.length > DEEPEST) throw new PolicyError('', `has elements deeper than ${DEEPEST}`);
    const element: Element = { name, attributes: attributes as Record<string, string>, children: [], text: '' };
    open.at(-1)!.children.push(element);
    open.push(element);
  });
  parser.on('closetag', () => void open.pop());
  const add = (more: string) => {
    const element = open.at(-1)!;
    if (element.text.length < LONGEST_INNER_TEXT) element.text += more.slice(0, LONGEST_INNER_TEXT);
  };
  parser.on('text', add);
  parser.on('cdata', add);
  parser.write(text).close();
  return root.children[0]!;
}

// MediaInfo's fields whose meaning is that of a canonical field, and how its values read there. All others are read
// from mediainfo's own output.

/** A value in canonical words; undefined where they have none for it. */
type Translate = (value: string) => Scalar | undefined;
interface Canonical {
  field: string;
  value: Translate;
  /** Only equal and not equal mean the same. */
  wordsOnly?: true;
}

const number: Translate = (value) => (/^-?\d{1,15}(?:\.\d{1,9})?$/.test(value) ? Number(value) : undefined);
const from =
  (words: Readonly<Record<string, Scalar>>): Translate =>
  (value) =>
    Object.hasOwn(words, value) ? words[value] : undefined;
const plain = (field: string): Canonical => ({ field, value: number });
const words = (field: string, value: Translate): Canonical => ({ field, value, wordsOnly: true });

/** Formats that say which codec it is by themselves: what YUV or MPEG Video is, other fields decide. */
const AMBIGUOUS = new Set(['YUV', 'RGB', 'RAW', 'MPEG Video', 'MPEG Audio', 'WMA', 'AMR', 'ADPCM', 'AC-3', 'VC-1']);
const codec =
  (type: 'Video' | 'Audio' | 'Text'): Translate =>
  (format) =>
    AMBIGUOUS.has(format) ? undefined : codecOf({ '@type': type, Format: format });
/**
 * MPEG-4 is MP4, QuickTime and 3GP: its profile decides. Matroska includes WebM here, which MediaInfo calls a format of
 * its own.
 */
const BROADER = new Set(['MPEG-4', 'MPEG Audio', 'Matroska']);
const container: Translate = (format) => (BROADER.has(format) ? undefined : containerOf(format));

const COMMON = {
  Duration: plain('duration'),
  BitRate: plain('bitrate.average'),
  BitRate_Nominal: plain('bitrate.nominal'),
  BitRate_Minimum: plain('bitrate.minimum'),
  BitRate_Maximum: plain('bitrate.maximum'),
};

const TRACKS: Readonly<Record<string, { each: 'video' | 'audio' | 'subtitle'; fields: Record<string, Canonical> }>> = {
  Video: {
    each: 'video',
    fields: {
      ...COMMON,
      Format: words('codec.name', codec('Video')),
      Width: plain('size.width'),
      Height: plain('size.height'),
      PixelAspectRatio: plain('size.sample_aspect_ratio'),
      DisplayAspectRatio: plain('size.display_aspect_ratio'),
      FrameRate: plain('frame_rate'),
      FrameRate_Mode: words('frame_rate_mode', from({ CFR: 'constant', VFR: 'variable' })),
      FrameCount: plain('frames_count'),
      ScanType: words('scan_type', from({ Progressive: 'progressive', Interlaced: 'interlaced' })),
      ScanOrder: words('scan_order', from({ TFF: 'tff', BFF: 'bff' })),
      ChromaSubsampling: words(
        'pixel_format.chroma_subsampling',
        from({ '4:0:0': '4:0:0', '4:1:1': '4:1:1', '4:2:0': '4:2:0', '4:2:2': '4:2:2', '4:4:4': '4:4:4' }),
      ),
      BitDepth: plain('pixel_format.bit_depth'),
      colour_primaries: words('color.primaries', (value) => colourOf('primaries', value)),
      transfer_characteristics: words('color.transfer', (value) => colourOf('transfer', value)),
      matrix_coefficients: words('color.matrix', (value) => colourOf('matrix', value)),
      colour_range: words('color.range', rangeOf),
    },
  },
  Audio: {
    each: 'audio',
    fields: {
      ...COMMON,
      Format: words('codec.name', codec('Audio')),
      SamplingRate: plain('sample_rate'),
      Channels: plain('channels'),
      Channel_s_: plain('channels'),
      BitDepth: plain('bit_depth'),
    },
  },
  Text: { each: 'subtitle', fields: { Format: words('codec.name', codec('Text')) } },
};

const GENERAL: Readonly<Record<string, Canonical>> = {
  Format: words('container.format', container),
  FileSize: plain('container.size'),
  Duration: plain('container.duration'),
  OverallBitRate: plain('container.bitrate.average'),
};

/** Names that MediaInfo's XML and JSON write differently. */
const JSON_NAMES: Readonly<Record<string, string>> = { Channel_s_: 'Channels' };
const PART = /^[A-Za-z0-9_]{1,100}$/;

/** The field's path in mediainfo's JSON: `extra/Name`. Undefined where JSON has none (`Format/String`). */
function jsonPath(field: string): string | undefined {
  const parts = field.split('/');
  if (parts.length > 2 || (parts.length === 2 && parts[0] !== 'extra') || !parts.every((part) => PART.test(part)))
    return undefined;
  return parts.map((part) => JSON_NAMES[part] ?? part).join('.');
}
