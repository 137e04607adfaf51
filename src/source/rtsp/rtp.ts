/** RTP packets, and how each codec's frames lie in them. */

export type Rtp = { sequence: number; timestamp: number; marker: boolean; payload: Buffer; type: number };

export function readRtp(bytes: Buffer): Rtp | undefined {
  if (bytes.length < 12 || bytes[0]! >> 6 !== 2) return undefined;
  let from = 12 + (bytes[0]! & 15) * 4;
  if (bytes[0]! & 16) {
    if (bytes.length < from + 4) return undefined;
    from += 4 + bytes.readUInt16BE(from + 2) * 4;
  }
  const end = bytes[0]! & 32 ? bytes.length - bytes[bytes.length - 1]! : bytes.length;
  if (from > end) return undefined;
  return { sequence: bytes.readUInt16BE(2), timestamp: bytes.readUInt32BE(4), marker: (bytes[1]! & 128) !== 0, type: bytes[1]! & 127, payload: bytes.subarray(from, end) };
}

/** Frames that are whole with this packet. */
export type Unpack = (packet: Rtp) => Buffer[];

const longestFrame = 8 << 20;

/** H.264 (RFC 6184) and H.265 (RFC 7798): NAL units, single, in bunches and in fragments. */
export function nalUnits(codec: 'h264' | 'h265'): Unpack {
  const head = codec === 'h264' ? 1 : 2;
  const typeOf = (bytes: Buffer): number => (codec === 'h264' ? bytes[0]! & 31 : (bytes[0]! >> 1) & 63);
  const [bunch, fragment] = codec === 'h264' ? [24, 28] : [48, 49];
  let parts: Buffer[] | undefined;
  let length = 0;
  return ({ payload }) => {
    if (payload.length <= head) return [];
    const type = typeOf(payload);
    if (type === bunch) {
      const found: Buffer[] = [];
      for (let at = head; at + 2 <= payload.length; ) {
        const end = at + 2 + payload.readUInt16BE(at);
        if (end > payload.length) break;
        found.push(payload.subarray(at + 2, end));
        at = end;
      }
      return found.filter((nal) => nal.length > 0);
    }
    if (type !== fragment) return [payload];
    const mark = payload[head]!;
    const rest = payload.subarray(head + 1);
    if (mark & 128) {
      const own = Buffer.from(payload.subarray(0, head));
      own[0] = codec === 'h264' ? (payload[0]! & 0xe0) | (mark & 31) : (payload[0]! & 0x81) | ((mark & 63) << 1);
      parts = [own];
      length = 0;
    }
    if (parts === undefined) return [];
    parts.push(rest);
    length += rest.length;
    if (length > longestFrame) parts = undefined;
    if (!(mark & 64) || parts === undefined) return [];
    const nal = Buffer.concat(parts);
    parts = undefined;
    return [nal];
  };
}

/** AAC (RFC 3640): a table of lengths before the frames; a frame longer than a packet goes on in the next. */
export function accessUnits(sizeBits: number, indexBits: number): Unpack {
  let open: Buffer[] = [];
  return ({ payload, marker }) => {
    if (payload.length < 2) return [];
    const bits = payload.readUInt16BE(0);
    const from = 2 + Math.ceil(bits / 8);
    const count = Math.floor(bits / Math.max(1, sizeBits + indexBits));
    const found: Buffer[] = [];
    let at = from;
    for (let i = 0; i < count; i++) {
      const size = bitsAt(payload, 16 + i * (sizeBits + indexBits), sizeBits);
      if (at + size > payload.length) {
        open.push(payload.subarray(at));
        if (!marker) return found;
        const whole = Buffer.concat(open);
        open = [];
        return [...found, whole];
      }
      found.push(payload.subarray(at, at + size));
      at += size;
    }
    open = [];
    return found;
  };
}

function bitsAt(bytes: Buffer, from: number, count: number): number {
  let value = 0;
  for (let i = from; i < from + count; i++) value = value * 2 + (((bytes[i >> 3] ?? 0) >> (7 - (i & 7))) & 1);
  return value;
}

/** Frames that end with the marked packet, each packet without the first `skip` bytes. */
export function marked(skip: (payload: Buffer) => number): Unpack {
  let parts: Buffer[] = [];
  let length = 0;
  return ({ payload, marker }) => {
    const part = payload.subarray(skip(payload));
    length += part.length;
    if (length > longestFrame) parts = [];
    parts.push(part);
    if (!marker) return [];
    const frame = Buffer.concat(parts);
    parts = [];
    length = 0;
    return frame.length === 0 ? [] : [frame];
  };
}

export const whole = (skip = 0): Unpack => ({ payload }) => (payload.length > skip ? [payload.subarray(skip)] : []);

/** The payload descriptor of VP8 (RFC 7741). */
export function vp8Descriptor(payload: Buffer): number {
  let at = 1;
  if (payload[0]! & 128) {
    const more = payload[at++] ?? 0;
    if (more & 128) at += (payload[at] ?? 0) & 128 ? 2 : 1;
    if (more & 64) at++;
    if (more & 48) at++;
  }
  return at;
}
