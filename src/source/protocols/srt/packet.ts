/** The binary format of SRT packets. */

const HEADER_BYTES = 16;
export const CONTROL = {
  handshake: 0,
  keepAlive: 1,
  ack: 2,
  nak: 3,
  congestion: 4,
  shutdown: 5,
  ackAck: 6,
  dropRequest: 7,
  user: 0x7fff,
} as const;
export const HANDSHAKE_TYPE = { induction: 1, conclusion: 0xffffffff } as const;
export const EXTENSION = { request: 1, response: 2, keyRequest: 3, keyResponse: 4, streamId: 5 } as const;

export interface Data {
  kind: 'data';
  seq: number;
  /** 0 none, 1 even, 2 odd */ key: number;
  header: Buffer;
  payload: Buffer;
}
export interface Control {
  kind: 'control';
  type: number;
  subtype: number;
  info: number;
  body: Buffer;
}

/**
 * SRT's own limit is 1456 bytes of payload. A datagram may have 64 kB, and thousands are kept while others are missing.
 */
const LONGEST = 2048;

export function readPacket(bytes: Buffer): Data | Control | undefined {
  if (bytes.length < HEADER_BYTES || bytes.length > LONGEST) return undefined;
  const first = bytes.readUInt32BE(0);
  if (first < 0x80000000)
    return {
      kind: 'data',
      seq: first,
      key: (bytes[4]! >> 3) & 3,
      header: bytes.subarray(0, HEADER_BYTES),
      payload: bytes.subarray(HEADER_BYTES),
    };
  return {
    kind: 'control',
    type: (first >>> 16) & 0x7fff,
    subtype: first & 0xffff,
    info: bytes.readUInt32BE(4),
    body: bytes.subarray(HEADER_BYTES),
  };
}

export function controlPacket(
  type: number,
  {
    subtype = 0,
    info = 0,
    time,
    peer,
    body = Buffer.alloc(0),
  }: { subtype?: number; info?: number; time: number; peer: number; body?: Buffer },
): Buffer {
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUInt32BE((0x80000000 + type * 0x10000 + subtype) >>> 0, 0);
  head.writeUInt32BE(info >>> 0, 4);
  head.writeUInt32BE(time >>> 0, 8);
  head.writeUInt32BE(peer >>> 0, 12);
  return Buffer.concat([head, body]);
}

export interface Handshake {
  version: number;
  encryption: number;
  extensionField: number;
  seq: number;
  mtu: number;
  window: number;
  type: number;
  socket: number;
  cookie: number;
  extensions: { type: number; body: Buffer }[];
}

const FIXED = 48;
/** Words of four bytes behind the first two. */
const WORDS = ['seq', 'mtu', 'window', 'type', 'socket', 'cookie'] as const;

export function encodeHandshake(shake: Handshake): Buffer {
  const bytes = Buffer.alloc(FIXED);
  bytes.writeUInt32BE(shake.version, 0);
  bytes.writeUInt16BE(shake.encryption, 4);
  bytes.writeUInt16BE(shake.extensionField, 6);
  for (const [at, word] of WORDS.entries()) bytes.writeUInt32BE(shake[word] >>> 0, 8 + 4 * at);
  const parts = shake.extensions.map(({ type, body }) => {
    const head = Buffer.alloc(4);
    head.writeUInt16BE(type, 0);
    head.writeUInt16BE(body.length / 4, 2);
    return Buffer.concat([head, body]);
  });
  return Buffer.concat([bytes, ...parts]);
}

export function readHandshake(bytes: Buffer): Handshake | undefined {
  if (bytes.length < FIXED) return undefined;
  const extensions: Handshake['extensions'] = [];
  for (let from = FIXED; from + 4 <= bytes.length;) {
    const length = bytes.readUInt16BE(from + 2) * 4;
    extensions.push({ type: bytes.readUInt16BE(from), body: bytes.subarray(from + 4, from + 4 + length) });
    from += 4 + length;
  }
  const words = WORDS.map((word, at) => [word, bytes.readUInt32BE(8 + 4 * at)]);
  return {
    version: bytes.readUInt32BE(0),
    encryption: bytes.readUInt16BE(4),
    extensionField: bytes.readUInt16BE(6),
    ...(Object.fromEntries(words) as Pick<Handshake, (typeof WORDS)[number]>),
    extensions,
  };
}

/** Text of an extension is stored in words with reversed bytes. */
export function reversedWords(text: string): Buffer {
  const plain = Buffer.from(text, 'utf8');
  const padded = Buffer.concat([plain, Buffer.alloc((4 - (plain.length % 4)) % 4)]);
  return padded.swap32();
}

const HALF = 0x40000000;
export const nextSeq = (seq: number): number => (seq + 1) & 0x7fffffff;
/** The distance from `b` to `a` in sequence numbers, which wrap after 31 bits. */
export function seqDistance(a: number, b: number): number {
  const difference = a - b;
  return difference > HALF ? difference - 2 * HALF : difference < -HALF ? difference + 2 * HALF : difference;
}
