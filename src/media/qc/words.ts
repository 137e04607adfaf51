/** What content checks found, in a few words each: for the console, the command line and the page of a report. */
import { MOST_WRONG_PAGES } from './limits.ts';
import type { QcAudio, QcBars, QcChecksum, QcEvent, QcFile, QcIntegrity, QcReport, QcTracks } from './schema.ts';

/** What a passage of each check is called. */
export const NOUNS = {
  black: 'black passage',
  freeze: 'freeze',
  silence: 'silence',
  phase: 'out-of-phase passage',
  letterbox: 'letterbox passage',
  test_bars: 'test pattern',
  test_tone: 'test tone',
} as const;
export type Check = keyof typeof NOUNS;

/** Checks whose findings have no time. */
const UNTIMED = ['clipping', 'scan', 'duration', 'start', 'end', 'checksum'] as const;
type Untimed = (typeof UNTIMED)[number];
const isUntimed = (noun: string): noun is Untimed => UNTIMED.includes(noun as Untimed);

/** What can be waived. `errors`: those of decoding, of which all have to lie in the range. */
export type Waivable = Check | 'errors' | Untimed;
export const isTimed = (check: Waivable): boolean => !isUntimed(check);
export const WAIVABLE: readonly Waivable[] = [...(Object.keys(NOUNS) as Check[]), 'errors', ...UNTIMED];

/** What a waiver names. Null: without a time. */
interface Place {
  check: Waivable;
  stream: number;
  from: number | null;
  to: number | null;
}

interface Passages {
  check: Check;
  noun: string;
  stream: number;
  count: number;
  list: readonly (QcEvent & { detail?: string })[];
  more: number;
}

const passages = <E extends QcEvent>(
  check: Check,
  stream: number,
  { count, list, more }: { count: number; list: readonly E[]; more: number },
  detail?: (event: E) => string,
): Passages => ({
  check,
  noun: NOUNS[check],
  stream,
  count,
  list: detail ? list.map((event) => ({ ...event, detail: detail(event) })) : list,
  more,
});

const barsWords = ({ left, right, top, bottom }: QcBars): string =>
  top > 0 ? `${top} rows above, ${bottom} below` : `${left} columns left, ${right} right`;

/** Of each check that found some. A letterbox that does not change is a property of the film. */
export const passagesIn = ({ video, audio }: QcReport): Passages[] =>
  [
    ...video.flatMap(({ stream, black, freeze, letterbox, test_bars: bars }) => [
      passages('black', stream, black),
      passages('freeze', stream, freeze),
      ...(letterbox?.changes ? [passages('letterbox', stream, letterbox, barsWords)] : []),
      passages('test_bars', stream, bars),
    ]),
    ...audio.flatMap(({ stream, silence, phase, test_tones: tones }) => [
      passages('silence', stream, silence),
      ...(phase ? [passages('phase', stream, phase.out_of_phase)] : []),
      passages('test_tone', stream, tones, ({ frequency, level }) => `${frequency} Hz at ${levelWords(level, 'dBFS')}`),
    ]),
  ].filter(({ count }) => count > 0);

/** What has no time, or is told as one. */
interface Remark {
  noun: Untimed | 'decoding' | 'decode errors' | 'integrity' | 'file';
  /** None: it is of the file. */
  stream?: number;
  text: string;
  /** From the first to the last of decode errors, where all are known. */
  range?: { from: number; to: number };
  /** The file must not go on. */
  blocks?: true;
}

/** Undefined: it cannot be waived, as it is of no stream, or it is not known where all of it lies. */
export function waivableOf({ noun, stream, range }: Remark): Place | undefined {
  if (stream === undefined) return undefined;
  if (isUntimed(noun)) return { check: noun, stream, from: null, to: null };
  return range && { check: 'errors', stream, ...range };
}

// Damage: all of it blocks, but for a stream of which nothing is known.

const MOST_TOLD = 3;
const SUMS: Readonly<Record<QcChecksum['kind'], string>> = {
  'flac-md5': 'the MD5 of FLAC',
  'matroska-crc32': 'the CRC-32 of Matroska',
  'ogg-crc32': 'the CRC-32 of Ogg',
};

const byteWords = (byte: number | null): string => (byte === null ? '' : ` (byte ${byte})`);

const blocking = (noun: Remark['noun'], text: string, stream?: number): Remark => ({
  noun,
  text,
  ...(stream === undefined ? {} : { stream }),
  blocks: true,
});

type Stream = QcIntegrity['streams'][number];

