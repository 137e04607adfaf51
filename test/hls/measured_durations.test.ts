/** Durations of segments that others made, against the time stamps in their own bytes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { latestCommand } from '../../images/unpacked_tool.ts';
import { corpus } from '../corpus.ts';
import { Host } from './serve.ts';

const PACKET = 188;
const TICKS = 90_000;

/** Presentation times of the video in a transport stream, in seconds. */
function videoTimes(stream: Buffer): number[] {
  const times: number[] = [];
  for (let at = 0; at + PACKET <= stream.length; at += PACKET) {
    const packet = stream.subarray(at, at + PACKET);
    const begins = (packet[1]! & 0x40) !== 0;
    const payload = packet.subarray((packet[3]! & 0x20) === 0 ? 4 : 5 + packet[4]!);
    if (packet[0] !== 0x47 || !begins || payload.length < 14 || payload.readUIntBE(0, 3) !== 1) continue;
    if ((payload[3]! & 0xf0) !== 0xe0 || (payload[7]! & 0x80) === 0) continue;
    const high = (payload[9]! >> 1) & 0x07;
    times.push((high * 2 ** 30 + (payload.readUInt16BE(10) >> 1) * 2 ** 15 + (payload.readUInt16BE(12) >> 1)) / TICKS);
  }
  return times;
}

/** From the first frame to the end of the last one, which lasts as long as the others on average. */
function shownFor(stream: Buffer): number {
  const times = videoTimes(stream);
  assert.ok(times.length > 2, 'there is video in the stream');
  const whole = Math.max(...times) - Math.min(...times);
  return whole + whole / (times.length - 1);
}

interface Box {
  type: string;
  whole: Buffer;
  inside: Buffer;
}

function boxesIn(bytes: Buffer): Box[] {
  const boxes: Box[] = [];
  for (let at = 0; at + 8 <= bytes.length;) {
    const size = bytes.readUInt32BE(at);
    const whole = bytes.subarray(at, at + size);
    boxes.push({ type: bytes.toString('latin1', at + 4, at + 8), whole, inside: whole.subarray(8) });
    at += Math.max(8, size);
  }
  return boxes;
}

const inBox = (bytes: Buffer, [type, ...deeper]: readonly string[]): Buffer => {
  const { inside } = boxesIn(bytes).find((box) => box.type === type)!;
  return deeper.length === 0 ? inside : inBox(inside, deeper);
};

/** Box headers are followed by a version, by which a number has 32 or 64 bits. */
const decodeTime = (moof: Buffer): number => {
  const box = inBox(moof, ['traf', 'tfdt']);
  return box[0] === 1 ? Number(box.readBigUInt64BE(4)) : box.readUInt32BE(4);
};
const timescale = (init: Buffer): number => {
  const box = inBox(init, ['moov', 'trak', 'mdia', 'mdhd']);
  return box.readUInt32BE(box[0] === 1 ? 20 : 12);
};

interface Fragmented {
  init: Buffer;
  fragments: Buffer[];
  /** From the decode time of one fragment to that of the next; the last one has none. */
  seconds: number[];
}

function fragmentsOf(file: Buffer): Fragmented {
  const boxes = boxesIn(file);
  const first = boxes.findIndex(({ type }) => type === 'moof');
  const init = Buffer.concat(boxes.slice(0, first).map(({ whole }) => whole));
  const fragments: Buffer[] = [];
  const starts: number[] = [];
  for (const [index, { type, whole, inside }] of boxes.entries())
    if (type === 'moof') {
      fragments.push(Buffer.concat([whole, boxes[index + 1]!.whole]));
      starts.push(decodeTime(inside));
    }
  const seconds = starts.slice(1).map((start, index) => (start - starts[index]!) / timescale(init));
  return { init, fragments, seconds };
}

describe('measured durations of real segments', function () {
  this.timeout(120_000);
  let host: Host;
  let probeCommand: string[];
  let media: string;
  before(async function () {
    media = corpus(this, 'media');
    const command = await latestCommand('ffprobe');
    if (!command) {
      console.log('      skipped: there is no image of ffprobe in the cache (make images)');
      this.skip();
    }
    probeCommand = command;
    host = await new Host().start();
  });
  after(() => host?.stop());

  async function durations(folder: string, segments: readonly Buffer[], declared: readonly number[], init?: Buffer) {
    const extension = init ? 'm4s' : 'ts';
    for (const [index, body] of segments.entries())
      host.put(`${folder}/${index}.${extension}`, { body, type: 'video/mp2t' });
    if (init) host.put(`${folder}/init.mp4`, { body: init, type: 'video/mp4' });
    const lines = declared.flatMap((seconds, index) => [
      ...(index > 0 && !init ? ['#EXT-X-DISCONTINUITY'] : []),
      `#EXTINF:${seconds.toFixed(3)},`,
      `${index}.${extension}`,
    ]);
    const body = [
      '#EXTM3U',
      '#EXT-X-VERSION:7',
      `#EXT-X-TARGETDURATION:${Math.ceil(Math.max(...declared))}`,
      ...(init ? ['#EXT-X-MAP:URI="init.mp4"'] : []),
      ...lines,
      '#EXT-X-ENDLIST',
      '',
    ].join('\n');
    const report = await host.report(host.put(`${folder}/media.m3u8`, { body }), { measure: { probeCommand } });
    return { measured: report.playlists[0]!.measured!.durations, codes: report.messages.map(({ code }) => code) };
  }

  const near = (measured: { index: number; seconds: number }[], wanted: readonly number[], within: number): void => {
    for (const { index, seconds } of measured)
      if (index < wanted.length)
        assert.ok(
          Math.abs(seconds - wanted[index]!) <= within,
          `${index}: ${seconds} s, in the file ${wanted[index]} s`,
        );
  };

  it('transport streams: from the first time stamp to the end of the last frame', async () => {
    const segments = ['hls/cea608/sd-hls0000000000.ts', 'ts/sample_h265.ts'].map((name) =>
      readFileSync(join(media, name)),
    );
    const wanted = segments.map(shownFor);
    const { measured, codes } = await durations('/ts', segments, wanted);
    assert.deepEqual(
      measured.map(({ index }) => index),
      [0, 1],
    );
    near(measured, wanted, 0.02);
    assert.ok(!codes.includes('duration-measured'), codes.join());
  });

  it('a transport stream that is shorter than declared: the measured duration, and a finding', async () => {
    const segment = readFileSync(join(media, 'hls/cea608/sd-hls0000000000.ts'));
    const { measured, codes } = await durations('/short', [segment], [6]);
    near(measured, [shownFor(segment)], 0.02);
    assert.equal(measured.length, 1);
    assert.ok(codes.includes('duration-measured'), codes.join());
  });

  it('fragments of MP4: from one decode time to the next', async () => {
    const file = readFileSync(join(media, 'mp4/sample_fragmented_variable_length_sgpd.mp4'));
    const { init, fragments, seconds } = fragmentsOf(file);
    assert.equal(fragments.length, 18);
    const { measured, codes } = await durations('/fmp4', fragments.slice(0, -1), seconds, init);
    assert.ok(measured.length > 2, `${measured.length} measured`);
    // Frames are shown in another order than they are decoded in, by at most two frames.
    near(measured, seconds, 0.1);
    assert.ok(!codes.includes('segment-format'), codes.join());
  });
});
