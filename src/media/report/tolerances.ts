/** How much two values may differ and still count as equal. */
import { sameContainer } from './normalise/container.ts';
import { valueOf } from './normalise/ratio.ts';
import type { Field, Fields } from './side.ts';

/**
 * exact: the same value. percent: relative. frame: in seconds, one frame of the stream (or the samples of the longest
 * common audio frame), at least a millisecond. bits: relative, plus the share of one frame in the duration that the
 * bits are divided by. text: the same word. family: the same codec, or one name is the other's family (pcm, pcm_s16le).
 */
export type Tolerance =
  | { kind: 'exact' | 'text' | 'family' | 'container' | 'fourcc' | 'matrix' | 'layout' }
  | { kind: 'percent' | 'bits'; percent: number }
  | { kind: 'frame'; frames: number };

/** AAC's longest frame (with SBR) is 2048 samples; at 44.1 kHz that is 46 ms. */
const SAMPLES = 2048;
const SOUND = 0.05;
const MILLISECOND = 0.001;

/** Duration in seconds of one frame of a stream; for a container, of its slowest stream. */
export function frameOf(fields: Fields): number {
  const rate = valueOf(fields['frame_rate']);
  if (rate !== undefined && rate > 0) return Math.min(1, 1 / rate);
  const sampleRate = fields['sample_rate'];
  return typeof sampleRate === 'number' && sampleRate > 0 ? Math.min(0.3, SAMPLES / sampleRate) : SOUND;
}

/** `duration`: of the stream, for values that are divided by it. */
export function same(one: Field, other: Field, tolerance: Tolerance, frame: number, duration?: number): boolean {
  if (one === other) return true;
  switch (tolerance.kind) {
    case 'bits':
    case 'percent': {
      const [a, b] = [valueOf(one) ?? Number.NaN, valueOf(other) ?? Number.NaN];
      const more =
        tolerance.kind === 'bits' && duration !== undefined && duration > 0
          ? Math.min(0.5, (1.05 * frame) / duration)
          : 0;
      return Math.abs(a - b) <= Math.max(Math.abs(a), Math.abs(b)) * (tolerance.percent / 100 + more);
    }
    case 'frame':
      return (
        typeof one === 'number' &&
        typeof other === 'number' &&
        Math.abs(one - other) <= Math.max(MILLISECOND * 1.01, tolerance.frames * frame)
      );
    case 'container':
      return sameContainer(String(one), String(other));
    case 'family':
      return sameFamily(String(one), String(other));
    case 'fourcc':
      return String(one).toLowerCase() === String(other).toLowerCase();
    // These two have the same coefficients.
    case 'matrix':
      return ['bt470bg', 'smpte170m'].includes(String(one)) && ['bt470bg', 'smpte170m'].includes(String(other));
    case 'layout':
      return bare(one) === bare(other);
    default:
      return false;
  }
}

const bare = (layout: Field): string => String(layout).replace(/\(.*\)$/, '');
const FAMILIES = ['pcm', 'adpcm', 'dsd'];
const sameFamily = (one: string, other: string): boolean =>
  FAMILIES.some(
    (family) =>
      (one === family && other.startsWith(`${family}_`)) || (other === family && one.startsWith(`${family}_`)),
  ) ||
  (one === 'huffyuv' && other === 'ffvhuff') ||
  (one === 'ffvhuff' && other === 'huffyuv');
