/** Every tag of the specification: where it may stand, what it carries, and where that is written. */

export type Form =
  | {
      form: 'integer' | 'float' | 'signed' | 'hex' | 'string' | 'resolution' | 'id' | 'byterange' | 'date' | 'any';
      max?: number;
    }
  | { form: 'enum'; values: readonly string[] }
  /** A quoted list of words, each of `values`. */
  | { form: 'list'; values: readonly string[] };

export interface AttributeSpec {
  required?: boolean;
  type: Form;
}

export interface TagSpec {
  clause: string;
  in: 'both' | 'media' | 'multivariant';
  value: 'none' | 'integer' | 'attributes' | 'other';
  /** At most once in a playlist. */
  once?: boolean;
  attributes?: Readonly<Record<string, AttributeSpec>>;
}

const type = (form: Exclude<Form['form'], 'enum' | 'list'>) => ({ type: { form } as Form });
const needed = (spec: AttributeSpec): AttributeSpec => ({ ...spec, required: true });
const oneOf = (...values: string[]): AttributeSpec => ({ type: { form: 'enum', values } });
const listOf = (...values: string[]): AttributeSpec => ({ type: { form: 'list', values } });
const integer = type('integer');
const float = type('float');
const signed = type('signed');
const hex = type('hex');
const string = type('string');
const date = type('date');
const yesNo = oneOf('YES', 'NO');

const KEY = { URI: string, IV: hex, KEYFORMAT: string, KEYFORMATVERSIONS: string };
const VARIANT = {
  BANDWIDTH: needed(integer),
  'AVERAGE-BANDWIDTH': integer,
  SCORE: float,
  CODECS: string,
  'SUPPLEMENTAL-CODECS': string,
  RESOLUTION: type('resolution'),
  'HDCP-LEVEL': oneOf('TYPE-0', 'TYPE-1', 'NONE'),
  'ALLOWED-CPC': string,
  'VIDEO-RANGE': oneOf('SDR', 'HLG', 'PQ'),
  'REQ-VIDEO-LAYOUT': string,
  'STABLE-VARIANT-ID': type('id'),
  VIDEO: string,
  'PATHWAY-ID': type('id'),
  'PROGRAM-ID': integer,
  NAME: string,
};

