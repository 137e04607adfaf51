/** RTMP cuts its messages into chunks, so that a short one need not wait for a long one. */

export type Message = { type: number; stream: number; timestamp: number; body: Buffer };

type Channel = { timestamp: number; delta: number; length: number; type: number; stream: number; extended: boolean; parts: Buffer[]; have: number };

const mostChannels = 64;
const longestMessage = 8 << 20;
/** Of all messages that are not whole yet. */
const mostHeld = 16 << 20;
const largestChunk = 16 << 20;

export class RtmpProtocolError extends Error {}

/** Puts messages together again. */
export class ChunkReader {
  readonly #channels = new Map<number, Channel>();
  #rest: Buffer = Buffer.alloc(0);
  #chunkSize = 128;
  #held = 0;

  set chunkSize(size: number) {
    if (size < 1 || size > largestChunk) throw new RtmpProtocolError('chunk size');
    this.#chunkSize = size;
  }

  abort(channel: number): void {
    const known = this.#channels.get(channel);
    if (known) {
      this.#held -= known.have;
      Object.assign(known, { parts: [], have: 0 });
    }
  }

  /** The messages that are whole with these bytes; each is used before the next is looked for, because it may change the chunk size. */
  *read(bytes: Buffer): Generator<Message> {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const taken = this.#chunk(this.#rest);
      if (taken === undefined) return;
      this.#rest = this.#rest.subarray(taken.length);
      if (taken.message) yield taken.message;
    }
  }

  #chunk(bytes: Buffer): { length: number; message: Message | undefined } | undefined {
    if (bytes.length < 1) return undefined;
    const format = bytes[0]! >> 6;
    let id = bytes[0]! & 63;
    let at = 1;
    if (id < 2) {
      if (bytes.length < 2 + id) return undefined;
      id = id === 0 ? bytes[1]! + 64 : bytes[1]! + bytes[2]! * 256 + 64;
      at = bytes[0]! & 1 ? 3 : 2;
    }
    const head = [11, 7, 3, 0][format]!;
    if (bytes.length < at + head) return undefined;
    const known = this.#channels.get(id);
    if (known === undefined && format !== 0 && format !== 1) throw new RtmpProtocolError('a chunk without a beginning');
    const channel: Channel = known ?? { timestamp: 0, delta: 0, length: 0, type: 0, stream: 0, extended: false, parts: [], have: 0 };
    let time = format < 3 ? bytes.readUIntBE(at, 3) : undefined;
    const extended = time === undefined ? channel.extended : time === 0xffffff;
    const length = format < 2 ? bytes.readUIntBE(at + 3, 3) : channel.length;
    const type = format < 2 ? bytes[at + 6]! : channel.type;
    const stream = format === 0 ? bytes.readUInt32LE(at + 7) : channel.stream;
    at += head;
    if (extended) {
      if (bytes.length < at + 4) return undefined;
      if (time !== undefined) time = bytes.readUInt32BE(at);
      at += 4;
    }
    if (length > longestMessage) throw new RtmpProtocolError('message too long');
    const continued = channel.have > 0;
    const size = Math.min(this.#chunkSize, length - channel.have);
    if (size < 0) throw new RtmpProtocolError('a message changed its length');
    if (bytes.length < at + size) return undefined;

    if (known === undefined) {
      if (this.#channels.size >= mostChannels) throw new RtmpProtocolError('too many channels');
      this.#channels.set(id, channel);
    }
    if (!continued) {
      if (format === 0) channel.timestamp = time!;
      else {
        if (time !== undefined) channel.delta = time;
        channel.timestamp = (channel.timestamp + channel.delta) >>> 0;
      }
      if (format === 0) channel.delta = 0;
    }
    Object.assign(channel, { length, type, stream, extended });
    // Copied: a message outlives the piece that it came in.
    channel.parts.push(Buffer.from(bytes.subarray(at, at + size)));
    channel.have += size;
    this.#held += size;
    if (this.#held > mostHeld) throw new RtmpProtocolError('too much at once');
    if (channel.have < length) return { length: at + size, message: undefined };
    const message = { type, stream, timestamp: channel.timestamp, body: channel.parts.length === 1 ? channel.parts[0]! : Buffer.concat(channel.parts) };
    this.#held -= channel.have;
    channel.parts = [];
    channel.have = 0;
    return { length: at + size, message };
  }
}

/** A message of ours, in the chunks of 128 bytes that every server begins with. */
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
