/** Long outputs go another way through memory, and come out the same to the byte. */
import assert from 'node:assert/strict';
import { zstdCompressSync } from 'node:zlib';
import type { ResultBody } from '../../src/bus/messages.ts';
import { answerOf, type Wanted } from '../../src/envelope/wanted.ts';
import { unpackResult, whole } from '../../src/envelope/unpack.ts';
import { bad, body, BOTH, good } from './result_samples.ts';

const about = { requestId: '0192f0c1-0000-7000-8000-000000000001', queueTimeMs: 3 };
const frames = (count: number, more: object = {}) => JSON.stringify({ frames: Array.from({ length: count }, (_, index) => ({ index, 'name "é" \u{1f3ac}': `a\\b\n${index}`, list: [1.50, null, { frames: [] }] })), ...more }, null, 4);
const LONG = frames(1_600);
const wanted = (more: Partial<Wanted> = {}): Wanted => ({ asked: BOTH, shown: ['ffprobe', 'mediainfo', 'probe_report', 'c2pa'], injectOutput: false, injectJson: false, ...more });
const bytesOf = (text: string | (string | Buffer)[]) => (typeof text === 'string' ? Buffer.from(text) : Buffer.concat(text.map((piece) => Buffer.from(piece))));

const RESULTS: [string, ResultBody][] = [
  ['one long JSON', body([good('ffprobe', LONG), good('mediainfo', '{"m":1}')])],
  ['two long JSONs and a report', body([good('ffprobe', LONG), good('mediainfo', frames(1_500))], { report: good('ffprobe', '{"r":1}') })],
  ['a long text', body([good('ffprobe', 'é"\\\n\u0001'.repeat(20_000), { format: 'text' }), good('mediainfo', LONG)])],
  ['what is called JSON and is none', body([good('ffprobe', `${LONG}, "metadata": {}`), good('mediainfo', LONG)])],
  ['a list', body([good('ffprobe', `[${LONG}]`), good('mediainfo', LONG)])],
  ['one that names a guest itself', body([good('ffprobe', frames(1_600, { mediainfo: 'own', x: { c2pa: 1 } })), good('mediainfo', LONG), good('c2pa', '{"c":1}')])],
  ['a failed one with output', body([bad('ffprobe', 'failed', 'x (exit code 1)', { output: LONG }), good('mediainfo', LONG)])],
  ['a lone surrogate', body([good('ffprobe', `{"a":"\\ud83d${'x'.repeat(300_000)}"}`), good('mediainfo', '"\ud83d"', { format: 'text' })])],
];
const WISHES: [string, Wanted][] = [
  ['the envelope', wanted()], ['one document', wanted({ injectJson: true })], ['one tool', wanted({ shown: ['ffprobe'] })],
  ['one tool, bare', wanted({ shown: ['ffprobe'], injectOutput: true })], ['the other tool, bare', wanted({ shown: ['mediainfo'], injectOutput: true })],
];

describe('a result with long outputs', function () {
  this.timeout(20_000);
  for (const [what, result] of RESULTS) {
    for (const [how, wishes] of WISHES) {
      it(`${what}: ${how}`, async () => {
        const packed = zstdCompressSync(JSON.stringify(result));
        const plain = answerOf({ result: JSON.parse(JSON.stringify(result)) as ResultBody, long: new Map() }, about, wishes);
        const unpacked = await unpackResult(packed, 1);
        assert.ok(unpacked.long.size > 0);
        const long = answerOf(unpacked, about, wishes);
        assert.deepEqual([long.status, long.contentType], [plain.status, plain.contentType]);
        assert.ok(bytesOf(long.body).equals(bytesOf(plain.body)));
        const without = answerOf(await unpackResult(packed, 1), { ...about, withoutOutputs: true }, wanted());
        assert.ok(bytesOf(without.body).length < 1_000);
      });
    }
    it(`${what}: whole again`, async () => {
      const packed = zstdCompressSync(JSON.stringify(result));
      assert.deepEqual(whole(await unpackResult(packed, 1)), result);
    });
  }
  it('is read as ever where it is small', async () => {
    const small = body([good('ffprobe', LONG)]);
    assert.deepEqual(await unpackResult(zstdCompressSync(JSON.stringify(small)), 1e9), { result: small, long: new Map() });
  });
});
