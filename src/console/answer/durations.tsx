/** Segment durations of a playlist against its target: in a sentence, and as a chart with a cursor. */
import { useMemo, useState } from 'preact/hooks';
import type { HlsReport } from '../../api_types.ts';
import { Chart, ChartTable, onKeys } from '../parts/chart.tsx';
import type { ChartData, Series } from '../parts/chart_data.ts';
import { count, several } from '../parts/figures.ts';

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

/** Declared and measured durations over the target; those that are too long in a series of their own. */
function dataOf(durations: Durations): ChartData {
  const { declared, target, measured } = durations;
  const only = (wanted: boolean): (number | null)[] =>
    declared.map((value, index) => (isLongAt(index, durations) === wanted ? value : null));
  const series: (Series | false)[] = [
    { label: 'Declared', values: only(false), color: 'series-1', as: 'dots' },
    { label: 'Too long', values: only(true), color: 'bad', as: 'bars' },
    measured.size > 0 && {
      label: 'Measured',
      values: declared.map((_, index) => measured.get(index) ?? null),
      color: 'series-2',
      as: 'dots',
    },
    target !== null && { label: 'Target', values: declared.map(() => target), color: 'text', as: 'line' },
  ];
  return { x: [...declared.keys()], series: series.filter((one) => one !== false) };
}

const LABEL = 'Durations of segments';
const numberOf = (index: number): string => count(index + 1);

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
  const [chosen, setAt] = useState(0);
  const last = durations.declared.length - 1;
  const at = Math.min(chosen, last);
  const data = useMemo(() => dataOf(durations), [durations.declared]);
  const view = { from: -0.5, to: last + 0.5 };
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
  return (
    <>
      <div
        class="figure"
        role="slider"
        tabIndex={0}
        aria-label="Segment"
        aria-valuemin={1}
        aria-valuemax={last + 1}
        aria-valuenow={at + 1}
        aria-valuetext={said(at, durations)}
        onKeyDown={press}
      >
        <Chart
          label={LABEL}
          data={data}
          height={160}
          xText={numberOf}
          whole
          yText={seconds}
          view={view}
          at={at}
          move={(to) => move(Math.round(to))}
        />
      </div>
      <ChartTable label={LABEL} data={data} xText={numberOf} yText={seconds} />
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
        Declared: EXTINF of each segment{durations.leftOut > 0 && ` (the first ${count(last + 1)})`}. Keys: arrows and
        Page keys move
        {goToSegment && ', Enter goes to the line'}.
      </p>
    </>
  );
}
