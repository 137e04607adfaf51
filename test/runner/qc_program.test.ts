/** Content checks in a real agent, by the image's own program, of media whose findings are known. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Cancel, SUBJECT, withoutResult } from '../../src/platform/bus/messages.ts';
import { streamsIn } from '../../src/service/runner/qc.ts';
import { barsAvi, blackAvi, madeAvi, toneWav, tracksAvi, whiteAvi } from '../qc/media.ts';
import { until } from '../until.ts';
import { processesWith } from './found.ts';
import { picturesOf, QcRig, resultIn, told } from './qc_rig.ts';

describe('content checks by the program of the image', function () {
  this.timeout(60_000);
  const rig = new QcRig();
  before(async function () {
    await rig.start();
    await rig.newAgent();
    if (!(await rig.unpackPrograms())) this.skip();
  });
  beforeEach(() => rig.serveMedia());
  after(() => rig.stop());

  const near = (actual: number | null, expected: number, by: number) =>
    assert.ok(actual !== null && Math.abs(actual - expected) <= by, `${actual}, expected ${expected}`);

  // All that is said of one of these.
  for (const level of [-23, -33])
    it(`measure a stereo sine of ${level} dBFS`, async () => {
      const { audio, video } = await rig.check(toneWav(20, 10 ** (level / 20)));
      const { loudness, sample_peak: peak, silence, clipping, duration_differs: differs } = audio[0]!;
      near(loudness.integrated, level, 0.1);
      near(loudness.short_term_max, level, 0.1);
      near(loudness.true_peak, level, 0.2);
      near(loudness.range, 0, 0.1);
      near(peak, level, 0.1);
      assert.deepEqual([silence.count, clipping, differs, video], [0, false, false, []]);
    });

  it('find silence at its time', async () => {
    const { audio } = await rig.check(toneWav(9, 0.1, [3, 6]), { silence_min: '1' });
    const [found, ...more] = audio[0]!.silence.list;
    assert.equal(more.length, 0);
    near(found!.from, 3, 0.1);
    near(found!.to, 6, 0.1);
  });

  it('find clipping', async () => {
    assert.equal((await rig.check(toneWav(1, 2))).audio[0]!.clipping, true);
    assert.equal((await rig.check(toneWav(1, 0.9))).audio[0]!.clipping, false);
  });

  it('find black and freezes at their times', async () => {
    // Moving, black from 2 s to 5 s, moving, the same picture from 7 s on.
    const { video, audio } = await rig.check(
      madeAvi(100, (at) => (at >= 20 && at < 50 ? 16 : at < 70 ? at * 2 + 40 : 200)),
    );
    assert.deepEqual(audio, []);
    const { black, freeze, decoded } = video[0]!;
    near(decoded, 10, 0.001);
    assert.deepEqual(black.list, [{ from: 2, to: 5, to_end: false }]);
    assert.deepEqual(freeze.list, [
      { from: 2, to: 5, to_end: false },
      { from: 7, to: 10, to_end: true },
    ]);
  });

  for (const [looks, later] of [
    ['progressive', () => 0],
    ['top first', (y: number) => y % 2],
    ['bottom first', (y: number) => (y + 1) % 2],
  ] as const)
    it(`see that pictures are ${looks}`, async () => {
      // A wave that moves on between the two fields.
      const wave = (at: number, x: number, y: number) => 128 + 80 * Math.sin((x + 3 * (2 * at + later(y))) / 5);
      const { scan } = (await rig.check(madeAvi(200, wave))).video[0]!;
      assert.ok(scan.progressive + scan.top_first + scan.bottom_first <= 64 + 3 * 8);
      assert.deepEqual([scan.looks, scan.declared, scan.differs], [looks, null, false], JSON.stringify(scan));
    });

  for (const [order, fields] of [
    ['progressive', 'progressive'],
    ['tt', 'top first'],
    ['tb', 'top first'],
    ['bb', 'bottom first'],
    ['bt', 'bottom first'],
    ['unknown', undefined],
  ] as const)
    it(`take ffprobe's field order ${order} for ${fields}`, () => {
      const output = Buffer.from(JSON.stringify({ streams: [{ index: 0, codec_type: 'video', field_order: order }] }));
      const none = withoutResult({ name: 'ffprobe', version: '7.1' });
      assert.equal(streamsIn({ ...none, success: true, format: 'json', output })![0]!.fields, fields);
    });

  it('find bars at the edges', async () => {
    const film = madeAvi(20, (at, x, y) => (x >= 8 && x < 60 && y >= 6 && y < 42 ? 60 + at : 16));
    assert.deepEqual((await rig.check(film)).video[0]!.bars, { left: 8, right: 4, top: 6, bottom: 6 });
  });

  it('find bars at the edges that come and go', async () => {
    const film = madeAvi(100, (at, _x, y) => (at >= 30 && at < 70 && (y < 6 || y >= 42) ? 16 : 60 + at));
    const { letterbox, bars } = (await rig.check(film)).video[0]!;
    assert.deepEqual(bars, { left: 0, right: 0, top: 0, bottom: 0 });
    const found = { from: 3, to: 7, to_end: false, left: 0, right: 0, top: 6, bottom: 6 };
    assert.deepEqual(letterbox, { changes: true, count: 1, list: [found], more: 0 });
  });

  it('find colour bars at their time', async () => {
    const { test_bars: bars } = (await rig.check(barsAvi(80, 20, 60))).video[0]!;
    assert.deepEqual(bars, { count: 1, list: [{ from: 2, to: 6, to_end: false }], more: 0 });
  });

  it('find a line-up tone, with frequency and level', async () => {
    const { test_tones: tones } = (await rig.check(toneWav(9, 10 ** (-18 / 20), [5, 9]))).audio[0]!;
    const [tone, ...more] = tones.list;
    assert.deepEqual([more, tone!.from, tone!.to_end], [[], 0, false]);
    near(tone!.to, 5, 0.1);
    near(tone!.frequency, 1_000, 1);
    near(tone!.level, -18, 0.1);
  });

  for (const [right, expected] of [
    [1, [1, true, 0]],
    [0, [0, false, 0]],
    [-1, [-1, false, 1]],
  ] as const)
    it(`hear that the right channel is ${right} of the left`, async () => {
      const { phase } = (await rig.check(toneWav(4, 0.1, [0, 0], right))).audio[0]!;
      near(phase!.mean, expected[0], 0.01);
      assert.deepEqual([phase!.mono, phase!.out_of_phase.count], expected.slice(1));
    });

  it('keep pictures where they are asked for, and find the same', async () => {
    const film = madeAvi(100, (at) => (at >= 20 && at < 50 ? 16 : at * 2 + 40));
    const [plain, body] = [await rig.ended(film), await rig.ended(film, { pictures: 'true' })];
    assert.equal(picturesOf(plain), undefined);
    assert.deepEqual(told(body), { ...told(plain), pictures: 20 });
    const { video, audio } = picturesOf(body)!;
    assert.deepEqual([video!.stream, video!.width, video!.height, audio], [0, 64, 48, []]);
    assert.deepEqual(
      video!.list.map(({ at }) => at),
      Array.from({ length: 20 }, (_, at) => at / 2),
    );
  });

  it('keep the course of the sound, where it is asked for', async () => {
    const body = await rig.ended(toneWav(9, 0.5, [3, 6]), { pictures: 'true' });
    near(told(body).audio[0]!.sample_peak, -6.02, 0.01);
    const { video, audio } = picturesOf(body)!;
    const [{ stream, step, peaks }] = audio as [(typeof audio)[number]];
    const values = [...Buffer.from(peaks, 'base64')];
    assert.deepEqual([video, stream, step, values.length], [null, 0, 0.1, 90]);
    assert.deepEqual([values[10], values[45], values[80]], [127, 0, 127]);
  });

  it('that are cut short have the pictures until then', async () => {
    const film = madeAvi(2_000, (at) => at % 200);
    rig.serve = (_request, response) => {
      response.writeHead(200, { 'content-type': 'video/x-msvideo' });
      response.write(film.subarray(0, film.length / 2));
    };
    const order = { remainingMs: 8_000, assignment: { timeoutMs: 8_000 } };
    const { body } = await rig.run(rig.go(rig.programsWith({ pictures: 'true' }), order));
    assert.equal(resultIn(body).success, true, resultIn(body).error);
    assert.match(told(body).cut!, /^qc did not finish within \d+ ms/);
    const { list } = picturesOf(body)!.video!;
    assert.ok(list.length >= 8 && list.length <= 13, `${list.length}: ${list.map(({ at }) => at).join(' ')}`);
  });

  it('check eight of nine audio streams, each on its own, and name the ninth', async () => {
    const { audio, not_checked: left } = await rig.check(tracksAvi(9, 4));
    assert.deepEqual(
      audio.map(({ stream }) => stream),
      [0, 1, 2, 3, 4, 5, 6, 7],
    );
    for (const [track, { decoded, sample_peak: peak }] of audio.entries()) {
      near(decoded, 4, 0.1);
      near(peak, -6.02 * (track + 1), 0.1);
    }
    assert.deepEqual(left, [{ stream: 8, type: 'audio', why: 'only the first 8 audio streams are checked' }]);
  });

  it('say of a picture that is too large what is wrong with it', async () => {
    rig.media = blackAvi(16_384);
    const { body } = await rig.run(rig.go(rig.programs));
    const { success, failure, error, output } = resultIn(body);
    assert.deepEqual(
      [success, failure, error, output],
      [false, 'failed', 'Picture size 16384x16384 is invalid (exit code 69)', null],
    );
  });

  for (const [width, height] of [
    [2, 2],
    [16_384, 2],
    [2, 16_384],
  ] as const)
    it(`of pictures of ${width}x${height} are made`, async () => {
      const { bars, scan } = (await rig.check(whiteAvi(width, height))).video[0]!;
      assert.deepEqual([bars, scan.looks], [{ left: 0, right: 0, top: 0, bottom: 0 }, null]);
    });

  it('of the largest picture that is decoded stay within the memory of a tool', async () => {
    const { video } = await rig.check(blackAvi(16_000), { pictures: 'true' });
    assert.deepEqual([video[0]!.decoded, video[0]!.black.count], [0, 0]);
  });

  /** Sound that never ends, ten times as fast as it is heard. */
  function serveEndless(): void {
    const [second, head] = [toneWav(1, 0.1).subarray(44), toneWav(0, 0)];
    head.writeUInt32LE(0xffffffff, 4);
    head.writeUInt32LE(0xffffffff, 40);
    rig.serve = (_request, response) => {
      response.writeHead(200, { 'content-type': 'audio/wav' });
      response.write(head);
      const timer = setInterval(() => response.write(second), 100);
      response.on('close', () => clearInterval(timer));
    };
  }
  const decoders = () => processesWith('-filter_complex\x00').filter((pid) => isOurs(pid));
  const isOurs = (pid: number) => processesWith(rig.directory).includes(pid);

  it('of a stream without an end are cut at the time that is left, and say until when', async () => {
    serveEndless();
    const { body } = await rig.run(rig.go(rig.programs, { remainingMs: 9_000, assignment: { timeoutMs: 9_000 } }));
    const { success, error } = resultIn(body);
    assert.equal(success, true, error);
    const { cut, until: reached, audio } = told(body);
    assert.match(cut!, /^qc did not finish within \d+ ms/);
    assert.ok(reached! > 1 && reached === audio[0]!.decoded, `until ${reached}`);
    near(audio[0]!.loudness.integrated, -20, 0.2);
    assert.equal(audio[0]!.duration_differs, false);
    assert.deepEqual(decoders(), []);
  });

  it('that are cancelled end their decoder within a second', async () => {
    serveEndless();
    const order = rig.go(rig.programs, { remainingMs: 60_000, assignment: { timeoutMs: 60_000 } });
    assert.ok((await rig.say(SUBJECT.go, order)).ok);
    await until('the decoder runs', () => decoders().length > 0, 20_000);
    await until('some of it is decoded', () => (rig.agent.progress()?.seconds ?? 0) > 0, 20_000);
    const begun = performance.now();
    const { job } = order;
    const said = await rig.say(SUBJECT.cancel, { epoch: 1, job, attempt: 1, why: 'cancelled' } satisfies Cancel);
    assert.ok(said.ok && said.used && said.used.bytes > 0, 'it tells what the job has cost');
    assert.ok(said.used.decodedSeconds! > 0, 'and what it decoded');
    await until('the decoder is gone', () => decoders().length === 0);
    assert.ok(performance.now() - begun < 1_000, `${performance.now() - begun} ms`);
    await rig.phase('idle');
  });

  it('of a playlist are those of its segments, one after the other', async () => {
    const segment = readFileSync(join(import.meta.dirname, '../policy/media/low.mp3'));
    const lines = [1, 2, 3].flatMap((at) => ['#EXTINF:1,', `${at}.mp3`]);
    const playlist = ['#EXTM3U', '#EXT-X-TARGETDURATION:1', ...lines, '#EXT-X-ENDLIST', ''].join('\n');
    rig.serve = (request, response) => {
      const isSegment = request.url!.endsWith('.mp3');
      response.writeHead(200, { 'content-type': isSegment ? 'audio/mpeg' : 'application/vnd.apple.mpegurl' });
      response.end(isSegment ? segment : playlist);
    };
    const { body } = await rig.run(rig.go(rig.programs, { source: `${rig.originUrl}/main.m3u8` }));
    assert.equal(resultIn(body).success, true, resultIn(body).error);
    const { audio, video, cut } = told(body);
    assert.deepEqual([audio.length, video, cut], [1, [], undefined]);
    assert.ok(audio[0]!.decoded! > 0, JSON.stringify(audio));
  });
});
