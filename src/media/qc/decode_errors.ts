/**
 * Decode errors, from what ffprobe prints of packets, of the frames that came of them, and of the log of its decoders
 * beside each frame. ffprobe decodes with one thread for it, so that what is printed after a packet is of that packet.
 */
import { printable } from '../../base/printable.ts';
import { LONGEST_MESSAGE, MOST_ERRORS } from './limits.ts';
import type { QcErrors } from './schema.ts';

/** Of ffprobe. Checksums of FLAC, MPEG audio and HEVC are compared only with `crccheck`; those of FFV1 always. */
export const ERROR_OPTIONS: Readonly<Record<string, string>> = {
  output_format: 'compact',
  show_entries: 'packet=stream_index,pts_time,dts_time,pos,flags:frame=stream_index,pkt_pos:log=level,message',
  show_log: 'error',
  err_detect: 'crccheck+bitstream+buffer',
};

/**
 * Codecs of which every packet is a frame. Others have packets that are not shown (VP8), are fields (interlaced H.264)
 * or hold several frames and none.
 */
const ONE_FOR_ONE =
  /^(?:aac|e?ac3|alac|flac|mp[123]|opus|vorbis|wavpack|pcm_\w+|h264|hevc|av1|mpeg[12]video|ffv1|ffvhuff|huffyuv|mjpeg|prores|dnxhd|jpeg2000|v210|rawvideo|dvvideo|utvideo)$/;
/** Two fields, each a packet of its own, become one frame. Of HEVC each becomes a frame. */
const BY_FIELD = 'h264';

/** Decoders hold back no more pictures than this. */
const MOST_HELD = 64;

export interface ErrorStream {
  index: number;
  type: 'video' | 'audio';
  codec: string;
  interlaced: boolean;
}

interface Packet {
  at: number | null;
  /** Null: it begins in the middle of what carries it. */
  pos: number | null;
  byte: number | null;
  /** Of a picture that refers to one before the beginning of the stream. */
  leading: boolean;
  isWrong: boolean;
}

/** As `[png @ 0x55d5c8a0] [IMGUTILS @ 0x7ffc8a0] `: another address each time, in some builds without 0x. */
const LOGGERS = /^(?:\[[^\]]* @ (?:0x)?[0-9a-f]+\]\s*)+/;
export const withoutLoggers = (line: string): string => line.replace(LOGGERS, '').trim();

const numberIn = (text: string | undefined): number | null =>
  text !== undefined && /^-?\d{1,15}(?:\.\d{1,9})?$/.test(text) ? Number(text) : null;

/** Packets of one stream that are wrong. */
class StreamErrors {
  packets = 0;
  frames = 0;
  #count = 0;
  readonly #list: QcErrors['list'] = [];
  readonly #waiting: Packet[] = [];
  #last: Packet | undefined;
  #begins: number | undefined;
  readonly #isCounted: boolean;
  readonly #isVideo: boolean;

  constructor({ type, codec, interlaced }: ErrorStream) {
    this.#isVideo = type === 'video';
    this.#isCounted = ONE_FOR_ONE.test(codec) && !(interlaced && codec === BY_FIELD);
  }

  packet(fields: ReadonlyMap<string, string>): void {
    const flags = fields.get('flags') ?? '';
    const at = numberIn(fields.get('pts_time')) ?? numberIn(fields.get('dts_time'));
    if (flags.includes('K')) this.#begins ??= at ?? Number.NEGATIVE_INFINITY;
    const leading = this.#isVideo && (this.#begins === undefined || (at !== null && at < this.#begins));
    const pos = numberIn(fields.get('pos'));
    const packet = { at, pos, byte: pos ?? this.#last?.byte ?? null, leading, isWrong: false };
    this.packets += 1;
    this.#last = packet;
    if (flags.includes('C')) this.#wrong(packet, 'the container marks it as corrupt');
    if (this.#isCounted && !flags.includes('D')) this.#waiting.push(packet);
    // Sound comes at once.
    while (this.#waiting.length > (this.#isVideo ? MOST_HELD : 1)) this.#lost(this.#waiting.shift()!);
  }

  frame(pos: number | null): void {
    this.frames += 1;
    const at = this.#waiting.findLastIndex((packet) => packet.pos === pos);
    if (at !== -1) this.#waiting.splice(at, 1);
  }

  log(message: string): void {
    if (message !== '' && this.#last) this.#wrong(this.#last, printable(message, LONGEST_MESSAGE).trim());
  }

  #lost(packet: Packet): void {
    // What comes before the first frame may only prepare the decoder.
    if (this.frames > 0) this.#wrong(packet, 'not decoded');
  }

  #wrong(packet: Packet, what: string): void {
    if (packet.isWrong || packet.leading) return;
    packet.isWrong = true;
    this.#count += 1;
    if (this.#list.length < MOST_ERRORS) this.#list.push({ at: packet.at, byte: packet.byte, what });
  }

  /** `whole`: all that was held back came out. The last sound may be padding, which is left out. */
  told(whole: boolean): QcErrors {
    if (whole && this.#isVideo) for (const packet of this.#waiting.splice(0)) this.#lost(packet);
    const list = this.#list.toSorted((a, b) => (a.byte ?? 0) - (b.byte ?? 0));
    return { count: this.#count, list, more: this.#count - list.length };
  }
}

/** Longer lines are cut: a message may be of any length. */
const LONGEST_PRINTED = 2_048;

/** Reads while ffprobe prints; what is held is bounded. */
export function errorGatherer(streams: readonly ErrorStream[]) {
  const all = new Map(streams.map((stream) => [stream.index, new StreamErrors(stream)]));
  let [begun, until] = ['', null as number | null];
  let current: StreamErrors | undefined;

  const fieldsIn = (text: string): Map<string, string> =>
    new Map(
      text.split('|').flatMap((part) => {
        const at = part.indexOf('=');
        return at === -1 ? [] : [[part.slice(0, at), part.slice(at + 1)] as const];
      }),
    );
  const logged = (text: string): void => {
    const message = fieldsIn(text).get('message')?.replaceAll('\\n', ' ');
    if (message) current?.log(withoutLoggers(message));
  };
  const take = (line: string): void => {
    // 4.4 and earlier print nothing between the frame and its log.
    const [first = '', ...logs] = line.replaceAll('\\|', '/').split(/\|?log\|(?=level=)/);
    const fields = fieldsIn(first);
    const index = numberIn(fields.get('stream_index'));
    if (index !== null) current = all.get(index);
    if (first.startsWith('packet|')) {
      current?.packet(fields);
      if (current) until = numberIn(fields.get('pts_time')) ?? until;
    } else if (first.startsWith('frame|')) current?.frame(numberIn(fields.get('pkt_pos')));
    for (const log of logs) logged(log);
  };
  return {
    push(bytes: Buffer): void {
      const lines = (begun + bytes.toString('latin1')).split('\n');
      begun = lines.pop()!.slice(0, LONGEST_PRINTED);
      for (const line of lines) take(line.slice(0, LONGEST_PRINTED));
    },
    /** The time of the last packet. */
    until: (): number | null => until,
    told: (index: number, whole: boolean) => {
      const { packets = 0, frames = 0 } = all.get(index) ?? {};
      return { packets, frames, errors: all.get(index)!.told(whole) };
    },
  };
}
