/**
 * The schema of probe_report: source of its type, of its part of the OpenAPI description, of the page of its fields,
 * and of the validator in tests. fields.ts defines how the two tools are compared.
 */
import Type, { type Static } from 'typebox';
import { described, oneOf } from '../../base/schema_parts.ts';
import { REPORT_TOOLS, type ReportTool } from '../tools/probe_report.ts';
import { DOLBY_VISION_BASES } from './fields.ts';
import { STREAM_TYPES } from './side.ts';

type Value = string | number | boolean | object;
const told = (description: string, example: Value) => ({ description, examples: [example] });
const text = (description: string, example: string) => Type.Optional(Type.String(told(description, example)));
const whole = (description: string, example: number) =>
  Type.Optional(Type.Integer({ minimum: 0, ...told(description, example) }));
const positive = (description: string, example: number) =>
  Type.Optional(Type.Number({ minimum: 0, ...told(description, example) }));
const number = (description: string, example: number) => Type.Optional(Type.Number(told(description, example)));
const flag = (description: string, example = true) => Type.Optional(Type.Boolean(told(description, example)));
const marked = (description: string) => Type.Optional(Type.Literal(true, told(description, true)));
const word = <const T extends string>(values: readonly T[], description: string) =>
  oneOf(values, description, { examples: [values[0]] });

const Fraction = described('Fraction', 'An exact rate; 0/1 where it is unknown.', {
  numerator: Type.Integer({ minimum: 0, ...told('Frames.', 30000) }),
  denominator: Type.Integer({ minimum: 1, ...told('Seconds.', 1001) }),
});

const codec = {
  name: text('The codec, in the names of ffmpeg; docs/report-names.md lists them.', 'h264'),
  four_cc: text('The FourCC that the container declares.', 'avc1'),
};
const ID = 'The FourCC as a little-endian integer';
const VideoCodec = described('ReportVideoCodec', 'The codec of the first video stream.', {
  id: Type.Integer({ minimum: 0, ...told(`${ID}; 0 without one.`, 0x31637661) }),
  ...codec,
});
const StreamCodec = described('ReportStreamCodec', 'The codec of a stream.', {
  id: whole(`${ID}.`, 0x31637661),
  ...codec,
  profile: text('The profile, in lower case.', 'high'),
  level: text('The level of H.264 and HEVC.', '4.1'),
});

const Size = described('ReportSize', 'The picture size.', {
  width: whole('Width in pixels.', 1920),
  height: whole('Height in pixels.', 1080),
  display_aspect_ratio: positive('Aspect ratio of the picture as shown, to three decimals.', 1.778),
  sample_aspect_ratio: positive('Aspect ratio of a pixel, to three decimals.', 1),
});

const PixelFormat = described('ReportPixelFormat', 'The pixels of a picture.', {
  color_model: Type.Optional(word(['yuv', 'rgb', 'gray', 'palette'], 'How a pixel is coded.')),
  components_order: text('The components in the order in which they are stored.', 'yuv'),
  chroma_subsampling: text('Chroma subsampling.', '4:2:0'),
  bit_depth: whole('Bits per component.', 8),
  has_alpha: flag('Whether there is an alpha channel.', false),
});

const bitrate = {
  nominal: whole('Declared bit rate, in bits per second.', 4000000),
  minimum: whole('Declared minimum, in bits per second.', 1000000),
  maximum: whole('Declared maximum, in bits per second.', 8000000),
};
const AVERAGE = 'Average bit rate, in bits per second';
const VideoBitrate = described('ReportVideoBitrate', 'Bit rates of the first video stream.', {
  average: Type.Integer({ minimum: 0, ...told(`${AVERAGE}; 0 where it is unknown.`, 3850123) }),
  ...bitrate,
});
const StreamBitrate = described('ReportStreamBitrate', 'Bit rates of a stream.', {
  average: whole(`${AVERAGE}.`, 3850123),
  ...bitrate,
});

const Color = described('ReportColor', "Colour, in ffmpeg's names.", {
  primaries: text('Colour primaries.', 'bt709'),
  transfer: text('Transfer characteristics.', 'smpte2084'),
  matrix: text('Matrix coefficients.', 'bt2020nc'),
  range: Type.Optional(word(['tv', 'pc'], 'Range of values: limited (tv) or full (pc).')),
});

