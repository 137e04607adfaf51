/**
 * The filter graphs of the content checks: one decode of each stream. Pictures and sound have a graph each: one for
 * both would hold the pictures before the first sound, 0.9 GB of 1080p for 12 s. Their lines mix in one pipe.
 */
import { MOST_AUDIO } from './limits.ts';
import type { Fields, NotChecked, QcReport } from './schema.ts';
import { TEST_BARS_CHAIN } from './test_bars.ts';

export interface QcStream {
  index: number;
  type: 'video' | 'audio';
  /** As the container or the stream declares it, in seconds; null: not declared. */
  declared: number | null;
  /** Of pictures: width, height, and bits of a sample. */
  size?: readonly [width: number, height: number, bits: number];
  /** Of pictures, as declared. */
  fields?: Fields;
  /** Of sound, with its samples in a second. */
  channels?: number;
  rate?: number;
  /** Of sound: the encoder that keeps its samples as they are. */
  pcm?: string | undefined;
}

export type Thresholds = QcReport['thresholds'];

/** The part of a picture's pixels that must be black. */
const BLACK_PICTURE = 0.98;

/** The lightest black of the edges, of 256: black is 16 in most video, and noise is in it. */
const DARKEST_LIT = 24;

/** What the counts of fields are not needed for is not printed: a line for each picture. */
const FIELD_KEYS = [
  ...['current_frame', 'neither', 'top', 'bottom'].map((key) => `repeated.${key}`),
  ...['current_frame', 'progressive', 'undetermined'].map((key) => `single.${key}`),
  'multiple.current_frame',
  'multiple.undetermined',
];

/** Says which stream a frame is of, as the last of its lines, and makes every frame print. */
export const STREAM_KEY = 'qc';

/** Tell the lines of the two graphs apart: times of sound are printed in these parts of a second. */
export const SOUND_TICKS = 100_000;
const PICTURE_TICKS = 1_000_000;

/** A printer without `direct` holds lines back in a buffer of its own, and tears them where it is full. */
const printed = (kind: 'metadata' | 'ametadata', index: number): string[] => [
  // Some filters have a time base of their own, so it is set last.
  kind === 'metadata' ? `settb=1/${PICTURE_TICKS}` : `asettb=1/${SOUND_TICKS}`,
  `${kind}=mode=add:key=${STREAM_KEY}:value=${index}`,
  `${kind}=mode=print:direct=1:file=pipe\\\\:1`,
];

/** Fields are looked for in the first few seconds, and then in a part: on every picture it costs 10 % of a decode. */
const SOME_PICTURES = "select='lt(n,64)+lt(mod(n,64),8)'";

const [FIELDS_LABEL, BARS_LABEL] = ['[fields]', '[bars]'];

/** Looks at every fourth line, without a copy. */
const FOURTH_LINES = ['field', 'field'];

/**
 * Ends a chain. The muxer would hold pictures for 10 s while it waits for a track that has ended: 1.4 GB of 1080p,
 * beside 0.1 GB.
 */
const DROPPED = { video: 'select=0', audio: 'aselect=0' };

/** What decoders found in the file (a PNG's texts) is dropped first: its lines would look like those of the checks. */
const pictureChains = ({ index, size = [0, 0, 8] }: QcStream, asked: Thresholds): string[][] => [
  [`[0:${index}]metadata=mode=delete`, 'split=3[every][some][strips]'],
  [
    `[some]${SOME_PICTURES}`,
    'idet',
    ...FIELD_KEYS.map((key) => `metadata=mode=delete:key=lavfi.idet.${key}`),
    ...printed('metadata', index),
    `${DROPPED.video}${FIELDS_LABEL}`,
  ],
  [
    `[strips]${TEST_BARS_CHAIN[0]}`,
    ...TEST_BARS_CHAIN.slice(1),
    ...printed('metadata', index),
    `${DROPPED.video}${BARS_LABEL}`,
  ],
  [
    `[every]bbox=min_val=${DARKEST_LIT * 2 ** (size[2] - 8)}`,
    `freezedetect=n=${asked.freeze_noise}dB:d=${asked.freeze_min}`,
    ...FOURTH_LINES,
    `blackdetect=d=${asked.black_min}:pic_th=${BLACK_PICTURE}:pix_th=${asked.black_pixel}`,
    ...printed('metadata', index),
    DROPPED.video,
  ],
];

const measured = (what: string, more = ''): string =>
  `astats=metadata=1${more}:measure_perchannel=none:measure_overall=${what}`;

/** The loudness meter makes frames of 100 ms, so it stands first. Levels are those of each frame. */
const audioChain = ({ index, channels }: QcStream, asked: Thresholds): string[] => [
  `[0:${index}]ametadata=mode=delete`,
  'ebur128=metadata=1:peak=true',
  `silencedetect=n=${asked.silence_noise}dB:d=${asked.silence_min}`,
  measured('Peak_level+RMS_level+Mean_difference+RMS_difference', ':reset=1'),
  measured('Flat_factor+DC_offset'),
  // It would make two channels of any other number.
  ...(channels === 2 ? [`aphasemeter=video=0:phasing=1:duration=${asked.phase_min}`] : []),
  ...printed('ametadata', index),
  DROPPED.audio,
];

const leftOut = (streams: readonly QcStream[], why: string): NotChecked[] =>
  streams.map(({ index, type }) => ({ stream: index, type, why }));

export type Graph = ReturnType<typeof graphOf>;

/** Of the first picture, and of the first few sounds. `pictures`: what is to be looked at is kept, too. */
export function graphOf(streams: readonly QcStream[], asked: Thresholds, pictures = false) {
  const [video, audio] = (['video', 'audio'] as const).map((kind) => streams.filter(({ type }) => type === kind));
  const checked = [...video!.slice(0, 1), ...audio!.slice(0, MOST_AUDIO)];
  const label = (index: number): string => `[qc${index}]`;
  const chainsOf = (stream: QcStream): string => {
    const all = stream.type === 'video' ? pictureChains(stream, asked) : [audioChain(stream, asked)];
    return `${all.map((chain) => chain.join(',')).join(';')}${label(stream.index)}`;
  };
  const graph = (kind: QcStream['type']): string =>
    checked
      .filter(({ type }) => type === kind)
      .map(chainsOf)
      .join(';');
  return {
    filters: [graph('video'), graph('audio')].filter((filter) => filter !== ''),
    maps: [...checked.map(({ index }) => label(index)), ...(video!.length > 0 ? [FIELDS_LABEL, BARS_LABEL] : [])],
    checked,
    pictures,
    /** The stream that pictures are kept of. */
    pictured: pictures ? checked.find(({ size }) => size !== undefined) : undefined,
    left: [
      ...leftOut(video!.slice(1), 'only the first video stream is checked'),
      ...leftOut(audio!.slice(MOST_AUDIO), `only the first ${MOST_AUDIO} audio streams are checked`),
    ],
  };
}
