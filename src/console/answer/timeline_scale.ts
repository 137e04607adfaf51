/** Where things of a timeline stand, and what is there at a moment: pure. */
import type { StreamTimeline } from '../../api_types.ts';

/** Seconds of the media. */
export interface View {
  from: number;
  to: number;
}

/** Of all streams together; one second where no packet has a time. */
export function wholeOf(streams: readonly StreamTimeline[]): View {
  const timed = streams.filter(({ bits }) => bits.length > 0);
  const from = Math.min(...timed.map(({ first }) => first));
  const to = Math.max(...timed.map(({ first, step, bits }) => first + step * bits.length));
  return Number.isFinite(from) && to > from ? { from, to } : { from: 0, to: 1 };
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

export const peakOf = ({ bits, step }: StreamTimeline): number => bits.reduce((a, b) => Math.max(a, b), 0) / step;

export interface Area {
  width: number;
  height: number;
  view: View;
}

const rounded = (value: number): number => Math.round(value * 10) / 10;
export const placeOf = (at: number, { width, view }: Area): number =>
  rounded(((at - view.from) / (view.to - view.from)) * width);

/** Bit rate as the outline of an area: a step for each column in view. */
export function outlineOf(stream: StreamTimeline, area: Area): string {
  const { first, step, bits } = stream;
  const { view, height } = area;
  const peak = Math.max(1, peakOf(stream));
  const begin = Math.max(0, Math.floor((view.from - first) / step));
  const end = Math.min(bits.length, Math.ceil((view.to - first) / step));
  if (begin >= end) return '';
  const parts = [`M${placeOf(first + begin * step, area)} ${height}`];
  for (let index = begin; index < end; index++) {
    const top = rounded(height - (bits[index]! / step / peak) * height);
    parts.push(`V${top}H${placeOf(first + (index + 1) * step, area)}`);
  }
  return `${parts.join('')}V${height}Z`;
}

/** Marks closer than this are one. */
const CLOSEST_PIXELS = 2;

export function marksIn(times: readonly number[], area: Area): number[] {
  const places: number[] = [];
  for (const at of times) {
    if (at < area.view.from || at > area.view.to) continue;
    const place = placeOf(at, area);
    if (places.length === 0 || place - places.at(-1)! >= CLOSEST_PIXELS) places.push(place);
  }
  return places;
}

export interface Moment {
  /** Bits a second; null: the stream has nothing there. */
  rate: number | null;
  packets: number;
  /** The key frame at or before it, and the one behind. */
  key: number | null;
  nextKey: number | null;
  gap: boolean;
}

export function momentOf({ first, step, bits, counts, keys, gaps }: StreamTimeline, at: number): Moment {
  const index = Math.floor((at - first) / step);
  const there = index >= 0 && index < bits.length;
  return {
    rate: there ? bits[index]! / step : null,
    packets: there ? counts[index]! : 0,
    key: keys.times.findLast((time) => time <= at) ?? null,
    nextKey: keys.times.find((time) => time > at) ?? null,
    gap: gaps.list.some(([from, length]) => at >= from! && at < from! + length!),
  };
}
