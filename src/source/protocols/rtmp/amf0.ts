/** The subset of AMF0 that RTMP commands use. */

export type Amf = number | boolean | string | null | undefined | Amf[] | { [key: string]: Amf };

export function encodeAmf(...values: Amf[]): Buffer {
  return Buffer.concat(values.map(encodeValue));
}

function encodeValue(value: Amf): Buffer {
  if (value === null) return Buffer.from([5]);
  if (value === undefined) return Buffer.from([6]);
  if (typeof value === 'boolean') return Buffer.from([1, value ? 1 : 0]);
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(9);
    bytes.writeDoubleBE(value, 1);
    return bytes;
  }
  if (typeof value === 'string') return text(value, true);
  if (Array.isArray(value)) {
    const head = Buffer.alloc(5, 0x0a);
    head.writeUInt32BE(value.length, 1);
    return Buffer.concat([head, ...value.map(encodeValue)]);
  }
  return Buffer.concat([
    Buffer.from([3]),
    ...Object.entries(value).flatMap(([key, inner]) => [text(key, false), encodeValue(inner)]),
    Buffer.from([0, 0, 9]),
  ]);
}

function text(value: string, marked: boolean): Buffer {
  const bytes = Buffer.from(value, 'utf8');
  const long = marked && bytes.length > 0xffff;
  const head = Buffer.alloc((marked ? 1 : 0) + (long ? 4 : 2));
  if (marked) head[0] = long ? 0x0c : 2;
  if (long) head.writeUInt32BE(bytes.length, 1);
  else head.writeUInt16BE(bytes.length, marked ? 1 : 0);
  return Buffer.concat([head, bytes]);
}

const DEEPEST = 16;
const MOST_VALUES = 4096;

/** All values of a message. Throws a RangeError if it is truncated or nested too deeply. */
export function decodeAmf(bytes: Buffer): Amf[] {
  const values: Amf[] = [];
  let left = MOST_VALUES;
  let at = 0;

  const string = (long: boolean): string => {
    const length = long ? bytes.readUInt32BE(at) : bytes.readUInt16BE(at);
    at += long ? 4 : 2;
    if (at + length > bytes.length) throw new RangeError('cut');
    const value = bytes.toString('utf8', at, at + length);
    at += length;
    return value;
  };
  const members = (depth: number): { [key: string]: Amf } => {
    const result: { [key: string]: Amf } = Object.create(null) as { [key: string]: Amf };
    for (;;) {
      const key = string(false);
      if (bytes.readUInt8(at) === 9) {
        at++;
        return result;
      }
      result[key] = value(depth + 1);
    }
  };
  const value = (depth: number): Amf => {
    if (depth > DEEPEST || --left < 0) throw new RangeError('too deep');
    const kind = bytes.readUInt8(at++);
    switch (kind) {
      case 0:
        at += 8;
        return bytes.readDoubleBE(at - 8);
      case 1:
        return bytes.readUInt8(at++) !== 0;
      case 2:
        return string(false);
      case 3:
        return members(depth);
      case 5:
        return null;
      case 6:
        return undefined;
      case 8:
        at += 4;
        return members(depth);
      case 0x0a: {
        const length = bytes.readUInt32BE(at);
        at += 4;
        const list: Amf[] = [];
        for (let i = 0; i < length; i++) list.push(value(depth + 1));
        return list;
      }
      case 0x0b:
        at += 10;
        return bytes.readDoubleBE(at - 10);
      case 0x0c:
      case 0x0f:
        return string(true);
      default:
        throw new RangeError(`marker ${kind}`);
    }
  };
  while (at < bytes.length) values.push(value(0));
  return values;
}
