/** RTSP on the wire: HTTP-like messages, interleaved with media frames that begin with a dollar sign. */
import { Backlog } from '../backlog.ts';

export interface RtspMessage {
  kind: 'message';
  /** the first line */ start: string;
  headers: [name: string, value: string][];
  body: Buffer;
}
export interface RtspFrame {
  kind: 'frame';
  channel: number;
  payload: Buffer;
  /** with its mark and length */ raw: Buffer;
}

const LONGEST_HEAD = 65536;
const LONGEST_BODY = 1 << 20;

export class RtspReader {
  readonly #held = new Backlog();
  /** How far the head has been searched for its end. */
  #searched = 0;
  /** A message with an incomplete body. */
  #open: (Omit<RtspMessage, 'body'> & { length: number }) | undefined;

  /** Throws a RangeError for invalid RTSP. */
  *read(bytes: Buffer): Generator<RtspMessage | RtspFrame> {
    this.#held.append(bytes);
    for (let item = this.#next(); item !== undefined; item = this.#next()) yield item;
  }

  #next(): RtspMessage | RtspFrame | undefined {
    if (this.#open === undefined) {
      // Some senders put empty lines between messages.
      this.#held.drop(lineEnds(this.#held.bytes));
      const bytes = this.#held.bytes;
      if (bytes[0] === 0x24) return this.#frame(bytes);
      if (!this.#head(bytes)) return undefined;
    }
    const { length, ...message } = this.#open!;
    if (this.#held.length < length) return undefined;
    const body = this.#held.bytes.subarray(0, length);
    this.#held.drop(length);
    this.#open = undefined;
    return { ...message, body };
  }

  #frame(bytes: Buffer): RtspFrame | undefined {
    if (bytes.length < 4) return undefined;
    const end = 4 + bytes.readUInt16BE(2);
    if (bytes.length < end) return undefined;
    this.#held.drop(end);
    return { kind: 'frame', channel: bytes[1]!, payload: bytes.subarray(4, end), raw: bytes.subarray(0, end) };
  }

  /** Starts the message at this position; false if its head is incomplete. */
  #head(bytes: Buffer): boolean {
    const end = headEnd(bytes.subarray(0, LONGEST_HEAD), this.#searched);
    if (end === undefined) {
      if (bytes.length >= LONGEST_HEAD || (bytes.length > 0 && !/^[A-Z_]/.test(bytes.toString('latin1', 0, 1))))
        throw new RangeError('no RTSP');
      // The end of a head starts with a line end, and another follows within two bytes.
      this.#searched = Math.max(0, bytes.length - 2);
      return false;
    }
    this.#searched = 0;
    const [start = '', ...lines] = bytes.toString('latin1', 0, end).split(/\r?\n/);
    if (!/^(?:RTSP\/1\.\d [1-9]\d{2}|[A-Z_]{1,32} \S+ RTSP\/1\.\d)/.test(start)) throw new RangeError('no RTSP');
    const headers: RtspMessage['headers'] = [];
    for (const line of lines) {
      const colon = line.indexOf(':');
      if (/^[ \t]/.test(line) && headers.length > 0) headers.at(-1)![1] += ` ${line.trim()}`;
      else if (colon > 0) headers.push([line.slice(0, colon).trim(), line.slice(colon + 1).trim()]);
    }
    const length = headerOf(headers, 'content-length') ?? '';
    if (!/^\d{0,7}$/.test(length) || Number(length) > LONGEST_BODY) throw new RangeError('length');
    this.#held.drop(end);
    this.#open = { kind: 'message', start, headers, length: Number(length) };
    return true;
  }
}

function lineEnds(bytes: Buffer): number {
  let count = 0;
  while (bytes[count] === 13 || bytes[count] === 10) count++;
  return count;
}

/** Position after the empty line. */
function headEnd(bytes: Buffer, from: number): number | undefined {
  for (let at = bytes.indexOf(10, from); at !== -1; at = bytes.indexOf(10, at + 1)) {
    if (bytes[at + 1] === 10) return at + 2;
    if (bytes[at + 1] === 13 && bytes[at + 2] === 10) return at + 3;
  }
  return undefined;
}

export function headerOf(headers: RtspMessage['headers'], name: string): string | undefined {
  return headers.find(([known]) => known.toLowerCase() === name)?.[1];
}

/** Corrects Content-Length; header text keeps the sender's bytes. */
export function encodeRtsp(start: string, headers: RtspMessage['headers'], body: Buffer = Buffer.alloc(0)): Buffer {
  const own = headers.filter(([name]) => name.toLowerCase() !== 'content-length');
  if (body.length > 0) own.push(['Content-Length', String(body.length)]);
  return Buffer.concat([
    Buffer.from(
      `${start}\r\n${own.map(([name, value]) => `${name}: ${value.replace(/[\r\n]/g, ' ')}\r\n`).join('')}\r\n`,
      'latin1',
    ),
    body,
  ]);
}
