/**
 * Hand-written rules, not derived from measurements: which tool is right in a dispute. They are the baseline for the
 * model.
 */
import type { ReportTool } from '../tools/probe_report.ts';
import { closer, containersOf, hasSign, impliedDuration, type Context } from './context.ts';
import { valueOf } from './normalise/ratio.ts';
import { toldNumber } from './side.ts';

export interface Ruling {
  chosen: ReportTool;
  why: string;
}
type Rule = (context: Context) => Ruling | undefined;

const always =
  (chosen: ReportTool, why: string): Rule =>
  () => ({ chosen, why });
const ISO = new Set(['mp4', 'mov', '3gp']);

const byFrames: Rule = ({ part, compared }) => {
  const seconds = impliedDuration(part.mediainfo) ?? impliedDuration(part.ffprobe);
  const chosen = closer(Number(compared.ffprobe), Number(compared.mediainfo), seconds);
  return chosen && { chosen, why: `frame count and frame rate give ${seconds!.toFixed(3)} s` };
};

const byStandardRate: Rule = ({ compared, part }) => {
  if (part.mediainfo?.['frame_rate_mode'] === 'variable')
    return { chosen: 'ffprobe', why: 'a variable frame rate is given as its average' };
  const standard = (value: unknown) => {
    const rate = valueOf(value) ?? 0;
    return [24, 25, 30, 48, 50, 60, 24_000 / 1001, 30_000 / 1001, 60_000 / 1001].some(
      (one) => Math.abs(rate / one - 1) < 0.0002,
    );
  };
  const [a, b] = [standard(compared.ffprobe), standard(compared.mediainfo)];
  if (a !== b) return { chosen: a ? 'ffprobe' : 'mediainfo', why: 'it is a standard frame rate' };
  return undefined;
};

/** Size divided by duration; the other value comes from a header. 100 % right in the held-out files. */
const ofContainer: Rule = ({ part }) =>
  part.kind === 'container' ? { chosen: 'ffprobe', why: 'it divides the size by the duration' } : undefined;

const bySizeOfFile: Rule = (context) => {
  const { comparison, compared } = context;
  const whole = toldNumber(containersOf(comparison), 'bitrate.average');
  const [a, b] = [Number(compared.ffprobe), Number(compared.mediainfo)];
  if (whole !== undefined && a > whole * 1.02 !== b > whole * 1.02)
    return { chosen: a > b ? 'mediainfo' : 'ffprobe', why: 'the other value exceeds the bitrate of the whole file' };
  return ISO.has(context.around.container)
    ? { chosen: 'ffprobe', why: 'it sums the sizes in the index' }
    : { chosen: 'mediainfo', why: 'it counts the bytes of the stream' };
};

const RULES: Readonly<Record<string, Rule[]>> = {
  'codec.name': [always('ffprobe', 'it opens the decoder')],
  'codec.four_cc': [always('ffprobe', 'it shows the tag that the container has')],
  'codec.profile': [always('mediainfo', 'it reads the headers of the stream')],
  'codec.level': [always('mediainfo', 'it reads the headers of the stream')],
  'size.sample_aspect_ratio': [always('ffprobe', 'it keeps the fraction')],
  'size.display_aspect_ratio': [always('ffprobe', 'it keeps the fraction')],
  frame_rate: [byStandardRate, always('mediainfo', 'it takes the frame rate that the stream declares')],
  frames_count: [
    (context) => (ISO.has(context.around.container) ? { chosen: 'ffprobe', why: 'it counts the index' } : undefined),
    always('mediainfo', 'it counts frames, not packets'),
  ],
  scan_type: [always('mediainfo', 'it examines the pictures')],
  scan_order: [always('mediainfo', 'it examines the pictures')],
  'pixel_format.bit_depth': [always('ffprobe', 'it opens the decoder')],
  'color.primaries': [always('mediainfo', 'it distinguishes container and stream')],
  'color.transfer': [always('mediainfo', 'it distinguishes container and stream')],
  'color.matrix': [always('mediainfo', 'it distinguishes container and stream')],
  'color.range': [always('ffprobe', 'it opens the decoder')],
  duration: [
    (context) =>
      hasSign(context, 'truncated')
        ? {
            chosen: Number(context.compared.ffprobe) < Number(context.compared.mediainfo) ? 'ffprobe' : 'mediainfo',
            why: 'the shorter value holds for a truncated file',
          }
        : undefined,
    byFrames,
    always('ffprobe', 'it reads to the last timestamp'),
  ],
  'bitrate.average': [ofContainer, bySizeOfFile],
  start_time: [always('ffprobe', 'it applies edit lists')],
  channels: [
    (context) => (context.around.codec === 'aac' ? { chosen: 'ffprobe', why: 'it decodes a frame' } : undefined),
    always('ffprobe', 'it decodes a frame'),
  ],
};

export function rule(context: Context): Ruling {
  for (const one of RULES[context.compared.field] ?? []) {
    const ruling = one(context);
    if (ruling) return ruling;
  }
  return { chosen: 'ffprobe', why: 'it opens the decoder' };
}
