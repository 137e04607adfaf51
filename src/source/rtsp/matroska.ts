import type { Frame, Track } from './track.ts';

/** A Matroska file that grows: a header, then clusters of frames. */

function id(hex: string): Buffer {
  return Buffer.from(hex, 'hex');
}

function element(name: string, body: Buffer): Buffer {
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE(0x0100000000000000n | BigInt(body.length));
  return Buffer.concat([id(name), size, body]);
}

const unknownSize = Buffer.from('01ffffffffffffff', 'hex');
const text = (name: string, value: string): Buffer => element(name, Buffer.from(value, 'utf8'));

function number(name: string, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(Math.max(0, Math.round(value))));
  const from = bytes.findIndex((byte) => byte !== 0);
  return element(name, from === -1 ? Buffer.alloc(1) : bytes.subarray(from));
}

function float(name: string, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return element(name, bytes);
}

export function matroskaHeader(tracks: readonly Track[]): Buffer {
  const ebml = element('1a45dfa3', Buffer.concat([number('4286', 1), number('42f7', 1), number('42f2', 4), number('42f3', 8), text('4282', 'matroska'), number('4287', 4), number('4285', 2)]));
  const info = element('1549a966', Buffer.concat([number('2ad7b1', 1_000_000), text('4d80', 'Probeyard'), text('5741', 'Probeyard')]));
  const entries = tracks.map((track, i) => {
    const own = track.codecPrivate() ?? Buffer.alloc(0);
    const audio = element('e1', Buffer.concat([float('b5', track.rate), number('9f', track.channels), ...(track.bits > 0 ? [number('6264', track.bits)] : [])]));
    return element('ae', Buffer.concat([
      number('d7', i + 1), number('73c5', i + 1), number('83', track.kind === 'video' ? 1 : 2), number('9c', 0), text('86', track.codecId),
      ...(own.length > 0 ? [element('63a2', own)] : []), ...(track.kind === 'video' ? [] : [audio]),
    ]));
  });
  return Buffer.concat([ebml, id('18538067'), unknownSize, info, element('1654ae6b', Buffer.concat(entries))]);
}

/** Frames of at most half a minute, each with the number of its track. */
export function matroskaCluster(frames: readonly (Frame & { track: number })[]): Buffer {
  const start = Math.round(Math.min(...frames.map(({ at }) => at)));
  const blocks = frames.map(({ track, at, key, bytes }) => {
    const head = Buffer.alloc(4);
    head[0] = 0x80 | (track + 1);
    head.writeInt16BE(Math.min(32_767, Math.round(at) - start), 1);
    head[3] = key ? 0x80 : 0;
    return element('a3', Buffer.concat([head, bytes]));
  });
  return element('1f43b675', Buffer.concat([number('e7', start), ...blocks]));
}
