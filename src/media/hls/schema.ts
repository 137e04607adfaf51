/**
 * The schema of the HLS validator's report: source of its type, of its part of the OpenAPI description, and of the
 * validator in tests.
 */
import Type, { type Static, type TSchema } from 'typebox';
import { count, described, eitherOrNull, oneOf } from '../../base/schema_parts.ts';
import { LEVELS } from './rule.ts';

const seconds = (description: string) => Type.Number({ minimum: 0, description });
const orNull = <T extends TSchema>(schema: T, description: string, example: string | number) => {
  const { type, ...rest } = schema as T & { type: string };
  return Type.Unsafe<Static<T> | null>({ ...rest, type: [type, 'null'], description, examples: [example] });
};
const text = (description: string, example: string) => orNull(Type.String(), description, example);
const amount = (description: string, example: number) => orNull(Type.Number({ minimum: 0 }), description, example);
const whole = (description: string, example: number) => orNull(Type.Integer({ minimum: 0 }), description, example);
const nullable = <T extends Record<string, TSchema>>(...given: Parameters<typeof described<T>>) =>
  eitherOrNull(described(...given));
const string = (description: string, example: string) => Type.String({ description, examples: [example] });
const integer = (minimum: number, description: string, example: number) =>
  Type.Integer({ minimum, description, examples: [example] });

const MessageSchema = described('HlsMessage', 'What a rule found.', {
  level: oneOf(LEVELS, 'How bad it is.', { examples: ['must-fix'] }),
  code: string('The rule; docs/hls-rules.md lists them.', 'target-duration'),
  apple_code: Type.Optional(
    Type.Integer({
      description: "The code under which Apple's mediastreamvalidator reports the same, where that is known.",
      examples: [-50020],
    }),
  ),
  rule: string('The clause that the rule is from.', 'rfc8216bis 4.4.3.1'),
  message: string(
    'What is wrong; after ": ", what was found.',
    'RESOLUTION does not match the video: 320x180, but the playlist says 1920x1080',
  ),
  remedy: Type.Optional(
    string(
      'What to do about it. Reports from before it was added lack it.',
      'Encode again with the declared value, or declare what the media has.',
    ),
  ),
  url: string('The playlist.', 'https://media.example.com/live/master.m3u8'),
  line: integer(0, 'Line of the playlist.', 12),
  column: Type.Optional(integer(0, 'Column in that line.', 9)),
  count: Type.Optional(
    integer(1, 'How often the rule is broken in this playlist, if that is more often than it is listed.', 240),
  ),
});

const MeasuredStream = described('HlsMeasuredStream', 'A stream in the measured segments.', {
  type: oneOf(['video', 'audio', 'other'], 'Type.'),
  codec: string("Codec, in ffmpeg's names.", 'h264'),
  profile: string('Profile; empty if it is unknown.', 'High'),
  width: integer(0, 'Width in pixels; 0 without a picture.', 1280),
  height: integer(0, 'Height in pixels; 0 without a picture.', 720),
  channels: integer(0, 'Channels; 0 without sound.', 2),
});

const Findings = described('HlsFindingCounts', 'Messages about one playlist, by level.', {
  must_fix: count('Messages of level must-fix.'),
  should_fix: count('Messages of level should-fix.'),
  info: count('Messages of level info.'),
});

const ROLES = ['multivariant', 'media', 'variant', 'iframes', 'audio', 'video', 'subtitles', 'unknown'] as const;

const MeasuredDuration = described('HlsMeasuredDuration', 'How long a segment was found to be.', {
  index: count('Its place in the playlist, from 0.'),
  seconds: seconds('Its duration.'),
});

