/** Content checks in a real agent, from scripts that print what the graph does. */
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AssignedTool, SUBJECT } from '../../src/platform/bus/messages.ts';
import { until } from '../until.ts';
import { picturesOf, QcRig, resultIn, told } from './qc_rig.ts';

const FILM =
  '{"streams":[{"index":0,"codec_type":"video","duration":"5.0"},{"index":1,"codec_type":"audio"},' +
  '{"index":2,"codec_type":"video","disposition":{"attached_pic":1}}],"format":{"duration":"5.0"}}';
const LINES = ['frame:0 pts:0 pts_time:0', 'lavfi.black_start=0', 'qc=0', 'frame:1 pts:1 pts_time:4', 'qc=0'];
const BLOCKS = LINES.map((line) => `echo '${line}'`).join('; ');

describe('content checks in an agent', function () {
  this.timeout(60_000);
  const rig = new QcRig();
  before(async () => {
    await rig.start();
    await rig.newAgent();
  });
  beforeEach(() => rig.serveMedia());
  after(() => rig.stop());

  const reader = (json = FILM) => rig.script(`echo '${json}'`);
  const checks = (text: string): AssignedTool => rig.script(text, { name: 'qc' });

  it('run after ffprobe, on its streams but the cover', async () => {
    const { body } = await rig.run(rig.go([checks(`echo "$*" >&2; ${BLOCKS}`), reader()]));
    const { success, format, error } = resultIn(body);
    assert.deepEqual([success, format, error], [true, 'json', undefined]);
    const { video, audio, not_checked: left, until: reached } = told(body);
    assert.deepEqual(
      video.map(({ stream, decoded, declared, black }) => [stream, decoded, declared, black.list]),
      [[0, 8, 5, [{ from: 0, to: 8, to_end: true }]]],
    );
    assert.deepEqual(
      [audio.map(({ stream, declared }) => [stream, declared]), left, reached],
      [[[1, 5]], [], undefined],
    );
  });

  it('that run out of time say until when', async () => {
    const slow = checks(`${BLOCKS}; echo frame:2; exec sleep 60`);
    const { body } = await rig.run(rig.go([slow, reader()], { remainingMs: 1_500, assignment: { timeoutMs: 1_500 } }));
    assert.equal(resultIn(body).success, true);
    const { until: reached, cut } = told(body);
    assert.match(cut!, /^qc did not finish within \d+ ms/);
    assert.equal(reached, 8);
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

  it('say in heartbeats how far they are, and at their end what they decoded', async () => {
    const open = join(rig.directory, 'go-on');
    const half = ['frame:0 pts:0 pts_time:0', 'qc=0', 'frame:1 pts:1 pts_time:1.5', 'qc=0'];
    const printed = [...half, 'frame:2 pts:2 pts_time:3'].map((line) => `echo '${line}'`).join('; ');
    const text = `${printed}; until [ -e ${open} ]; do :; done`;
    const only = '{"streams":[{"index":0,"codec_type":"video","duration":"6.0"}]}';
    const order = rig.go([checks(text), reader(only)]);
    assert.ok((await rig.say(SUBJECT.go, order)).ok);
    await until('half of it is checked', () => rig.beats.some(({ progress }) => progress === 50));
    writeFileSync(open, '');
    const { body } = await rig.taken(order.job);
    assert.equal(resultIn(body).decodedSeconds, 3);
    await rig.phase('idle');
    assert.equal(rig.beats.at(-1)!.progress, undefined);
  });

  it('of more than the quota leaves are refused before anything is decoded', async () => {
    const begun = join(rig.directory, 'decoded');
    const run = async (decodableSeconds: number) => {
      const order = rig.go([checks(`touch ${begun}; ${BLOCKS}`), reader()], { assignment: { decodableSeconds } });
      return resultIn((await rig.run(order)).body);
    };
    const refused = await run(4);
    assert.deepEqual([refused.success, refused.code, refused.decodedSeconds], [false, 'over-quota', undefined]);
    assert.match(
      refused.error!,
      /^the source lasts 5 s, and the monthly quota leaves 4 s for content checks; it resets/,
    );
    assert.equal(existsSync(begun), false);
    assert.deepEqual([(await run(5)).success, existsSync(begun)], [true, true]);
  });

  it('without ffprobe are a failure', async () => {
    const { body } = await rig.run(rig.go([checks('exit 9')]));
    assert.equal(resultIn(body).error, 'qc needs ffprobe, which is not among the tools');
  });

  it('whose pictures cannot be printed keep their report', async () => {
    const sized = FILM.replace('"codec_type":"video"', '"codec_type":"video","width":64,"height":48');
    const breaking = checks(`case "$*" in *"-f data"*) exit 1;; esac; ${BLOCKS}`);
    const { body } = await rig.run(rig.go([{ ...breaking, options: { pictures: 'true' } }, reader(sized)]));
    const { video, pictures } = told(body);
    assert.deepEqual([video[0]!.black.count, pictures, picturesOf(body)?.video], [1, 0, null]);
  });
});
