/** Every tag of the specification: where it is allowed, its value, and its clause. */

export interface AttributeSpec {
  required?: boolean;
  form: Form;
  /** Of an enumeration, or of a quoted list of words. */
  values?: readonly string[];
}

/** All facts about a tag: a new tag, or a new attribute of one, is a row of TAGS. */
export interface TagSpec {
  clause: string;
  in: 'both' | 'media' | 'multivariant';
  value: 'none' | 'integer' | 'attributes' | 'other';
  /** At most once in a playlist. */
  once?: boolean;
  /** A playlist with this tag is of the kind given by `in`. */
  decides?: boolean;
  /** Only describes a segment, so it is dropped once the segment is read. */
  ofSegment?: boolean;
  /** No segment depends on it: beyond the limit of tags its attributes are not parsed. */
  aside?: boolean;
  attributes?: Readonly<Record<string, AttributeSpec>>;
}

const needed = (spec: AttributeSpec): AttributeSpec => ({ ...spec, required: true });
const oneOf = (...values: string[]): AttributeSpec => ({ form: 'enum', values });
const listOf = (...values: string[]): AttributeSpec => ({ form: 'list', values });
const integer: AttributeSpec = { form: 'integer' };
const float: AttributeSpec = { form: 'float' };
const signed: AttributeSpec = { form: 'signed' };
const hex: AttributeSpec = { form: 'hex' };
const string: AttributeSpec = { form: 'string' };
const date: AttributeSpec = { form: 'date' };
const id: AttributeSpec = { form: 'id' };
const byterange: AttributeSpec = { form: 'byterange' };
const yesNo = oneOf('YES', 'NO');

type Kind = Pick<TagSpec, 'once' | 'decides' | 'ofSegment' | 'aside'>;

const tag =
  (where: TagSpec['in'], common: Kind = {}) =>
  (clause: string, kind: Kind, value: 'none' | 'integer' | 'other' | NonNullable<TagSpec['attributes']>): TagSpec => ({
    clause,
    in: where,
    ...(typeof value === 'string' ? { value } : { value: 'attributes', attributes: value }),
    ...common,
    ...kind,
  });
const both = tag('both');
const media = tag('media');
/** Each such tag decides the kind, and no segment depends on it. */
const main = tag('multivariant', { decides: true, aside: true });

const METHODS = ['AES-128', 'SAMPLE-AES', 'SAMPLE-AES-CTR', 'AES-256', 'AES-256-GCM'];
const KEY = { URI: string, IV: hex, KEYFORMAT: string, KEYFORMATVERSIONS: string };
const VARIANT = {
  BANDWIDTH: needed(integer),
  'AVERAGE-BANDWIDTH': integer,
  SCORE: float,
  CODECS: string,
  'SUPPLEMENTAL-CODECS': string,
  RESOLUTION: { form: 'resolution' } as const,
  'HDCP-LEVEL': oneOf('TYPE-0', 'TYPE-1', 'NONE'),
  'ALLOWED-CPC': string,
  'VIDEO-RANGE': oneOf('SDR', 'HLG', 'PQ'),
  'REQ-VIDEO-LAYOUT': string,
  'STABLE-VARIANT-ID': id,
  VIDEO: string,
  'PATHWAY-ID': id,
  'PROGRAM-ID': integer,
  NAME: string,
};
const PLAIN = {};
const ONCE = { once: true };
const HEAD = { once: true, decides: true };
const OF_SEGMENT = { ofSegment: true };
const SEGMENT = { decides: true, ofSegment: true };
const ASIDE = { aside: true };

