/** What the pictures and the sound are like: findings with their times, and how loud each stream is. */
import { useState, useEffect, useRef } from 'preact/hooks';
import type { QcReport, QcWaived, Pictures } from '../../api_types.ts';
import { waivedWords } from '../../base/waived.ts';
import { nearest, bytesIn, waveformPath } from '../../media/qc/drawn.ts';
import { fileWords, LEVELS, passagesIn, remarksIn, secondsWords, waivableOf } from '../../media/qc/words.ts';
import { call } from '../api/client.ts';
import { AskFirst } from '../parts/dialog.tsx';
import { several } from '../parts/figures.ts';
import { Field, textIn } from '../parts/form.tsx';
import { Await, Empty } from '../parts/states.tsx';
import { countColumn, strangerColumn, Table, type Column } from '../parts/table.tsx';
import { Stranger } from '../parts/values.tsx';
import { withAnyToken } from '../parts/with_token.tsx';
import { useAsked, type Asked } from '../api/use_call.ts';

// What content checks kept to be looked at: a strip of pictures, and the course of the sound.

type Video = Pictures['video'] & object;
type Picture = Video['list'][number];

/** Null: none were asked for. */
const usePictures = (id: string, areAskedFor: boolean): Asked<Pictures | null> =>
  useAsked(`pictures ${id} ${areAskedFor}`, async (signal) =>
    areAskedFor
      ? withAnyToken((bearer) => call('GET /v1/probe/:id/pictures', { params: { id }, bearer, signal }))
      : null,
  );

/** The page's rules allow no image of a text, so it is drawn. */
function Thumbnail({ of: { at, jpeg }, width, height }: { of: Picture } & Pick<Video, 'width' | 'height'>) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    let isGone = false;
    createImageBitmap(new Blob([bytesIn(jpeg)], { type: 'image/jpeg' })).then(
      (bitmap) => {
        if (!isGone) canvas.current?.getContext('2d')?.drawImage(bitmap, 0, 0, width, height);
        bitmap.close();
      },
      // It is of a file that may hold anything: what is no picture stays empty.
      () => {},
    );
    return () => {
      isGone = true;
    };
  }, [jpeg]);
  return <canvas ref={canvas} width={width} height={height} role="img" aria-label={`Picture at ${secondsWords(at)}`} />;
}

const [WIDTH, HEIGHT] = [800, 48];

function Strip({ pictures: { video, audio } }: { pictures: Pictures }) {
  return (
    <>
      {video && (
        <ol class="strip" aria-label="Pictures">
          {video.list.map((picture, index) => (
            <li key={index}>
              <Thumbnail of={picture} width={video.width} height={video.height} />
              <span class="unit">{secondsWords(picture.at)}</span>
            </li>
          ))}
        </ol>
      )}
      {audio.map(({ stream, step, peaks }) => {
        const values = bytesIn(peaks);
        const words = `Sound of stream ${stream}, ${secondsWords(values.length * step)}`;
        return (
          <figure class="waveform" key={stream}>
            <figcaption class="unit">{words}</figcaption>
            <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={words}>
              <path d={waveformPath(values, WIDTH, HEIGHT)} />
            </svg>
          </figure>
        );
      })}
    </>
  );
}

type Audio = QcReport['audio'][number];
type Event = QcReport['video'][number]['black']['list'][number];

interface Finding {
  noun: string;
  stream: number | undefined;
  /** None: it has no time. */
  event?: Event;
  more?: string;
  /** Of one that can be waived. */
  check?: Check;
}
type Check = QcWaived['check'];

