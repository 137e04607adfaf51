import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { SourceError, unreachable } from '../../error.ts';
import { noAnswer, unreadAnswers, wrongProtocol } from '../../failures.ts';
import type { SocketContext, Place } from '../protocol.ts';
import type { Session, Sink } from '../stream/live.ts';
import { decodeAmf, encodeAmf, type Amf } from './amf0.ts';
import { ChunkReader, encodeMessage, type Message } from './chunks.ts';

const HANDSHAKE_BYTES = 1536;
/** Limit of unread outgoing data. A normal session leaves a few hundred bytes unread. */
const MOST_UNREAD = 64 << 10;
const [audioType, videoType, scriptType] = [8, 9, 18];

/**
 * Plays a stream and outputs FLV. A tool that spoke RTMP itself would hold the stream key, and not every tool supports
 * it.
 */
export async function openRtmp(context: SocketContext, sink: Sink): Promise<Session> {
  const address = rtmpAddress(context.source.scheme, context.place);
  const socket = await context.dial(address.host, address.port, { secure: address.secure });
  context.count.request(true);
  const player = new Player(socket, address, sink, context.count);
  player.start();
  return player;
}

type RtmpAddress = ReturnType<typeof rtmpAddress>;

class Player implements Session {
  readonly #socket: Socket;
  readonly #address: RtmpAddress;
  readonly #sink: Sink;
  readonly #count: SocketContext['count'];
  readonly #chunks = new ChunkReader();
  #greeting: Buffer | undefined = Buffer.alloc(0);
  #received = 0;
  #acknowledged = 0;
  #window = 0;
  #streamId = 0;
  #begun = false;
  #over = false;

  constructor(socket: Socket, address: RtmpAddress, sink: Sink, count: SocketContext['count']) {
    this.#socket = socket;
    this.#address = address;
    this.#sink = sink;
    this.#count = count;
  }

