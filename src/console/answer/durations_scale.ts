/** Durations of segments as places in a picture: pure. */
import type { HlsReport } from '../../api_types.ts';

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
    measured: new Map((measured?.durations ?? []).map(({ index, seconds }) => [index, seconds])),
  };
}

/** A duration counts as it is rounded: 6.4 s is within a target of 6 s. */
const isLong = (seconds: number, { target }: Durations): boolean => target !== null && Math.round(seconds) > target;

/** Of the segment or of what was measured of it. */
export const isLongAt = (index: number, durations: Durations): boolean =>
  isLong(durations.declared[index]!, durations) || isLong(durations.measured.get(index) ?? 0, durations);

export const longOf = (durations: Durations): number[] =>
  [...durations.declared.keys()].filter((index) => isLongAt(index, durations));

export interface Frame {
  width: number;
  height: number;
}

export interface Places {
  across: (index: number) => number;
  up: (seconds: number) => number;
}

/** Room for half a dot at each edge. */
const EDGE = 5;

export function placesOf({ declared, target, measured }: Durations, { width, height }: Frame): Places {
  const most = Math.max(0.001, target ?? 0, ...measured.values()) * 1.2;
  const top = declared.reduce((highest, seconds) => Math.max(highest, seconds * 1.05), most);
  const step = (width - 2 * EDGE) / Math.max(1, declared.length - 1);
  return {
    across: (index) => (declared.length === 1 ? width / 2 : EDGE + index * step),
    up: (seconds) => height - EDGE - (seconds / top) * (height - 2 * EDGE),
  };
}

/** The segment that is nearest to a place across. */
export function indexAt(pixels: number, { declared }: Durations, { width }: Frame): number {
  const share = (pixels - EDGE) / Math.max(1, width - 2 * EDGE);
  return Math.min(declared.length - 1, Math.max(0, Math.round(share * (declared.length - 1))));
}

/** Points of a path that a round line cap makes dots. */
export const dotsOf = (indexes: readonly number[], { declared }: Durations, { across, up }: Places): string =>
  indexes.map((index) => `M${across(index).toFixed(1)} ${up(declared[index]!).toFixed(1)}h0`).join('');