const findingsOf = (report: QcReport): Finding[] => [
  ...passagesIn(report).flatMap(({ check, noun, stream, list, more }): Finding[] => [
    ...list.map(({ detail, ...event }) => ({ check, noun, stream, event, ...(detail ? { more: detail } : {}) })),
    ...(more === 0 ? [] : [{ noun, stream, more: `${several(more, 'further finding')} not listed` }]),
  ]),
  ...remarksIn(report).map((remark): Finding => {
    const { noun, stream, text, range } = remark;
    const check = waivableOf(remark)?.check;
    const event = range && { ...range, to_end: false };
    return { noun, stream, more: text, ...(check ? { check } : {}), ...(event ? { event } : {}) };
  }),
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
  strangerColumn('More', ({ event, more }) => [event?.to_end ? 'to the end' : [], more ?? []].flat().join('; '), {
    none: '',
    most: 800,
  }),
];

const pictureColumn = (video: Video): Column<Finding> => ({
  title: 'Picture',
  text: ({ event }) => (event ? `at ${secondsWords(nearest(video, event.from).at)}` : ''),
  show: ({ event }) =>
    event && <Thumbnail of={nearest(video, event.from)} width={video.width / 2} height={video.height / 2} />,
});

type Accepted = Pick<QcWaived['waived'], 'reason' | 'by' | 'until'>;
const placeOf = (...parts: readonly (string | number | null | undefined)[]): string => parts.join(' ');
const placeOfFinding = ({ check, stream, event }: Finding): string => placeOf(check, stream, event?.from, event?.to);

const DAY_MS = 86_400_000;
const dayAhead = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);

function Waive({ finding, id, done }: { finding: Finding; id: string; done: (accepted: Accepted) => void }) {
  const { check, noun, stream, event } = finding;
  async function work(values: FormData): Promise<void> {
    const range = event ? { from: event.from, to: event.to } : {};
    const [reason, until] = [textIn(values, 'reason'), textIn(values, 'until')];
    const body = { request_id: id, check: check!, stream: stream!, ...range, reason, until };
    done(await withAnyToken((bearer) => call('POST /v1/waivers', { body, bearer })));
  }
  return (
    <AskFirst
      button="Waive"
      kind="small"
      label={`Waive ${noun} in stream ${stream}${event ? ` from ${secondsWords(event.from)}` : ''}`}
      title={`Waive ${noun} in stream ${stream}?`}
      submit="Waive"
      work={work}
    >
      <p>It no longer counts in results of this source, until the date. The report stays as it is.</p>
      <Field name="reason" label="Reason" required maxLength={500} />
      <Field name="until" label="Until" type="date" required value={dayAhead(90)} />
    </AskFirst>
  );
}

/** What is waived, and a button at what is not. */
function useWaivers(waived: readonly QcWaived[], id: string): Column<Finding> {
  const [made, setMade] = useState<readonly (readonly [string, Accepted])[]>([]);
  const known = waived.map(
    ({ check, stream, from, to, waived: by }) => [placeOf(check, stream, from, to), by] as const,
  );
  const accepted = new Map<string, Accepted>([...known, ...made]);
  const words = (finding: Finding): string => {
    const found = accepted.get(placeOfFinding(finding));
    return found ? waivedWords(found) : '';
  };
  return {
    title: 'Waiver',
    text: words,
    show: (finding) => {
      if (words(finding) !== '') return <Stranger text={words(finding)} most={120} />;
      if (finding.check === undefined) return null;
      const done = (by: Accepted): void => setMade([...made, [placeOfFinding(finding), by]]);
      return <Waive finding={finding} id={id} done={done} />;
    },
  };
}

const SOUND: readonly Column<Audio>[] = [
  countColumn('Stream', ({ stream }) => stream),
  ...LEVELS.map(({ title, text }) => ({ title, text: (audio: Audio) => text(audio) || '–', right: true })),
];

export function Content({ report, waived, id }: { report: QcReport; waived: readonly QcWaived[]; id: string }) {
  const { video, audio, cut, until = null, not_checked: left, pictures: kept } = report;
  const waiver = useWaivers(waived, id);
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
        columns={[...FINDINGS, ...(pictured ? [pictureColumn(pictured)] : []), waiver]}
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
