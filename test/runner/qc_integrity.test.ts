/** Damage in a real agent, by the programs of the images: what was turned in a file is found, with its place. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { constantFlac, toneWav, tracksAvi } from '../qc/media.ts';
import { QcRig, told } from './qc_rig.ts';

const archive = readFileSync(join(import.meta.dirname, '../policy/media/archive.mkv'));
const turned = (at: number): Buffer => {
  const copy = Buffer.from(archive);
  copy[at]! ^= 0x10;
  return copy;
};
const hex = (name: string, bytes: Buffer): string => createHash(name).update(bytes).digest('hex');

describe('integrity in an agent', function () {
  this.timeout(60_000);
  const rig = new QcRig();
  before(async function () {
    await rig.start();
    await rig.newAgent();
    rig.serveMedia();
    if (!(await rig.unpackPrograms())) this.skip();
  });
  after(() => rig.stop());

  it('of a WAV has the hash of its samples and of the file, and no error', async () => {
    const wav = toneWav(1, 0.1);
    const { integrity, file, unread_lines: unread } = await rig.check(wav, { integrity: 'true' });
    assert.deepEqual(file, { bytes: wav.length, sha256: hex('sha256', wav) });
    const [{ packets, ...stream } = assert.fail(), ...others] = integrity!.streams;
    assert.deepEqual(stream, {
      stream: 0,
      type: 'audio',
      hash: hex('md5', wav.subarray(44)),
      errors: { count: 0, list: [], more: 0 },
    });
    assert.ok(packets > 0);
    assert.deepEqual([others, integrity!.checksums, integrity!.cut, unread], [[], [], undefined, 0]);
  });

  it('of several streams has the hash of each', async () => {
    const film = tracksAvi(3, 2);
    const { integrity, unread_lines: unread } = await rig.check(film, { integrity: 'true' });
    const samples = (track: number): Buffer => {
      const at = film.indexOf(`0${track}wb`, 0, 'latin1') + 8;
      const second = film.subarray(at, at + film.readUInt32LE(at - 4));
      return Buffer.concat([second, second]);
    };
    assert.deepEqual(
      integrity!.streams.map(({ hash }) => hash),
      [0, 1, 2].map((track) => hex('md5', samples(track))),
    );
    assert.equal(unread, 0);
  });

  it('of a stream without packets says that nothing of it is known', async () => {
    const film = tracksAvi(2, 1);
    film.write('09', film.indexOf('01wb', 0, 'latin1'), 'latin1');
    const { audio, integrity } = await rig.check(film, { integrity: 'true' });
    assert.deepEqual(
      audio.map(({ decoded }) => decoded === null),
      [false, true],
    );
    assert.deepEqual(
      integrity!.streams.map(({ not_checked: why }) => why),
      [undefined, 'it has no packets'],
    );
    assert.deepEqual(
      integrity!.streams.map(({ hash, no_hash: why }) => [hash === null, why]),
      [
        [false, undefined],
        [true, 'nothing of it was decoded'],
      ],
    );
  });

  it('of a whole archive finds its checksums right', async () => {
    const { integrity } = await rig.check(archive, { integrity: 'true' });
    assert.deepEqual(
      integrity!.streams.map(({ errors }) => errors.count),
      integrity!.streams.map(() => 0),
    );
    const sums = integrity!.checksums;
    assert.ok(sums.some(({ kind }) => kind === 'matroska-crc32'));
    assert.deepEqual(
      sums.map(({ wrong }) => wrong),
      sums.map(() => 0),
    );
  });

  for (const [bits, turns, expected] of [
    [16, false, [0]],
    [16, true, [1]],
    // Decoders hold these otherwise than they are hashed.
    [12, false, []],
  ] as const)
    it(`of FLAC of ${bits} bits${turns ? ' with another MD5' : ''} has ${expected.length} checksums`, async () => {
      const file = constantFlac(bits, [100, -200, 300, 7, 1_000]);
      if (turns) file[30]! ^= 1;
      const { integrity, audio } = await rig.check(file, { integrity: 'true' });
      assert.deepEqual([integrity!.streams[0]!.errors.count, audio.length], [0, 1]);
      assert.deepEqual(
        integrity!.checksums.map(({ wrong }) => wrong),
        expected,
      );
    });

  for (const [what, prints, expected] of [
    ['is compared beside attachments of any length', '*"-select_streams a"*', [1, undefined]],
    ['that cannot be read is said', '*"no such option"*', [undefined, 'ffprobe did not print the MD5 of FLAC']],
  ] as const)
    it(`the MD5 of FLAC ${what}`, async () => {
      const stream = {
        index: 0,
        codec_type: 'audio',
        codec_name: 'flac',
        sample_fmt: 's16',
        bits_per_raw_sample: '16',
      };
      const extradata = `\n00000000: ${'1234 '.repeat(8)} x\n00000010: ${'5678 '.repeat(8)} x\n00000020: 9abc x\n`;
      const [streams, heads] = [stream, { index: 0, extradata }].map((one) => JSON.stringify({ streams: [one] }));
      const asked = `case "$*" in ${prints}) echo '${heads}';; *show_data*) ;; *) echo '${streams}';; esac`;
      const lines = ['frame:0 pts:0 pts_time:0', 'qc=0', `0,a,MD5=${'0'.repeat(32)}`];
      const checks = rig.script(lines.map((line) => `echo '${line}'`).join('; '), { name: 'qc' });
      const { body } = await rig.run(rig.go([rig.script(asked), { ...checks, options: { integrity: 'true' } }]));
      const { checksums, cut } = told(body).integrity!;
      assert.deepEqual([checksums[0]?.wrong, cut], expected);
    });

  it('of an archive with a bit that is turned has its place', async () => {
    // In the slices of the picture.
    const at = 8_000;
    const { integrity } = await rig.check(turned(at), { integrity: 'true' });
    const errors = integrity!.streams.flatMap(({ errors: { list } }) => list);
    assert.equal(errors.length, 1, JSON.stringify(errors));
    const [{ byte, what, at: time }] = errors as [{ byte: number; what: string; at: number }];
    assert.ok(byte < at && at - byte < 100_000 && time >= 0, `${byte}, of ${at}`);
    assert.match(what, /CRC/);
  });

  for (const [what, options, expected] of [
    ['its own hash', { sha256: hex('sha256', archive).toUpperCase() }, true],
    ['another hash', { sha256: '0'.repeat(64) }, false],
    ['its own MD5', { md5: hex('md5', archive) }, true],
    ['one of two that is wrong', { md5: hex('md5', archive), sha256: '0'.repeat(64) }, false],
  ] as const)
    it(`says whether a file has the hash that was given: ${what}`, async () => {
      const { file, integrity } = await rig.check(archive, options);
      assert.deepEqual([file!.as_given, file!.bytes, integrity], [expected, archive.length, undefined]);
    });

  it('reads a file of nearly the largest size as often as it is asked to', async () => {
    const file = Buffer.concat([archive, Buffer.alloc(64 << 20)]);
    const maxBytes = file.length + (1 << 20);
    const body = await rig.ended(file, { integrity: 'true' }, { maxBytes });
    const { cut, integrity, file: read } = told(body);
    assert.deepEqual([cut, integrity!.cut, read!.cut, read!.bytes], [undefined, undefined, undefined, file.length]);
    assert.ok(body.ioUsage > maxBytes, `${body.ioUsage} bytes`);
  });

  it('of a file that changes meanwhile says so', async () => {
    let reads = 0;
    const { serve } = rig;
    rig.serve = (request, response) => {
      reads += 1;
      response.setHeader('etag', `"${reads > 2 ? 'b' : 'a'}"`);
      return serve(request, response);
    };
    const { file } = await rig.check(Buffer.concat([archive, Buffer.alloc(64 << 20)]), { sha256: '0'.repeat(64) });
    rig.serve = serve;
    assert.equal(file?.cut, 'the file changed while it was read', `${reads} reads`);
  });

  it('of a playlist decodes its segments; it is no single file', async () => {
    const segment = readFileSync(join(import.meta.dirname, '../policy/media/low.mp3'));
    const { serve } = rig;
    rig.serve = (request, response) => {
      const isSegment = request.url!.endsWith('.mp3');
      response.writeHead(200, { 'content-type': isSegment ? 'audio/mpeg' : 'application/vnd.apple.mpegurl' });
      response.end(isSegment ? segment : '#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n1.mp3\n#EXT-X-ENDLIST\n');
    };
    const [plain, given] = [
      await rig.check(archive, { integrity: 'true' }),
      await rig.check(archive, { md5: '0'.repeat(32) }),
    ];
    rig.serve = serve;
    assert.deepEqual([plain.integrity!.streams.length, plain.file], [1, undefined]);
    assert.deepEqual(given.file, { bytes: null, sha256: null, cut: 'the source is no single file' });
  });

  for (const [whose, own, all] of [
    ['that is left', 30_000, 2_000],
    ['of the checks', 1_000, 20_000],
  ] as const)
    it(`of a file without an end is cut at the time ${whose}`, async () => {
      const { serve } = rig;
      rig.serve = (_request, response) => {
        response.writeHead(200, { 'content-type': 'video/mp4' });
        const timer = setInterval(() => response.write('media'), 100);
        response.on('close', () => clearInterval(timer));
      };
      const film = rig.script(`echo '{"streams":[{"index":0,"codec_type":"video"}]}'`);
      const lines = ['frame:0 pts:0 pts_time:0', 'qc=0'].map((line) => `echo '${line}'`).join('; ');
      const checks = { ...rig.script(lines, { name: 'qc' }), timeoutMs: own, options: { sha256: '0'.repeat(64) } };
      const times = { remainingMs: all, assignment: { timeoutMs: all } };
      const begun = performance.now();
      const { body } = await rig.run(rig.go([film, checks], times));
      rig.serve = serve;
      const { file } = told(body);
      assert.ok(performance.now() - begun < 15_000);
      assert.deepEqual(file, { bytes: null, sha256: null, cut: 'the time ran out' });
    });
});
