/** Findings of the HLS validator with their remedies, and the timeline of each stream as a drawing. */
import { bitRate, several } from '../../../base/scaled.ts';
import { exceeds } from '../../../media/hls/compare.ts';
import type { HlsReport, Message, VariantReport } from '../../../media/hls/schema.ts';
import type { StreamTimeline, Timeline } from '../../../media/timeline/schema.ts';
import {
  type Content,
  furtherOnes,
  html,
  type Markup,
  quiet,
  section,
  stranger,
  table,
  told,
  type Tone,
} from './html.ts';

const LEVELS: Readonly<Record<Message['level'], Tone>> = { 'must-fix': 'bad', 'should-fix': 'warn', info: 'none' };

const peak = (value: number | null | undefined): Content => value !== null && value !== undefined && bitRate(value);
const seconds = (value: number | null): Content => (value === null ? null : `${Math.round(value * 10) / 10} s`);

const measuredPeak = ({ bandwidth, measured }: VariantReport): Content =>
  measured && bandwidth !== null && exceeds(measured.peak, bandwidth)
    ? told('bad', `${bitRate(measured.peak)}, above what is declared`)
    : peak(measured?.peak);

export const hls = ({ summary, variants, messages, playlists }: HlsReport): Content =>
  section(
    'HLS',
    html`<p>
      ${several(summary.variants, 'variant')}, ${several(summary.segments, 'segment')} (${summary.segments_measured}
      measured), ${summary.live ? 'live' : seconds(summary.duration)}.
    </p>`,
    table('Findings', messages, [
      { title: 'Level', cell: ({ level }) => told(LEVELS[level], level) },
      {
        title: 'Finding, and what to do',
        cell: ({ message, remedy, count = 1 }) => [
          stranger(message),
          count > 1 && quiet(` ${count} times in this playlist`),
          html`<p class="remedy">${stranger(remedy)}</p>`,
        ],
      },
      { title: 'Rule', cell: ({ code, rule }) => [html`<code>${stranger(code)}</code> `, stranger(rule)] },
      { title: 'Where', cell: ({ url, line }) => [`line ${line} of `, stranger(url)] },
    ]),
    summary.untold > 0 && html`<p>${several(summary.untold, 'further finding')} are not in the result.</p>`,
    table('Variants', variants, [
      { title: 'Variant', cell: ({ url }) => stranger(url) },
      { title: 'Picture', cell: ({ resolution }) => stranger(resolution) },
      { title: 'Codecs', cell: ({ codecs }) => stranger(codecs) },
      { title: 'Declared peak', cell: ({ bandwidth }) => peak(bandwidth), right: true },
      { title: 'Measured peak', cell: measuredPeak, right: true },
    ]),
    table('Playlists', playlists, [
      { title: 'Playlist', cell: ({ url }) => stranger(url) },
      { title: 'Role', cell: ({ role }) => stranger(role) },
      { title: 'Segments', cell: ({ segments }) => segments, right: true },
      { title: 'Target', cell: ({ target_duration: target }) => seconds(target), right: true },
      { title: 'Duration', cell: ({ duration }) => seconds(duration), right: true },
    ]),
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

function laneWords(stream: StreamTimeline): string {
  const { packets, bytes, start, end, bits, step, keys, gops, gaps, jumps, untimed } = stream;
  const length = start === null || end === null ? 0 : end - start;
  return [
    several(packets, 'packet'),
    length > 0 && `${bitRate(Math.round((bytes * 8) / length))} on average`,
    bits.length > 0 && `${bitRate(Math.round(Math.max(...bits) / step))} at most`,
    keys.every ? 'every packet is a key frame' : keys.count > 0 && several(keys.count, 'key frame'),
    gops && `${gops.min.toFixed(2)} to ${gops.max.toFixed(2)} s apart`,
    gaps.count > 0 && several(gaps.count, 'gap'),
    jumps.count > 0 && `${several(jumps.count, 'jump')} back`,
    untimed > 0 && `${several(untimed, 'packet')} without a time`,
  ]
    .filter(Boolean)
    .join(', ');
}

function lane(stream: StreamTimeline, axis: Axis): Markup {
  const { index, type, codec, gaps, keys, jumps } = stream;
  const { width, height, ticks } = LANE;
  const words = laneWords(stream);
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

/** Of all streams together. */
function axisOf(streams: readonly StreamTimeline[]): Axis {
  const timed = streams.filter(({ bits }) => bits.length > 0);
  const from = Math.min(...timed.map(({ first }) => first));
  const to = Math.max(...timed.map(({ first, step, bits }) => first + step * bits.length));
  return Number.isFinite(from) && to > from ? { from, to } : { from: 0, to: 1 };
}

export function timeline({ streams, until, cut, streams_left_out: leftOut }: Timeline): Content {
  const axis = axisOf(streams);
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