const Hdr = described('ReportHdr', 'High dynamic range.', {
  formats: Type.Optional(Type.Array(Type.String(), told('The formats that the stream follows.', ['HDR10']))),
  mastering_display: flag('Whether there are metadata of the mastering display (SMPTE ST 2086).'),
  dynamic: flag('Whether there are dynamic metadata (SMPTE ST 2094).'),
  max_cll: whole('Maximum content light level, in cd/m².', 1000),
  max_fall: whole('Maximum frame-average light level, in cd/m².', 400),
  dolby_vision_profile: whole('Dolby Vision profile.', 8),
  dolby_vision_level: whole('Dolby Vision level.', 6),
  dolby_vision_compatibility: Type.Optional(
    word(DOLBY_VISION_BASES, 'What a player without Dolby Vision shows: the base layer, as declared.'),
  ),
  dolby_vision_rpu: marked('Present where the pictures carry Dolby Vision metadata (RPUs).'),
});

const Caption = described('ReportCaption', 'Captions inside the pictures.', {
  kind: word(['a53', 'cea-608', 'cea-708'], 'The kind; a53: captions that are not told apart.'),
  service: text('The channel of CEA-608 or the service of CEA-708, if it is known.', 'CC1'),
  first_time: number('Time of the first picture that was read and carries some of it, in seconds.', 1.4),
});

const LookedAt = described('ReportLookedAt', 'The pictures that were decoded for what no container declares.', {
  pictures: Type.Integer({ minimum: 0, ...told('How many; 0: packets alone, for captions.', 6) }),
  seconds: positive('The time that they are shown, where the frame rate is known.', 0.24),
  captions: number('Seconds of the beginning in which the captions were told apart.', 10),
});

const times = {
  start_time: number('Time of the first sample in seconds, to three decimals.', 0),
  duration: positive('Duration in seconds, to three decimals.', 596.458),
};
const frames_count = whole('Number of frames.', 14315);

const StreamSchema = described('ReportStream', 'A stream, as the better tool of each field describes it.', {
  index: Type.Integer({ minimum: 0, ...told('Place in this list.', 0) }),
  type: word(STREAM_TYPES, 'Type; a cover is a `video`.'),
  id: Type.Optional(Type.Integer(told("The container's own number: track, PID.", 256))),
  codec: Type.Optional(StreamCodec),
  ...times,
  bitrate: Type.Optional(StreamBitrate),
  language: text('Language, as BCP 47 spells it.', 'en'),
  title: text('Title.', 'Commentary'),
  timecode: text('Time code of the first frame.', '01:00:00:00'),
  default: flag('Whether players select it by default.'),
  forced: flag('Whether players always show it.', false),
  encrypted: marked('Present where the stream is encrypted.'),
  attached_picture: marked('Present on a cover, which is no video to watch.'),
  embedded: marked('Present on what is inside another stream, such as captions in a picture.'),
  size: Type.Optional(Size),
  frame_rate: Type.Optional(Fraction),
  frame_rate_mode: Type.Optional(word(['constant', 'variable'], 'Whether all frames last equally long.')),
  scan_type: Type.Optional(word(['progressive', 'interlaced'], 'Scan type.')),
  scan_order: Type.Optional(word(['tff', 'bff'], 'Field that comes first: top (tff) or bottom (bff).')),
  pulldown: marked('Present where pictures last a field longer than others: film in the fields of television.'),
  pixel_format: Type.Optional(PixelFormat),
  color: Type.Optional(Color),
  hdr: Type.Optional(Hdr),
  captions: Type.Optional(
    Type.Array(Caption, {
      description: 'Captions inside the pictures, as far as they were read. Absent does not mean that there are none.',
    }),
  ),
  looked_at: Type.Optional(LookedAt),
  rotation: whole('Clockwise degrees by which players turn the picture.', 90),
  frames_count,
  sample_rate: whole('Samples per second.', 48000),
  channels: whole('Number of channels.', 2),
  channel_layout: text("Channel layout, in ffmpeg's names; side and back are not distinguished.", '5.1'),
  bit_depth: whole('Bits per sample.', 24),
});

const counted = (what: string) => Type.Integer({ minimum: 0, ...told(`Number of ${what}.`, 1) });
const Counts = described('ReportStreamCounts', 'How many streams there are.', {
  total: counted('all streams'),
  video: counted('video streams, covers included'),
  audio: counted('audio streams'),
  subtitle: counted('subtitle streams'),
  data: counted('data streams'),
  attachment: counted('attachments'),
});