const ROWS: Readonly<Record<string, TagSpec>> = {
  EXTM3U: both('4.4.1.1', ONCE, 'none'),
  'EXT-X-VERSION': both('4.4.1.2', ONCE, 'integer'),
  'EXT-X-INDEPENDENT-SEGMENTS': both('4.4.2.1', ONCE, 'none'),
  'EXT-X-START': both('4.4.2.2', { ...ONCE, ...ASIDE }, { 'TIME-OFFSET': needed(signed), PRECISE: yesNo }),
  'EXT-X-DEFINE': both('4.4.2.3', PLAIN, { NAME: string, VALUE: string, IMPORT: string, QUERYPARAM: string }),
  'EXT-X-TARGETDURATION': media('4.4.3.1', HEAD, 'integer'),
  'EXT-X-MEDIA-SEQUENCE': media('4.4.3.2', HEAD, 'integer'),
  'EXT-X-DISCONTINUITY-SEQUENCE': media('4.4.3.3', ONCE, 'integer'),
  'EXT-X-ENDLIST': media('4.4.3.4', HEAD, 'none'),
  'EXT-X-PLAYLIST-TYPE': media('4.4.3.5', HEAD, 'other'),
  'EXT-X-I-FRAMES-ONLY': media('4.4.3.6', HEAD, 'none'),
  'EXT-X-PART-INF': media('4.4.3.7', HEAD, { 'PART-TARGET': needed(float) }),
  'EXT-X-SERVER-CONTROL': media('4.4.3.8', ONCE, {
    'CAN-SKIP-UNTIL': float,
    'CAN-SKIP-DATERANGES': yesNo,
    'HOLD-BACK': float,
    'PART-HOLD-BACK': float,
    'CAN-BLOCK-RELOAD': yesNo,
  }),
  EXTINF: media('4.4.4.1', SEGMENT, 'other'),
  'EXT-X-BYTERANGE': media('4.4.4.2', OF_SEGMENT, 'other'),
  'EXT-X-DISCONTINUITY': media('4.4.4.3', OF_SEGMENT, 'none'),
  'EXT-X-KEY': media('4.4.4.4', PLAIN, { METHOD: needed(oneOf('NONE', ...METHODS)), ...KEY }),
  'EXT-X-MAP': media('4.4.4.5', PLAIN, { URI: needed(string), BYTERANGE: byterange }),
  'EXT-X-PROGRAM-DATE-TIME': media('4.4.4.6', OF_SEGMENT, 'other'),
  'EXT-X-GAP': media('4.4.4.7', OF_SEGMENT, 'none'),
  'EXT-X-BITRATE': media('4.4.4.8', OF_SEGMENT, 'integer'),
  'EXT-X-PART': media('4.4.4.9', SEGMENT, {
    URI: needed(string),
    DURATION: needed(float),
    INDEPENDENT: oneOf('YES'),
    BYTERANGE: byterange,
    GAP: oneOf('YES'),
  }),
  'EXT-X-DATERANGE': media('4.4.5.1', ASIDE, {
    ID: needed(string),
    CLASS: string,
    'START-DATE': date,
    CUE: listOf('PRE', 'POST', 'ONCE'),
    'END-DATE': date,
    DURATION: float,
    'PLANNED-DURATION': float,
    'SCTE35-CMD': hex,
    'SCTE35-OUT': hex,
    'SCTE35-IN': hex,
    'END-ON-NEXT': oneOf('YES'),
    'X-ASSET-URI': string,
    'X-ASSET-LIST': string,
    'X-RESUME-OFFSET': signed,
    'X-PLAYOUT-LIMIT': float,
    'X-SNAP': listOf('IN', 'OUT'),
    'X-RESTRICT': listOf('SKIP', 'JUMP'),
    'X-CONTENT-MAY-VARY': listOf('YES', 'NO'),
    'X-TIMELINE-OCCUPIES': listOf('POINT', 'RANGE'),
    'X-TIMELINE-STYLE': listOf('PRIMARY', 'HIGHLIGHT'),
    'X-SKIP-CONTROL-OFFSET': float,
    'X-SKIP-CONTROL-DURATION': float,
    'X-SKIP-CONTROL-LABEL-ID': string,
  }),
  'EXT-X-SKIP': media('4.4.5.2', ONCE, { 'SKIPPED-SEGMENTS': needed(integer), 'RECENTLY-REMOVED-DATERANGES': string }),
  'EXT-X-PRELOAD-HINT': media('4.4.5.3', ASIDE, {
    TYPE: needed(oneOf('PART', 'MAP')),
    URI: needed(string),
    'BYTERANGE-START': integer,
    'BYTERANGE-LENGTH': integer,
  }),
  'EXT-X-RENDITION-REPORT': media('4.4.5.4', ASIDE, { URI: needed(string), 'LAST-MSN': integer, 'LAST-PART': integer }),
  'EXT-X-MEDIA': main('4.4.6.1', PLAIN, {
    TYPE: needed(oneOf('AUDIO', 'VIDEO', 'SUBTITLES', 'CLOSED-CAPTIONS')),
    URI: string,
    'GROUP-ID': needed(string),
    LANGUAGE: string,
    'ASSOC-LANGUAGE': string,
    NAME: needed(string),
    'STABLE-RENDITION-ID': id,
    DEFAULT: yesNo,
    AUTOSELECT: yesNo,
    FORCED: yesNo,
    'INSTREAM-ID': string,
    'BIT-DEPTH': integer,
    'SAMPLE-RATE': integer,
    CHARACTERISTICS: string,
    CHANNELS: string,
    'PATHWAY-ID': id,
  }),
  'EXT-X-STREAM-INF': main('4.4.6.2', PLAIN, {
    ...VARIANT,
    'FRAME-RATE': float,
    AUDIO: string,
    SUBTITLES: string,
    'CLOSED-CAPTIONS': { form: 'any' },
  }),
  'EXT-X-I-FRAME-STREAM-INF': main('4.4.6.3', PLAIN, { ...VARIANT, URI: needed(string) }),
  'EXT-X-SESSION-DATA': main('4.4.6.4', PLAIN, {
    'DATA-ID': needed(string),
    VALUE: string,
    URI: string,
    FORMAT: oneOf('JSON', 'RAW'),
    LANGUAGE: string,
  }),
  'EXT-X-SESSION-KEY': main('4.4.6.5', PLAIN, { METHOD: needed(oneOf(...METHODS)), ...KEY }),
  'EXT-X-CONTENT-STEERING': main('4.4.6.6', ONCE, { 'SERVER-URI': needed(string), 'PATHWAY-ID': id }),
  'EXT-X-ALLOW-CACHE': media('8', PLAIN, 'other'),
};

