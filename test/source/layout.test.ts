import assert from 'node:assert/strict';
import { layoutOf, type Peek } from '../../src/source/file/layout.ts';
import type { Wanted } from '../../src/source/file/read_ahead.ts';
import { random } from './random.ts';

interface Box {
  type: string;
  length: number;
  body?: Buffer;
  wide?: boolean;
}

/** A file of boxes, with only the parts that are read. */
function boxes(list: Box[]): Buffer {
  return Buffer.concat(
    list.map(({ type, length, body, wide }) => {
      const bytes = Buffer.alloc(length);
      bytes.writeUInt32BE(wide ? 1 : length, 0);
      bytes.write(type, 4, 'latin1');
      if (wide) bytes.writeBigUInt64BE(BigInt(length), 8);
      body?.copy(bytes, 8);
      return bytes;
    }),
  );
}

/** What a layout requests when only the head of its file is present, and then all that it requested, round by round. */
function rounds(file: Buffer, head: number): Wanted[][] {
  const there = new Uint8Array(file.length).fill(1, 0, head);
  const peek: Peek = (offset, length) =>
    offset >= 0 && offset + length <= file.length && !there.subarray(offset, offset + length).includes(0)
      ? file.subarray(offset, offset + length)
      : undefined;
  const layout = layoutOf(file.subarray(0, Math.min(192, head)), file.length);
  const result: Wanted[][] = [];
  if (layout === undefined) return result;
  for (let i = 0; i < 20; i++) {
    const wanted = layout.step(peek);
    if (wanted.length === 0) break;
    result.push(wanted);
    for (const { from, to } of wanted) there.fill(1, from, to);
  }
  return result;
}

