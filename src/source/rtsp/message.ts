/** RTSP on the wire: messages as in HTTP, and between them frames of media, marked with a dollar sign. */

export type RtspMessage = { kind: 'message'; /** the first line */ start: string; headers: [name: string, value: string][]; body: Buffer };
export type RtspFrame = { kind: 'frame'; channel: number; payload: Buffer; /** with its mark and length */ raw: Buffer };

const longestHead = 65536;
const longestBody = 1 << 20;

export class RtspReader {
  #rest: Buffer = Buffer.alloc(0);

  /** Throws a RangeError for what is no RTSP. */
  *read(bytes: Buffer): Generator<RtspMessage | RtspFrame> {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    for (let item = this.#next(); item !== undefined; item = this.#next()) yield item;
  }

  #next(): RtspMessage | RtspFrame | undefined {
    // Some senders put line ends between messages.
    let skip = 0;
    while (this.#rest[skip] === 13 || this.#rest[skip] === 10) skip++;
    const bytes = this.#rest.subarray(skip);
    if (bytes[0] === 0x24) {
      if (bytes.length < 4) return undefined;
      const end = 4 + bytes.readUInt16BE(2);
      if (bytes.length < end) return undefined;
      this.#rest = bytes.subarray(end);
      return { kind: 'frame', channel: bytes[1]!, payload: bytes.subarray(4, end), raw: bytes.subarray(0, end) };
    }
    const text = bytes.toString('latin1', 0, longestHead);
    const end = /\r?\n\r?\n/.exec(text);
    if (end === null) {
      if (text.length >= longestHead || (text.length > 0 && !/^[A-Z_]/.test(text))) throw new RangeError('no RTSP');
      return undefined;
    }
    const [start = '', ...lines] = text.slice(0, end.index).split(/\r?\n/);
    if (!/^(?:RTSP\/1\.\d \d{3}|[A-Z_]{1,32} \S+ RTSP\/1\.\d)/.test(start)) throw new RangeError('no RTSP');
    const headers: RtspMessage['headers'] = [];
    for (const line of lines) {
      const colon = line.indexOf(':');
      if (/^[ \t]/.test(line) && headers.length > 0) headers.at(-1)![1] += ` ${line.trim()}`;
      else if (colon > 0) headers.push([line.slice(0, colon).trim(), line.slice(colon + 1).trim()]);
    }
    const length = Number(headerOf(headers, 'content-length') ?? 0);
    if (!(length >= 0 && length <= longestBody)) throw new RangeError('length');
    const from = end.index + end[0].length;
    if (bytes.length < from + length) return undefined;
    this.#rest = bytes.subarray(from + length);
    return { kind: 'message', start, headers, body: bytes.subarray(from, from + length) };
  }
}

export function headerOf(headers: RtspMessage['headers'], name: string): string | undefined {
  return headers.find(([known]) => known.toLowerCase() === name)?.[1];
}

/** The length is put right; a header's text is the sender's bytes. */
export function encodeRtsp(start: string, headers: RtspMessage['headers'], body: Buffer = Buffer.alloc(0)): Buffer {
  const own = headers.filter(([name]) => name.toLowerCase() !== 'content-length');
  if (body.length > 0) own.push(['Content-Length', String(body.length)]);
  return Buffer.concat([Buffer.from(`${start}\r\n${own.map(([name, value]) => `${name}: ${value.replace(/[\r\n]/g, ' ')}\r\n`).join('')}\r\n`, 'latin1'), body]);
}
