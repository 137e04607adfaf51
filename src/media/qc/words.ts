/** What content checks found, in a few words each: for the console, the command line and the page of a report. */
import type { QcEvents, QcReport } from './schema.ts';

interface Passages extends QcEvents {
  /** What one of them is called. */
  noun: string;
  stream: number;
}

/** Of each check that found some. */
export const passagesIn = ({ video, audio }: QcReport): Passages[] =>
  [
    ...video.flatMap(({ stream, black, freeze }) => [
      { noun: 'black passage', stream, ...black },
      { noun: 'freeze', stream, ...freeze },
    ]),
    ...audio.flatMap(({ stream, silence, phase }) => [
      { noun: 'silence', stream, ...silence },
      ...(phase ? [{ noun: 'passage out of phase', stream, ...phase.out_of_phase }] : []),
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

export type LevelUnit = 'LUFS' | 'LU' | 'dBTP' | 'dBFS';
/** Empty: it was not measured. */
export const levelWords = (level: number | null, unit: LevelUnit): string =>
  level === null ? '' : `${level.toFixed(1)} ${unit}`;
