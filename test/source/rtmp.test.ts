import assert from 'node:assert/strict';
import { rtmpAddress } from '../../src/source/rtmp/address.ts';
import { decodeAmf, encodeAmf, type Amf } from '../../src/source/rtmp/amf0.ts';
import { ChunkReader, encodeMessage, type Message } from '../../src/source/rtmp/chunks.ts';
import { aggregated, flvHeader, flvTag } from '../../src/source/rtmp/flv.ts';

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
      const found = rtmpAddress({ url, scheme: 'rtmp' });
      assert.deepEqual([found.app, found.playpath], [app, playpath]);
      assert.equal(found.tcUrl, `rtmp://host${url.includes(':1936') ? ':1936' : ''}/${app}`);
    });
  }
});

describe('rtmp: messages', () => {
  it('values come back as they went', () => {
    const values: Amf[] = ['connect', 1, { a: true, b: null, c: 'ü', list: ['x', 2] }, undefined, false, 'l'.repeat(70_000)];
    assert.equal(JSON.stringify(decodeAmf(encodeAmf(...values))), JSON.stringify(values));
  });

  it('cut, endless and deep values are errors, not loops', () => {
    const nested = Buffer.concat(Array.from({ length: 1000 }, () => Buffer.from([3, 0, 1, 0x61])));
    const list = Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 5]);
    for (const bad of [nested, list, Buffer.from([2, 0xff, 0xff, 1]), Buffer.from([0, 1]), Buffer.from([3, 0, 1, 0x61]), Buffer.from([0x11])]) assert.throws(() => decodeAmf(bad), RangeError);
  });

  const read = (reader: ChunkReader, bytes: Buffer, step = bytes.length): Message[] => {
    const found: Message[] = [];
    for (let at = 0; at < bytes.length; at += step) found.push(...reader.read(bytes.subarray(at, at + step)));
    return found;
  };

  it('are put together from chunks, in whatever pieces they come', () => {
    const body = Buffer.from(Array.from({ length: 1000 }, (_, i) => i & 255));
    const bytes = Buffer.concat([encodeMessage(3, 20, 0, body), encodeMessage(8, 9, 1, body.subarray(0, 128)), encodeMessage(8, 9, 1, Buffer.alloc(0))]);
    for (const step of [1, 7, 129, bytes.length]) {
      const found = read(new ChunkReader(), bytes, step);
      assert.deepEqual(found.map(({ type, stream, body: { length } }) => [type, stream, length]), [[20, 0, 1000], [9, 1, 128], [9, 1, 0]]);
      assert.ok(found[0]!.body.equals(body));
    }
  });

  it('times: from the start, by differences, and past 24 bits', () => {
    const chunks = Buffer.concat([
      Buffer.from('04000064000001080100000041', 'hex'), // 100, absolute
      Buffer.from('4400000a0000010842', 'hex'), // +10
      Buffer.from('8400000543', 'hex'), // +5
      Buffer.from('c444', 'hex'), // +5 again
      Buffer.from('04ffffff00000108010000000100000045', 'hex'), // 0x01000000
    ]);
    assert.deepEqual(read(new ChunkReader(), chunks).map(({ timestamp }) => timestamp), [100, 110, 115, 120, 0x01000000]);
  });

  it('what cannot be is refused: no beginning, endless lengths, too many channels', () => {
    assert.throws(() => read(new ChunkReader(), Buffer.from([0xc4, 1])));
    assert.throws(() => read(new ChunkReader(), Buffer.from('04000000ffffff080100000041', 'hex')));
    const reader = new ChunkReader();
    const start = (id: number): Buffer => Buffer.concat([Buffer.from([0, id]), Buffer.from('0000000001000801000000', 'hex'), Buffer.alloc(128)]);
    assert.throws(() => { for (let id = 0; id < 100; id++) read(reader, start(id)); });
    assert.throws(() => { new ChunkReader().chunkSize = 0; });
  });

  it('become FLV, aggregated ones one by one', () => {
    assert.equal(flvHeader(true, true).toString('hex'), '464c5601050000000900000000');
    assert.equal(flvTag(9, 0x12345678, Buffer.from('ab')).toString('hex'), '090000023456781200000061620000000d');
    const body = Buffer.concat([flvTag(8, 1000, Buffer.from('a')), flvTag(9, 1040, Buffer.from('bc')), Buffer.from([9, 0, 1])]);
    assert.deepEqual([...aggregated(body, 5)].map(({ type, timestamp, body: { length } }) => [type, timestamp, length]), [[8, 5, 1], [9, 45, 2]]);
  });
});
