/** Segment durations of a playlist against its target, in words. */
import type { HlsReport } from '../../api_types.ts';
import { several } from '../../base/scaled.ts';

type Playlist = HlsReport['playlists'][number];

export interface Durations {
  declared: readonly number[];
  /** Segments after those. */
  leftOut: number;
  target: number | null;
  /** By the place of the segment. */
  measured: ReadonlyMap<number, number>;
}

/** Null: it has no segments. Reports on record from before durations were in them have none. */
export function durationsOf(playlist: Playlist): Durations | null {
  const { segment_durations: durations, target_duration: target, measured } = playlist as Partial<Playlist>;
  if (!durations || durations.declared.length === 0) return null;
  return {
    declared: durations.declared,
    leftOut: durations.left_out,
    target: target ?? null,
    measured: new Map((measured?.durations ?? []).map(({ index, seconds: length }) => [index, length])),
  };
}

/** The segment or what was measured of it. A duration counts as it is rounded: 6.4 s is within a target of 6 s. */
export const isLongAt = (index: number, { declared, measured, target }: Durations): boolean =>
  target !== null && Math.round(Math.max(declared[index]!, measured.get(index) ?? 0)) > target;

export const longOf = (durations: Durations): number[] =>
  [...durations.declared.keys()].filter((index) => isLongAt(index, durations));

export const seconds = (value: number): string => `${value.toFixed(3).replace(/\.?0+$/, '')} s`;

function wordsOf(durations: Durations): { range: string; tooLong: string } {
  const [least, most] = durations.declared.reduce(
    ([low, high], one) => [Math.min(low, one), Math.max(high, one)],
    [Infinity, -Infinity],
  );
  const long = longOf(durations).length;
  const range = least === most ? seconds(least) : `${seconds(least)} to ${seconds(most)}`;
  return { range, tooLong: long === 0 ? '' : `, ${long.toLocaleString('en')} too long` };
}

/** Where the target and the number of segments are said beside it. */
export function durationsShort(playlist: Playlist): string | null {
  const durations = durationsOf(playlist);
  if (!durations) return null;
  const { range, tooLong } = wordsOf(durations);
  return `${range}${tooLong}`;
}

export function durationsSaid(durations: Durations): string {
  const { declared, target } = durations;
  const { range, tooLong } = wordsOf(durations);
  const against = target === null ? 'no target duration' : `the target is ${target} s`;
  return `${several(declared.length, 'segment')} of ${range}, ${against}${tooLong}`;
}
