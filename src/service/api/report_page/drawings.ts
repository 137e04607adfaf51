/** What a page draws: pictures of the content checks, the course of the sound, and the timeline of each stream. */
import { several } from '../../../base/scaled.ts';
import { bytesIn, waveformPath } from '../../../media/qc/drawn.ts';
import type { QcPictures } from '../../../media/qc/pictures_schema.ts';
import { secondsWords } from '../../../media/qc/words.ts';
import type { StreamTimeline, Timeline } from '../../../media/timeline/schema.ts';
import { streamTimes, wholeOf } from '../../../media/answer/timeline.ts';
import { type Content, furtherOnes, html, type Markup, quiet, section, stranger, told } from './html.ts';

const [WAVE_WIDTH, WAVE_HEIGHT] = [720, 48];

export const pictures = ({ video, audio }: QcPictures): Content =>
  section(
    'Pictures',
    video &&
      html`<div class="strip">
        ${video.list.map(
          ({ at, jpeg }) =>
            html`<figure>
              <img src="data:image/jpeg;base64,${jpeg}" width="${video.width}" height="${video.height}" alt="" />
              <figcaption>${secondsWords(at)}</figcaption>
            </figure>`,
        )}
      </div>`,
    audio.map(({ stream, step, peaks }) => {
      const values = bytesIn(peaks);
      const words = `Sound of stream ${stream}, ${secondsWords(values.length * step)}`;
      return html`<figure>
        <figcaption>${words}</figcaption>
        <svg viewBox="0 0 ${WAVE_WIDTH} ${WAVE_HEIGHT}" role="img" aria-label="${words}">
          <path class="area" d="${waveformPath(values, WAVE_WIDTH, WAVE_HEIGHT)}" />
        </svg>
      </figure>`;
    }),
  );

const MOST_STREAMS = 16;
/** What a page can show, and print. */
const LANE = { width: 720, height: 56, ticks: 6 };
const MOST_POINTS = 360;

interface Axis {
  from: number;
  to: number;
}

const rounded = (value: number): number => Math.round(value * 10) / 10;
const across = (at: number, { from, to }: Axis): number =>
  rounded(Math.min(1, Math.max(0, (at - from) / (to - from))) * LANE.width);

/** Several columns in a point: the highest one counts, so that no peak is lost. */
export function outline({ bits, first, step }: StreamTimeline, axis: Axis): string {
  const each = Math.max(1, Math.ceil(bits.length / MOST_POINTS));
  const highest = Math.max(1, ...bits);
  const parts = [`M${across(first, axis)} ${LANE.height}`];
  for (let at = 0; at < bits.length; at += each) {
    const top = rounded(LANE.height * (1 - Math.max(...bits.slice(at, at + each)) / highest));
    parts.push(`V${top}H${across(first + Math.min(bits.length, at + each) * step, axis)}`);
  }
  return `${parts.join('')}V${LANE.height}Z`;
}

/** Places that are too close for the eye are one. */
const apart = (times: readonly number[], axis: Axis): number[] => [
  ...new Set(times.map((at) => Math.round(across(at, axis) / 2) * 2)),
];

function lane(stream: StreamTimeline, axis: Axis): Markup {
  const { index, type, codec, gaps, keys, jumps } = stream;
  const { width, height, ticks } = LANE;
  const words = streamTimes(stream);
  const gap = ([at, length]: readonly [number, number]): Markup => {
    const [from, to] = [across(at, axis), across(at + length, axis)];
    return html`<rect class="gap" x="${from}" y="0" width="${Math.max(2, rounded(to - from))}" height="${height}" />`;
  };
  const key = (x: number) => html`<rect class="key" x="${x}" y="${height}" width="1" height="${ticks}" />`;
  const jump = (x: number) => html`<path class="jump" d="M${x - 5} 0h10l-5 9z" />`;
  const jumpTimes = jumps.list.map(([at]) => at);
  return html`<figure>
    <figcaption><b>${index}: ${stranger(type ?? 'unknown')}</b> ${stranger(codec)} ${quiet(words)}</figcaption>
    <svg viewBox="0 0 ${width} ${height + ticks}" role="img" aria-label="Bit rate of stream ${index}: ${words}">
      <rect class="ground" x="0" y="0" width="${width}" height="${height}" />
      ${gaps.list.map(gap)}
      <path class="area" d="${outline(stream, axis)}" />
      ${apart(keys.times, axis).map(key)} ${apart(jumpTimes, axis).map(jump)}
    </svg>
  </figure>`;
}

export function timeline({ streams, until, cut, streams_left_out: leftOut }: Timeline): Content {
  const axis = wholeOf(streams);
  return section(
    'Timeline',
    html`<p>
      ${axis.from.toFixed(2)} to ${axis.to.toFixed(2)} s. Area: bit rate; ticks below: key frames; bars of full height:
      gaps; triangles: time that goes back.
    </p>`,
    until !== undefined &&
      html`<p>
        ${told('warn', `Complete up to ${until.toFixed(2)} s, where the reading was cut short`)} ${stranger(cut)}
      </p>`,
    streams.slice(0, MOST_STREAMS).map((stream) => lane(stream, axis)),
    furtherOnes(streams, MOST_STREAMS),
    leftOut > 0 && html`<p>${several(leftOut, 'further stream')} were not read.</p>`,
  );
}
