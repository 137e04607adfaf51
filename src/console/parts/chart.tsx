/** Charts, drawn by uPlot, which is loaded when the first one is shown. What a chart shows stands in a table, too. */
import type { TargetedKeyboardEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import type { ChartData, Series } from './chart_data.ts';
import { strangerColumn, Table, type Column } from './table.tsx';
import { dateTime } from './figures.ts';

/** The bundle puts the address of uPlot here. */
declare const CHART_ADDRESS: string;

type Plot = typeof uPlot;
let loading: Promise<Plot> | null = null;

function loadPlot(): Promise<Plot> {
  const loaded = (loading ??= (import(CHART_ADDRESS) as Promise<{ default: Plot }>).then((module) => module.default));
  loaded.catch(() => (loading = null));
  return loaded;
}

interface ChartProps {
  label: string;
  data: ChartData;
  /** How a place on the horizontal axis reads. Absent: it is a time of day. */
  xText?: (value: number) => string;
  /** Only whole places are named. */
  whole?: boolean;
  yText: (value: number) => string;
  height?: number;
  /** What is in view. Absent: all. */
  view?: { from: number; to: number };
  at?: number;
  move?: (to: number) => void;
  /** A drag chooses from one place to another. */
  choose?: (from: number, to: number) => void;
}

const INTEGERS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];
/** A drag that is shorter was a click. */
const SHORTEST_DRAG = 5;

const DAY_S = 86_400;
const DAY = new Intl.DateTimeFormat(undefined, { day: '2-digit', month: 'short' });
const HOUR = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
/** `step`: seconds from one label to the next. */
const timeText = (seconds: number, step: number): string =>
  (step >= DAY_S ? DAY : HOUR).format(new Date(seconds * 1_000));

/** A custom property is a text; only what is computed of it can be drawn with. */
function colorsOf(place: HTMLElement): (name: string) => string {
  return (name) => {
    place.style.color = `var(--${name})`;
    const { color } = getComputedStyle(place);
    place.style.color = '';
    return color;
  };
}

function seriesOf({ paths }: Plot, { label, color, as }: Series, colorOf: (name: string) => string): uPlot.Series {
  const stroke = colorOf(color);
  const fill = stroke.replace(/^rgb\((.*)\)$/, 'rgba($1, 0.25)');
  const bars = (align: -1 | 0 | 1) => ({
    stroke,
    fill: stroke,
    width: 0,
    paths: paths.bars!({ size: [0.4, 48], align }),
  });
  const kinds: Record<Series['as'], uPlot.Series> = {
    steps: { stroke, fill, width: 1, paths: paths.stepped!({ align: 1 }) },
    line: { stroke, width: 2 },
    bars: bars(0),
    left: bars(-1),
    right: bars(1),
    dots: { stroke, width: 0, paths: () => null },
  };
  return { label, points: { show: as === 'dots', size: 6, fill: stroke }, ...kinds[as] };
}

function drawBehind(plot: uPlot, { bands = [] }: ChartData, color: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.fillStyle = color;
  for (const { from, to } of bands) {
    const [left, right] = [plot.valToPos(from, 'x', true), plot.valToPos(to, 'x', true)];
    const [begin, end] = [Math.max(left, bbox.left), Math.min(Math.max(right, left + 2), bbox.left + bbox.width)];
    if (end > begin) ctx.fillRect(begin, bbox.top, end - begin, bbox.height);
  }
  ctx.restore();
}

function drawTicks(plot: uPlot, { ticks = [] }: ChartData, color: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.fillStyle = color;
  let last = -Infinity;
  for (const tick of ticks) {
    const at = Math.round(plot.valToPos(tick, 'x', true));
    // Ticks closer than this are one.
    if (at < bbox.left || at > bbox.left + bbox.width || at - last < 2) continue;
    ctx.fillRect(at, bbox.top + bbox.height - 8, 1, 8);
    last = at;
  }
  ctx.restore();
}