describe('ranges that a format will read', () => {
  it('start with an index at the end', () => {
    const file = boxes([
      { type: 'ftyp', length: 32 },
      { type: 'free', length: 8 },
      { type: 'mdat', length: 500_000, wide: true },
      { type: 'moov', length: 20_000 },
    ]);
    assert.deepEqual(rounds(file, 1000), [[{ from: 500_040, to: 500_056 }], [{ from: 500_040, to: 520_040 }]]);
  });

  it('include the rest of an index that begins in the head', () => {
    const file = boxes([
      { type: 'ftyp', length: 32 },
      { type: 'moov', length: 100_000 },
      { type: 'mdat', length: 100_000 },
    ]);
    assert.deepEqual(rounds(file, 1000), [
      [
        { from: 32, to: 100_032 },
        { from: 100_032, to: 100_048 },
      ],
    ]);
  });

  it('go from fragment to fragment if there is no list of them', () => {
    const fragments = [1, 2, 3].flatMap(() => [
      { type: 'moof', length: 500 },
      { type: 'mdat', length: 50_000 },
    ]);
    const file = boxes([
      { type: 'ftyp', length: 32 },
      { type: 'moov', length: 1000 },
      ...fragments,
      { type: 'free', length: 100 },
    ]);
    const [first, second, third] = rounds(file, 2000);
    assert.deepEqual(first, [
      { from: 32, to: 1032 },
      { from: 1032, to: 1548 },
      { from: file.length - 4096, to: file.length },
      { from: 51_532, to: 51_548 },
    ]);
    assert.deepEqual(second, [
      { from: 51_532, to: 52_048 },
      { from: 52_032, to: 52_048 },
    ]);
    assert.deepEqual(third, [{ from: 102_032, to: 102_048 }]);
  });

  it('take all fragments from the list at the end', () => {
    const moofs = [1032, 51_532, 102_032];
    const tfra = Buffer.alloc(16 + moofs.length * 11);
    tfra.writeUInt32BE(moofs.length, 12);
    moofs.forEach((offset, i) => tfra.writeUInt32BE(offset, 20 + i * 11));
    const mfro = Buffer.alloc(8);
    const length = 8 + (8 + tfra.length) + 16;
    mfro.writeUInt32BE(length, 4);
    const mfra = boxes([
      { type: 'tfra', length: 8 + tfra.length, body: tfra },
      { type: 'mfro', length: 16, body: mfro },
    ]);
    const fragments = moofs.flatMap(() => [
      { type: 'moof', length: 500 },
      { type: 'mdat', length: 50_000 },
    ]);
    const file = boxes([
      { type: 'ftyp', length: 32 },
      { type: 'moov', length: 1000 },
      ...fragments,
      { type: 'mfra', length, body: mfra },
    ]);
    const second = rounds(file, 2000)[1]!;
    for (const from of moofs)
      assert.ok(
        second.some((wanted) => wanted.from === from),
        String(from),
      );
  });

  it('include the end of a format with its timestamps there', () => {
    const ts = Buffer.alloc(1_000_000);
    for (let i = 0; i < ts.length; i += 188) ts[i] = 0x47;
    assert.deepEqual(rounds(ts, 1000), [[{ from: 1_000_000 - 262_144, to: 1_000_000 }]]);
    const ogg = Buffer.alloc(100_000);
    ogg.write('OggS', 0, 'latin1');
    assert.deepEqual(rounds(ogg, 1000), [[{ from: 100_000 - 65_536, to: 100_000 }]]);
  });

  it('include the chunks behind the media of a wav and an avi file', () => {
    const chunk = (type: string, body: Buffer): Buffer => {
      const header = Buffer.alloc(8);
      header.write(type, 0, 'latin1');
      header.writeUInt32LE(body.length, 4);
      return Buffer.concat([header, body, Buffer.alloc(body.length % 2)]);
    };
    const riff = (...chunks: Buffer[]): Buffer => Buffer.concat([Buffer.from('RIFF....WAVE', 'latin1'), ...chunks]);
    const wav = riff(
      chunk('fmt ', Buffer.alloc(16)),
      chunk('data', Buffer.alloc(99_999)),
      chunk('LIST', Buffer.alloc(50)),
    );
    assert.deepEqual(rounds(wav, 1000), [[{ from: wav.length - 58, to: wav.length }]]);
    const media = Buffer.concat([Buffer.from('movi'), Buffer.alloc(99_996)]);
    const avi = riff(chunk('LIST', Buffer.alloc(300)), chunk('LIST', media), chunk('idx1', Buffer.alloc(100_000)));
    assert.deepEqual(rounds(avi, 1000), [[{ from: avi.length - 100_008, to: avi.length - 100_008 + 65_536 }]]);
    const bare = riff(chunk('data', Buffer.alloc(100_000)));
    assert.deepEqual(rounds(bare, 1000), [], 'nothing follows the media');
  });

  it('include a large picture before the audio, and the tags behind it', () => {
    const mp3 = Buffer.alloc(1_000_000);
    Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0, 18, 79, 22]).copy(mp3);
    const atEnd = { from: 1_000_000 - 4096, to: 1_000_000 };
    assert.deepEqual(rounds(mp3, 1000), [[{ from: 0, to: 10 + 18 * 16_384 + 79 * 128 + 22 }, atEnd]]);
    for (const start of [Buffer.from('fLaC'), Buffer.from([0xff, 0xfb])]) {
      const file = Buffer.alloc(1_000_000);
      start.copy(file);
      assert.deepEqual(rounds(file, 1000), [[atEnd]]);
    }
  });

  it('include the end of an MXF file', () => {
    const mxf = Buffer.alloc(1_000_000);
    Buffer.from('060e2b34020501010d010201', 'hex').copy(mxf);
    assert.deepEqual(rounds(mxf, 1000), [[{ from: 1_000_000 - 65_536, to: 1_000_000 }]]);
  });

  it('find the cues of a Matroska file', () => {
    const seek = (place: number): Buffer =>
      Buffer.from([
        0x4d,
        0xbb,
        0x8b,
        0x53,
        0xab,
        0x84,
        0x1c,
        0x53,
        0xbb,
        0x6b,
        0x53,
        0xac,
        0x82,
        place >> 8,
        place & 255,
      ]);
    const seeks = Buffer.concat(
      [seek(50_000), seek(10)].map((bytes) => {
        bytes[2] = 0x80 + bytes.length - 3;
        return bytes;
      }),
    );
    const head = Buffer.concat([
      Buffer.from([0x1a, 0x45, 0xdf, 0xa3, 0x84, 1, 2, 3, 4, 0x18, 0x53, 0x80, 0x67, 0x01, 0, 0, 0, 0, 0, 0xff, 0xff]),
      Buffer.from([0xec, 0x82, 0, 0]),
      Buffer.from([0x11, 0x4d, 0x9b, 0x74, 0x80 + seeks.length]),
      seeks,
    ]);
    const file = Buffer.concat([head, Buffer.alloc(100_000)]);
    assert.deepEqual(
      rounds(file, 5000),
      [[{ from: 50_021, to: file.length }]].map(([wanted]) => [
        { ...wanted!, to: Math.min(file.length, 50_021 + 65_536) },
      ]),
    );
  });

  it('are empty for an unknown format', () => {
    assert.deepEqual(rounds(Buffer.alloc(100_000), 1000), []);
    assert.equal(layoutOf(Buffer.alloc(3), 3), undefined);
  });

  it('are of sound alone in formats without pictures', () => {
    const starting = (...bytes: (string | number)[]): Buffer =>
      Buffer.concat([
        ...bytes.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([part]))),
        Buffer.alloc(192),
      ]);
    const isSound = (head: Buffer): boolean => layoutOf(head, 10_000_000)?.isSound ?? false;
    assert.deepEqual(
      {
        wav: isSound(starting('RIFF', 0, 0, 0, 0, 'WAVE')),
        avi: isSound(starting('RIFF', 0, 0, 0, 0, 'AVI ')),
        flac: isSound(starting('fLaC')),
        tagged: isSound(starting('ID3', 4)),
        mp3: isSound(starting(0xff, 0xfb)),
        mp4: isSound(starting(0, 0, 0, 24, 'ftyp')),
        mkv: isSound(starting(0x1a, 0x45, 0xdf, 0xa3)),
        mxf: isSound(starting(6, 14, 0x2b, 0x34)),
        ts: isSound(Buffer.concat([starting(0x47), starting(0x47)]).fill(0x47, 188, 189)),
      },
      { wav: true, avi: false, flac: true, tagged: true, mp3: true, mp4: false, mkv: false, mxf: false, ts: false },
    );
  });

  it('are bounded in number and inside the file, for any bytes', () => {
    const next = random(11);
    for (let i = 0; i < 3000; i++) {
      const file = Buffer.from(Array.from({ length: 40 + Math.floor(next() * 4000) }, () => Math.floor(next() * 256)));
      const types = ['ftyp', 'moov', 'mdat', 'moof', 'sidx', 'free', 'mfra', 'mfro', 'tfra'];
      for (let at = 0; at + 8 < file.length; at += Math.max(8, Math.floor(next() * 300))) {
        file.writeUInt32BE(Math.floor(next() ** 4 * 5000), at);
        file.write(types[at === 0 ? 0 : Math.floor(next() * types.length)]!, at + 4, 'latin1');
      }
      if (next() < 0.5) {
        file.write('mfro', file.length - 12, 'latin1');
        file.writeUInt32BE(Math.floor(next() * file.length), file.length - 4);
      }
      if (next() < 0.3) Buffer.from('1a45dfa384010203041853806701', 'hex').copy(file);
      if (next() < 0.3) Buffer.from('114d9b74', 'hex').copy(file, 21);
      if (next() < 0.1) file.write('RIFF', 'latin1');
      if (next() < 0.1) file.write('ID3', 'latin1');
      const wanted = rounds(file, Math.floor(next() * file.length)).flat();
      assert.ok(wanted.length < 1000, `${wanted.length} ranges`);
      for (const { from, to } of wanted)
        assert.ok(
          from >= 0 && from < to && to <= file.length && from < file.length,
          `${from} to ${to} of ${file.length}`,
        );
    }
  }).timeout(60_000);
});