const Chapter = described('ReportChapter', 'A chapter.', {
  start: Type.Number(told('Start in seconds.', 0)),
  end: number('End in seconds.', 61.5),
  title: text('Title.', 'Opening'),
});

const ContainerSchema = described('ReportContainer', 'The file.', {
  format: text('The container; docs/report-names.md lists them.', 'mp4'),
  ...times,
  size: whole('Size in bytes.', 287309056),
  bitrate: Type.Optional(
    described('ReportContainerBitrate', 'Bit rates of the file.', { average: whole(`${AVERAGE}.`, 3853555) }),
  ),
  title: text('Title.', 'Big Buck Bunny'),
  encoder: text('The program that wrote the file.', 'Lavf61.7.100'),
  brand: text('Major brand of an ISO file.', 'isom'),
  timecode: text('Time code of the first frame.', '01:00:00:00'),
  streamable: flag('Whether the index precedes the media.'),
  streams: Counts,
  chapters: Type.Optional(Type.Array(Chapter, { description: 'Chapters, if there are any.' })),
});

const path = (description: string, example: string) => Type.String(told(description, example));
const WarningSchema = described('ReportWarning', 'What is wrong or unusual.', {
  code: Type.String(told('Names the kind of warning; docs/report.md lists them.', 'truncated')),
  message: Type.String(told('What was found.', 'mediainfo reports that the file is truncated')),
  path: path('What it is about: `container`, a stream, or empty for the whole report.', 'container'),
});

/** A value as the report shows it, or a stream that only one tool sees. */
const value = (tool: ReportTool, example: Value) =>
  Type.Unsafe<unknown>({
    type: ['string', 'number', 'boolean', 'object', 'null'],
    ...told(`What ${tool} says, in the form of the field; null where it does not say it.`, example),
  });
const probability = (description: string) => Type.Number({ minimum: 0, maximum: 1, ...told(description, 0.98) });
const DifferenceSchema = described('ReportDifference', 'A field on which the tools disagree.', {
  path: path('The field, or the stream that only one tool sees.', 'streams[1].channels'),
  ffprobe: value('ffprobe', 1),
  mediainfo: value('mediainfo', 2),
  bitstream: Type.Optional(
    Type.Unsafe<unknown>({
      type: ['string', 'number', 'boolean', 'object'],
      ...told('What the pictures themselves say; absent where they were not read, or do not say it.', 'smpte2084'),
    }),
  ),
  chosen: Type.Unsafe<ReportTool | 'bitstream' | null>({
    type: ['string', 'null'],
    enum: [...REPORT_TOOLS, 'bitstream', null],
    ...told(
      'The witness whose value the report has; null where neither is likely enough: the value is not known.',
      REPORT_TOOLS[0],
    ),
  }),
  reason: Type.String(told('Why.', 'it decodes a frame; in test files ffprobe was right in 98 of 100 such cases')),
  confidence: Type.Optional(
    probability('Share of such choices that were right in files of known truth; absent where that was not measured.'),
  ),
});

const ABOUT =
  'A file as ffprobe and mediainfo describe it, in one set of names. The members beside `container` and ' +
  '`streams` are those of the first video stream, and absent without one.';
export const ProbeReportSchema = described('ProbeReport', ABOUT, {
  codec: Type.Optional(VideoCodec),
  size: Type.Optional(Size),
  frame_rate: Type.Optional(Fraction),
  pixel_format: Type.Optional(PixelFormat),
  ...times,
  frames_count,
  bitrate: Type.Optional(VideoBitrate),
  color: Type.Optional(Color),
  container: ContainerSchema,
  streams: Type.Array(StreamSchema, { description: 'Every stream, in the order of ffprobe.' }),
  confidence: Type.Unsafe<Record<string, number>>({
    type: 'object',
    description: 'Confidence by path; a field whose truth was never known has none.',
    examples: [{ 'container.format': 1, 'streams[0].duration': 0.98 }],
    additionalProperties: probability('Share of such values that were right in files of known truth.'),
  }),
  warnings: Type.Array(WarningSchema, { description: 'What is wrong or unusual.' }),
  diff: Type.Optional(
    Type.Array(DifferenceSchema, { description: 'Fields on which the tools disagree; absent with `diff=false`.' }),
  ),
});

export type ProbeReport = Static<typeof ProbeReportSchema>;
export type StreamReport = Static<typeof StreamSchema>;
export type ContainerReport = Static<typeof ContainerSchema>;
export type Warning = Static<typeof WarningSchema>;
export type Difference = Static<typeof DifferenceSchema>;
