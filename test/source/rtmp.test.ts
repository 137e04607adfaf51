import assert from 'node:assert/strict';
import { placeOf } from '../../src/source/protocols/table.ts';
import { rtmpAddress, aggregated, flvHeader, flvTag } from '../../src/source/protocols/rtmp/session.ts';
import { decodeAmf, encodeAmf, type Amf } from '../../src/source/protocols/rtmp/amf0.ts';
import { ChunkReader, encodeMessage, type Message } from '../../src/source/protocols/rtmp/chunks.ts';
import { assertLinear } from './work.ts';
import { heldBytes } from '../held.ts';

describe('rtmp: addresses', () => {
  const cases: [url: string, app: string, playpath: string][] = [
    ['rtmp://host/live/key', 'live', 'key'],
    ['rtmp://host:1936/live/key?token=a/b', 'live', 'key?token=a/b'],
    ['rtmp://host/live/instance/key', 'live/instance', 'key'],
    ['rtmp://host/vod/mp4:dir/film.mp4', 'vod', 'mp4:dir/film.mp4'],
    ['rtmp://host/vod/film.mp4', 'vod', 'mp4:film.mp4'],
    ['rtmp://host/vod/film.flv?x=1', 'vod', 'film?x=1'],
    ['rtmp://host/live', 'live', ''],
  ];
  for (const [url, app, playpath] of cases) {
    it(url, () => {
      const found = rtmpAddress('rtmp', placeOf(url));
      assert.deepEqual([found.app, found.playpath], [app, playpath]);
      assert.equal(found.tcUrl, `rtmp://host${url.includes(':1936') ? ':1936' : ''}/${app}`);
    });
  }
});

