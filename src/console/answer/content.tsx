/** What the pictures and the sound are like: findings with their times, and how loud each stream is. */
import type { QcReport } from '../../api_types.ts';
import { nearest } from '../../media/qc/drawn.ts';
import { fileWords, LEVELS, passagesIn, remarksIn, secondsWords } from '../../media/qc/words.ts';
import { several } from '../parts/figures.ts';
import { Await, Empty } from '../parts/states.tsx';
import { countColumn, strangerColumn, Table, type Column } from '../parts/table.tsx';
import { Stranger } from '../parts/values.tsx';
import { Strip, Thumbnail, usePictures, type Video } from './pictures.tsx';

type Audio = QcReport['audio'][number];
type Event = QcReport['video'][number]['black']['list'][number];

interface Finding {
  noun: string;
  stream: number | undefined;
  /** None: it has no time. */
  event?: Event;
  more?: string;
}

const findingsOf = (report: QcReport): Finding[] => [
  ...passagesIn(report).flatMap(({ noun, stream, list, more }): Finding[] => [
    ...list.map((event) => ({ noun, stream, event })),
    ...(more === 0 ? [] : [{ noun, stream, more: `${several(more, 'further finding')} not listed` }]),
  ]),
  ...remarksIn(report).map(({ noun, stream, text }) => ({ noun, stream, more: text })),
];

const timeColumn = (title: string, of: (event: Event) => number): Column<Finding> => ({
  title,
  text: ({ event }) => (event ? secondsWords(of(event)) : ''),
  right: true,
});
const FINDINGS: readonly Column<Finding>[] = [
  { title: 'Finding', text: ({ noun }) => noun },
  countColumn('Stream', ({ stream }) => stream),
  timeColumn('From', ({ from }) => from),
  timeColumn('To', ({ to }) => to),
  timeColumn('Lasts', ({ from, to }) => to - from),
  strangerColumn('More', ({ event, more }) => (event?.to_end ? 'to the end' : more), { none: '', most: 800 }),
];

const pictureColumn = (video: Video): Column<Finding> => ({
  title: 'Picture',
  text: ({ event }) => (event ? `at ${secondsWords(nearest(video, event.from).at)}` : ''),
  show: ({ event }) =>
    event && <Thumbnail of={nearest(video, event.from)} width={video.width / 2} height={video.height / 2} />,
});

const SOUND: readonly Column<Audio>[] = [
  countColumn('Stream', ({ stream }) => stream),
  ...LEVELS.map(({ title, text }) => ({ title, text: (audio: Audio) => text(audio) || '–', right: true })),
];

export function Content({ report, id }: { report: QcReport; id: string }) {
  const { video, audio, cut, until = null, not_checked: left, pictures: kept } = report;
  const asked = usePictures(id, kept !== undefined);
  const pictured = asked.data?.video;
  const file = fileWords(report.file);
  return (
    <>
      <p class="lead">
        {several(video.length + audio.length, 'stream')} decoded
        {cut !== undefined && (
          <>
            {until === null ? '; cut short' : `; checked up to ${secondsWords(until)}, where it was cut short`} (
            <Stranger text={cut} most={120} />)
          </>
        )}
        .{file !== undefined && ` The file: ${file}.`}
      </p>
      {kept !== undefined && (
        <Await asked={asked} what="the pictures">
          {(pictures) => pictures && <Strip pictures={pictures} />}
        </Await>
      )}
      <Table
        caption="Findings"
        columns={pictured ? [...FINDINGS, pictureColumn(pictured)] : FINDINGS}
        rows={findingsOf(report)}
        keyOf={({ noun, stream, event }) => `${noun} ${stream} ${event?.from ?? 'more'}`}
      >
        <Empty title="Nothing was found">
          <p>No check has a finding as asked for, and the durations are as declared.</p>
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
