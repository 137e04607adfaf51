/** What a file is: its tracks, the container, the warnings. */
import type { ProbeReport } from '../../api_types.ts';
import { bytes, count, joined, kilobits, said, several } from '../parts/figures.ts';
import { Stranger } from '../parts/values.tsx';
import { Facts } from '../parts/table.tsx';
import { rateOf, sizeOf } from './sentence.ts';

type Stream = ProbeReport['streams'][number];

const rateIn = ({ average = 0 }: { average?: number } = {}): string => (average === 0 ? '' : kilobits(average));

function pictureOrSound(stream: Stream): string {
  const { scan_type: scan, sample_rate: samples, channels } = stream;
  return joined(', ', [
    sizeOf(stream),
    rateOf(stream),
    scan,
    samples !== undefined && `${count(samples)} Hz`,
    channels !== undefined && several(channels, 'channel'),
  ]);
}

function pixels({ pixel_format: format, color, hdr, captions, bit_depth: depth }: Stream): string {
  return joined(', ', [
    format?.chroma_subsampling,
    (format?.bit_depth ?? depth) !== undefined && `${format?.bit_depth ?? depth} bit`,
    color?.primaries,
    color?.transfer,
    color?.range !== undefined && `range ${color.range}`,
    ...(hdr?.formats ?? []),
    hdr?.dolby_vision_profile !== undefined && `profile ${hdr.dolby_vision_profile}`,
    hdr?.max_cll !== undefined && `at most ${hdr.max_cll} cd/m²`,
    captions && joined(' ', ['captions', ...captions.map(({ service }) => service)]),
  ]);
}

const codecOf = ({ codec }: Stream): string => joined(' ', [codec?.name, codec?.profile, codec?.level]);

export function Overview({ report }: { report: ProbeReport }) {
  const { container, warnings } = report;
  const facts = [
    ['Format', container.format],
    ['Duration', container.duration === undefined ? undefined : `${container.duration} s`],
    ['Size', container.size === undefined ? undefined : said(bytes(container.size))],
    ['Bit rate', rateIn(container.bitrate)],
    ['Title', container.title],
    ['Written by', container.encoder],
    ['Brand', container.brand],
    ['Time code', container.timecode],
    ['Index before the media', container.streamable === undefined ? undefined : container.streamable ? 'yes' : 'no'],
    ['Chapters', container.chapters === undefined ? undefined : String(container.chapters.length)],
  ] as const;
  return (
    <>
      {warnings.length > 0 && (
        <ul class="warnings" aria-label="Warnings">
          {warnings.map(({ code, message, path }) => (
            <li key={`${code} ${path}`}>
              <span aria-hidden="true">⚠</span> <Stranger text={message} />{' '}
              <span class="unit">{joined(', ', [code, path])}</span>
            </li>
          ))}
        </ul>
      )}
      <Facts facts={facts} />
    </>
  );
}

// Tracks: a row for each, with a lane that shows when it begins and ends beside the others.

const MOST_TRACKS = 12;

interface Span {
  from: number;
  to: number;
}

function spanOf({ start_time: from = 0, duration, attached_picture: cover }: Stream): Span | null {
  return duration === undefined || cover === true ? null : { from, to: from + duration };
}

const percent = (share: number): string => `${Math.round(share * 1_000) / 10}%`;

function Lane({ span, whole }: { span: Span; whole: Span }) {
  const length = Math.max(0.001, whole.to - whole.from);
  return (
    <span class="lane">
      <span
        style={{ left: percent((span.from - whole.from) / length), width: percent((span.to - span.from) / length) }}
      />
      <span class="unseen">
        {span.from.toFixed(2)} s to {span.to.toFixed(2)} s
      </span>
    </span>
  );
}

export function Tracks({ report: { streams, container } }: { report: ProbeReport }) {
  const spans = streams.map(spanOf);
  const timed = spans.filter((span) => span !== null);
  const whole = {
    from: Math.min(0, ...timed.map(({ from }) => from)),
    to: Math.max(container.duration ?? 0, ...timed.map(({ to }) => to)),
  };
  if (streams.length === 0) return null;
  return (
    <ul class="tracks" aria-label="Tracks">
      {streams.slice(0, MOST_TRACKS).map((stream, at) => (
        <li key={stream.index} class={stream.type}>
          <span>
            <span class="unit">{stream.index}</span> {stream.attached_picture === true ? 'cover' : stream.type}
          </span>
          <strong>
            <Stranger text={codecOf(stream)} most={60} />
          </strong>
          <span class="what">
            <Stranger
              text={joined(', ', [pictureOrSound(stream), pixels(stream), stream.language, stream.title])}
              most={120}
            />
          </span>
          {spans[at] ? <Lane span={spans[at]} whole={whole} /> : <span />}
          <span class="right">{rateIn(stream.bitrate)}</span>
        </li>
      ))}
      {streams.length > MOST_TRACKS && (
        <li>
          <span class="unit">{several(streams.length - MOST_TRACKS, 'further track')}</span>
        </li>
      )}
    </ul>
  );
}
