/** The schema of the report of content checks. */
import Type, { type Static, type TSchema } from 'typebox';
import { count, described, eitherOrNull, oneOf, titled } from '../../base/schema_parts.ts';
import { MOST_AUDIO, MOST_ERRORS, MOST_EVENTS, MOST_WRONG_PAGES } from './limits.ts';

const seconds = (description: string) => Type.Number({ description });
const numberOrNull = (description: string) => Type.Unsafe<number | null>({ type: ['number', 'null'], description });

const EVENT = {
  from: seconds('Its start in the stream, in seconds.'),
  to: seconds('Its end in the stream, in seconds.'),
  to_end: Type.Boolean({ description: 'It lasts to the end of what was decoded.' }),
};
const Event = titled('QcEvent', EVENT);
const listOf = <E extends TSchema>(event: E) => ({
  count: count('How many there are.'),
  list: Type.Array(event, { maxItems: MOST_EVENTS, description: `The first ${MOST_EVENTS}.` }),
  more: count('How many are not in the list.'),
});
const Events = titled('QcEvents', listOf(Event));

const STREAM = {
  stream: count('Index of the stream.'),
  decoded: numberOrNull('Seconds that were decoded; null if no frame was.'),
  declared: numberOrNull('Seconds that the container declares; null if it declares none.'),
  duration_differs: Type.Boolean({
    description:
      'The two differ by more than 0.5 s. Always false if one is not known or the checks were stopped early.',
  }),
};

const FIELDS = ['progressive', 'top first', 'bottom first'] as const;
export type Fields = (typeof FIELDS)[number];

const fieldsOrNull = (description: string) => Type.Unsafe<Fields | null>({ enum: [...FIELDS, null], description });

const Scan = described('QcScan', 'Fields, as pictures look and as declared: the first 64 pictures, then 8 in 64.', {
  progressive: count('Pictures that look progressive.'),
  top_first: count('Pictures that look interlaced, the upper field first.'),
  bottom_first: count('Pictures that look interlaced, the lower field first.'),
  looks: fieldsOrNull('What nearly all of them look like; null: too few show it, or they differ.'),
  declared: fieldsOrNull('As the stream declares it; null if it does not.'),
  differs: Type.Boolean({ description: 'Both are known, and they differ.' }),
});

const BARS = { left: count('Columns.'), right: count('Columns.'), top: count('Rows.'), bottom: count('Rows.') };
const Bars = described('QcBars', 'Pixels at each edge that are dark in every picture, as stored.', BARS);
const Letterboxes = described(
  'QcLetterboxes',
  'Passages with dark bars above and below, or at both sides. One picture between them is as large throughout.',
  {
    changes: Type.Boolean({ description: 'They come and go: other pictures are full, or have other bars.' }),
    ...listOf(described('QcLetterbox', 'Pixels at each edge that are dark in it, as stored.', { ...EVENT, ...BARS })),
  },
);

const Video = described('QcVideo', 'What the pictures of a stream are like.', {
  ...STREAM,
  black: Events,
  freeze: Events,
  scan: Scan,
  bars: eitherOrNull(Bars, 'Null: no picture was lit, or its size is not known.'),
  letterbox: eitherOrNull(Letterboxes, 'Null: the size of the pictures is not known.'),
  test_bars: Events,
});
const Loudness = described('QcLoudness', 'Loudness by EBU R128. Null: nothing was loud or long enough to measure.', {
  integrated: numberOrNull('Integrated loudness in LUFS.'),
  range: numberOrNull('Loudness range in LU.'),
  short_term_max: numberOrNull('The largest short-term loudness (3 s) in LUFS.'),
  true_peak: numberOrNull('The largest true peak of all channels in dBTP.'),
});
const Phase = described('QcPhase', 'The two channels of a stream beside each other, where something is heard.', {
  mean: numberOrNull('From 1 (the same) by 0 (nothing in common) to -1 (opposite); null if nothing is heard.'),
  mono: Type.Boolean({ description: 'Both channels are the same throughout.' }),
  out_of_phase: Events,
});
const Tones = titled(
  'QcTones',
  listOf(
    described('QcTone', 'One steady sine in all channels.', {
      ...EVENT,
      frequency: Type.Number({ description: 'In Hz.' }),
      level: Type.Number({ description: 'Of its peaks, in dBFS.' }),
    }),
  ),
);
const Audio = described('QcAudio', 'What the sound of a stream is like.', {
  ...STREAM,
  silence: Events,
  loudness: Loudness,
  sample_peak: numberOrNull('The largest sample in dBFS; null if all are zero.'),
  flat_factor: numberOrNull('How flat the signal is at its peaks. Above 0, it may be clipped.'),
  clipping: Type.Boolean({ description: 'The largest sample is at -0.1 dBFS or above, and the signal is flat there.' }),
  dc_offset: numberOrNull('The largest mean of a channel, as a part of full scale.'),
  phase: eitherOrNull(Phase, 'Null: the stream has not two channels.'),
  test_tones: Tones,
});

const Apart = titled('QcApart', {
  apart: seconds('Between the first and the last of them, in seconds.'),
  first: count('Index of the stream that is the first.'),
  last: count('Index of the stream that is the last.'),
  differs: Type.Boolean({ description: 'Starts are more than 0.1 s apart, or ends more than 0.5 s.' }),
});
const Tracks = described('QcTracks', 'Whether the streams begin and end together.', {
  starts: Apart,
  ends: Type.Optional(Apart),
});

