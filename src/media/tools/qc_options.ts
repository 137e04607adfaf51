/** Options of the content checks: thresholds, with the defaults of ffmpeg's filters, what is kept, and damage. */
import type { Thresholds } from '../qc/graph.ts';
import { LONGEST_S, MOST_PICTURES, SHORTEST_S } from '../qc/limits.ts';
import { readOptions, toggle, type OptionSpec } from './option.ts';

const shortest = (name: keyof Thresholds, what: string): OptionSpec => ({
  name,
  type: 'number',
  default: SHORTEST_S,
  maximum: LONGEST_S,
  description: `Shortest ${what} that is reported, in seconds.`,
});
const level = (name: keyof Thresholds, description: string): OptionSpec => ({
  name,
  type: 'number',
  default: -60,
  minimum: -120,
  maximum: 0,
  description,
});
const hashOf = (name: 'sha256' | 'md5', digits: number): OptionSpec => ({
  name,
  type: 'string',
  default: null,
  pattern: `[0-9a-fA-F]{${digits}}`,
  form: `must be ${digits} hexadecimal digits`,
  description: `${name.toUpperCase()} that the file must have, in hexadecimal digits. It is read once more for it.`,
});

export const QC_OPTIONS: readonly OptionSpec[] = [
  shortest('black_min', 'black passage'),
  {
    name: 'black_pixel',
    type: 'number',
    default: 0.1,
    maximum: 1,
    description: 'Highest luminance of a black pixel, as a part of the range. A picture is black if 98 % of them are.',
  },
  shortest('freeze_min', 'freeze'),
  level('freeze_noise', 'Largest difference between frozen pictures in dB.'),
  shortest('silence_min', 'silence'),
  level('silence_noise', 'Highest level of silence in dBFS. All channels have to be silent.'),
  shortest('phase_min', 'passage in which two channels are opposite'),
  shortest('letterbox_min', 'passage with dark bars above and below pictures, or at both sides,'),
  shortest('test_bars_min', 'passage of colour bars'),
  shortest('test_tone_min', 'line-up tone'),
  toggle(
    'pictures',
    `Keep small pictures (${MOST_PICTURES} at most) and waveforms, to be looked at: read them at ` +
      '`/v1/probe/{request_id}/pictures`. Refused for a source with credentials without `private_pictures`.',
  ),
  toggle(
    'private_pictures',
    'With `pictures`: keep them also of a source with credentials (user info, keys, headers, cookies or a query). ' +
      'For one that is read with a named `credential` the operator decides.',
  ),
  toggle(
    'integrity',
    'Also find damage: decode errors with time and byte, checksums, hashes of the streams and of the file. The ' +
      'source is decoded a second time, and read a third time.',
  ),
  hashOf('sha256', 64),
  hashOf('md5', 32),
];

/** Throws an OptionError. */
export function thresholdsOf(options: Record<string, string>): Thresholds {
  const read = [...readOptions(QC_OPTIONS, options)].filter(([{ type }]) => type === 'number');
  return Object.fromEntries(read.map(([{ name }, value]) => [name, Number(value)])) as Record<keyof Thresholds, number>;
}

export const keepsPictures = (options: Readonly<Record<string, string>> = {}): boolean =>
  options['pictures'] === 'true';
export const mayBePrivate = (options: Readonly<Record<string, string>> = {}): boolean =>
  options['private_pictures'] === 'true';

/** How often the source is read from its beginning to its end. */
export const wholeReads = (options: Readonly<Record<string, string>> = {}): number =>
  options['integrity'] === 'true' ? 3 : options['sha256'] === undefined && options['md5'] === undefined ? 1 : 2;
