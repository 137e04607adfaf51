/** One stream of a timeline: bit rate as an area, key frames as ticks, gaps and jumps as marks. */
import type { StreamTimeline } from '../../api_types.ts';
import { count, several } from '../parts/figures.ts';
import { Stranger } from '../parts/stranger.tsx';
import { marksIn, momentOf, outlineOf, peakOf, placeOf, type Area } from './timeline_scale.ts';

export const STREAM_HEIGHT = 72;
const TICK = 8;

const kilobits = (rate: number): string => `${count(Math.round(rate / 1_000))} kb/s`;
export const secondsOf = (at: number): string => `${at.toFixed(2)} s`;

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

export function StreamFacts({ stream }: { stream: StreamTimeline }) {
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
export function MomentLine({ stream, at }: { stream: StreamTimeline; at: number }) {
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

export function StreamPicture({ stream, area }: { stream: StreamTimeline; area: Area }) {
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
