/**
 * Which captions the pictures of a video carry: channels of CEA-608 and services of CEA-708, read from the packets that
 * ffprobe prints (`-show_data`), which none of its other outputs names. Nothing is decoded.
 */
import { NOTHING_ELSE } from '../tools/ffprobe_options.ts';
import type { Caption } from './side.ts';

/** A caption of a channel that is in use comes within seconds. */
const SECONDS = 10;
/** Of the video at most: a far one is read for it. */
const MOST_BITS = 16_000_000;
/** Of a video whose rate is not known. */
const USUAL_RATE = 8_000_000;
/** Of printed lines, four times as long as the packets: the rate of a moment may be above that of the file. */
export const MOST_PRINTED = 32 * 1024 * 1024;
/** A larger packet is cut: captions stand before the picture. */
const MOST_OF_A_PACKET = 64 * 1024;
const MOST_PICTURES = 60 * SECONDS;
/** Two fields have one each. */
const MOST_PLACES = 4;

const packets = (stream: string, read_intervals: string): Record<string, string> => ({
  ...NOTHING_ELSE,
  output_format: 'default',
  show_packets: 'true',
  show_data: 'true',
  show_entries: 'packet=pts_time,data',
  select_streams: stream,
  read_intervals,
});

/** Where a video has captions, each of its pictures has a place for them. */
export const firstPackets = (stream: string): Record<string, string> => packets(stream, '%+#8');

/** `rate`: bits per second of the whole source. */
export const captionOptions = (stream: string, rate = USUAL_RATE): Record<string, string> =>
  packets(stream, `%+${Math.min(SECONDS, MOST_BITS / Math.max(rate, 1)).toFixed(3)}`);

/** ATSC A/53: GA94, and the type of what follows. */
const CAPTION_DATA = Buffer.from('GA94\x03', 'latin1');
const LINE = /^[0-9a-f]{8}: ((?:[0-9a-f]{2,4} )+)/;

/** Three bytes for each construct: its type, and two of data. */
type Construct = readonly [type: number, first: number, second: number];
interface Picture {
  seconds: number;
  /** Has a place for captions, which may be empty. */
  carries: boolean;
  constructs: Construct[];
}

/** A byte that keeps two zeros from looking like the beginning of a unit is no part of the data. */
function withoutEscapes(bytes: Buffer): number[] {
  const plain: number[] = [];
  for (const byte of bytes) if (byte !== 3 || plain.at(-1) !== 0 || plain.at(-2) !== 0) plain.push(byte);
  return plain;
}

function readPacket(packet: Buffer): Omit<Picture, 'seconds'> {
  const found: Construct[] = [];
  let places = 0;
  for (let from = 0; places < MOST_PLACES; places++) {
    const at = packet.indexOf(CAPTION_DATA, from);
    if (at === -1) break;
    from = at + CAPTION_DATA.length;
    const [flags = 0, , ...data] = withoutEscapes(packet.subarray(from, from + 160));
    if ((flags & 0x40) === 0) continue;
    for (let index = 0; index < (flags & 0x1f); index++) {
      const [marker = 0, first, second] = data.slice(index * 3, index * 3 + 3);
      if (first === undefined || second === undefined) break;
      if ((marker & 0x04) !== 0) found.push([marker & 0x03, first, second]);
    }
  }
  return { carries: places > 0, constructs: found };
}

/** CEA-608: resume caption loading, roll-up of 2 to 4 rows, direct, end of caption; and those of its text mode. */
const MODES: Readonly<Record<number, 'CC' | 'T'>> = {
  0x20: 'CC',
  0x25: 'CC',
  0x26: 'CC',
  0x27: 'CC',
  0x29: 'CC',
  0x2f: 'CC',
  0x2a: 'T',
  0x2b: 'T',
};

/** The channel that a pair of bytes of one of the two fields selects. */
function channelOf(field: number, first: number, second: number): string | undefined {
  const command = first & 0x7f;
  if ((command & 0x76) !== 0x14) return undefined;
  const mode = MODES[second & 0x7f];
  return mode && `${mode}${field * 2 + ((command & 0x08) === 0 ? 1 : 2)}`;
}

/** The services of CEA-708 that have a block in a packet, of which `bytes` are those behind its header. */
function servicesIn(bytes: readonly number[]): number[] {
  const found: number[] = [];
  for (let at = 0; at < bytes.length;) {
    const head = bytes[at++]!;
    const size = head & 0x1f;
    let service = head >> 5;
    if (service === 7 && size > 0) service = (bytes[at++] ?? 0) & 0x3f;
    if (service === 0) break;
    if (size > 0 && at + size <= bytes.length) found.push(service);
    at += size;
  }
  return found;
}

/** Of pictures in the order in which they are shown. */
function captionsIn(pictures: readonly Picture[]): Caption[] {
  const found = new Map<string, Caption>();
  const see = (kind: 'cea-608' | 'cea-708', service: string, seconds: number): void => {
    const key = `${kind} ${service}`;
    if (!found.has(key)) found.set(key, { kind, service, first_time: seconds });
  };
  let packet: number[] | undefined;
  let size = 0;
  for (const { seconds, constructs } of pictures)
    for (const [type, first, second] of constructs) {
      if (type < 2) {
        const channel = channelOf(type, first, second);
        if (channel !== undefined) see('cea-608', channel, seconds);
        continue;
      }
      if (type === 3) {
        packet = [second];
        size = (first & 0x3f || 64) * 2 - 1;
      } else packet?.push(first, second);
      if (!packet || packet.length < size) continue;
      for (const service of servicesIn(packet.slice(0, size))) see('cea-708', String(service), seconds);
      packet = undefined;
    }
  return [...found.values()].toSorted((a, b) => (`${a.kind} ${a.service}` < `${b.kind} ${b.service}` ? -1 : 1));
}

export interface CaptionsRead {
  /** `a53` alone: there is a place for captions, and none that can be told came in this time. */
  captions: Caption[];
  /** Between the first and the last picture that was looked at. */
  seconds: number;
}

/** Reads while ffprobe prints; whatever it prints, what is held is bounded. */
export function captionGatherer(): { push(bytes: Buffer): void; told(): CaptionsRead } {
  const pictures: Picture[] = [];
  let rest = '';
  let seconds: number | undefined;
  let data: Buffer[] = [];
  let held = 0;
  const line = (text: string): void => {
    const hex = held < MOST_OF_A_PACKET ? LINE.exec(text)?.[1] : undefined;
    if (hex !== undefined) {
      data.push(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
      held += 16;
    } else if (text === '[PACKET]') [seconds, data, held] = [undefined, [], 0];
    else if (text.startsWith('pts_time=')) seconds = Number(text.slice('pts_time='.length));
    else if (text === '[/PACKET]' && seconds !== undefined && Number.isFinite(seconds))
      if (pictures.length < MOST_PICTURES) pictures.push({ seconds, ...readPacket(Buffer.concat(data)) });
  };
  return {
    push(bytes) {
      const lines = (rest + bytes.toString('latin1')).split('\n');
      rest = lines.pop()!.slice(0, 200);
      for (const one of lines) line(one);
    },
    told() {
      const shown = pictures.toSorted((a, b) => a.seconds - b.seconds);
      const [first, last] = [shown[0]?.seconds ?? 0, shown.at(-1)?.seconds ?? 0];
      const captions = captionsIn(shown);
      const place = shown.find(({ carries }) => carries);
      if (captions.length === 0 && place) captions.push({ kind: 'a53', first_time: place.seconds });
      return { captions, seconds: Math.round((last - first) * 1000) / 1000 };
    },
  };
}
