/** What the pictures and the sound are like: findings with their times, and how loud each stream is. */
import type { QcReport } from '../../api_types.ts';
import { several } from '../parts/figures.ts';
import { Empty } from '../parts/states.tsx';
import { countColumn, Table, type Column } from '../parts/table.tsx';
import { Stranger } from '../parts/values.tsx';

type Video = QcReport['video'][number];
type Audio = QcReport['audio'][number];
type Stream = Video | Audio;
type Event = Video['black']['list'][number];

interface Finding {
  check: string;
  stream: number;
  /** None: it has no time. */
  event?: Event;
  more?: string;
}

const secondsOf = (time: number): string => `${time.toFixed(2)} s`;
const levelOf = (level: number | null, unit: string): string => (level === null ? '–' : `${level.toFixed(1)} ${unit}`);

const passages = (check: string, stream: number, { list, more }: Video['black']): Finding[] => [
  ...list.map((event) => ({ check, stream, event })),
  ...(more === 0 ? [] : [{ check, stream, more: `${several(more, 'further finding')} not listed` }]),
];

const differing = ({ stream, decoded, declared, duration_differs: differs }: Stream): Finding[] =>
  differs && decoded !== null && declared !== null
    ? [{ check: 'duration', stream, more: `${secondsOf(decoded)} decoded, ${secondsOf(declared)} declared` }]
    : [];

const clipped = ({ stream, clipping, sample_peak: peak }: Audio): Finding[] =>
  clipping ? [{ check: 'clipping', stream, more: `peaks at ${levelOf(peak, 'dBFS')}` }] : [];

const findingsOf = ({ video, audio }: QcReport): Finding[] => [
  ...video.flatMap((one) => [
    ...passages('black', one.stream, one.black),
    ...passages('freeze', one.stream, one.freeze),
    ...differing(one),
  ]),
  ...audio.flatMap((one) => [...passages('silence', one.stream, one.silence), ...clipped(one), ...differing(one)]),
];

const timeColumn = (title: string, of: (event: Event) => number): Column<Finding> => ({
  title,
  text: ({ event }) => (event ? secondsOf(of(event)) : ''),
  right: true,
});
const FINDINGS: readonly Column<Finding>[] = [
  { title: 'Finding', text: ({ check }) => check },
  countColumn('Stream', ({ stream }) => stream),
  timeColumn('From', ({ from }) => from),
  timeColumn('To', ({ to }) => to),
  timeColumn('Lasts', ({ from, to }) => to - from),
  { title: 'More', text: ({ event, more = '' }) => (event?.to_end ? 'to the end' : more) },
];

const levelColumn = (title: string, unit: string, of: (audio: Audio) => number | null): Column<Audio> => ({
  title,
  text: (audio) => levelOf(of(audio), unit),
  right: true,
});
const SOUND: readonly Column<Audio>[] = [
  countColumn('Stream', ({ stream }) => stream),
  levelColumn('Integrated', 'LUFS', ({ loudness }) => loudness.integrated),
  levelColumn('Short-term maximum', 'LUFS', ({ loudness }) => loudness.short_term_max),
  levelColumn('Range', 'LU', ({ loudness }) => loudness.range),
  levelColumn('True peak', 'dBTP', ({ loudness }) => loudness.true_peak),
  levelColumn('Sample peak', 'dBFS', ({ sample_peak: peak }) => peak),
];

export function Content({ report }: { report: QcReport }) {
  const { video, audio, cut, until = null, not_checked: left } = report;
  return (
    <>
      <p class="lead">
        {several(video.length + audio.length, 'stream')} decoded
        {cut !== undefined && (
          <>
            {until === null ? '; cut short' : `; checked up to ${secondsOf(until)}, where it was cut short`} (
            <Stranger text={cut} most={120} />)
          </>
        )}
        .
      </p>
      <Table
        caption="Findings"
        columns={FINDINGS}
        rows={findingsOf(report)}
        keyOf={({ check, stream, event }) => `${check} ${stream} ${event?.from ?? 'more'}`}
      >
        <Empty title="Nothing was found">
          <p>No black, freeze, silence or clipping as asked for, and the durations are as declared.</p>
        </Empty>
      </Table>
      {audio.length > 0 && <Table caption="Sound" columns={SOUND} rows={audio} keyOf={({ stream }) => stream} />}
      {left.length > 0 && (
        <ul class="help" aria-label="Streams that were not checked">
          {left.map(({ stream, type, why }) => (
            <li key={stream}>
              Stream {stream} ({type}): <Stranger text={why} most={120} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
