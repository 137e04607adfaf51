/** What content checks kept, as the console and the page of a report show it. */
import type { QcPictures } from './pictures_schema.ts';

export const bytesIn = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));

type Video = QcPictures['video'] & object;

export const nearest = ({ list }: Pick<Video, 'list'>, time: number): Video['list'][number] =>
  list.reduce((best, one) => (Math.abs(one.at - time) < Math.abs(best.at - time) ? one : best));

const rounded = (value: number): number => Math.round(value * 10) / 10;

/** An area around the middle, a column for each value. */
export function waveformPath(peaks: Uint8Array, width: number, height: number): string {
  const column = width / Math.max(1, peaks.length);
  const columns = Array.from(peaks, (peak, at) => {
    const tall = Math.max(1, rounded((peak / 255) * height));
    return `M${rounded(at * column)} ${rounded((height - tall) / 2)}h${rounded(column)}v${tall}h${-rounded(column)}z`;
  });
  return columns.join('');
}