function errorsIn({ stream, errors, not_checked: why }: Stream): Remark[] {
  if (why !== undefined) return [{ noun: 'decode errors' as const, stream, text: `not known: ${why}` }];
  if (errors.count === 0) return [];
  const told = errors.list
    .slice(0, MOST_TOLD)
    .map(({ at, byte, what }) => `${secondsWords(at)}${byteWords(byte)} ${what}`);
  const more = errors.count > told.length ? ' …' : '';
  const times = errors.list.flatMap(({ at }) => at ?? []);
  const range = { from: Math.min(...times), to: Math.max(...times) };
  const remark = blocking('decode errors', `${errors.count}: ${told.join('; ')}${more}`, stream);
  return [times.length === errors.count ? { ...remark, range } : remark];
}

function wrongIn({ kind, stream, checked, wrong, first_wrong_byte: byte }: QcChecksum): Remark[] {
  if (wrong === 0) return [];
  const least = kind === 'ogg-crc32' && wrong >= MOST_WRONG_PAGES ? 'at least ' : '';
  const text = `${SUMS[kind]} is wrong, ${least}${wrong} of ${checked}${byteWords(byte)}`;
  return [blocking('checksum', text, stream ?? undefined)];
}

const damageIn = (integrity: QcIntegrity | undefined, file: QcFile | undefined): Remark[] => [
  ...(integrity?.cut === undefined
    ? []
    : [blocking('integrity', `the search ended at ${secondsWords(integrity.until ?? null)}: ${integrity.cut}`)]),
  ...(integrity?.streams ?? []).flatMap(errorsIn),
  ...(integrity?.checksums ?? []).flatMap(wrongIn),
  ...(file?.cut === undefined ? [] : [blocking('file', `not read to the end: ${file.cut}`)]),
  ...(file?.as_given === false ? [blocking('file', 'its hash is not the one that was given')] : []),
];

function tracksIn({ starts, ends }: QcTracks): Remark[] {
  const late = `begins ${secondsWords(starts.apart)} after stream ${starts.first}`;
  return [
    ...(starts.differs ? [{ noun: 'start' as const, stream: starts.last, text: late }] : []),
    ...(ends?.differs
      ? [
          {
            noun: 'end' as const,
            stream: ends.first,
            text: `ends ${secondsWords(ends.apart)} before stream ${ends.last}`,
          },
        ]
      : []),
  ];
}

export const remarksIn = ({ video, audio, tracks, integrity, file }: QcReport): Remark[] => [
  ...[...video, ...audio]
    .filter(({ decoded }) => decoded === null)
    .map(({ stream }) => blocking('decoding', 'nothing of it was decoded', stream)),
  ...damageIn(integrity, file),
  ...audio
    .filter(({ clipping }) => clipping)
    .map(({ stream, sample_peak: peak }) => ({
      noun: 'clipping' as const,
      stream,
      text: `peaks at ${levelWords(peak, 'dBFS')}`,
    })),
  ...video
    .filter(({ scan }) => scan.differs)
    .map(({ stream, scan }) => ({
      noun: 'scan' as const,
      stream,
      text: `looks ${scan.looks}, declared ${scan.declared}`,
    })),
  ...[...video, ...audio]
    .filter(({ duration_differs: differs }) => differs)
    .map(({ stream, decoded, declared }) => ({
      noun: 'duration' as const,
      stream,
      text: `${secondsWords(decoded)} decoded, ${secondsWords(declared)} declared`,
    })),
  ...(tracks ? tracksIn(tracks) : []),
];

export const remarkWords = ({ noun, stream, text }: Remark): string =>
  `${stream === undefined ? '' : `stream ${stream}, `}${noun}: ${text}`;

export const findingsIn = (report: QcReport): number =>
  passagesIn(report).reduce((sum, { count }) => sum + count, remarksIn(report).length);

export const secondsWords = (time: number | null): string => (time === null ? '?' : `${time.toFixed(2)} s`);

const levelWords = (level: number | null, unit: 'LUFS' | 'LU' | 'dBTP' | 'dBFS'): string =>
  level === null ? '' : `${level.toFixed(1)} ${unit}`;

/** How loud a stream is, a column each. An empty text: it was not measured. */
export const LEVELS: readonly { title: string; text(audio: QcAudio): string }[] = [
  { title: 'Loudness', text: ({ loudness }) => levelWords(loudness.integrated, 'LUFS') },
  { title: 'Short term', text: ({ loudness }) => levelWords(loudness.short_term_max, 'LUFS') },
  { title: 'Range', text: ({ loudness }) => levelWords(loudness.range, 'LU') },
  { title: 'True peak', text: ({ loudness }) => levelWords(loudness.true_peak, 'dBTP') },
  { title: 'Sample peak', text: ({ sample_peak: peak }) => levelWords(peak, 'dBFS') },
];

/** Undefined: it was not read. */
export const fileWords = (file: QcFile | undefined): string | undefined =>
  typeof file?.sha256 === 'string'
    ? `SHA-256 ${file.sha256}, ${file.bytes} bytes${file.as_given === true ? ', as given' : ''}`
    : undefined;
