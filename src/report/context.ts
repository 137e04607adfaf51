/** What a disputed field stands in: everything that rules and model may look at. */
import type { Compared, Comparison, Part } from './compare.ts';
import { valueOf } from './normalise/ratio.ts';
import type { Fields } from './side.ts';

export interface Context {
  comparison: Comparison;
  part: Part;
  compared: Compared;
}

export const number = (fields: Fields | undefined, path: string): number | undefined => valueOf(fields?.[path]);

/** Seconds that the frames take at the rate which a tool tells. */
export function impliedDuration(fields: Fields | undefined): number | undefined {
  const [frames, rate] = [number(fields, 'frames_count'), number(fields, 'frame_rate')];
  return frames !== undefined && rate !== undefined && rate > 0 ? frames / rate : undefined;
}

/** The container as it is called by either. */
export const containerOf = ({ comparison }: Context): string =>
  String(comparison.ffprobe?.container['format'] ?? comparison.mediainfo?.container['format'] ?? 'unknown');
export const codecOf = ({ part }: Context): string =>
  String(part.ffprobe?.['codec.name'] ?? part.mediainfo?.['codec.name'] ?? 'none');
export const hasSign = ({ comparison }: Context, code: string): boolean =>
  [comparison.ffprobe, comparison.mediainfo].some((side) => side?.signs.some((sign) => sign.code === code));
export const closer = (
  a: number | undefined,
  b: number | undefined,
  to: number | undefined,
): 'ffprobe' | 'mediainfo' | undefined =>
  a === undefined || b === undefined || to === undefined || Math.abs(a - to) === Math.abs(b - to)
    ? undefined
    : Math.abs(a - to) < Math.abs(b - to)
      ? 'ffprobe'
      : 'mediainfo';
