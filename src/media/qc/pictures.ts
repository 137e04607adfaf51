/**
 * Small pictures, made in the same decode as the checks: the arguments that write them into a file of the tools'
 * container and print it afterwards, and its reader. They come from hostile media through an encoder that read them, so
 * nothing here decodes one.
 */
import { MOST_PICTURE_BYTES, MOST_PICTURES, PICTURE_SIDE } from './limits.ts';
import type { QcStream } from './graph.ts';
import type { QcPictures } from './pictures_schema.ts';

/** In the tool's own folder, which is emptied with the job. */
const FILE = 'file:pictures';
/** Seconds between pictures of a stream that declares no duration. */
const STEP_S = 10;
/** Of the encoder: 160 x 90 pixels take some 3 kB. */
const QUALITY = '5';

interface Size {
  width: number;
  height: number;
}

/** Not larger than the picture is, and even: colours are of two by two pixels. */
export function pictureSize({ size: [width, height] = [0, 0, 8] }: QcStream): Size {
  const scale = Math.min(1, PICTURE_SIDE / Math.max(width, height, 1));
  const even = (pixels: number): number => Math.max(2, Math.round((pixels * scale) / 2) * 2);
  return { width: even(width), height: even(height) };
}

/**
 * An output of its own with a graph of its own: in the graph of the checks, frames would queue while the next picture
 * is waited for. The muxer writes the time and length of each picture before it.
 */
export function pictureArgs(stream: QcStream): string[] {
  const { index, declared } = stream;
  const { width, height } = pictureSize(stream);
  const step = (declared ?? 0) > 0 ? declared! / MOST_PICTURES : STEP_S;
  const next = `gte(t-if(isnan(prev_selected_t),-1e9,prev_selected_t),${step.toFixed(6)})`;
  const filter = `select='${next}',scale=${width}:${height}:flags=area,setsar=1,format=yuvj420p`;
  const taking = ['-map', `0:${index}`, '-filter:v', filter, '-fps_mode', 'passthrough'];
  const coding = ['-frames:v', String(MOST_PICTURES), '-c:v', 'mjpeg', '-q:v', QUALITY, '-threads:v', '1'];
  return [...taking, ...coding, '-map_metadata', '-1', '-flush_packets', '1', '-f', 'smjpeg', '-y', FILE];
}

/** Prints the file as it is. */
export const PRINT_PICTURES = ['-f', 'data', '-i', FILE, '-map', '0', '-c', 'copy', '-f', 'data', 'pipe:1'];

const MAGIC = Buffer.from('\0\nSMJPEG');
const HEAD_BYTES = 16;
const [START, END] = [Buffer.from([0xff, 0xd8]), Buffer.from([0xff, 0xd9])];
/** Of a segment with the size of the picture: baseline, extended, progressive. */
const SIZED = [0xc0, 0xc1, 0xc2];

/** By its first segments, each of which has its length: a browser takes room for the size that is told. */
function isOfSize(jpeg: Buffer, { width, height }: Size): boolean {
  for (let at = START.length; at + 9 <= jpeg.length && jpeg[at] === 0xff; at += 2 + jpeg.readUInt16BE(at + 2))
    if (SIZED.includes(jpeg[at + 1]!))
      return jpeg.readUInt16BE(at + 5) === height && jpeg.readUInt16BE(at + 7) === width;
  return false;
}

const isJpeg = (bytes: Buffer, size: Size): boolean =>
  bytes.length <= MOST_PICTURE_BYTES &&
  bytes.subarray(0, START.length).equals(START) &&
  bytes.subarray(-END.length).equals(END) &&
  isOfSize(bytes, size);

/** How many bytes precede the data of each part, of which the last four are its length. */
const PARTS: Readonly<Record<string, number>> = { _TXT: 8, _VID: 8, vidD: 12 };

/** A file that breaks off has the pictures before that. */
export function picturesIn(file: Buffer, size: Size): (QcPictures['video'] & object)['list'] {
  if (!file.subarray(0, MAGIC.length).equals(MAGIC)) return [];
  const list: ReturnType<typeof picturesIn> = [];
  for (let at = HEAD_BYTES; at + 4 <= file.length && list.length < MOST_PICTURES;) {
    const tag = file.toString('latin1', at, at + 4);
    if (tag === 'HEND') {
      at += 4;
      continue;
    }
    const from = at + (Object.hasOwn(PARTS, tag) ? PARTS[tag]! : Infinity);
    if (from > file.length) break;
    const to = from + file.readUInt32BE(from - 4);
    if (to > file.length) break;
    const jpeg = file.subarray(from, to);
    if (tag === 'vidD' && isJpeg(jpeg, size))
      list.push({ at: file.readUInt32BE(at + 4) / 1000, jpeg: jpeg.toString('base64') });
    at = to;
  }
  return list;
}