export const TAGS: ReadonlyMap<string, TagSpec> = new Map(Object.entries(ROWS));

const DAY = '\\d{4}-(0\\d|1[0-2])-([0-2]\\d|3[01])';
const TIME = '([01]\\d|2[0-3]):?[0-5]\\d(:?([0-5]\\d|60)([.,]\\d+)?)?';
const ZONE = '([Zz]|[+-]\\d{2}(:?\\d{2})?)';
const DATE = new RegExp(`^${DAY}[Tt ]${TIME}${ZONE}?$`);

export const isDate = (text: string): boolean => DATE.test(text);

/** Milliseconds; NaN if it is not a date. Without a zone it is taken as UTC. */
export function timeOfDate(text: string): number {
  if (!isDate(text)) return Number.NaN;
  const [, day = '', hour = '', minute = '', second = '00', fraction = '', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)[Tt ](\d\d):?(\d\d)(?::?(\d\d))?(?:[.,](\d+))?([Zz]|[+-]\d\d(?::?\d\d)?)?$/.exec(text) ?? [];
  const offset = /^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone.replace(/^([+-]\d\d)(\d\d)$/, '$1:$2').toUpperCase();
  // A leap second is mapped to the last second of its minute.
  const whole = second === '60' ? '59' : second;
  const part = fraction === '' ? '' : `.${fraction.slice(0, 3)}`;
  return Date.parse(`${day}T${hour}:${minute}:${whole}${part}${offset}`);
}

interface FormRule {
  inQuotes: boolean;
  is?: Pick<RegExp, 'test'>;
  /** What is wrong with a value that is not. */
  wrong?: string;
}
export const INTEGER = { test: (value: string): boolean => /^\d{1,20}$/.test(value) && BigInt(value) < 2n ** 64n };

/** How the values of attributes are written. */
const FORMS = {
  string: { inQuotes: true },
  list: { inQuotes: true },
  id: { inQuotes: true, is: /^[A-Za-z0-9._-]*$/, wrong: 'may only contain A-Z, a-z, 0-9, ".", "-" and "_"' },
  date: { inQuotes: true, is: DATE, wrong: 'is not an ISO 8601 date and time' },
  byterange: { inQuotes: true, is: /^\d{1,20}(@\d{1,20})?$/, wrong: 'is not <length>[@<offset>]' },
  enum: { inQuotes: false },
  integer: { inQuotes: false, is: INTEGER, wrong: 'is not a whole number from 0 to 2^64-1' },
  float: { inQuotes: false, is: /^\d+(\.\d*)?$/, wrong: 'is not a decimal number from 0 up' },
  signed: { inQuotes: false, is: /^-?\d+(\.\d*)?$/, wrong: 'is not a decimal number' },
  hex: { inQuotes: false, is: /^0[xX][0-9A-Fa-f]+$/, wrong: 'is not a hexadecimal sequence (0x…)' },
  resolution: { inQuotes: false, is: /^[1-9]\d*x[1-9]\d*$/, wrong: 'is not <width>x<height>' },
} satisfies Record<string, FormRule>;
export type Form = keyof typeof FORMS | 'any';

/** Describes what is wrong with an attribute's text; undefined if it is valid. */
export function formError(form: Form, value: string, quoted: boolean): string | undefined {
  if (form === 'any') return undefined;
  const { inQuotes, is, wrong }: FormRule = FORMS[form];
  if (quoted !== inQuotes) return `must ${inQuotes ? '' : 'not '}be in quotes`;
  return is === undefined || is.test(value) ? undefined : wrong;
}