const NotChecked = titled('QcNotChecked', {
  stream: count('Index of the stream.'),
  type: oneOf(['video', 'audio'], 'Type of the stream.'),
  why: Type.String({ description: 'Why it was not checked.' }),
});
export type NotChecked = Static<typeof NotChecked>;

const Errors = titled('QcErrors', {
  count: count('How many packets could not be decoded as they should.'),
  list: Type.Array(
    titled('QcError', {
      at: numberOrNull('Time of the packet in the stream, in seconds; null: not known.'),
      byte: numberOrNull('Where the packet, or what carries it, begins in the file; null: not known.'),
      what: Type.String({ description: 'What the decoder says; `not decoded` if nothing came of the packet.' }),
    }),
    { maxItems: MOST_ERRORS, description: `The first ${MOST_ERRORS}.` },
  ),
  more: count('How many are not in the list.'),
});
const textOrNull = (description: string) => Type.Unsafe<string | null>({ type: ['string', 'null'], description });

const Checksum = described('QcChecksum', 'Checksums that the file keeps of its own content.', {
  kind: oneOf(
    ['flac-md5', 'matroska-crc32', 'ogg-crc32'],
    'Of the decoded sound of a FLAC stream, of elements of Matroska, of pages of Ogg.',
  ),
  stream: numberOrNull('Index of the stream; null: of the container.'),
  checked: count('How many were compared.'),
  wrong: count(`How many of these are wrong. After ${MOST_WRONG_PAGES} pages of Ogg no more are compared.`),
  first_wrong_byte: numberOrNull('Where the first wrong element or page begins in the file; null: none, or not known.'),
});

const Integrity = described('QcIntegrity', 'Damage, from decoding each stream once more.', {
  streams: Type.Array(
    titled('QcIntegrityStream', {
      stream: count('Index of the stream.'),
      type: oneOf(['video', 'audio'], 'Type of the stream.'),
      packets: count('Packets that were read.'),
      errors: Errors,
      hash: textOrNull('MD5 of all that was decoded; null: there is none.'),
      no_hash: Type.Optional(Type.String({ description: 'Why there is no hash.' })),
      not_checked: Type.Optional(Type.String({ description: 'Why its errors are not known.' })),
    }),
    { description: 'The streams that were checked.' },
  ),
  checksums: Type.Array(Checksum, { description: 'Those that the file has.' }),
  until: Type.Optional(numberOrNull('The search was stopped early: the time in seconds that it came to.')),
  cut: Type.Optional(Type.String({ description: 'Why the search was stopped early.' })),
});

const File = described('QcFile', 'The file itself, read from its first byte to its last.', {
  bytes: numberOrNull('Its size; null: it was not read to the end.'),
  sha256: textOrNull('Its SHA-256.'),
  md5: Type.Optional(textOrNull('Its MD5, if one was given.')),
  as_given: Type.Optional(Type.Boolean({ description: 'Whether it has the hash that was given, if one was.' })),
  cut: Type.Optional(Type.String({ description: 'Why it was not read to the end.' })),
});

export const QcReportSchema = described('QcReport', 'What the pictures and the sound are like, from decoding them.', {
  video: Type.Array(Video, { maxItems: 1, description: 'The first video stream.' }),
  audio: Type.Array(Audio, { maxItems: MOST_AUDIO, description: `The first ${MOST_AUDIO} audio streams.` }),
  tracks: Type.Optional(Tracks),
  until: Type.Optional(numberOrNull('The checks were stopped early: the time in seconds that they came to.')),
  cut: Type.Optional(Type.String({ description: 'Why the checks were stopped early.' })),
  thresholds: titled('QcThresholds', {
    black_min: Type.Number({ description: 'Shortest black passage in seconds.' }),
    black_pixel: Type.Number({ description: 'Highest luminance of a black pixel, from 0 to 1.' }),
    freeze_min: Type.Number({ description: 'Shortest freeze in seconds.' }),
    freeze_noise: Type.Number({ description: 'Largest difference between frozen pictures in dB.' }),
    silence_min: Type.Number({ description: 'Shortest silence in seconds.' }),
    silence_noise: Type.Number({ description: 'Highest level of silence in dBFS.' }),
    phase_min: Type.Number({ description: 'Shortest passage out of phase in seconds.' }),
    letterbox_min: Type.Number({ description: 'Shortest letterbox in seconds.' }),
    test_bars_min: Type.Number({ description: 'Shortest passage of colour bars in seconds.' }),
    test_tone_min: Type.Number({ description: 'Shortest line-up tone in seconds.' }),
  }),
  unread_lines: count('Printed lines that could not be read.'),
  not_checked: Type.Array(NotChecked, { description: 'Streams that were not checked.' }),
  integrity: Type.Optional(Integrity),
  file: Type.Optional(File),
  pictures: Type.Optional(
    count('Pictures that were kept, if they were asked for: read them at `/v1/probe/{request_id}/pictures`.'),
  ),
});

export type QcReport = Static<typeof QcReportSchema>;
export type QcErrors = Static<typeof Errors>;
export type QcChecksum = Static<typeof Checksum>;
export type QcIntegrity = Static<typeof Integrity>;
export type QcFile = Static<typeof File>;
export type QcEvent = Static<typeof Event>;
export type QcEvents = Static<typeof Events>;
export type QcVideo = Static<typeof Video>;
export type QcAudio = Static<typeof Audio>;
export type QcLetterboxes = Static<typeof Letterboxes>;
export type QcTones = Static<typeof Tones>;
export type QcBars = Static<typeof Bars>;
export type QcApart = Static<typeof Apart>;
export type QcTracks = Static<typeof Tracks>;
export type QcScan = Static<typeof Scan>;
