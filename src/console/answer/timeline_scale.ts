/** What is in view of a timeline, and what is there at a moment: pure. */
import type { StreamTimeline } from '../../api_types.ts';
import type { ChartData } from '../parts/chart_data.ts';

/** Seconds of the media. */
export interface View {
  from: number;
  to: number;
}

/** Kept within the whole, and at least this long. */
const SHORTEST = 0.05;

export function within({ from, to }: View, whole: View): View {
  const length = Math.min(Math.max(to - from, SHORTEST), whole.to - whole.from);
  const start = Math.min(Math.max(from, whole.from), whole.to - length);
  return { from: start, to: start + length };
}

/** `by` of 0.5 shows half of what is in view, around a moment that stays where it is. */
export function zoomed({ from, to }: View, { at, by, whole }: { at: number; by: number; whole: View }): View {
  const length = (to - from) * by;
  const share = (at - from) / (to - from);
  return within({ from: at - length * share, to: at + length * (1 - share) }, whole);
}

/** Bits a second in steps, key frames as ticks, gaps and jumps as bands. The last step ends where the stream does. */
export function ratesOf({ first, step, bits, keys, gaps, jumps }: StreamTimeline): ChartData {
  const rates = bits.map((sum) => sum / step);
  return {
    x: Array.from({ length: bits.length + 1 }, (_, index) => first + index * step),
    series: [{ label: 'Bit rate', values: [...rates, rates.at(-1) ?? null], color: 'series-1', as: 'steps' }],
    bands: [...gaps.list, ...jumps.list].map(([from, length]) => ({ from: from!, to: from! + Math.max(0, length!) })),
    ticks: keys.times,
  };
}

/** The time from each key frame to the next; null: there are fewer than two. */
export function gopsOf({ keys: { times, every } }: StreamTimeline): ChartData | null {
  if (every || times.length < 2) return null;
  const lengths = times.slice(1).map((time, index) => time - times[index]!);
  return {
    x: times,
    series: [{ label: 'GOP', values: [...lengths, lengths.at(-1)!], color: 'series-2', as: 'steps' }],
  };
}

export function momentOf({ first, step, bits, counts, keys, gaps }: StreamTimeline, at: number) {
  const index = Math.floor((at - first) / step);
  const there = index >= 0 && index < bits.length;
  return {
    /** Bits a second; null: the stream has nothing there. */
    rate: there ? bits[index]! / step : null,
    packets: there ? counts[index]! : 0,
    /** The key frame at or before it, and the one behind. */
    key: keys.times.findLast((time) => time <= at) ?? null,
    nextKey: keys.times.find((time) => time > at) ?? null,
    gap: gaps.list.some(([from, length]) => at >= from! && at < from! + length!),
  };
}
