/** The fields that policies name: those that a report shows, by where they stand, and of what kind each is. */
import {
  BITS,
  BYTES,
  CODEC,
  CONTAINER,
  FLAG,
  HERTZ,
  LANGUAGE,
  LAYOUT,
  LEVEL,
  MATRIX,
  NUMBER,
  oneOf,
  RATE,
  RATIO,
  SECONDS,
  TEXT,
  WORD,
  type Kind,
} from './kinds.ts';
import { DOLBY_VISION_BASES, ruleOf } from '../report/fields.ts';
import type { StreamType } from './types.ts';

export interface PolicyField {
  kind: Kind;
  /** What it is where the report says nothing of it, if that means something. */
  unsaid?: boolean | number | readonly string[];
  /**
   * Read from pictures alone, which show it `each`, or within the few that are read: then there is none where they do
   * not show it. Or `some` of them do: then its absence is never known.
   */
  pictures?: 'each' | 'some';
}
export type Fields = Readonly<Record<string, PolicyField>>;

const flagWhereTrue: PolicyField = { kind: FLAG, unsaid: false };
const plain = (kind: Kind): PolicyField => ({ kind });
/** Several fields of one kind, their names with spaces between them. */
const all = (field: Kind | PolicyField, names: string): Fields =>
  Object.fromEntries(names.split(' ').map((name) => [name, 'kind' in field ? field : plain(field)]));

export const CONTAINER_FIELDS: Fields = {
  format: plain(CONTAINER),
  ...all(SECONDS, 'duration start_time'),
  size: plain(BYTES),
  'bitrate.average': plain(BITS),
  /** How many. */
  chapters: { kind: NUMBER, unsaid: 0 },
  ...all(TEXT, 'title encoder brand timecode'),
  streamable: plain(FLAG),
  ...all(NUMBER, 'streams.total streams.video streams.audio streams.subtitle streams.data streams.attachment'),
};

const COMMON: Fields = {
  index: plain(NUMBER),
  type: plain(oneOf('video', 'audio', 'subtitle', 'data', 'attachment')),
  id: plain(NUMBER),
  'codec.name': plain(CODEC),
  ...all(WORD, 'codec.profile codec.four_cc'),
  'codec.id': plain({ ...NUMBER, actual: (said) => (typeof said === 'number' && said !== 0 ? said : undefined) }),
  ...all(SECONDS, 'start_time duration'),
  ...all(BITS, 'bitrate.average bitrate.nominal bitrate.minimum bitrate.maximum'),
  language: plain(LANGUAGE),
  title: plain(TEXT),
  ...all(FLAG, 'default forced'),
  ...all(flagWhereTrue, 'encrypted embedded'),
};
const VIDEO: Fields = {
  ...COMMON,
  'codec.level': plain(LEVEL),
  ...all(NUMBER, 'size.width size.height'),
  ...all(RATIO, 'size.sample_aspect_ratio size.display_aspect_ratio'),
  frame_rate: plain(RATE),
  frame_rate_mode: plain(oneOf('constant', 'variable')),
  scan_type: plain(oneOf('progressive', 'interlaced')),
  scan_order: plain(oneOf('tff', 'bff')),
  pulldown: { ...flagWhereTrue, pictures: 'each' },
  'pixel_format.color_model': plain(oneOf('yuv', 'rgb', 'gray', 'palette')),
  'pixel_format.components_order': plain(WORD),
  'pixel_format.chroma_subsampling': plain(oneOf('4:0:0', '4:1:0', '4:1:1', '4:2:0', '4:2:2', '4:4:0', '4:4:4')),
  'pixel_format.bit_depth': plain(NUMBER),
  'pixel_format.has_alpha': plain(FLAG),
  ...all(WORD, 'color.primaries color.transfer'),
  'color.matrix': plain(MATRIX),
  'color.range': plain(oneOf('tv', 'pc')),
  ...all(NUMBER, 'frames_count rotation'),
  timecode: plain(TEXT),
  'hdr.formats': {
    kind: { ...oneOf('HDR10+', 'HDR10', 'PQ', 'HLG', 'Dolby Vision'), list: true },
    unsaid: [],
  },
  ...all(flagWhereTrue, 'hdr.mastering_display hdr.dynamic'),
  ...all(NUMBER, 'hdr.max_cll hdr.max_fall hdr.dolby_vision_profile hdr.dolby_vision_level'),
  'hdr.dolby_vision_compatibility': plain(oneOf(...DOLBY_VISION_BASES)),
  'hdr.dolby_vision_rpu': { ...flagWhereTrue, pictures: 'each' },
  ...all({ kind: NUMBER, pictures: 'each' }, 'looked_at.pictures looked_at.seconds looked_at.captions'),
  /** By their kinds. */
  captions: {
    kind: {
      ...oneOf('a53', 'cea-608', 'cea-708'),
      list: true,
      actual: (said) => WORD.actual((said as { kind?: unknown } | null)?.kind),
    },
    pictures: 'some',
  },
};
const AUDIO: Fields = {
  ...COMMON,
  sample_rate: plain(HERTZ),
  channels: plain(NUMBER),
  channel_layout: plain(LAYOUT),
  bit_depth: plain(NUMBER),
};

export const STREAM_FIELDS: Readonly<Record<StreamType, Fields>> = {
  video: VIDEO,
  picture: VIDEO,
  audio: AUDIO,
  subtitle: COMMON,
  data: COMMON,
  attachment: COMMON,
  stream: { ...COMMON, attached_picture: flagWhereTrue },
};

/** By its path in a policy: `captions`, `video[0].captions`. */
export const isInPictures = (path: string): boolean => {
  const field = path.replace(/^[a-z]+\[\d+\]\./, '');
  return Object.hasOwn(VIDEO, field) && VIDEO[field]!.pictures !== undefined;
};

/** Those of the first video stream that stand at the top of a report as well. */
export const TOP_FIELDS: Fields = Object.fromEntries(Object.entries(VIDEO).filter(([name]) => ruleOf(name).atTop));
