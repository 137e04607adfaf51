/** A field and what stands around it, as the model sees it: words that are there or not, and numbers that may be unknown. */
import { codecOf, containerOf, hasSign, impliedDuration, number, type Context } from './context.ts';
import { valueOf } from './normalise/ratio.ts';
import { versionNumber } from './version.ts';

export interface Features { words: string[]; numbers: Record<string, number> }

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

export function features(context: Context): Features {
  const { comparison, part, compared } = context;
  const { field } = compared;
  const [a, b] = [valueOf(compared.ffprobe), valueOf(compared.mediainfo)];
  const container = containerOf(context);
  const codec = codecOf(context);
  const of = (side: 'ffprobe' | 'mediainfo') => comparison[side]?.container;
  const disputed = part.fields.filter(({ agreement }) => agreement === 'disputed');
  const words = [
    `field=${part.kind}.${field}`, `container=${container}`, `codec=${codec}`, `type=${part.kind}`, `${field}|${container}`, `${field}|${codec}`,
    ...(a === undefined && b === undefined ? [`${field}:${String(compared.ffprobe)}>${String(compared.mediainfo)}`] : []),
    ...(typeof compared.ffprobe === 'string' && a === undefined ? [`${field}:f=${compared.ffprobe}`] : []),
    ...(typeof compared.mediainfo === 'string' && b === undefined ? [`${field}:m=${compared.mediainfo}`] : []),
    ...(hasSign(context, 'truncated') ? ['truncated'] : []),
    ...(hasSign(context, 'variable-frame-rate') ? ['variable'] : []),
    ...(hasSign(context, 'color-mismatch') ? ['color-mismatch'] : []),
    ...(part.mediainfo?.['bitrate.nominal'] !== undefined ? ['nominal'] : []),
    ...(part.mediainfo?.['scan_type'] === 'interlaced' || part.ffprobe?.['scan_type'] === 'interlaced' ? ['interlaced'] : []),
    ...(comparison.mediainfo?.container['streamable'] === true ? ['streamable'] : []),
    ...disputed.filter((other) => other.field !== field).map((other) => `also=${other.field}`),
    ...(compared.ffprobe === undefined ? ['only-mediainfo'] : compared.mediainfo === undefined ? ['only-ffprobe'] : []),
  ];
  const time = field === 'duration';
  const bits = field === 'bitrate.average';
  const whole = number(of('ffprobe'), 'bitrate.average') ?? number(of('mediainfo'), 'bitrate.average');
  const span = number(of('ffprobe'), 'duration') ?? number(of('mediainfo'), 'duration');
  const implied = impliedDuration(part.mediainfo) ?? impliedDuration(part.ffprobe);
  const numbers: Record<string, number | undefined> = {
    'ffprobe.version': versionNumber(comparison.ffprobe?.version), 'mediainfo.version': versionNumber(comparison.mediainfo?.version),
    ratio: log(a, b), difference: a !== undefined && b !== undefined && Math.abs(a - b) < 1e6 ? a - b : undefined,
    'implied.ffprobe': time ? log(a, implied) : undefined, 'implied.mediainfo': time ? log(b, implied) : undefined,
    'container.ffprobe': time ? log(a, number(of('ffprobe'), 'duration')) : undefined, 'container.mediainfo': time ? log(b, number(of('mediainfo'), 'duration')) : undefined,
    'whole.ffprobe': bits ? log(a, whole) : undefined, 'whole.mediainfo': bits ? log(b, whole) : undefined,
    'frames.ffprobe': field === 'frame_rate' ? log(a, frameRate(part.ffprobe, span)) : field === 'frames_count' ? log(a, frames(part.ffprobe, span)) : undefined,
    'frames.mediainfo': field === 'frame_rate' ? log(b, frameRate(part.mediainfo, span)) : field === 'frames_count' ? log(b, frames(part.mediainfo, span)) : undefined,
    'round.ffprobe': bits || field === 'frame_rate' ? roundness(a) : undefined, 'round.mediainfo': bits || field === 'frame_rate' ? roundness(b) : undefined,
    disputes: disputed.length,
    bytes: log(number(of('ffprobe'), 'size') ?? number(of('mediainfo'), 'size'), 1000),
    rate: number(part.ffprobe, 'frame_rate') ?? number(part.mediainfo, 'frame_rate'),
  };
  return { words, numbers: Object.fromEntries(Object.entries(numbers).filter((entry): entry is [string, number] => entry[1] !== undefined)) };
}

const frameRate = (fields: Context['part']['ffprobe'], span: number | undefined): number | undefined => {
  const [count, seconds] = [number(fields, 'frames_count'), number(fields, 'duration') ?? span];
  return count === undefined || seconds === undefined ? undefined : count / seconds;
};
const frames = (fields: Context['part']['ffprobe'], span: number | undefined): number | undefined => {
  const [rate, seconds] = [number(fields, 'frame_rate'), number(fields, 'duration') ?? span];
  return rate === undefined || seconds === undefined ? undefined : rate * seconds;
};