/** `now`: the newest props, as what is in view and the handlers change without a new drawing. */
function draw(Plot: Plot, place: HTMLElement, now: { current: ChartProps }): uPlot {
  const { data, xText, yText, whole = false, height = 200, choose } = now.current;
  const colorOf = colorsOf(place);
  const [quiet, line] = [colorOf('quiet'), colorOf('line')];
  const axis: uPlot.Axis = { stroke: quiet, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const options: uPlot.Options = {
    width: place.clientWidth,
    height,
    legend: { show: false },
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: choose !== undefined, y: false, setScale: false, dist: SHORTEST_DRAG },
    },
    scales: {
      x: {
        time: xText === undefined,
        range: (_, min, max) => (now.current.view ? [now.current.view.from, now.current.view.to] : [min, max]),
      },
      y: { range: (_, _min, max) => [0, Math.max(max * 1.05, 0.001)] },
    },
    axes: [
      {
        ...axis,
        size: 32,
        space: 72,
        values: (_, all, _axis, _space, step) => all.map((value) => (xText ? xText(value) : timeText(value, step))),
        ...(whole && { incrs: INTEGERS }),
      },
      { ...axis, size: 96, values: (_, all) => all.map((value) => yText(value)) },
    ],
    series: [{}, ...data.series.map((series) => seriesOf(Plot, series, colorOf))],
    hooks: {
      drawClear: [(plot) => drawBehind(plot, data, colorOf('bad-ground'))],
      draw: [(plot) => drawTicks(plot, data, colorOf('text'))],
      setCursor: [
        ({ cursor: { left = -1 }, posToVal }) => {
          if (left >= 0) now.current.move?.(posToVal(left, 'x'));
        },
      ],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < SHORTEST_DRAG) return;
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          now.current.choose?.(plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'));
        },
      ],
    },
  };
  return new Plot(options, [data.x, ...data.series.map(({ values }) => values)] as uPlot.AlignedData, place);
}

/** Draws it, and again when the theme changes; as wide as its place. */
function usePlot(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const now = useRef(props);
  now.current = props;
  const [Plot, setPlot] = useState<Plot | null>(null);
  const [failed, setFailed] = useState(false);
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    loadPlot().then(
      (loaded) => setPlot(() => loaded),
      () => setFailed(true),
    );
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const changed = () => setTheme((before) => before + 1);
    dark.addEventListener('change', changed);
    return () => dark.removeEventListener('change', changed);
  }, []);
  const { data, view, at } = props;
  useEffect(() => {
    if (!Plot || !place.current) return;
    const drawn = draw(Plot, place.current, now);
    plot.current = drawn;
    const observer = new ResizeObserver(([entry]) =>
      drawn.setSize({ width: Math.floor(entry!.contentRect.width), height: drawn.height }),
    );
    observer.observe(place.current);
    return () => {
      observer.disconnect();
      drawn.destroy();
      plot.current = null;
    };
  }, [Plot, data, theme]);
  useEffect(() => {
    const { x } = data;
    if (view && x.length > 0) plot.current?.setScale('x', { min: view.from, max: view.to });
  }, [Plot, data, theme, view?.from, view?.to]);
  useEffect(() => {
    if (at !== undefined) plot.current?.setCursor({ left: plot.current.valToPos(at, 'x'), top: 0 }, false);
  }, [Plot, data, theme, at, view?.from, view?.to]);
  return { place, failed };
}

type Told = Pick<ChartProps, 'label' | 'data' | 'xText' | 'yText'>;

function Figures({ label, data: { x, series }, xText, yText }: Told) {
  const columns: readonly Column<number>[] = [
    strangerColumn('At', (row) => xText?.(x[row]!) ?? dateTime(new Date(x[row]! * 1_000).toISOString())),
    ...series.map(({ label: title, values }): Column<number> => ({
      title,
      text: (row) => (typeof values[row] === 'number' ? yText(values[row]) : ''),
      right: true,
    })),
  ];
  return <Table caption={label} columns={columns} rows={[...x.keys()]} keyOf={(row) => row} />;
}

/** The figures of a chart as a table: beside it, and not within a figure that takes the keys. */
export function ChartTable(props: Told) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="unit">{props.label}, as a table</summary>
      {open && <Figures {...props} />}
    </details>
  );
}

export function Chart(props: ChartProps) {
  const { label, data, height = 200 } = props;
  const { place, failed } = usePlot(props);
  return (
    <figure class="chart" aria-label={label}>
      {data.series.length > 1 && (
        <ul class="legend" aria-label="Legend">
          {data.series.map(({ label: name, color }) => (
            <li key={name}>
              <span style={{ background: `var(--${color})` }} aria-hidden="true" />
              {name}
            </li>
          ))}
        </ul>
      )}
      {failed && <p class="unit">The chart cannot be loaded. Its figures are in the table.</p>}
      <div ref={place} style={{ minHeight: `${height}px` }} aria-hidden="true" />
    </figure>
  );
}

/** Keys with a modifier are the browser's. */
export const onKeys =
  (works: Readonly<Record<string, () => void>>) =>
  (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const work = works[event.key];
    if (!work || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    work();
  };
