/** Bit rate, key frames, gaps and jumps of every stream over time, with one cursor through all of them. */
import type { TargetedPointerEvent } from 'preact';
import { useState } from 'preact/hooks';
import type { StreamTimeline, Timeline as TimelineAnswer } from '../../api_types.ts';
import { count, several } from '../parts/figures.ts';
import { Stranger } from '../parts/stranger.tsx';
import {
  type Area,
  marksIn,
  momentOf,
  outlineOf,
  peakOf,
  placeOf,
  type View,
  wholeOf,
  within,
  zoomed,
} from './timeline_scale.ts';
import { call } from '../api/client.ts';
import { asToken } from '../api/gateway.ts';
import { useAsked } from '../api/use_call.ts';
import { Await, Empty } from '../parts/states.tsx';
import { onKeys, pixelsOf, useWidth } from '../parts/picture.ts';
import { anyToken } from '../parts/with_token.tsx';
import { goWith, usePlace } from '../router.ts';

// One stream of a timeline: bit rate as an area, key frames as ticks, gaps and jumps as marks.

const STREAM_HEIGHT = 72;
const TICK = 8;

const kilobits = (rate: number): string => `${count(Math.round(rate / 1_000))} kb/s`;
const secondsOf = (at: number): string => `${at.toFixed(2)} s`;

function told({ gops, gaps, jumps, keys, untimed }: StreamTimeline): string {
  return [
    keys.every ? 'every packet is a key frame' : keys.count > 0 ? several(keys.count, 'key frame') : null,
    gops ? `${gops.min.toFixed(2)} to ${gops.max.toFixed(2)} s apart` : null,
    gaps.count > 0 ? several(gaps.count, 'gap') : null,
    jumps.count > 0 ? `${several(jumps.count, 'jump')} back` : null,
    untimed > 0 ? `${several(untimed, 'packet')} without a time` : null,
  ]
    .filter((part) => part !== null)
    .join(', ');
}

function StreamFacts({ stream }: { stream: StreamTimeline }) {
  const { index, type, codec, packets, bytes, start, end } = stream;
  const length = start === null || end === null ? 0 : end - start;
  return (
    <p class="stream-facts">
      <strong>
        {index}: {type ?? 'unknown'}
      </strong>{' '}
      {codec !== null && <Stranger text={codec} most={40} />}{' '}
      <span class="unit">
        {several(packets, 'packet')}
        {length > 0 && `, ${kilobits((bytes * 8) / length)} on average, ${kilobits(peakOf(stream))} at most`}
        {told(stream) !== '' && `; ${told(stream)}`}
      </span>
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
          {key !== null && (
            <>
              , key frame at {secondsOf(key)}
              {nextKey !== null && <span class="unit">, the next at {secondsOf(nextKey)}</span>}
            </>
          )}
          {gap && <strong>, in a gap</strong>}
        </>
      )}
    </p>
  );
}

function StreamPicture({ stream, area }: { stream: StreamTimeline; area: Area }) {
  const { width, height } = area;
  const all = height + TICK;
  const edge = (at: number): number => Math.min(width, Math.max(0, placeOf(at, area)));
  return (
    <svg class="timeline" viewBox={`0 0 ${width} ${all}`} width={width} height={all} aria-hidden="true">
      <rect class="ground" x="0" y="0" width={width} height={height} />
      {stream.gaps.list.map(([at, length]) => {
        const [from, to] = [edge(at!), edge(at! + length!)];
        return to > from || (at! >= area.view.from && at! <= area.view.to) ? (
          <rect key={`gap ${at}`} class="gap" x={from} y="0" width={Math.max(2, to - from)} height={height} />
        ) : null;
      })}
      <path class="area" d={outlineOf(stream, area)} />
      {marksIn(stream.keys.times, area).map((place) => (
        <rect key={`key ${place}`} class="key" x={place} y={height} width="1" height={TICK} />
      ))}
      {marksIn(
        stream.jumps.list.map(([at]) => at!),
        area,
      ).map((place) => (
        <path key={`jump ${place}`} class="jump" d={`M${place - 5} 0h10l-5 9z`} />
      ))}
    </svg>
  );
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

/** A drag that is shorter was a click. */
const SHORTEST_DRAG = 5;

interface FigureProps {
  streams: readonly StreamTimeline[];
  whole: View;
}

function Figure({ streams, whole }: FigureProps) {
  const { place, width } = useWidth();
  const { view, show } = useView(whole);
  const [at, setAt] = useState(view.from);
  const [dragFrom, setDragFrom] = useState<number | null>(null);
  const area = { width, height: STREAM_HEIGHT, view };
  const finest = Math.min(...streams.map(({ step }) => step));
  const timeAt = (pixels: number) =>
    Math.min(view.to, Math.max(view.from, view.from + (pixels / width) * (view.to - view.from)));

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
  const release = (event: TargetedPointerEvent<HTMLDivElement>): void => {
    const to = timeAt(pixelsOf(event));
    if (dragFrom !== null && Math.abs(placeOf(to, area) - placeOf(dragFrom, area)) >= SHORTEST_DRAG)
      show(within({ from: Math.min(dragFrom, to), to: Math.max(dragFrom, to) }, whole));
    setDragFrom(null);
  };

  const cursor = placeOf(at, area);
  const isZoomed = view.to - view.from < whole.to - whole.from;
  const drag = dragFrom === null ? null : [placeOf(dragFrom, area), cursor].toSorted((a, b) => a - b);
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
        ref={place}
        class="figure"
        role="slider"
        tabIndex={0}
        aria-label="Time"
        aria-valuemin={whole.from}
        aria-valuemax={whole.to}
        aria-valuenow={Math.round(at * 100) / 100}
        aria-valuetext={secondsOf(at)}
        onKeyDown={press}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          setDragFrom(timeAt(pixelsOf(event)));
          setAt(timeAt(pixelsOf(event)));
        }}
        onPointerMove={(event) => setAt(timeAt(pixelsOf(event)))}
        onPointerUp={release}
        onPointerCancel={() => setDragFrom(null)}
      >
        {streams.map((stream) => (
          <div key={stream.index} class="stream">
            <StreamFacts stream={stream} />
            <StreamPicture stream={stream} area={area} />
            <MomentLine stream={stream} at={at} />
          </div>
        ))}
        {cursor >= 0 && cursor <= width && <div class="cursor" style={{ transform: `translateX(${cursor}px)` }} />}
        {drag && (
          <div class="drag" style={{ transform: `translateX(${drag[0]}px)`, width: `${drag[1]! - drag[0]!}px` }} />
        )}
      </div>
      <p class="help">
        Drag to zoom. Keys: arrows and Page keys move, + and - zoom, 0 shows the whole length. Area: bit rate; ticks:
        key frames; bars of full height: gaps; triangles: time that goes back.
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
        {cut !== undefined && (
          <>
            {' ('}
            <Stranger text={cut} most={120} />)
          </>
        )}
        {leftOut > 0 && `; ${several(leftOut, 'further stream')} left out`}.
      </p>
      <Figure streams={streams} whole={wholeOf(streams)} />
    </>
  );
}

export function Timeline({ id }: { id: string }) {
  const asked = useAsked(`timeline ${id}`, async (signal) => {
    const { text: bearer } = await anyToken();
    return asToken(call('GET /v1/probe/:id/timeline', { params: { id }, bearer, signal }));
  });
  return (
    <Await asked={asked} what="the timeline">
      {(timeline) => <Drawn timeline={timeline} />}
    </Await>
  );
}