  start(): void {
    const closed = (): void => (this.#begun ? this.#end() : this.#fail(noAnswer()));
    this.#socket.on('data', (chunk: Buffer) => {
      try {
        this.#count.bytes(chunk.length);
        this.#take(chunk);
      } catch (cause) {
        this.#fail(cause instanceof SourceError ? cause : wrongProtocol('RTMP', { cause }));
      }
    });
    this.#socket.on('error', closed).on('close', closed);
    const hello = Buffer.alloc(1 + HANDSHAKE_BYTES);
    hello[0] = 3;
    randomBytes(HANDSHAKE_BYTES - 8).copy(hello, 9);
    this.#socket.write(hello);
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#over = true;
    this.#socket.destroy();
  }

  #fail(error: SourceError): void {
    if (this.#over) return;
    this.close();
    this.#sink.fail(error);
  }

  #end(): void {
    if (this.#over) return;
    this.close();
    this.#sink.end();
  }

  #take(chunk: Buffer): void {
    let bytes = chunk;
    if (this.#greeting !== undefined) {
      const have = Buffer.concat([this.#greeting, chunk]);
      if (have[0] !== undefined && have[0] !== 3) throw new RangeError('version');
      if (have.length < 1 + 2 * HANDSHAKE_BYTES) {
        this.#greeting = have;
        return;
      }
      this.#greeting = undefined;
      this.#send(have.subarray(1, 1 + HANDSHAKE_BYTES));
      this.#connect();
      bytes = have.subarray(1 + 2 * HANDSHAKE_BYTES);
    }
    this.#received += bytes.length;
    for (const message of this.#chunks.read(bytes)) {
      if (this.#over) return;
      this.#message(message);
    }
    if (this.#window > 0 && this.#received - this.#acknowledged >= this.#window / 2) {
      this.#acknowledged = this.#received;
      this.#control(3, this.#received >>> 0);
    }
  }

  #connect(): void {
    const { app, tcUrl } = this.#address;
    this.#command(3, 0, 'connect', 1, {
      app,
      type: 'nonprivate',
      flashVer: 'LNX 9,0,124,2',
      tcUrl,
      fpad: false,
      capabilities: 15,
      audioCodecs: 4071,
      videoCodecs: 252,
      videoFunction: 1,
      fourCcList: ['av01', 'vp09', 'hvc1'],
    });
  }

  #message({ type, timestamp, body }: Message): void {
    switch (type) {
      case 1:
        this.#chunks.chunkSize = body.readUInt32BE(0) & 0x7fffffff;
        break;
      case 2:
        this.#chunks.abort(body.readUInt32BE(0));
        break;
      case 4:
        this.#event(body);
        break;
      case 5:
        this.#window = body.readUInt32BE(0);
        break;
      case 6:
        this.#control(5, body.readUInt32BE(0));
        break;
      case audioType:
      case videoType:
        this.#media(type, timestamp, body);
        break;
      case 22:
        for (const part of aggregated(body, timestamp))
          if (part.type === audioType || part.type === videoType) this.#media(part.type, part.timestamp, part.body);
        break;
      case 15:
      case scriptType:
        this.#data(timestamp, type === 15 ? body.subarray(1) : body);
        break;
      case 17:
      case 20:
        this.#answer(decodeAmf(type === 17 ? body.subarray(1) : body));
        break;
      default:
    }
  }

  #event(body: Buffer): void {
    const kind = body.readUInt16BE(0);
    if (kind === 1 && this.#begun) this.#end();
    else if (kind === 6) {
      const pong = Buffer.from(body.subarray(0, 6));
      pong.writeUInt16BE(7, 0);
      this.#send(encodeMessage(2, 4, 0, pong));
    }
  }

  #answer([name, transaction, , result]: Amf[]): void {
    const info = typeof result === 'object' && result !== null && !Array.isArray(result) ? result : {};
    const code = typeof info['code'] === 'string' ? info['code'] : '';
    if (name === '_error') throw refusedBy(code);
    if (name === '_result' && transaction === 1) this.#command(3, 0, 'createStream', 2, null);
    else if (name === '_result' && transaction === 2) this.#play(typeof result === 'number' ? result : 1);
    else if (name === 'onStatus') this.#status(code, info['level']);
    else if (name === 'close' && !this.#begun) throw refusedBy('closed');
  }

  #play(stream: number): void {
    this.#streamId = stream;
    this.#command(8, stream, 'play', 3, null, this.#address.playpath, -2000);
    const buffer = Buffer.alloc(10);
    buffer.writeUInt16BE(3, 0);
    buffer.writeUInt32BE(this.#streamId, 2);
    buffer.writeUInt32BE(3000, 6);
    this.#send(encodeMessage(2, 4, 0, buffer));
  }

  #status(code: string, level: Amf): void {
    if (/^NetStream\.(?:Play\.(?:Stop|Complete|UnpublishNotify)|Unpublish)/.test(code)) {
      if (this.#begun) this.#end();
      return;
    }
    if (level === 'error' || /NotFound|Failed|Rejected/.test(code)) throw refusedBy(code);
  }

  #data(timestamp: number, body: Buffer): void {
    const named = (text: string): Buffer => encodeAmf(text);
    const wrapper = named('@setDataFrame');
    const content = body.subarray(0, wrapper.length).equals(wrapper) ? body.subarray(wrapper.length) : body;
    const is = (text: string): boolean => content.subarray(0, named(text).length).equals(named(text));
    if (is('onMetaData')) {
      let about: Amf;
      try {
        about = decodeAmf(content)[1];
      } catch {
        // Unreadable metadata says nothing about the stream; it is still passed to the tool.
      }
      const facts = typeof about === 'object' && about !== null && !Array.isArray(about) ? about : {};
      this.#begin('audiocodecid' in facts, 'videocodecid' in facts);
    } else if (!is('onTextData') && !is('onCuePoint')) return;
    if (this.#begun) this.#give(flvTag(scriptType, timestamp, content));
  }

  #media(type: number, timestamp: number, body: Buffer): void {
    if (body.length === 0) return;
    this.#begin(type === audioType, type === videoType);
    this.#give(flvTag(type, timestamp, body));
  }

  /** Called as soon as the metadata or the first frame shows the contents. */
  #begin(audio: boolean, video: boolean): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#give(flvHeader(audio, video));
  }

  #give(bytes: Buffer): void {
    if (!this.#sink.data(bytes)) this.#socket.pause();
  }

  /** A host that sends requests and never reads would otherwise fill our memory with responses. */
  #send(bytes: Buffer): void {
    if (this.#socket.writableLength > MOST_UNREAD) throw unreadAnswers();
    this.#socket.write(bytes);
  }

  #command(channel: number, stream: number, ...values: Amf[]): void {
    this.#send(encodeMessage(channel, 20, stream, encodeAmf(...values)));
  }

  #control(type: number, value: number): void {
    const body = Buffer.alloc(4);
    body.writeUInt32BE(value);
    this.#send(encodeMessage(2, type, 0, body));
  }
}

