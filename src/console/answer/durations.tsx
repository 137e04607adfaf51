/** Segment durations of a playlist against its target: a small picture, and one with a cursor. */
import type { TargetedPointerEvent } from 'preact';
import { useState } from 'preact/hooks';
import type { HlsReport } from '../../api_types.ts';
import { count, several } from '../parts/figures.ts';
import { onKeys, pixelsOf, useWidth } from '../parts/picture.ts';

// Durations of segments as places in a picture: pure.

type Playlist = HlsReport['playlists'][number];

interface Durations {
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
const isLongAt = (index: number, durations: Durations): boolean =>
  isLong(durations.declared[index]!, durations) || isLong(durations.measured.get(index) ?? 0, durations);

const longOf = (durations: Durations): number[] =>
  [...durations.declared.keys()].filter((index) => isLongAt(index, durations));

interface Frame {
  width: number;
  height: number;
}

interface Places {
  across: (index: number) => number;
  up: (seconds: number) => number;
}

/** Room for half a dot at each edge. */
const EDGE = 5;

function placesOf({ declared, target, measured }: Durations, { width, height }: Frame): Places {
  const most = Math.max(0.001, target ?? 0, ...measured.values()) * 1.2;
  const top = declared.reduce((highest, seconds) => Math.max(highest, seconds * 1.05), most);
  const step = (width - 2 * EDGE) / Math.max(1, declared.length - 1);
  return {
    across: (index) => (declared.length === 1 ? width / 2 : EDGE + index * step),
    up: (seconds) => height - EDGE - (seconds / top) * (height - 2 * EDGE),
  };
}

/** The segment that is nearest to a place across. */
function indexAt(pixels: number, { declared }: Durations, { width }: Frame): number {
  const share = (pixels - EDGE) / Math.max(1, width - 2 * EDGE);
  return Math.min(declared.length - 1, Math.max(0, Math.round(share * (declared.length - 1))));
}

/** Points of a path that a round line cap makes dots. */
const dotsOf = (indexes: readonly number[], { declared }: Durations, { across, up }: Places): string =>
  indexes.map((index) => `M${across(index).toFixed(1)} ${up(declared[index]!).toFixed(1)}h0`).join('');

const seconds = (value: number): string => `${value.toFixed(3).replace(/\.?0+$/, '')} s`;

export function durationsSaid(durations: Durations): string {
  const { declared, target } = durations;
  const [least, most] = declared.reduce(
    ([low, high], one) => [Math.min(low, one), Math.max(high, one)],
    [Infinity, -Infinity],
  );
  const long = longOf(durations).length;
  const range = least === most ? `of ${seconds(least)}` : `of ${seconds(least)} to ${seconds(most)}`;
  const against = target === null ? 'no target duration' : `the target is ${target} s`;
  return `${several(declared.length, 'segment')} ${range}, ${against}${long === 0 ? '' : `, ${count(long)} too long`}`;
}

function Dots({ durations, frame }: { durations: Durations; frame: Frame }) {
  const { declared, target, measured } = durations;
  const places = placesOf(durations, frame);
  const long = longOf(durations);
  const isTooLong = new Set(long);
  const others = [...declared.keys()].filter((index) => !isTooLong.has(index));
  const size = declared.length > frame.width / 4 ? 2 : 5;
  const line = target === null ? null : places.up(target);
  return (
    <>
      <rect class="ground" x="0" y="0" width={frame.width} height={frame.height} />
      {line !== null && <line class="target" x1="0" x2={frame.width} y1={line} y2={line} />}
      <path class="declared" stroke-width={size} d={dotsOf(others, durations, places)} />
      {/* From the target up: their shape differs, not only their colour. */}
      {line !== null && (
        <path
          class="beyond bar"
          d={long
            .map((index) => `M${places.across(index).toFixed(1)} ${line}V${places.up(declared[index]!).toFixed(1)}`)
            .join('')}
        />
      )}
      <path class="beyond" stroke-width={size + 2} d={dotsOf(long, durations, places)} />
      {[...measured]
        .filter(([index]) => index < declared.length)
        .map(([index, value]) => (
          <circle key={index} class="measured-one" cx={places.across(index)} cy={places.up(value)} r="4" />
        ))}
    </>
  );
}

const SMALL: Frame = { width: 144, height: 40 };

export function SmallDurations({ durations }: { durations: Durations }) {
  const { width, height } = SMALL;
  return (
    <svg
      class="durations"
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="img"
      aria-label={durationsSaid(durations)}
    >
      <Dots durations={durations} frame={SMALL} />
    </svg>
  );
}

const HEIGHT = 120;

interface DurationsFigureProps {
  durations: Durations;
  /** Null: the lines of the playlist are not in the report. */
  goToSegment: ((index: number) => void) | null;
}

function said(index: number, durations: Durations): string {
  const measured = durations.measured.get(index);
  return [
    `segment ${count(index + 1)} of ${count(durations.declared.length)}: ${seconds(durations.declared[index]!)}`,
    ...(measured === undefined ? [] : [`measured ${seconds(measured)}`]),
    ...(isLongAt(index, durations) ? [`too long for the target of ${durations.target} s`] : []),
  ].join(', ');
}

export function DurationsFigure({ durations, goToSegment }: DurationsFigureProps) {
  const { place, width } = useWidth();
  const [chosen, setAt] = useState(0);
  const last = durations.declared.length - 1;
  const at = Math.min(chosen, last);
  const frame = { width, height: HEIGHT };
  const long = longOf(durations);
  const move = (to: number): void => setAt(Math.min(last, Math.max(0, to)));
  const press = onKeys({
    ArrowLeft: () => move(at - 1),
    ArrowRight: () => move(at + 1),
    PageUp: () => move(at - 10),
    PageDown: () => move(at + 10),
    Home: () => move(0),
    End: () => move(last),
    ...(goToSegment && { Enter: () => goToSegment(at) }),
  });
  const point = (event: TargetedPointerEvent<HTMLDivElement>): void => move(indexAt(pixelsOf(event), durations, frame));
  const cursor = placesOf(durations, frame).across(at);
  return (
    <>
      <div
        ref={place}
        class="figure"
        role="slider"
        tabIndex={0}
        aria-label="Segment"
        aria-valuemin={1}
        aria-valuemax={last + 1}
        aria-valuenow={at + 1}
        aria-valuetext={said(at, durations)}
        onKeyDown={press}
        onPointerDown={point}
        onPointerMove={point}
      >
        <svg class="durations" viewBox={`0 0 ${width} ${HEIGHT}`} width={width} height={HEIGHT} aria-hidden="true">
          <Dots durations={durations} frame={frame} />
        </svg>
        <div class="cursor" style={{ transform: `translateX(${cursor}px)` }} />
      </div>
      <p class="moment">{said(at, durations)}</p>
      <p class="actions">
        {goToSegment && (
          <button type="button" class="small" onClick={() => goToSegment(at)}>
            Go to its line
          </button>
        )}
        {long.length > 0 && (
          <button type="button" class="small" onClick={() => move(long.find((index) => index > at) ?? long[0]!)}>
            Next that is too long
          </button>
        )}
      </p>
      <p class="help">
        Dots: EXTINF of each segment{durations.leftOut > 0 && ` (the first ${count(last + 1)})`}; dashes: the target
        duration; bars: too long; rings: measured. Keys: arrows and Page keys move
        {goToSegment && ', Enter goes to the line'}.
      </p>
    </>
  );
}
