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

const tag = (
  clause: string,
  where: TagSpec['in'],
  value: 'none' | 'integer' | 'other' | NonNullable<TagSpec['attributes']>,
  facts: Pick<TagSpec, 'once' | 'decides' | 'ofSegment' | 'aside'> = {},
): TagSpec => ({
  clause,
  in: where,
  ...(typeof value === 'string' ? { value } : { value: 'attributes', attributes: value }),
  ...facts,
});

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
const ONCE = { once: true };
const DECIDES = { decides: true };
const OF_SEGMENT = { ofSegment: true };
const ASIDE = { aside: true };
/** For multivariant playlists: each such tag decides the kind, and no segment depends on it. */
const MAIN = { decides: true, aside: true };

const ROWS: Readonly<Record<string, TagSpec>> = {
  EXTM3U: tag('4.4.1.1', 'both', 'none', ONCE),
  'EXT-X-VERSION': tag('4.4.1.2', 'both', 'integer', ONCE),
  'EXT-X-INDEPENDENT-SEGMENTS': tag('4.4.2.1', 'both', 'none', ONCE),
  'EXT-X-START': tag('4.4.2.2', 'both', { 'TIME-OFFSET': needed(signed), PRECISE: yesNo }, { ...ONCE, ...ASIDE }),
  'EXT-X-DEFINE': tag('4.4.2.3', 'both', { NAME: string, VALUE: string, IMPORT: string, QUERYPARAM: string }),
  'EXT-X-TARGETDURATION': tag('4.4.3.1', 'media', 'integer', { ...ONCE, ...DECIDES }),
  'EXT-X-MEDIA-SEQUENCE': tag('4.4.3.2', 'media', 'integer', { ...ONCE, ...DECIDES }),
  'EXT-X-DISCONTINUITY-SEQUENCE': tag('4.4.3.3', 'media', 'integer', ONCE),
  'EXT-X-ENDLIST': tag('4.4.3.4', 'media', 'none', { ...ONCE, ...DECIDES }),
  'EXT-X-PLAYLIST-TYPE': tag('4.4.3.5', 'media', 'other', { ...ONCE, ...DECIDES }),
  'EXT-X-I-FRAMES-ONLY': tag('4.4.3.6', 'media', 'none', { ...ONCE, ...DECIDES }),
  'EXT-X-PART-INF': tag('4.4.3.7', 'media', { 'PART-TARGET': needed(float) }, { ...ONCE, ...DECIDES }),
  'EXT-X-SERVER-CONTROL': tag(
    '4.4.3.8',
    'media',
    {
      'CAN-SKIP-UNTIL': float,
      'CAN-SKIP-DATERANGES': yesNo,
      'HOLD-BACK': float,
      'PART-HOLD-BACK': float,
      'CAN-BLOCK-RELOAD': yesNo,
    },
    ONCE,
  ),
  EXTINF: tag('4.4.4.1', 'media', 'other', { ...DECIDES, ...OF_SEGMENT }),
  'EXT-X-BYTERANGE': tag('4.4.4.2', 'media', 'other', OF_SEGMENT),
  'EXT-X-DISCONTINUITY': tag('4.4.4.3', 'media', 'none', OF_SEGMENT),
  'EXT-X-KEY': tag('4.4.4.4', 'media', { METHOD: needed(oneOf('NONE', ...METHODS)), ...KEY }),
  'EXT-X-MAP': tag('4.4.4.5', 'media', { URI: needed(string), BYTERANGE: byterange }),
  'EXT-X-PROGRAM-DATE-TIME': tag('4.4.4.6', 'media', 'other', OF_SEGMENT),
  'EXT-X-GAP': tag('4.4.4.7', 'media', 'none', OF_SEGMENT),
  'EXT-X-BITRATE': tag('4.4.4.8', 'media', 'integer', OF_SEGMENT),
  'EXT-X-PART': tag(
    '4.4.4.9',
    'media',
    {
      URI: needed(string),
      DURATION: needed(float),
      INDEPENDENT: oneOf('YES'),
      BYTERANGE: byterange,
      GAP: oneOf('YES'),
    },
    { ...DECIDES, ...OF_SEGMENT },
  ),
  'EXT-X-DATERANGE': tag(
    '4.4.5.1',
    'media',
    {
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
    },
    ASIDE,
  ),
  'EXT-X-SKIP': tag(
    '4.4.5.2',
    'media',
    { 'SKIPPED-SEGMENTS': needed(integer), 'RECENTLY-REMOVED-DATERANGES': string },
    ONCE,
  ),
  'EXT-X-PRELOAD-HINT': tag(
    '4.4.5.3',
    'media',
    {
      TYPE: needed(oneOf('PART', 'MAP')),
      URI: needed(string),
      'BYTERANGE-START': integer,
      'BYTERANGE-LENGTH': integer,
    },
    ASIDE,
  ),
  'EXT-X-RENDITION-REPORT': tag(
    '4.4.5.4',
    'media',
    { URI: needed(string), 'LAST-MSN': integer, 'LAST-PART': integer },
    ASIDE,
  ),
  'EXT-X-MEDIA': tag(
    '4.4.6.1',
    'multivariant',
    {
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
    },
    MAIN,
  ),
  'EXT-X-STREAM-INF': tag(
    '4.4.6.2',
    'multivariant',
    { ...VARIANT, 'FRAME-RATE': float, AUDIO: string, SUBTITLES: string, 'CLOSED-CAPTIONS': { form: 'any' } },
    MAIN,
  ),
  'EXT-X-I-FRAME-STREAM-INF': tag('4.4.6.3', 'multivariant', { ...VARIANT, URI: needed(string) }, MAIN),
  'EXT-X-SESSION-DATA': tag(
    '4.4.6.4',
    'multivariant',
    { 'DATA-ID': needed(string), VALUE: string, URI: string, FORMAT: oneOf('JSON', 'RAW'), LANGUAGE: string },
    MAIN,
  ),
  'EXT-X-SESSION-KEY': tag('4.4.6.5', 'multivariant', { METHOD: needed(oneOf(...METHODS)), ...KEY }, MAIN),
  'EXT-X-CONTENT-STEERING': tag(
    '4.4.6.6',
    'multivariant',
    { 'SERVER-URI': needed(string), 'PATHWAY-ID': id },
    { ...ONCE, ...MAIN },
  ),
  'EXT-X-ALLOW-CACHE': tag('8', 'media', 'other'),
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
const INTEGER = { test: (value: string): boolean => /^\d{1,20}$/.test(value) && Number(value) <= 2 ** 64 };

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