export const TAGS: ReadonlyMap<string, TagSpec> = new Map<string, TagSpec>([
  ['EXTM3U', { clause: '4.4.1.1', in: 'both', value: 'none', once: true }],
  ['EXT-X-VERSION', { clause: '4.4.1.2', in: 'both', value: 'integer', once: true }],
  ['EXT-X-INDEPENDENT-SEGMENTS', { clause: '4.4.2.1', in: 'both', value: 'none', once: true }],
  [
    'EXT-X-START',
    {
      clause: '4.4.2.2',
      in: 'both',
      value: 'attributes',
      once: true,
      attributes: { 'TIME-OFFSET': needed(signed), PRECISE: yesNo },
    },
  ],
  [
    'EXT-X-DEFINE',
    {
      clause: '4.4.2.3',
      in: 'both',
      value: 'attributes',
      attributes: { NAME: string, VALUE: string, IMPORT: string, QUERYPARAM: string },
    },
  ],
  ['EXT-X-TARGETDURATION', { clause: '4.4.3.1', in: 'media', value: 'integer', once: true }],
  ['EXT-X-MEDIA-SEQUENCE', { clause: '4.4.3.2', in: 'media', value: 'integer', once: true }],
  ['EXT-X-DISCONTINUITY-SEQUENCE', { clause: '4.4.3.3', in: 'media', value: 'integer', once: true }],
  ['EXT-X-ENDLIST', { clause: '4.4.3.4', in: 'media', value: 'none', once: true }],
  ['EXT-X-PLAYLIST-TYPE', { clause: '4.4.3.5', in: 'media', value: 'other', once: true }],
  ['EXT-X-I-FRAMES-ONLY', { clause: '4.4.3.6', in: 'media', value: 'none', once: true }],
  [
    'EXT-X-PART-INF',
    { clause: '4.4.3.7', in: 'media', value: 'attributes', once: true, attributes: { 'PART-TARGET': needed(float) } },
  ],
  [
    'EXT-X-SERVER-CONTROL',
    {
      clause: '4.4.3.8',
      in: 'media',
      value: 'attributes',
      once: true,
      attributes: {
        'CAN-SKIP-UNTIL': float,
        'CAN-SKIP-DATERANGES': yesNo,
        'HOLD-BACK': float,
        'PART-HOLD-BACK': float,
        'CAN-BLOCK-RELOAD': yesNo,
      },
    },
  ],
  ['EXTINF', { clause: '4.4.4.1', in: 'media', value: 'other' }],
  ['EXT-X-BYTERANGE', { clause: '4.4.4.2', in: 'media', value: 'other' }],
  ['EXT-X-DISCONTINUITY', { clause: '4.4.4.3', in: 'media', value: 'none' }],
  [
    'EXT-X-KEY',
    {
      clause: '4.4.4.4',
      in: 'media',
      value: 'attributes',
      attributes: {
        METHOD: needed(oneOf('NONE', 'AES-128', 'SAMPLE-AES', 'SAMPLE-AES-CTR', 'AES-256', 'AES-256-GCM')),
        ...KEY,
      },
    },
  ],
  [
    'EXT-X-MAP',
    {
      clause: '4.4.4.5',
      in: 'media',
      value: 'attributes',
      attributes: { URI: needed(string), BYTERANGE: type('byterange') },
    },
  ],
  ['EXT-X-PROGRAM-DATE-TIME', { clause: '4.4.4.6', in: 'media', value: 'other' }],
  ['EXT-X-GAP', { clause: '4.4.4.7', in: 'media', value: 'none' }],
  ['EXT-X-BITRATE', { clause: '4.4.4.8', in: 'media', value: 'integer' }],
  [
    'EXT-X-PART',
    {
      clause: '4.4.4.9',
      in: 'media',
      value: 'attributes',
      attributes: {
        URI: needed(string),
        DURATION: needed(float),
        INDEPENDENT: oneOf('YES'),
        BYTERANGE: type('byterange'),
        GAP: oneOf('YES'),
      },
    },
  ],
  [
    'EXT-X-DATERANGE',
    {
      clause: '4.4.5.1',
      in: 'media',
      value: 'attributes',
      attributes: {
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
        'X-CONTENT-MAY-VARY': { type: { form: 'list', values: ['YES', 'NO'] } },
        'X-TIMELINE-OCCUPIES': { type: { form: 'list', values: ['POINT', 'RANGE'] } },
        'X-TIMELINE-STYLE': { type: { form: 'list', values: ['PRIMARY', 'HIGHLIGHT'] } },
        'X-SKIP-CONTROL-OFFSET': float,
        'X-SKIP-CONTROL-DURATION': float,
        'X-SKIP-CONTROL-LABEL-ID': string,
      },
    },
  ],
  [
    'EXT-X-SKIP',
    {
      clause: '4.4.5.2',
      in: 'media',
      value: 'attributes',
      once: true,
      attributes: { 'SKIPPED-SEGMENTS': needed(integer), 'RECENTLY-REMOVED-DATERANGES': string },
    },
  ],
  [
    'EXT-X-PRELOAD-HINT',
    {
      clause: '4.4.5.3',
      in: 'media',
      value: 'attributes',
      attributes: {
        TYPE: needed(oneOf('PART', 'MAP')),
        URI: needed(string),
        'BYTERANGE-START': integer,
        'BYTERANGE-LENGTH': integer,
      },
    },
  ],
  [
    'EXT-X-RENDITION-REPORT',
    {
      clause: '4.4.5.4',
      in: 'media',
      value: 'attributes',
      attributes: { URI: needed(string), 'LAST-MSN': integer, 'LAST-PART': integer },
    },
  ],
  [
    'EXT-X-MEDIA',
    {
      clause: '4.4.6.1',
      in: 'multivariant',
      value: 'attributes',
      attributes: {
        TYPE: needed(oneOf('AUDIO', 'VIDEO', 'SUBTITLES', 'CLOSED-CAPTIONS')),
        URI: string,
        'GROUP-ID': needed(string),
        LANGUAGE: string,
        'ASSOC-LANGUAGE': string,
        NAME: needed(string),
        'STABLE-RENDITION-ID': type('id'),
        DEFAULT: yesNo,
        AUTOSELECT: yesNo,
        FORCED: yesNo,
        'INSTREAM-ID': string,
        'BIT-DEPTH': integer,
        'SAMPLE-RATE': integer,
        CHARACTERISTICS: string,
        CHANNELS: string,
        'PATHWAY-ID': type('id'),
      },
    },
  ],
  [
    'EXT-X-STREAM-INF',
    {
      clause: '4.4.6.2',
      in: 'multivariant',
      value: 'attributes',
      attributes: { ...VARIANT, 'FRAME-RATE': float, AUDIO: string, SUBTITLES: string, 'CLOSED-CAPTIONS': type('any') },
    },
  ],
  [
    'EXT-X-I-FRAME-STREAM-INF',
    { clause: '4.4.6.3', in: 'multivariant', value: 'attributes', attributes: { ...VARIANT, URI: needed(string) } },
  ],
  [
    'EXT-X-SESSION-DATA',
    {
      clause: '4.4.6.4',
      in: 'multivariant',
      value: 'attributes',
      attributes: {
        'DATA-ID': needed(string),
        VALUE: string,
        URI: string,
        FORMAT: oneOf('JSON', 'RAW'),
        LANGUAGE: string,
      },
    },
  ],
  [
    'EXT-X-SESSION-KEY',
    {
      clause: '4.4.6.5',
      in: 'multivariant',
      value: 'attributes',
      attributes: {
        METHOD: needed(oneOf('AES-128', 'SAMPLE-AES', 'SAMPLE-AES-CTR', 'AES-256', 'AES-256-GCM')),
        ...KEY,
      },
    },
  ],
  [
    'EXT-X-CONTENT-STEERING',
    {
      clause: '4.4.6.6',
      in: 'multivariant',
      value: 'attributes',
      once: true,
      attributes: { 'SERVER-URI': needed(string), 'PATHWAY-ID': type('id') },
    },
  ],
  ['EXT-X-ALLOW-CACHE', { clause: '8', in: 'media', value: 'other' }],
]);

