/** Tracks of a file: a row for each, with a lane that shows when it begins and ends beside the others. */
import type { ProbeReport } from '../../api_types.ts';
import { codecWords, streamWords } from '../../media/answer/file_words.ts';
import { several } from '../parts/figures.ts';
import { Stranger } from '../parts/values.tsx';

type Stream = ProbeReport['streams'][number];

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
            <Stranger text={codecWords(stream)} most={60} />
          </strong>
          <span class="what">
            <Stranger text={streamWords(stream)} most={120} />
          </span>
          {spans[at] ? <Lane span={spans[at]} whole={whole} /> : <span />}
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
