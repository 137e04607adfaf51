/** What content checks found, in a few words each: for the console, the command line and the page of a report. */
import type { QcAudio, QcEvents, QcReport } from './schema.ts';

/** What a passage of each check is called. */
export const NOUNS = {
  black: 'black passage',
  freeze: 'freeze',
  silence: 'silence',
  phase: 'out-of-phase passage',
} as const;
export type Check = keyof typeof NOUNS;

interface Passages extends QcEvents {
  check: Check;
  noun: string;
  stream: number;
}

const passages = (check: Check, stream: number, events: QcEvents): Passages => ({
  check,
  noun: NOUNS[check],
  stream,
  ...events,
});

/** Of each check that found some. */
export const passagesIn = ({ video, audio }: QcReport): Passages[] =>
  [
    ...video.flatMap(({ stream, black, freeze }) => [
      passages('black', stream, black),
      passages('freeze', stream, freeze),
    ]),
    ...audio.flatMap(({ stream, silence, phase }) => [
      passages('silence', stream, silence),
      ...(phase ? [passages('phase', stream, phase.out_of_phase)] : []),
    ]),
  ].filter(({ count }) => count > 0);

/** What has no time. */
interface Remark {
  noun: string;
  stream: number;
  text: string;
}

export const remarksIn = ({ video, audio }: QcReport): Remark[] => [
  ...audio
    .filter(({ clipping }) => clipping)
    .map(({ stream, sample_peak: peak }) => ({
      noun: 'clipping',
      stream,
      text: `peaks at ${levelWords(peak, 'dBFS')}`,
    })),
  ...video
    .filter(({ scan }) => scan.differs)
    .map(({ stream, scan }) => ({
      noun: 'scan',
      stream,
      text: `looks ${scan.looks}, declared ${scan.declared}`,
    })),
  ...[...video, ...audio]
    .filter(({ duration_differs: differs }) => differs)
    .map(({ stream, decoded, declared }) => ({
      noun: 'duration',
      stream,
      text: `${secondsWords(decoded)} decoded, ${secondsWords(declared)} declared`,
    })),
];

export const remarkWords = ({ noun, stream, text }: Remark): string => `stream ${stream}, ${noun}: ${text}`;

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
