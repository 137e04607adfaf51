/**
 * A field and its surroundings as the model's input: words that are present or absent, and numbers that may be unknown.
 */
import type { Comparison, Part } from './compare.ts';
import { containersOf, hasSign, impliedDuration, type Context } from './context.ts';
import { valueOf } from './normalise/ratio.ts';
import { bothOf, number, sides, told, toldNumber, type Fields } from './side.ts';
import type { WarningCode } from './warning_codes.ts';

export interface Features {
  /** Words common to all fields of a part, in one list. */
  shared: readonly string[];
  words: readonly string[];
  /** In the order of NUMBERS; NaN where unknown. */
  numbers: readonly number[];
}

/** Names of the numbers, in the order of the weights file. */
export const NUMBERS = [
  'ffprobe.version',
  'mediainfo.version',
  'ratio',
  'difference',
  'implied.ffprobe',
  'implied.mediainfo',
  'container.ffprobe',
  'container.mediainfo',
  'whole.ffprobe',
  'whole.mediainfo',
  'frames.ffprobe',
  'frames.mediainfo',
  'round.ffprobe',
  'round.mediainfo',
  'disputes',
  'bytes',
  'rate',
] as const;

const log = (a: number | undefined, b: number | undefined): number | undefined => {
  const ratio = a === undefined || b === undefined ? NaN : Math.log2(Math.abs(a) / Math.abs(b));
  return Number.isFinite(ratio) ? Math.max(-8, Math.min(8, ratio)) : undefined;
};
/** Number of trailing zeros: a declared rate is rounder than a measured one. */
const roundness = (value: number | undefined): number | undefined => {
  if (value === undefined || !Number.isInteger(value) || value <= 0) return value === undefined ? undefined : -1;
  let zeros = 0;
  for (let rest = value; rest % 10 === 0; rest /= 10) zeros += 1;
  return zeros;
};

/** 24.06 as 24.06, 4.3.7 as 4.3: enough to distinguish older from newer versions. */
function versionNumber(version: string | undefined): number | undefined {
  const found = /^(\d{1,3})\.(\d{1,3})/.exec(version ?? '');
  return found ? Number(found[1]) + Number(found[2]) / 100 : undefined;
}

/** What is around the fields of a part. */
export interface Surroundings {
  container: string;
  codec: string;
  /** Words common to all fields of the part. */
  shared: readonly string[];
  disputed: readonly string[];
  versions: readonly [number | undefined, number | undefined];
  /** Duration in seconds of the whole file, per tool and from the first tool that has it; its bits per second. */
  spans: readonly [number | undefined, number | undefined];
  span: number | undefined;
  wholeRate: number | undefined;
  size: number | undefined;
  implied: number | undefined;
  rate: number | undefined;
}

const SIGNS: readonly (readonly [WarningCode, word: string])[] = [
  ['truncated', 'truncated'],
  ['variable-frame-rate', 'variable'],
  ['color-mismatch', 'color-mismatch'],
];

/** Made once for all fields of a part. */
export function surroundingsOf(comparison: Comparison, part: Part): Surroundings {
  const containers = containersOf(comparison);
  const container = String(told(containers, 'format') ?? 'unknown');
  const codec = String(told(part, 'codec.name') ?? 'none');
  const spans = bothOf(sides((tool) => number(containers[tool], 'duration')));
  const interlaced = bothOf(part).some((fields) => fields?.['scan_type'] === 'interlaced');
  return {
    container,
    codec,
    shared: [
      `container=${container}`,
      `codec=${codec}`,
      `type=${part.kind}`,
      ...SIGNS.flatMap(([code, word]) => (hasSign({ comparison }, code) ? [word] : [])),
      ...(told(part, 'bitrate.nominal') === undefined ? [] : ['nominal']),
      ...(interlaced ? ['interlaced'] : []),
      ...(told(containers, 'streamable') === true ? ['streamable'] : []),
    ],
    disputed: part.fields.filter(({ agreement }) => agreement === 'disputed').map(({ field }) => field),
    versions: bothOf(sides((tool) => versionNumber(comparison[tool]?.version))),
    spans,
    span: spans[0] ?? spans[1],
    wholeRate: toldNumber(containers, 'bitrate.average'),
    size: log(toldNumber(containers, 'size'), 1000),
    implied: impliedDuration(part.mediainfo) ?? impliedDuration(part.ffprobe),
    rate: toldNumber(part, 'frame_rate'),
  };
}

