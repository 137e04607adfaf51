/** What content checks found, in a few words each. */
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
export const remarksIn = ({ video, audio }: QcReport): string[] => [
  ...audio
    .filter(({ clipping }) => clipping)
    .map(({ stream, sample_peak: peak }) => `stream ${stream} is clipped: it peaks at ${levelWords(peak, 'dBFS')}`),
  ...video
    .filter(({ scan }) => scan.differs)
    .map(({ stream, scan }) => `stream ${stream} looks ${scan.looks}, and is declared ${scan.declared}`),
  ...[...video, ...audio]
    .filter(({ duration_differs: differs }) => differs)
    .map(
      ({ stream, decoded, declared }) =>
        `stream ${stream}: ${secondsWords(decoded)} were decoded, ${secondsWords(declared)} are declared`,
    ),
];

export const secondsWords = (time: number | null): string => (time === null ? '?' : `${time.toFixed(2)} s`);

/** Empty: it was not measured. */
export const levelWords = (level: number | null, unit: 'LUFS' | 'LU' | 'dBTP' | 'dBFS'): string =>
  level === null ? '' : `${level.toFixed(1)} ${unit}`;
