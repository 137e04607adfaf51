/** Bit rate, key frames, gaps and jumps of every stream over time, with one cursor through all of them. */
import { useMemo, useState } from 'preact/hooks';
import type { StreamTimeline, Timeline as TimelineAnswer } from '../../api_types.ts';
import { streamTimes, wholeOf } from '../../media/answer/timeline.ts';
import { Chart, ChartTable, onKeys } from '../parts/chart.tsx';
import { kilobits, several } from '../parts/figures.ts';
import { Stranger } from '../parts/values.tsx';
import { gopsOf, momentOf, ratesOf, type View, within, zoomed } from './timeline_scale.ts';
import { call } from '../api/client.ts';
import { useAsked } from '../api/use_call.ts';
import { Await, Empty } from '../parts/states.tsx';
import { withAnyToken } from '../parts/with_token.tsx';
import { goWith, usePlace } from '../router.ts';

const secondsOf = (at: number): string => `${at.toFixed(2)} s`;
/** On an axis there is no room for zeros. */
const shortSeconds = (at: number): string => `${Math.round(at * 100) / 100} s`;

function StreamFacts({ stream }: { stream: StreamTimeline }) {
  const { index, type, codec } = stream;
  return (
    <p class="stream-facts">
      <strong>
        {index}: {type ?? 'unknown'}
      </strong>{' '}
      {codec !== null && <Stranger text={codec} most={40} />} <span class="unit">{streamTimes(stream)}</span>
    </p>
  );
}

/** What is at the cursor, as text: a picture alone is none for some. */
function MomentLine({ stream, at }: { stream: StreamTimeline; at: number }) {
  const { rate, packets, key, nextKey, gap } = momentOf(stream, at);
  return (
    <p class="moment">
      {rate === null ? (
        <span class="unit">nothing at {secondsOf(at)}</span>
      ) : (
        <>
          {kilobits(rate)} <span class="unit">in {several(packets, 'packet')}</span>
          {key !== null && `, key frame at ${secondsOf(key)}`}
          {key !== null && nextKey !== null && <span class="unit">, the next at {secondsOf(nextKey)}</span>}
          {gap && <strong>, in a gap</strong>}
        </>
      )}
    </p>
  );
}

/** What is drawn of a stream. */
function chartsOf(stream: StreamTimeline) {
  const gops = gopsOf(stream);
  return [
    { label: `Bit rate of stream ${stream.index}`, data: ratesOf(stream), height: 136, yText: kilobits },
    ...(gops ? [{ label: `GOPs of stream ${stream.index}`, data: gops, height: 96, yText: secondsOf }] : []),
  ];
}

/** What is in view stands in the address. */
function useView(whole: View) {
  const { query } = usePlace();
  const number = (name: string, byDefault: number): number => {
    const value = Number(query.get(name) ?? Number.NaN);
    return Number.isFinite(value) ? value : byDefault;
  };
  const view = within({ from: number('from', whole.from), to: number('to', whole.to) }, whole);
  const show = (next: View | null): void => {
    const text = (value: number) => String(Math.round(value * 1_000) / 1_000);
    const all = next === null || (next.from <= whole.from && next.to >= whole.to);
    goWith({ from: all ? null : text(next.from), to: all ? null : text(next.to) });
  };
  return { view, show };
}

function Figure({ streams, whole }: { streams: readonly StreamTimeline[]; whole: View }) {
  const { view, show } = useView(whole);
  const [at, setAt] = useState(view.from);
  const charts = useMemo(() => streams.map(chartsOf), [streams]);
  const finest = Math.min(...streams.map(({ step }) => step));
  const move = (to: number): void => {
    const next = Math.min(whole.to, Math.max(whole.from, to));
    setAt(next);
    // The cursor stays in view.
    const length = view.to - view.from;
    if (next < view.from) show(within({ from: next, to: next + length }, whole));
    if (next > view.to) show(within({ from: next - length, to: next }, whole));
  };
  const step = Math.max(finest, (view.to - view.from) / 200);
  const press = onKeys({
    ArrowLeft: () => move(at - step),
    ArrowRight: () => move(at + step),
    PageUp: () => move(at - 10 * step),
    PageDown: () => move(at + 10 * step),
    Home: () => move(whole.from),
    End: () => move(whole.to),
    '+': () => show(zoomed(view, { at, by: 0.5, whole })),
    '-': () => show(zoomed(view, { at, by: 2, whole })),
    '0': () => show(null),
  });
  const isZoomed = view.to - view.from < whole.to - whole.from;
  const choose = (from: number, to: number): void => show(within({ from, to }, whole));
  return (
    <>
      <p class="actions">
        <span>
          At <strong>{secondsOf(at)}</strong>{' '}
          <span class="unit">
            of {secondsOf(view.from)} to {secondsOf(view.to)}
          </span>
        </span>
        <button type="button" class="small" onClick={() => show(zoomed(view, { at, by: 0.5, whole }))}>
          Zoom in
        </button>
        <button type="button" class="small" disabled={!isZoomed} onClick={() => show(null)}>
          Whole length
        </button>
      </p>
      <div
        class="figure"
        role="slider"
        tabIndex={0}
        aria-label="Time"
        aria-valuemin={whole.from}
        aria-valuemax={whole.to}
        aria-valuenow={Math.round(at * 100) / 100}
        aria-valuetext={secondsOf(at)}
        onKeyDown={press}
      >
        {streams.map((stream, index) => (
          <div key={stream.index}>
            <StreamFacts stream={stream} />
            {charts[index]!.map((chart) => (
              <Chart key={chart.label} {...chart} {...{ view, at, choose }} xText={shortSeconds} move={setAt} />
            ))}
            <MomentLine stream={stream} at={at} />
          </div>
        ))}
      </div>
      {charts.flat().map(({ label, data, yText }) => (
        <ChartTable key={label} label={label} data={data} xText={shortSeconds} yText={yText} />
      ))}
      <p class="help">
        Drag to zoom. Keys: arrows and Page keys move, + and - zoom, 0 shows the whole length. Steps: bit rate, and the
        length of each GOP; ticks: key frames; bands: gaps, and time that goes back.
      </p>
    </>
  );
}

function Drawn({ timeline }: { timeline: TimelineAnswer }) {
  const { streams, until, cut, version, streams_left_out: leftOut } = timeline;
  if (streams.every(({ bits }) => bits.length === 0))
    return (
      <Empty title="No packet has a time">
        <p>
          ffprobe {version} read {several(streams.length, 'stream')}, and none of them has times to draw.
        </p>
      </Empty>
    );
  return (
    <>
      <p class="lead">
        {several(streams.length, 'stream')}, read by ffprobe {version}
        {until !== undefined && `; complete up to ${secondsOf(until)}, where the reading was cut short`}
        {cut !== undefined && <Stranger text={` (${cut})`} most={120} />}
        {leftOut > 0 && `; ${several(leftOut, 'further stream')} left out`}.
      </p>
      <Figure streams={streams} whole={wholeOf(streams)} />
    </>
  );
}

export function Timeline({ id }: { id: string }) {
  const asked = useAsked(`timeline ${id}`, (signal) =>
    withAnyToken((bearer) => call('GET /v1/probe/:id/timeline', { params: { id }, bearer, signal })),
  );
  return (
    <Await asked={asked} what="the timeline">
      {(timeline) => <Drawn timeline={timeline} />}
    </Await>
  );
}