const PlaylistSchema = described('HlsPlaylist', 'A playlist that was read.', {
  url: string('Its address.', 'https://media.example.com/live/720p.m3u8'),
  role: oneOf(ROLES, 'What it is: the source itself, or how the multivariant playlist refers to it.'),
  version: whole('EXT-X-VERSION.', 7),
  lines: count('Number of lines.'),
  bytes: count('Size in bytes.'),
  live: Type.Boolean({ description: 'Whether it has no end yet.' }),
  type: text('EXT-X-PLAYLIST-TYPE.', 'VOD'),
  target_duration: amount('EXT-X-TARGETDURATION, in seconds.', 6),
  media_sequence: whole('EXT-X-MEDIA-SEQUENCE, exact up to 2^53; null in a multivariant playlist.', 0),
  segments: whole('Number of segments; null in a multivariant playlist.', 100),
  duration: amount('Sum of the segment durations in seconds; null in a multivariant playlist.', 596.458),
  discontinuities: whole('Number of discontinuities; null in a multivariant playlist.', 0),
  gaps: whole('Number of gaps; null in a multivariant playlist.', 0),
  encryption: Type.Array(Type.String(), { description: 'Methods of its keys.', examples: [['AES-128']] }),
  init_section: Type.Boolean({ description: 'Whether it has EXT-X-MAP.' }),
  byte_ranges: Type.Boolean({ description: 'Whether it has EXT-X-BYTERANGE.' }),
  low_latency: Type.Boolean({ description: 'Whether it has partial segments.' }),
  program_date_time: Type.Boolean({ description: 'Whether it has EXT-X-PROGRAM-DATE-TIME.' }),
  date_ranges: count('Number of EXT-X-DATERANGE.'),
  findings: Findings,
  segment_durations: nullable('HlsSegmentDurations', 'EXTINF of its segments; null in a multivariant playlist.', {
    declared: Type.Array(Type.Number({ minimum: 0 }), {
      description: 'In seconds, in order; at most 2,000 of a playlist and 20,000 of a report.',
      examples: [[6.006, 6.006, 2.002]],
    }),
    left_out: count('Segments after these.'),
  }),
  text: nullable('HlsPlaylistText', 'Its lines; null unless requested by enable_playlist_text.', {
    lines: Type.Array(Type.String(), {
      description:
        'From the first one on, as many as fit in 65,536 characters of a playlist and 524,288 of a report. Without ' +
        'user info, query values, fragments, inline data and values of variables. Of a line of more than 4,096 ' +
        'characters only its length.',
      examples: [['#EXTM3U', '#EXT-X-TARGETDURATION:6', '#EXTINF:6.006,', 'segment-1.m4s?token=REDACTED']],
    }),
    left_out: count('Lines after these.'),
  }),
  measured: nullable('HlsMeasured', 'What its segments showed; null if none were measured.', {
    segments: count('Segments that were measured.'),
    bytes: count('Their size in bytes.'),
    seconds: seconds('Their duration as the playlist declares it.'),
    peak_bit_rate: count('Bit rate of the largest segment, in bits per second.'),
    average_bit_rate: count('Average bit rate, in bits per second.'),
    durations: Type.Array(MeasuredDuration, { description: 'Of the segments that ffprobe could read.' }),
    streams: Type.Array(MeasuredStream, { description: 'The streams in them.' }),
  }),
});

const VariantSchema = described('HlsVariant', 'A variant of the multivariant playlist.', {
  url: string('Its address.', 'https://media.example.com/live/720p.m3u8'),
  iframes: Type.Boolean({ description: 'Whether it is an EXT-X-I-FRAME-STREAM-INF.' }),
  bandwidth: amount('BANDWIDTH, in bits per second.', 3000000),
  average_bandwidth: amount('AVERAGE-BANDWIDTH, in bits per second.', 2500000),
  codecs: text('CODECS.', 'avc1.640020,mp4a.40.2'),
  resolution: text('RESOLUTION.', '1280x720'),
  frame_rate: amount('FRAME-RATE.', 25),
  video_range: text('VIDEO-RANGE.', 'SDR'),
  audio: text('AUDIO.', 'aac'),
  subtitles: text('SUBTITLES.', 'subs'),
  closed_captions: text('CLOSED-CAPTIONS.', 'NONE'),
  line: integer(1, 'Its line in the multivariant playlist.', 5),
  measured: nullable('HlsMeasuredRates', 'Bit rates of its segments and its sound; null if none were measured.', {
    peak: count('Of the largest segment, in bits per second.'),
    average: count('On average, in bits per second.'),
  }),
});

const SummarySchema = described('HlsSummary', 'The presentation in numbers.', {
  must_fix: count('Findings of level must-fix.'),
  should_fix: count('Findings of level should-fix.'),
  info: count('Findings of level info.'),
  untold: count('Findings beyond the number of messages that a report has.'),
  playlists: count('Playlists that were read.'),
  variants: count('Variants of the multivariant playlist.'),
  segments: count('Segments of all playlists.'),
  segments_measured: count('Segments that were measured.'),
  bytes_measured: count('Their size in bytes.'),
  reloads: count('How often a live playlist was read again.'),
  live: Type.Boolean({ description: 'Whether a playlist has no end yet.' }),
  protocol_version: integer(1, 'Highest EXT-X-VERSION.', 7),
  newest_protocol_version: Type.Integer({ minimum: 1, description: 'Newest version of the protocol.' }),
  duration: seconds('Duration of the longest playlist.'),
});

export const HlsReportSchema = described('HlsReport', 'What the HLS validator found.', {
  success: Type.Boolean({ description: 'Whether no must-fix rule is broken.' }),
  error: Type.Optional(
    Type.String({ description: 'The first must-fix message and how many there are; absent without one.' }),
  ),
  cli_output: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'The report as text for a terminal; null unless requested.',
  }),
  tool: string('The validator.', 'probeyard-hls'),
  version: string('Its version.', '1.0.0'),
  reference_version: string(
    'The reference validator whose interface the report stands in for.',
    '1.24.5 (686.23b-241118)',
  ),
  playlists: Type.Array(PlaylistSchema, { description: 'Every playlist that was read; the source is the first.' }),
  variants: Type.Array(VariantSchema, { description: 'At most 2,000.' }),
  messages: Type.Array(MessageSchema, { description: 'The worst first.' }),
  summary: SummarySchema,
});

export type HlsReport = Static<typeof HlsReportSchema>;
export type PlaylistReport = Static<typeof PlaylistSchema>;
export type VariantReport = Static<typeof VariantSchema>;
export type Message = Static<typeof MessageSchema>;
export type MeasuredPlaylist = NonNullable<PlaylistReport['measured']>;
