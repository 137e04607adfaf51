/** Content checks in a real agent: from scripts that print what the graph does, and from the image's own program. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { unpack } from '../../images/archive.ts';
import { cachedTools } from '../../images/cached.ts';
import type { QcReport } from '../../src/media/qc/schema.ts';
import type { AssignedTool } from '../../src/platform/bus/messages.ts';
import { madeAvi, toneWav } from '../qc/media.ts';
import { EBU_CASES, signalWav } from '../qc/signals.ts';
import type { TextBody } from '../result/text_body.ts';
import { Rig } from './agent_rig.ts';

const built = (await cachedTools()).filter(
  ({ entry, image }) => image !== undefined && ['7.1'].includes(entry.version),
);
const imageOf = (tool: string) => built.find(({ entry }) => entry.tool === tool);

const FILM =
  '{"streams":[{"index":0,"codec_type":"video","duration":"5.0"},{"index":1,"codec_type":"audio"},' +
  '{"index":2,"codec_type":"video","disposition":{"attached_pic":1}}],"format":{"duration":"5.0"}}';
const LINES = ['frame:0 pts:0 pts_time:0', 'lavfi.black_start=0', 'qc=0', 'frame:1 pts:1 pts_time:4', 'qc=0'];
const BLOCKS = LINES.map((line) => `echo '${line}'`).join('; ');

describe('content checks in an agent', function () {
  this.timeout(60_000);
  const rig = new Rig();
  let media = toneWav(1, 0.1);
  before(async () => {
    await rig.start();
    await rig.newAgent();
  });
  beforeEach(() => {
    rig.serve = (request, response) => {
      const [, from = '0', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
      const part = media.subarray(Number(from), to === '' ? undefined : Number(to) + 1);
      const head = { 'accept-ranges': 'bytes', 'content-length': part.length };
      const range = `bytes ${from}-${Number(from) + part.length - 1}/${media.length}`;
      if (request.headers.range === undefined) response.writeHead(200, head);
      else response.writeHead(206, { ...head, 'content-range': range });
      response.end(part);
    };
  });
  after(() => rig.stop());

  const reader = (json = FILM) => rig.script(`echo '${json}'`);
  const checks = (text: string): AssignedTool => rig.script(text, { name: 'qc' });
  const resultIn = ({ tools }: TextBody) => tools.find(({ name }) => name === 'qc')!;
  const told = (body: TextBody): QcReport => JSON.parse(resultIn(body).output ?? 'null') as QcReport;

  it('run after ffprobe, on its streams but the cover', async () => {
    const { body } = await rig.run(rig.go([checks(`echo "$*" >&2; ${BLOCKS}`), reader()]));
    const { success, format, error } = resultIn(body);
    assert.deepEqual([success, format, error], [true, 'json', undefined]);
    const { video, audio, not_checked: left, until } = told(body);
    assert.deepEqual(
      video.map(({ stream, decoded, declared, black }) => [stream, decoded, declared, black.list]),
      [[0, 8, 5, [{ from: 0, to: 8, to_end: true }]]],
    );
    assert.deepEqual([audio.map(({ stream, declared }) => [stream, declared]), left, until], [[[1, 5]], [], undefined]);
  });

  it('that run out of time say until when', async () => {
    const slow = checks(`${BLOCKS}; echo frame:2; exec sleep 60`);
    const { body } = await rig.run(rig.go([slow, reader()], { remainingMs: 1_500, assignment: { timeoutMs: 1_500 } }));
    assert.equal(resultIn(body).success, true);
    const { until, cut } = told(body);
    assert.match(cut!, /^qc did not finish within \d+ ms/);
    assert.equal(until, 8);
  });

  it('that fail before a frame are a failure', async () => {
    const { body } = await rig.run(rig.go([checks('echo "Invalid data" >&2; exit 1'), reader()]));
    const { success, error, output } = resultIn(body);
    assert.deepEqual([success, error, output], [false, 'Invalid data (exit code 1)', null]);
  });

  for (const [of, json, error] of [
    ['no streams', '{"format":{}}', 'ffprobe found no streams'],
    ['neither pictures nor sound', '{"streams":[]}', 'the source has no pictures and no sound to check'],
  ])
    it(`of a source with ${of} are a failure`, async () => {
      const { body } = await rig.run(rig.go([checks('exit 9'), reader(json)]));
      assert.deepEqual([resultIn(body).success, resultIn(body).error], [false, error]);
    });

  it('without ffprobe are a failure', async () => {
    const { body } = await rig.run(rig.go([checks('exit 9')]));
    assert.equal(resultIn(body).error, 'qc needs ffprobe, which is not among the tools');
  });

  describe('by the program of the image', () => {
    const tools: AssignedTool[] = [];
    before(async function () {
      const images = [imageOf('ffprobe'), imageOf('qc')];
      if (images.some((found) => !found)) this.skip();
      for (const found of images) {
        const { entry, image } = found!;
        const folder = join(rig.directory, 'images', entry.tool);
        mkdirSync(folder, { recursive: true });
        await unpack(image!.archive, folder);
        const command = entry.command.map((part) => part.replaceAll('{root}', folder));
        tools.push({ name: entry.tool, version: entry.version, timeoutMs: 60_000, options: {}, command });
      }
    });
    const run = async (file: Buffer, options = {}): Promise<QcReport> => {
      media = file;
      const { body } = await rig.run(rig.go(tools.map((tool) => (tool.name === 'qc' ? { ...tool, options } : tool))));
      assert.equal(resultIn(body).success, true, resultIn(body).error);
      return told(body);
    };
    const near = (actual: number | null, expected: number, by: number) =>
      assert.ok(actual !== null && Math.abs(actual - expected) <= by, `${actual}, expected ${expected}`);

    for (const { name, signal, fact, is, within } of EBU_CASES)
      it(`measure as EBU Tech ${name} asks: ${fact} ${is}`, async () => {
        const [{ loudness } = assert.fail('no sound')] = (await run(signalWav(signal))).audio;
        const value = loudness[fact];
        assert.ok(value !== null && value >= is - within[0] && value <= is + within[1], `${value}`);
      });

    // All that is said of one of these.
    for (const level of [-23, -33])
      it(`measure a stereo sine of ${level} dBFS`, async () => {
        const { audio, video } = await run(toneWav(20, 10 ** (level / 20)));
        const { loudness, sample_peak: peak, silence, clipping, duration_differs: differs } = audio[0]!;
        near(loudness.integrated, level, 0.1);
        near(loudness.short_term_max, level, 0.1);
        near(loudness.true_peak, level, 0.2);
        near(loudness.range, 0, 0.1);
        near(peak, level, 0.1);
        assert.deepEqual([silence.count, clipping, differs, video], [0, false, false, []]);
      });

    it('find silence at its time', async () => {
      const { audio } = await run(toneWav(9, 0.1, [3, 6]), { silence_min: '1' });
      const [found, ...more] = audio[0]!.silence.list;
      assert.equal(more.length, 0);
      near(found!.from, 3, 0.1);
      near(found!.to, 6, 0.1);
    });

    it('find clipping', async () => {
      assert.equal((await run(toneWav(1, 2))).audio[0]!.clipping, true);
      assert.equal((await run(toneWav(1, 0.9))).audio[0]!.clipping, false);
    });

    it('find black and freezes at their times', async () => {
      // Moving, black from 2 s to 5 s, moving, the same picture from 7 s on.
      const { video, audio } = await run(
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
  });
});
