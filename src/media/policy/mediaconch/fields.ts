/**
 * MediaInfo's fields whose meaning is that of a canonical field, and how its values read there. All others are read
 * from mediainfo's own output.
 */
import { codecOf } from '../../report/normalise/codec.ts';
import { fromMediainfo as colourOf, rangeOf } from '../../report/normalise/colour.ts';
import { fromMediainfo as containerOf } from '../../report/normalise/container.ts';
import type { Scalar } from '../types.ts';

/** A value in canonical words; undefined where they have none for it. */
type Translate = (value: string) => Scalar | undefined;
export interface Canonical {
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

export const TRACKS: Readonly<
  Record<string, { each: 'video' | 'audio' | 'subtitle'; fields: Record<string, Canonical> }>
> = {
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

export const GENERAL: Readonly<Record<string, Canonical>> = {
  Format: words('container.format', container),
  FileSize: plain('container.size'),
  Duration: plain('container.duration'),
  OverallBitRate: plain('container.bitrate.average'),
};

/** Names that MediaInfo's XML and JSON write differently. */
const JSON_NAMES: Readonly<Record<string, string>> = { Channel_s_: 'Channels' };
const PART = /^[A-Za-z0-9_]{1,100}$/;

/** The field's path in mediainfo's JSON: `extra/Name`. Undefined where JSON has none (`Format/String`). */
export function jsonPath(field: string): string | undefined {
  const parts = field.split('/');
  if (parts.length > 2 || (parts.length === 2 && parts[0] !== 'extra') || !parts.every((part) => PART.test(part)))
    return undefined;
  return parts.map((part) => JSON_NAMES[part] ?? part).join('.');
}