function refusedBy(code: string): SourceError {
  const missing = /NotFound/.test(code);
  const message = missing ? 'the host has no such stream' : 'the host refused to play the stream';
  return unreachable('status', message, { status: missing ? 404 : 403, detail: code.slice(0, 100) });
}

/**
 * Splits the path into application and stream: of two segments they are these, of three the second is the application
 * instance.
 */
export function rtmpAddress(scheme: string, place: Place) {
  const path = place.path.replace(/^\//, '');
  const first = path.indexOf('/');
  let app = path;
  let name = '';
  if (first !== -1) {
    const query = path.indexOf('?');
    const limit = query === -1 ? path.length : query;
    const second = path.indexOf('/', first + 1);
    const colon = path.indexOf(':', first + 1);
    const cut = second === -1 || second > limit || (colon !== -1 && colon < second) ? first : second;
    app = path.slice(0, cut);
    name = path.slice(cut + 1);
  }
  const tcUrl = `${scheme}://${place.authority}/${app}`;
  return { host: place.host, port: place.port, secure: scheme === 'rtmps', app, playpath: playpathOf(name), tcUrl };
}

/** Adds the prefix for the file type that servers expect. */
function playpathOf(name: string): string {
  const [bare = ''] = name.split('?');
  if (bare.includes(':')) return name;
  if (/\.(?:mp4|f4v)$/i.test(bare)) return `mp4:${name}`;
  return /\.flv$/i.test(bare) ? name.slice(0, bare.length - 4) + name.slice(bare.length) : name;
}

/** RTMP carries FLV tags without the file format: the header of the file, and those of the tags. */
export function flvHeader(audio: boolean, video: boolean): Buffer {
  return Buffer.from([0x46, 0x4c, 0x56, 1, (audio ? 4 : 0) | (video ? 1 : 0), 0, 0, 0, 9, 0, 0, 0, 0]);
}

export function flvTag(type: number, timestamp: number, body: Buffer): Buffer {
  const tag = Buffer.allocUnsafe(15 + body.length);
  tag[0] = type;
  tag.writeUIntBE(body.length, 1, 3);
  tag.writeUIntBE(timestamp & 0xffffff, 4, 3);
  tag[7] = (timestamp >>> 24) & 0xff;
  tag.writeUIntBE(0, 8, 3);
  body.copy(tag, 11);
  tag.writeUInt32BE(11 + body.length, 11 + body.length);
  return tag;
}

/** The tags of an aggregate message, shifted to the message's timestamp. */
export function* aggregated(
  body: Buffer,
  timestamp: number,
): Generator<{ type: number; timestamp: number; body: Buffer }> {
  let first: number | undefined;
  for (let at = 0; at + 11 <= body.length;) {
    const type = body[at]!;
    const length = body.readUIntBE(at + 1, 3);
    const time = body.readUIntBE(at + 4, 3) | (body[at + 7]! << 24);
    first ??= time;
    if (at + 11 + length > body.length) return;
    yield { type, timestamp: (timestamp + time - first) >>> 0, body: body.subarray(at + 11, at + 11 + length) };
    at += 15 + length;
  }
}
