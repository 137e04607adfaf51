/** RTMP splits its messages into chunks, so that a short one need not wait for a long one. */
import { Backlog } from '../backlog.ts';

export interface Message {
  type: number;
  stream: number;
  timestamp: number;
  body: Buffer;
}

interface Channel {
  timestamp: number;
  delta: number;
  length: number;
  type: number;
  stream: number;
  extended: boolean;
  body: Backlog;
}

const MOST_CHANNELS = 64;
const LONGEST_MESSAGE = 8 << 20;
/** Total size of all incomplete messages. */
const MOST_HELD = 16 << 20;
const LARGEST_CHUNK = 16 << 20;

export class RtmpProtocolError extends Error {}

/** Reassembles messages. */
export class ChunkReader {
  readonly #channels = new Map<number, Channel>();
  /** The beginning of a chunk header, at most 17 bytes: data after a header goes directly to its channel. */
  #rest: Buffer = Buffer.alloc(0);
  /** The channel of the current chunk, and the bytes that are missing. */
  #open: Channel | undefined;
  #left = 0;
  #chunkSize = 128;
  #held = 0;

  set chunkSize(size: number) {
    if (size < 1 || size > LARGEST_CHUNK) throw new RtmpProtocolError('chunk size');
    this.#chunkSize = size;
  }

  abort(channel: number): void {
    const known = this.#channels.get(channel);
    if (known) {
      this.#held -= known.body.length;
      known.body = new Backlog();
    }
  }

  /**
   * The messages completed by these bytes. Each is handled before the next is read, because it may change the chunk
   * size.
   */
  *read(piece: Buffer): Generator<Message> {
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    this.#rest = Buffer.alloc(0);
    for (let at = 0; ;) {
      if (this.#open === undefined) {
        const header = this.#header(bytes, at);
        if (header === 0) {
          this.#rest = Buffer.from(bytes.subarray(at));
          return;
        }
        at += header;
      }
      const channel = this.#open!;
      const size = Math.min(this.#left, bytes.length - at);
      channel.body.append(bytes, at, at + size);
      at += size;
      this.#left -= size;
      this.#held += size;
      if (this.#held > MOST_HELD) throw new RtmpProtocolError('too much at once');
      if (this.#left > 0) return;
      this.#open = undefined;
      if (channel.body.length < channel.length) continue;
      const { type, stream, timestamp, body } = channel;
      this.#held -= body.length;
      channel.body = new Backlog();
      yield { type, stream, timestamp, body: body.bytes };
    }
  }

  /** Starts the chunk at this position. Returns the length of its header; 0 if the header is incomplete. */
  #header(bytes: Buffer, from: number): number {
    const here = bytes.length - from;
    if (here < 1) return 0;
    const first = bytes[from]!;
    const format = first >> 6;
    let id = first & 63;
    let at = from + 1;
    if (id < 2) {
      if (here < 2 + id) return 0;
      id = id === 0 ? bytes[from + 1]! + 64 : bytes[from + 1]! + bytes[from + 2]! * 256 + 64;
      at = from + (first & 1 ? 3 : 2);
    }
    const head = [11, 7, 3, 0][format]!;
    if (bytes.length < at + head) return 0;
    const known = this.#channels.get(id);
    if (known === undefined && format !== 0 && format !== 1) throw new RtmpProtocolError('a chunk without a beginning');
    const channel: Channel = known ?? {
      timestamp: 0,
      delta: 0,
      length: 0,
      type: 0,
      stream: 0,
      extended: false,
      body: new Backlog(),
    };
    let time = format < 3 ? bytes.readUIntBE(at, 3) : undefined;
    const extended = time === undefined ? channel.extended : time === 0xffffff;
    const length = format < 2 ? bytes.readUIntBE(at + 3, 3) : channel.length;
    const type = format < 2 ? bytes[at + 6]! : channel.type;
    const stream = format === 0 ? bytes.readUInt32LE(at + 7) : channel.stream;
    at += head;
    if (extended) {
      if (bytes.length < at + 4) return 0;
      if (time !== undefined) time = bytes.readUInt32BE(at);
      at += 4;
    }
    if (length > LONGEST_MESSAGE) throw new RtmpProtocolError('message too long');
    if (length < channel.body.length) throw new RtmpProtocolError('a message changed its length');
    if (known === undefined) {
      if (this.#channels.size >= MOST_CHANNELS) throw new RtmpProtocolError('too many channels');
      this.#channels.set(id, channel);
    }
    if (channel.body.length === 0) {
      if (format === 0) channel.timestamp = time!;
      else {
        if (time !== undefined) channel.delta = time;
        channel.timestamp = (channel.timestamp + channel.delta) >>> 0;
      }
      if (format === 0) channel.delta = 0;
    }
    channel.length = length;
    channel.type = type;
    channel.stream = stream;
    channel.extended = extended;
    this.#open = channel;
    this.#left = Math.min(this.#chunkSize, length - channel.body.length);
    return at - from;
  }
}

/** Encodes an outgoing message, in the initial chunk size of 128 bytes. */
export function encodeMessage(channel: number, type: number, stream: number, body: Buffer): Buffer {
  const head = Buffer.alloc(12);
  head[0] = channel;
  head.writeUIntBE(body.length, 4, 3);
  head[7] = type;
  head.writeUInt32LE(stream, 8);
  const parts: Buffer[] = [head];
  for (let at = 0; at < body.length; at += 128) {
    if (at > 0) parts.push(Buffer.from([0xc0 | channel]));
    parts.push(body.subarray(at, at + 128));
  }
  return Buffer.concat(parts);
}
