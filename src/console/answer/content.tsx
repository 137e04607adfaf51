/** What the pictures and the sound are like: findings with their times, and how loud each stream is. */
import { useState, useEffect, useRef } from 'preact/hooks';
import type { QcReport, QcWaived, Pictures } from '../../api_types.ts';
import {
  contentLead,
  type Finding,
  FINDING_COLUMNS,
  findingsOf,
  NOTHING_FOUND,
  streamsOf,
} from '../../media/answer/content.ts';
import { waivedWords } from '../../base/waived.ts';
import { nearest, bytesIn, waveformPath } from '../../media/qc/drawn.ts';
import { secondsWords } from '../../media/qc/words.ts';
import { call } from '../api/client.ts';
import { AskFirst } from '../parts/dialog.tsx';
import { Field, textIn } from '../parts/form.tsx';
import { Await } from '../parts/states.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Stranger } from '../parts/values.tsx';
import { withAnyToken } from '../parts/with_token.tsx';
import { useAsked, type Asked } from '../api/use_call.ts';
import { AnswerParts, NothingThere, shownColumn } from './section.tsx';

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

export function Content({ report, waived, id }: { report: QcReport; waived: readonly QcWaived[]; id: string }) {
  const asked = usePictures(id, report.pictures !== undefined);
  const waiver = useWaivers(waived, id);
  const pictured = asked.data?.video;
  return (
    <>
      <AnswerParts parts={[contentLead(report)]} />
      {report.pictures !== undefined && (
        <Await asked={asked} what="the pictures">
          {(pictures) => pictures && <Strip pictures={pictures} />}
        </Await>
      )}
      <Table
        caption="Findings"
        columns={[...FINDING_COLUMNS.map(shownColumn), ...(pictured ? [pictureColumn(pictured)] : []), waiver]}
        rows={findingsOf(report)}
        keyOf={({ noun, stream, event }) => `${noun} ${stream} ${event?.from ?? 'more'}`}
      >
        <NothingThere {...NOTHING_FOUND} />
      </Table>
      <AnswerParts parts={streamsOf(report)} />
    </>
  );
}