describe('rtmp: messages', () => {
  it('values survive encoding and decoding', () => {
    const values: Amf[] = [
      'connect',
      1,
      { a: true, b: null, c: 'ü', list: ['x', 2] },
      undefined,
      false,
      'l'.repeat(70_000),
    ];
    assert.equal(JSON.stringify(decodeAmf(encodeAmf(...values))), JSON.stringify(values));
  });

  it('truncated, endless and deeply nested values are errors', () => {
    const nested = Buffer.concat(Array.from({ length: 1000 }, () => Buffer.from([3, 0, 1, 0x61])));
    const list = Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 5]);
    for (const bad of [
      nested,
      list,
      Buffer.from([2, 0xff, 0xff, 1]),
      Buffer.from([0, 1]),
      Buffer.from([3, 0, 1, 0x61]),
      Buffer.from([0x11]),
    ])
      assert.throws(() => decodeAmf(bad), RangeError);
  });

  const read = (reader: ChunkReader, bytes: Buffer, step = bytes.length): Message[] => {
    const found: Message[] = [];
    for (let at = 0; at < bytes.length; at += step) found.push(...reader.read(bytes.subarray(at, at + step)));
    return found;
  };

  it('are assembled from chunks, in pieces of any size', () => {
    const body = Buffer.from(Array.from({ length: 1000 }, (_, i) => i & 255));
    const bytes = Buffer.concat([
      encodeMessage(3, 20, 0, body),
      encodeMessage(8, 9, 1, body.subarray(0, 128)),
      encodeMessage(8, 9, 1, Buffer.alloc(0)),
    ]);
    for (const step of [1, 7, 129, bytes.length]) {
      const found = read(new ChunkReader(), bytes, step);
      assert.deepEqual(
        found.map(({ type, stream, body: { length } }) => [type, stream, length]),
        [
          [20, 0, 1000],
          [9, 1, 128],
          [9, 1, 0],
        ],
      );
      assert.ok(found[0]!.body.equals(body));
    }
  });

  it('timestamps: absolute, relative, and over 24 bits', () => {
    const chunks = Buffer.concat([
      Buffer.from('04000064000001080100000041', 'hex'), // 100, absolute
      Buffer.from('4400000a0000010842', 'hex'), // +10
      Buffer.from('8400000543', 'hex'), // +5
      Buffer.from('c444', 'hex'), // +5 again
      Buffer.from('04ffffff00000108010000000100000045', 'hex'), // 0x01000000
    ]);
    assert.deepEqual(
      read(new ChunkReader(), chunks).map(({ timestamp }) => timestamp),
      [100, 110, 115, 120, 0x01000000],
    );
  });

  it('invalid chunks are refused: without a start, of excessive length, on too many channels', () => {
    assert.throws(() => read(new ChunkReader(), Buffer.from([0xc4, 1])));
    assert.throws(() => read(new ChunkReader(), Buffer.from('04000000ffffff080100000041', 'hex')));
    const reader = new ChunkReader();
    const start = (id: number): Buffer =>
      Buffer.concat([Buffer.from([0, id]), Buffer.from('0000000001000801000000', 'hex'), Buffer.alloc(128)]);
    assert.throws(() => {
      for (let id = 0; id < 100; id++) read(reader, start(id));
    });
    assert.throws(() => {
      new ChunkReader().chunkSize = 0;
    });
  });

  /** An incomplete video message, in chunks of the given size. */
  const unfinished = (length: number, chunk: number, sent: number): Buffer => {
    const head = Buffer.from('050000000000000901000000', 'hex');
    head.writeUIntBE(length, 4, 3);
    const body = Buffer.alloc(sent + Math.ceil(sent / chunk));
    for (let at = chunk; at < body.length; at += chunk + 1) body[at] = 0xc5;
    return Buffer.concat([head, body.subarray(0, sent + Math.ceil(sent / chunk) - 1)]);
  };

  it('one long chunk in small pieces takes linear time', () =>
    assertLinear('chunk', 1 << 20, (size) => {
      const bytes = unfinished(8 << 20, 8 << 20, size);
      return () => {
        const reader = new ChunkReader();
        reader.chunkSize = 8 << 20;
        assert.deepEqual(read(reader, bytes, 1000), []);
      };
    })).timeout(60_000);

  it('a message in chunks of one byte is held in a few buffers, not in one per byte', () => {
    const length = 1 << 20;
    const bytes = unfinished(length + 1, 1, length);
    const reader = new ChunkReader();
    reader.chunkSize = 1;
    const before = heldBytes();
    assert.deepEqual(read(reader, bytes), []);
    const held = heldBytes() - before;
    assert.deepEqual(
      read(reader, Buffer.from([0xc5, 7])).map(({ body }) => [body.length, body.at(-1)]),
      [[length + 1, 7]],
    );
    assert.ok(held < 16 << 20, `${held} bytes of heap`);
  }).timeout(20_000);

  it('messages on several channels are kept apart, and an aborted one restarts', () => {
    const start = Buffer.from('05000000000102090100000041', 'hex');
    const reader = new ChunkReader();
    reader.chunkSize = 1;
    const head = (channel: number, length: number): Buffer =>
      Buffer.from([channel, 0, 0, 0, 0, 0, length, 9, 1, 0, 0, 0]);
    const bytes = Buffer.concat([
      head(5, 2),
      Buffer.from('a'),
      head(6, 2),
      Buffer.from('x'),
      Buffer.from([0xc5, 0x62]),
      Buffer.from([0xc6, 0x79]),
    ]);
    assert.deepEqual(
      read(reader, bytes, 1).map(({ body }) => body.toString()),
      ['ab', 'xy'],
    );
    read(reader, start);
    reader.abort(5);
    assert.deepEqual(
      read(reader, bytes, 3).map(({ body }) => body.toString()),
      ['ab', 'xy'],
    );
  });

  it('become FLV, aggregate messages one by one', () => {
    assert.equal(flvHeader(true, true).toString('hex'), '464c5601050000000900000000');
    assert.equal(flvTag(9, 0x12345678, Buffer.from('ab')).toString('hex'), '090000023456781200000061620000000d');
    const body = Buffer.concat([
      flvTag(8, 1000, Buffer.from('a')),
      flvTag(9, 1040, Buffer.from('bc')),
      Buffer.from([9, 0, 1]),
    ]);
    assert.deepEqual(
      [...aggregated(body, 5)].map(({ type, timestamp, body: { length } }) => [type, timestamp, length]),
      [
        [8, 5, 1],
        [9, 45, 2],
      ],
    );
  });
});
