/** The schema of what content checks keep to be looked at: small pictures, and the course of the sound. */
import Type, { type Static } from 'typebox';
import { count, described, eitherOrNull, titled } from '../../base/schema_parts.ts';
import { MOST_AUDIO, MOST_PEAKS, MOST_PICTURE_BYTES, MOST_PICTURES, PICTURE_SIDE } from './limits.ts';

const base64Of = (bytes: number): number => Math.ceil(bytes / 3) * 4;
const side = (description: string) => Type.Integer({ minimum: 2, maximum: PICTURE_SIDE, description });

const Picture = titled('QcPicture', {
  at: Type.Number({ minimum: 0, description: 'Its time in the stream, in seconds.' }),
  jpeg: Type.String({
    // Each JPEG begins so.
    pattern: '^/9j/[A-Za-z0-9+/]+={0,2}$',
    maxLength: base64Of(MOST_PICTURE_BYTES),
    description: `The picture as JPEG in base64: at most ${MOST_PICTURE_BYTES} bytes.`,
  }),
});

const Video = described('QcPicturesVideo', 'Pictures of the checked video stream, as stored: not turned.', {
  stream: count('Index of the stream.'),
  width: side('Pixels.'),
  height: side('Pixels.'),
  list: Type.Array(Picture, {
    maxItems: MOST_PICTURES,
    description: `In the order of their times, ${MOST_PICTURES} at most. One that is too large is left out.`,
  }),
});

const Waveform = described('QcWaveform', 'How loud a checked audio stream is over time.', {
  stream: count('Index of the stream.'),
  step: Type.Number({ exclusiveMinimum: 0, description: 'Seconds that each value is of.' }),
  peaks: Type.String({
    pattern: '^[A-Za-z0-9+/]*={0,2}$',
    maxLength: base64Of(MOST_PEAKS),
    description:
      `The largest sample of each step from the start of the stream, of all channels: one byte each, 255 for full ` +
      `scale. At most ${MOST_PEAKS} bytes, in base64.`,
  }),
});

export const QcPicturesSchema = described('QcPictures', 'Small pictures of the content, and the course of the sound.', {
  video: eitherOrNull(Video, 'Null: no video stream of known size was checked, or no picture could be kept.'),
  audio: Type.Array(Waveform, { maxItems: MOST_AUDIO, description: 'Of each checked audio stream.' }),
});

export type QcPictures = Static<typeof QcPicturesSchema>;
export type QcWaveform = Static<typeof Waveform>;