/** What the text of an attribute must look like; undefined where it does. */
export function formError(form: Form, value: string, quoted: boolean): string | undefined {
  const inQuotes = quoted ? undefined : 'must be in quotes';
  const bare = quoted ? 'must not be in quotes' : undefined;
  switch (form.form) {
    case 'any':
      return undefined;
    case 'string':
      return inQuotes;
    case 'id':
      return (
        inQuotes ??
        (/^[A-Za-z0-9._-]+$/.test(value) || value === '' ? undefined : 'may hold A-Z, a-z, 0-9, ".", "-" and "_" only')
      );
    case 'date':
      return inQuotes ?? (isDate(value) ? undefined : 'is no ISO 8601 date and time');
    case 'byterange':
      return inQuotes ?? (/^\d{1,20}(@\d{1,20})?$/.test(value) ? undefined : 'is no <length>[@<offset>]');
    case 'integer':
      return (
        bare ??
        (/^\d{1,20}$/.test(value) && Number(value) <= 2 ** 64 ? undefined : 'is no whole number from 0 to 2^64-1')
      );
    case 'float':
      return bare ?? (/^\d+(\.\d*)?$/.test(value) ? undefined : 'is no decimal number from 0 up');
    case 'signed':
      return bare ?? (/^-?\d+(\.\d*)?$/.test(value) ? undefined : 'is no decimal number');
    case 'hex':
      return bare ?? (/^0[xX][0-9A-Fa-f]+$/.test(value) ? undefined : 'is no hexadecimal sequence (0x…)');
    case 'resolution':
      return bare ?? (/^[1-9]\d*x[1-9]\d*$/.test(value) ? undefined : 'is no <width>x<height>');
    case 'enum':
      return bare;
    case 'list':
      return inQuotes;
  }
}

export const isDate = (text: string): boolean =>
  /^\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])[Tt ]([01]\d|2[0-3]):?[0-5]\d(:?([0-5]\d|60)([.,]\d+)?)?([Zz]|[+-]\d{2}(:?\d{2})?)?$/.test(
    text,
  );

/** Milliseconds; NaN where it is none. Without a zone it is taken as UTC. */
export function timeOfDate(text: string): number {
  if (!isDate(text)) return Number.NaN;
  const [, day = '', hour = '', minute = '', second = '00', fraction = '', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)[Tt ](\d\d):?(\d\d)(?::?(\d\d))?(?:[.,](\d+))?([Zz]|[+-]\d\d(?::?\d\d)?)?$/.exec(text) ?? [];
  const offset = /^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone.replace(/^([+-]\d\d)(\d\d)$/, '$1:$2').toUpperCase();
  return Date.parse(
    `${day}T${hour}:${minute}:${second === '60' ? '59' : second}${fraction === '' ? '' : `.${fraction.slice(0, 3)}`}${offset}`,
  );
}
