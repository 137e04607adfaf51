/** A field and what stands around it, as the model sees it: words that are there or not, and numbers that may be unknown. */
import type { Part } from './compare.ts';
import { codecOf, containerOf, hasSign, impliedDuration, number, type Context } from './context.ts';
import { valueOf } from './normalise/ratio.ts';
import { versionNumber } from './version.ts';

export interface Features { words: string[]; /** In the order of NUMBERS; NaN where unknown. */ numbers: readonly number[] }

/** Names of the numbers, in the order of the weights file. */
export const NUMBERS = [
  'ffprobe.version', 'mediainfo.version', 'ratio', 'difference', 'implied.ffprobe', 'implied.mediainfo', 'container.ffprobe', 'container.mediainfo', 'whole.ffprobe', 'whole.mediainfo',
  'frames.ffprobe', 'frames.mediainfo', 'round.ffprobe', 'round.mediainfo', 'disputes', 'bytes', 'rate',
] as const;

const log = (a: number | undefined, b: number | undefined): number | undefined => {
  const ratio = a === undefined || b === undefined ? NaN : Math.log2(Math.abs(a) / Math.abs(b));
  return Number.isFinite(ratio) ? Math.max(-8, Math.min(8, ratio)) : undefined;
};
/** A number of a stream is as round as the zeros at its end: what was declared is rounder than what was measured. */
const roundness = (value: number | undefined): number | undefined => {
  if (value === undefined || !Number.isInteger(value) || value <= 0) return value === undefined ? undefined : -1;
  let zeros = 0;
  for (let rest = value; rest % 10 === 0; rest /= 10) zeros += 1;
  return zeros;
};

interface Surroundings { container: string; codec: string; shared: string[]; disputed: string[] }
/** The same for all fields of a part: put together once. */
const known = new WeakMap<Part, Surroundings>();

function surroundings(context: Context): Surroundings {
  const { part, comparison } = context;
  let found = known.get(part);
  if (!found) {
    const [container, codec] = [containerOf(context), codecOf(context)];
    const shared = [
      `container=${container}`, `codec=${codec}`, `type=${part.kind}`,
      ...(hasSign(context, 'truncated') ? ['truncated'] : []),
      ...(hasSign(context, 'variable-frame-rate') ? ['variable'] : []),
      ...(hasSign(context, 'color-mismatch') ? ['color-mismatch'] : []),
      ...(part.mediainfo?.['bitrate.nominal'] !== undefined ? ['nominal'] : []),
      ...(part.mediainfo?.['scan_type'] === 'interlaced' || part.ffprobe?.['scan_type'] === 'interlaced' ? ['interlaced'] : []),
      ...(comparison.mediainfo?.container['streamable'] === true ? ['streamable'] : []),
    ];
    found = { container, codec, shared, disputed: part.fields.filter(({ agreement }) => agreement === 'disputed').map(({ field }) => field) };
    known.set(part, found);
  }
  return found;
}

export function features(context: Context): Features {
  const { comparison, part, compared } = context;
  const { field } = compared;
  const [a, b] = [valueOf(compared.ffprobe), valueOf(compared.mediainfo)];
  const of = (side: 'ffprobe' | 'mediainfo') => comparison[side]?.container;
  const { container, codec, shared, disputed } = surroundings(context);
  const words = [
    `field=${part.kind}.${field}`, `${field}|${container}`, `${field}|${codec}`, ...shared,
    ...(a === undefined && b === undefined ? [`${field}:${String(compared.ffprobe)}>${String(compared.mediainfo)}`] : []),
    ...(typeof compared.ffprobe === 'string' && a === undefined ? [`${field}:f=${compared.ffprobe}`] : []),
    ...(typeof compared.mediainfo === 'string' && b === undefined ? [`${field}:m=${compared.mediainfo}`] : []),
    ...disputed.filter((other) => other !== field).map((other) => `also=${other}`),
    ...(compared.ffprobe === undefined ? ['only-mediainfo'] : compared.mediainfo === undefined ? ['only-ffprobe'] : []),
  ];
  const time = field === 'duration';
  const bits = field === 'bitrate.average';
  const whole = number(of('ffprobe'), 'bitrate.average') ?? number(of('mediainfo'), 'bitrate.average');
  const span = number(of('ffprobe'), 'duration') ?? number(of('mediainfo'), 'duration');
  const implied = time ? (impliedDuration(part.mediainfo) ?? impliedDuration(part.ffprobe)) : undefined;
  const rate = field === 'frame_rate';
  const count = field === 'frames_count';
  const [one, other] = [of('ffprobe'), of('mediainfo')];
  const numbers: (number | undefined)[] = [
    versionNumber(comparison.ffprobe?.version), versionNumber(comparison.mediainfo?.version), log(a, b), a !== undefined && b !== undefined && Math.abs(a - b) < 1e6 ? a - b : undefined,
    time ? log(a, implied) : undefined, time ? log(b, implied) : undefined, time ? log(a, number(one, 'duration')) : undefined, time ? log(b, number(other, 'duration')) : undefined,
    bits ? log(a, whole) : undefined, bits ? log(b, whole) : undefined,
    rate ? log(a, frameRate(part.ffprobe, span)) : count ? log(a, frames(part.ffprobe, span)) : undefined, rate ? log(b, frameRate(part.mediainfo, span)) : count ? log(b, frames(part.mediainfo, span)) : undefined,
    bits || rate ? roundness(a) : undefined, bits || rate ? roundness(b) : undefined,
    disputed.length, log(number(one, 'size') ?? number(other, 'size'), 1000), number(part.ffprobe, 'frame_rate') ?? number(part.mediainfo, 'frame_rate'),
  ];
  return { words, numbers: numbers.map((value) => value ?? NaN) };
}

const frameRate = (fields: Context['part']['ffprobe'], span: number | undefined): number | undefined => {
  const [count, seconds] = [number(fields, 'frames_count'), number(fields, 'duration') ?? span];
  return count === undefined || seconds === undefined ? undefined : count / seconds;
};
const frames = (fields: Context['part']['ffprobe'], span: number | undefined): number | undefined => {
  const [rate, seconds] = [number(fields, 'frame_rate'), number(fields, 'duration') ?? span];
  return rate === undefined || seconds === undefined ? undefined : rate * seconds;
};
