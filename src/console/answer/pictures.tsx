/** What content checks kept to be looked at: a strip of pictures, and the course of the sound. */
import { useEffect, useRef } from 'preact/hooks';
import type { Pictures } from '../../api_types.ts';
import { secondsWords } from '../../media/qc/words.ts';
import { bytesIn, waveformPath } from '../../media/qc/drawn.ts';
import { call } from '../api/client.ts';
import { useAsked, type Asked } from '../api/use_call.ts';
import { withAnyToken } from '../parts/with_token.tsx';

export type Video = Pictures['video'] & object;
type Picture = Video['list'][number];

/** Null: none were asked for. */
export const usePictures = (id: string, areAskedFor: boolean): Asked<Pictures | null> =>
  useAsked(`pictures ${id} ${areAskedFor}`, async (signal) =>
    areAskedFor
      ? withAnyToken((bearer) => call('GET /v1/probe/:id/pictures', { params: { id }, bearer, signal }))
      : null,
  );

/** The page's rules allow no image of a text, so it is drawn. */
export function Thumbnail({ of: { at, jpeg }, width, height }: { of: Picture } & Pick<Video, 'width' | 'height'>) {
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

export function Strip({ pictures: { video, audio } }: { pictures: Pictures }) {
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
