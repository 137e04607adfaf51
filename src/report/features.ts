/**
 * A field and what is around it, as the model sees it: words that are there or not, and numbers that may be unknown.
 */
import type { Comparison, Part } from './compare.ts';
import { codecOf, containerOf, containersOf, hasSign, impliedDuration, type Context } from './context.ts';
import { valueOf } from './normalise/ratio.ts';
import { bothOf, number, sides, told, toldNumber, type Fields } from './side.ts';

export interface Features {
  /** The words of all fields of a part, in one list. */
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
/** The zeros at the end of a number: a declared rate is rounder than a measured one. */
const roundness = (value: number | undefined): number | undefined => {
  if (value === undefined || !Number.isInteger(value) || value <= 0) return value === undefined ? undefined : -1;
  let zeros = 0;
  for (let rest = value; rest % 10 === 0; rest /= 10) zeros += 1;
  return zeros;
};

/** 24.06 as 24.06, 4.3.7 as 4.3: enough to tell older from newer. */
function versionNumber(version: string | undefined): number | undefined {
  const found = /^(\d{1,3})\.(\d{1,3})/.exec(version ?? '');
  return found ? Number(found[1]) + Number(found[2]) / 100 : undefined;
}

interface Surroundings {
  container: string;
  codec: string;
  shared: readonly string[];
  disputed: readonly string[];
  /** The words of each field of such a part, made once. */
  words: Map<string, readonly string[]>;
  versions: readonly [number | undefined, number | undefined];
  /** Seconds and bits per second of the whole file, of each tool and of the first that has them. */
  spans: readonly [number | undefined, number | undefined];
  whole: number | undefined;
  span: number | undefined;
  implied: number | undefined;
  size: number | undefined;
  rate: number | undefined;
}
/** By kind and codec: fifty streams of sound have the same words. */
const knownWords = new WeakMap<Comparison, Map<string, Surroundings['words']>>();
function wordsOf(comparison: Comparison, kind: string, codec: string): Surroundings['words'] {
  const all = knownWords.get(comparison) ?? new Map<string, Surroundings['words']>();
  knownWords.set(comparison, all);
  const key = `${kind} ${codec}`;
  const own = all.get(key) ?? new Map<string, readonly string[]>();
  all.set(key, own);
  return own;
}

/** The same for all fields of a part. */
const known = new WeakMap<Part, Surroundings>();

function surroundings(context: Context): Surroundings {
  const { part, comparison } = context;
  const had = known.get(part);
  if (had) return had;
  const [container, codec] = [containerOf(context), codecOf(context)];
  const containers = containersOf(comparison);
  const shared = [
    `container=${container}`,
    `codec=${codec}`,
    `type=${part.kind}`,
    ...(hasSign(context, 'truncated') ? ['truncated'] : []),
    ...(hasSign(context, 'variable-frame-rate') ? ['variable'] : []),
    ...(hasSign(context, 'color-mismatch') ? ['color-mismatch'] : []),
    ...(told(part, 'bitrate.nominal') !== undefined ? ['nominal'] : []),
    ...(bothOf(part).some((fields) => fields?.['scan_type'] === 'interlaced') ? ['interlaced'] : []),
    ...(told(containers, 'streamable') === true ? ['streamable'] : []),
  ];
  const spans = bothOf(sides((tool) => number(containers[tool], 'duration')));
  const found: Surroundings = {
    container,
    codec,
    shared,
    words: wordsOf(comparison, part.kind, codec),
    spans,
    span: spans[0] ?? spans[1],
    disputed: part.fields.filter(({ agreement }) => agreement === 'disputed').map(({ field }) => field),
    versions: bothOf(sides((tool) => versionNumber(comparison[tool]?.version))),
    whole: toldNumber(containers, 'bitrate.average'),
    implied: impliedDuration(part.mediainfo) ?? impliedDuration(part.ffprobe),
    size: log(toldNumber(containers, 'size'), 1000),
    rate: toldNumber(part, 'frame_rate'),
  };
  known.set(part, found);
  return found;
}

export function features(context: Context): Features {
  const { part, compared } = context;
  const { field } = compared;
  const [a, b] = [valueOf(compared.ffprobe), valueOf(compared.mediainfo)];
  const {
    container,
    codec,
    shared,
    words: ofField,
    disputed,
    versions,
    spans,
    whole,
    span,
    implied,
    size,
    rate,
  } = surroundings(context);
  let own = ofField.get(field);
  if (!own) ofField.set(field, (own = [`field=${part.kind}.${field}`, `${field}|${container}`, `${field}|${codec}`]));
  const words = [...own];
  if (a === undefined && b === undefined)
    words.push(`${field}:${String(compared.ffprobe)}>${String(compared.mediainfo)}`);
  if (typeof compared.ffprobe === 'string' && a === undefined) words.push(`${field}:f=${compared.ffprobe}`);
  if (typeof compared.mediainfo === 'string' && b === undefined) words.push(`${field}:m=${compared.mediainfo}`);
  for (const other of disputed) if (other !== field) words.push(`also=${other}`);
  if (compared.ffprobe === undefined) words.push('only-mediainfo');
  else if (compared.mediainfo === undefined) words.push('only-ffprobe');
  const numbers = Array.from<number>({ length: NUMBERS.length }).fill(NaN);
  const set = (at: number, value: number | undefined): void => {
    if (value !== undefined) numbers[at] = value;
  };
  set(0, versions[0]);
  set(1, versions[1]);
  set(2, log(a, b));
  if (a !== undefined && b !== undefined && Math.abs(a - b) < 1e6) set(3, a - b);
  if (field === 'duration')
    for (const [at, [value, against]] of (
      [
        [a, implied],
        [b, implied],
        [a, spans[0]],
        [b, spans[1]],
      ] as const
    ).entries())
      set(4 + at, log(value, against));
  if (field === 'bitrate.average') for (const [at, value] of [a, b].entries()) set(8 + at, log(value, whole));
  for (const [at, fields] of bothOf(part).entries()) {
    if (field === 'frame_rate') set(10 + at, log([a, b][at], frameRate(fields, span)));
    if (field === 'frames_count') set(10 + at, log([a, b][at], frames(fields, span)));
  }
  if (field === 'bitrate.average' || field === 'frame_rate')
    for (const [at, value] of [a, b].entries()) set(12 + at, roundness(value));
  set(14, disputed.length);
  set(15, size);
  set(16, rate);
  return { shared, words, numbers };
}

const frameRate = (fields: Fields | undefined, span: number | undefined): number | undefined => {
  const [count, seconds] = [number(fields, 'frames_count'), number(fields, 'duration') ?? span];
  return count === undefined || seconds === undefined ? undefined : count / seconds;
};
const frames = (fields: Fields | undefined, span: number | undefined): number | undefined => {
  const [rate, seconds] = [number(fields, 'frame_rate'), number(fields, 'duration') ?? span];
  return rate === undefined || seconds === undefined ? undefined : rate * seconds;
};