const UNKNOWN: readonly number[] = Array.from<number>({ length: NUMBERS.length }).fill(NaN);

/** Called for every field of a file. */
export function features({ part, compared, around }: Context): Features {
  const { field, ffprobe, mediainfo } = compared;
  const [a, b] = [valueOf(ffprobe), valueOf(mediainfo)];
  const { container, codec, shared, disputed, versions } = around;
  const words = [`field=${part.kind}.${field}`, `${field}|${container}`, `${field}|${codec}`];
  if (a === undefined && b === undefined) words.push(`${field}:${String(ffprobe)}>${String(mediainfo)}`);
  if (typeof ffprobe === 'string' && a === undefined) words.push(`${field}:f=${ffprobe}`);
  if (typeof mediainfo === 'string' && b === undefined) words.push(`${field}:m=${mediainfo}`);
  for (const other of disputed) if (other !== field) words.push(`also=${other}`);
  if (ffprobe === undefined) words.push('only-mediainfo');
  else if (mediainfo === undefined) words.push('only-ffprobe');
  const numbers = UNKNOWN.slice();
  put(numbers, 0, versions[0]);
  put(numbers, 1, versions[1]);
  put(numbers, 2, log(a, b));
  if (a !== undefined && b !== undefined && Math.abs(a - b) < 1e6) numbers[3] = a - b;
  ofOneField(numbers, field, a, b, part, around);
  numbers[14] = disputed.length;
  put(numbers, 15, around.size);
  put(numbers, 16, around.rate);
  return { shared, words, numbers };
}

function put(numbers: number[], at: number, value: number | undefined): void {
  if (value !== undefined) numbers[at] = value;
}

/** Numbers that only some fields have. */
function ofOneField(
  numbers: number[],
  field: string,
  a: number | undefined,
  b: number | undefined,
  { ffprobe, mediainfo }: Part,
  { implied, spans, span, wholeRate }: Surroundings,
): void {
  switch (field) {
    case 'duration':
      put(numbers, 4, log(a, implied));
      put(numbers, 5, log(b, implied));
      put(numbers, 6, log(a, spans[0]));
      put(numbers, 7, log(b, spans[1]));
      return;
    case 'bitrate.average':
      put(numbers, 8, log(a, wholeRate));
      put(numbers, 9, log(b, wholeRate));
      break;
    case 'frame_rate':
      put(numbers, 10, log(a, frameRate(ffprobe, span)));
      put(numbers, 11, log(b, frameRate(mediainfo, span)));
      break;
    case 'frames_count':
      put(numbers, 10, log(a, frames(ffprobe, span)));
      put(numbers, 11, log(b, frames(mediainfo, span)));
      return;
    default:
      return;
  }
  put(numbers, 12, roundness(a));
  put(numbers, 13, roundness(b));
}

const frameRate = (fields: Fields | undefined, span: number | undefined): number | undefined => {
  const [count, seconds] = [number(fields, 'frames_count'), number(fields, 'duration') ?? span];
  return count === undefined || seconds === undefined ? undefined : count / seconds;
};
const frames = (fields: Fields | undefined, span: number | undefined): number | undefined => {
  const [rate, seconds] = [number(fields, 'frame_rate'), number(fields, 'duration') ?? span];
  return rate === undefined || seconds === undefined ? undefined : rate * seconds;
};
