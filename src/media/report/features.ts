/**
 * A field and its surroundings as the model's input: words that are present or absent, and numbers that may be unknown.
 */
import type { Comparison, Part } from './compare.ts';
import { codecOf, containerOf, containersOf, hasSign, impliedDuration, type Context } from './context.ts';
import { FIELDS } from './fields.ts';
import { valueOf } from './normalise/ratio.ts';
import { bothOf, number, sides, told, toldNumber, type Fields } from './side.ts';

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

/** The word for each field that may be disputed, created once: a new string would have to be hashed again. */
const ALSO: ReadonlyMap<string, string> = new Map(Object.keys(FIELDS).map((field) => [field, `also=${field}`]));

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

/** Common to all parts of a file. */
interface Whole {
  container: string;
  /** Words of the file, placed before and after those of a part. */
  signs: readonly string[];
  streamable: readonly string[];
  versions: readonly [number | undefined, number | undefined];
  /** Duration in seconds and bits per second of the whole file, per tool and from the first tool that has them. */
  spans: readonly [number | undefined, number | undefined];
  span: number | undefined;
  rate: number | undefined;
  size: number | undefined;
}

/** Common to all fields of a part. */
interface Surroundings {
  whole: Whole;
  codec: string;
  shared: readonly string[];
  disputed: readonly string[];
  /** Words of each field of such a part, created once. */
  words: Map<string, readonly string[]>;
  implied: number | undefined;
  rate: number | undefined;
}

/**
 * Cached data of one file, kept as long as its comparison. There is one weak entry per file: with one per part, garbage
 * collections took twice as long.
 */
interface Kept {
  whole: Whole;
  parts: Map<Part, Surroundings>;
  /** By kind and codec: fifty audio streams have the same words. */
  words: Map<string, Surroundings['words']>;
  /** By content: the model looks up each list once. */
  shared: Map<string, readonly string[]>;
}
const keptOf = new WeakMap<Comparison, Kept>();

function kept<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

function wholeOf(context: Context): Whole {
  const { comparison } = context;
  const containers = containersOf(comparison);
  const spans = bothOf(sides((tool) => number(containers[tool], 'duration')));
  return {
    container: containerOf(context),
    signs: [
      ...(hasSign(context, 'truncated') ? ['truncated'] : []),
      ...(hasSign(context, 'variable-frame-rate') ? ['variable'] : []),
      ...(hasSign(context, 'color-mismatch') ? ['color-mismatch'] : []),
    ],
    streamable: told(containers, 'streamable') === true ? ['streamable'] : [],
    versions: bothOf(sides((tool) => versionNumber(comparison[tool]?.version))),
    spans,
    span: spans[0] ?? spans[1],
    rate: toldNumber(containers, 'bitrate.average'),
    size: log(toldNumber(containers, 'size'), 1000),
  };
}

function surroundings(context: Context): Surroundings {
  const { comparison, part } = context;
  let all = keptOf.get(comparison);
  if (!all)
    keptOf.set(comparison, (all = { whole: wholeOf(context), parts: new Map(), words: new Map(), shared: new Map() }));
  return all.parts.get(part) ?? surroundingsIn(all, context);
}

function surroundingsIn(all: Kept, context: Context): Surroundings {
  const { part } = context;
  const { whole } = all;
  const codec = codecOf(context);
  const nominal = told(part, 'bitrate.nominal') !== undefined;
  const interlaced = part.ffprobe?.['scan_type'] === 'interlaced' || part.mediainfo?.['scan_type'] === 'interlaced';
  const likewise = `${part.kind} ${codec}`;
  const found: Surroundings = {
    whole,
    codec,
    shared: kept(all.shared, `${likewise} ${String(nominal)} ${String(interlaced)}`, () => [
      `container=${whole.container}`,
      `codec=${codec}`,
      `type=${part.kind}`,
      ...whole.signs,
      ...(nominal ? ['nominal'] : []),
      ...(interlaced ? ['interlaced'] : []),
      ...whole.streamable,
    ]),
    words: kept(all.words, likewise, () => new Map<string, readonly string[]>()),
    disputed: part.fields.filter(({ agreement }) => agreement === 'disputed').map(({ field }) => field),
    implied: impliedDuration(part.mediainfo) ?? impliedDuration(part.ffprobe),
    rate: toldNumber(part, 'frame_rate'),
  };
  all.parts.set(part, found);
  return found;
}

const UNKNOWN: readonly number[] = Array.from<number>({ length: NUMBERS.length }).fill(NaN);

/** Called for every field of a file, so it creates no list, string or function for a single field. */
export function features(context: Context): Features {
  const { part, compared } = context;
  const { field, ffprobe, mediainfo } = compared;
  const [a, b] = [valueOf(ffprobe), valueOf(mediainfo)];
  const around = surroundings(context);
  const { codec, shared, disputed, whole } = around;
  const { container, versions } = whole;
  let own = around.words.get(field);
  if (!own)
    around.words.set(field, (own = [`field=${part.kind}.${field}`, `${field}|${container}`, `${field}|${codec}`]));
  const words = own.slice();
  if (a === undefined && b === undefined) words.push(`${field}:${String(ffprobe)}>${String(mediainfo)}`);
  if (typeof ffprobe === 'string' && a === undefined) words.push(`${field}:f=${ffprobe}`);
  if (typeof mediainfo === 'string' && b === undefined) words.push(`${field}:m=${mediainfo}`);
  for (const other of disputed) if (other !== field) words.push(ALSO.get(other) ?? `also=${other}`);
  if (ffprobe === undefined) words.push('only-mediainfo');
  else if (mediainfo === undefined) words.push('only-ffprobe');
  const numbers = UNKNOWN.slice();
  put(numbers, 0, versions[0]);
  put(numbers, 1, versions[1]);
  put(numbers, 2, log(a, b));
  if (a !== undefined && b !== undefined && Math.abs(a - b) < 1e6) numbers[3] = a - b;
  ofOneField(numbers, field, a, b, part, around);
  numbers[14] = disputed.length;
  put(numbers, 15, whole.size);
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
  { implied, whole: { spans, span, rate } }: Surroundings,
): void {
  switch (field) {
    case 'duration':
      put(numbers, 4, log(a, implied));
      put(numbers, 5, log(b, implied));
      put(numbers, 6, log(a, spans[0]));
      put(numbers, 7, log(b, spans[1]));
      return;
    case 'bitrate.average':
      put(numbers, 8, log(a, rate));
      put(numbers, 9, log(b, rate));
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
