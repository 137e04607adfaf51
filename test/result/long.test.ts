/** Long outputs take another path through memory, with byte-identical results. */
import assert from 'node:assert/strict';
import { zstdCompressSync } from 'node:zlib';
import type { ResultBody } from '../../src/platform/bus/result_body.ts';
import { answerOf, type ResponseForm } from '../../src/service/result/answer.ts';
import { bytesOf as streamOf, lengthOf, type Piece } from '../../src/service/result/pieces.ts';
import { unpackResult } from '../../src/service/result/unpack.ts';
import { bad, body, good } from './result_samples.ts';

const about = { requestId: '0192f0c1-0000-7000-8000-000000000001', queueTimeMs: 3, error: null };
const frames = (count: number, more: object = {}) =>
  JSON.stringify(
    {
      frames: Array.from({ length: count }, (_, index) => ({
        index,
        'name "é" \u{1f3ac}': `a\\b\n${index}`,
        list: [1.5, null, { frames: [] }],
      })),
      ...more,
    },
    null,
    4,
  );
const LONG = frames(1_600);
const wanted = (more: Partial<ResponseForm> = {}): ResponseForm => ({
  shown: ['ffprobe', 'mediainfo', 'probe_report', 'c2pa'],
  injectOutput: false,
  injectJson: false,
  ...more,
});
async function bytesOf(answer: string | Piece[], packed: Buffer): Promise<Buffer> {
  if (typeof answer === 'string') return Buffer.from(answer);
  const slices: Buffer[] = [];
  for await (const slice of streamOf(answer, packed)) {
    assert.ok(slice.length <= 200_000);
    slices.push(Buffer.from(slice));
  }
  const bytes = Buffer.concat(slices);
  assert.equal(bytes.length, lengthOf(answer));
  return bytes;
}
const SINGLES: [string, string][] = [
  ['a report', JSON.stringify({ a: 'é"\\\n'.repeat(80_000), cli_output: 'told\n"x"', b: [1] }, null, 1)],
  ['a report without readable text', JSON.stringify({ a: 'x'.repeat(300_000), cli_output: { b: 1 } })],
  ['output that is not JSON', `{${'x'.repeat(300_000)}`],
];

const RESULTS: [string, ResultBody][] = [
  ['one long JSON', body([good('ffprobe', LONG), good('mediainfo', '{"m":1}')])],
  [
    'two long JSONs and a report',
    body([good('ffprobe', LONG), good('mediainfo', frames(1_500))], { report: good('ffprobe', '{"r":1}') }),
  ],
  ['a long text', body([good('ffprobe', 'é"\\\n\u0001'.repeat(20_000), { format: 'text' }), good('mediainfo', LONG)])],
  ['output declared as JSON that is not', body([good('ffprobe', `${LONG}, "metadata": {}`), good('mediainfo', LONG)])],
  ['a list', body([good('ffprobe', `[${LONG}]`), good('mediainfo', LONG)])],
  [
    'an object with a member named like another tool',
    body([
      good('ffprobe', frames(1_600, { mediainfo: 'own', x: { c2pa: 1 } })),
      good('mediainfo', LONG),
      good('c2pa', '{"c":1}'),
    ]),
  ],
  [
    'a failed tool with output',
    body([bad('ffprobe', 'failed', 'x (exit code 1)', { output: LONG }), good('mediainfo', LONG)]),
  ],
  [
    'a lone surrogate',
    body([good('ffprobe', `{"a":"\\ud83d${'x'.repeat(300_000)}"}`), good('mediainfo', '"\ud83d"', { format: 'text' })]),
  ],
];
const WISHES: [string, ResponseForm][] = [
  ['the envelope', wanted()],
  ['one document', wanted({ injectJson: true })],
  ['one tool', wanted({ shown: ['ffprobe'] })],
  ['one tool, bare', wanted({ shown: ['ffprobe'], injectOutput: true })],
  ['the other tool, bare', wanted({ shown: ['mediainfo'], injectOutput: true })],
];

describe('a result with long outputs', function () {
  this.timeout(20_000);
  for (const [what, result] of RESULTS) {
    for (const [how, wishes] of WISHES) {
      it(`${what}: ${how}`, async () => {
        const packed = zstdCompressSync(JSON.stringify(result));
        const plain = answerOf(
          { result: JSON.parse(JSON.stringify(result)) as ResultBody, long: new Map() },
          about,
          wishes,
        );
        const unpacked = await unpackResult(packed, null);
        assert.ok(unpacked.long.size > 0);
        const long = answerOf(unpacked, about, wishes);
        assert.equal(long.contentType, plain.contentType);
        assert.ok((await bytesOf(long.body, packed)).equals(await bytesOf(plain.body, packed)));
        const without = answerOf(unpacked, about, wanted(), { withoutOutputs: true });
        assert.ok(typeof without.body === 'string' && without.body.length < 1_000);
      });
    }
  }
  for (const tool of ['msv', 'c2pa'] as const) {
    for (const [what, output] of SINGLES) {
      for (const [injectOutput, injectJson] of [
        [true, false],
        [false, true],
        [false, false],
      ] as const) {
        it(`${tool}, ${what}: ${injectOutput ? 'bare' : injectJson ? 'an object' : 'a text'}`, async () => {
          const result = body([good(tool, output)]);
          const packed = zstdCompressSync(JSON.stringify(result));
          const wishes: ResponseForm = { single: tool, shown: [], injectOutput, injectJson };
          const long = answerOf(await unpackResult(packed, null), about, wishes);
          const plain = answerOf({ result, long: new Map() }, about, wishes);
          assert.equal(long.contentType, plain.contentType);
          assert.ok((await bytesOf(long.body, packed)).equals(await bytesOf(plain.body, packed)));
        });
      }
    }
  }
  it('is decompressed in pieces, and again from the start for an earlier output', async () => {
    const result = body([good('mediainfo', LONG), good('ffprobe', LONG)]);
    const packed = zstdCompressSync(JSON.stringify(result));
    let begun = 0;
    const inPieces = async function* () {
      begun += 1;
      for (let at = 0; at < packed.length; at += 1_000) yield packed.subarray(at, at + 1_000);
    };
    const { body: pieces } = answerOf(await unpackResult(inPieces, null), about, wanted());
    assert.ok(typeof pieces !== 'string');
    let text = '';
    for await (const slice of streamOf(pieces, inPieces)) text += slice.toString('latin1');
    text = Buffer.from(text, 'latin1').toString();
    assert.deepEqual(JSON.parse(text), {
      success: true,
      metadata: { request_id: about.requestId, queue_time: 3, io_usage: 1234 },
      ...Object.fromEntries(
        ['ffprobe', 'mediainfo'].map((name) => [
          name,
          { success: true, duration: 12, usage: 12, response: JSON.parse(LONG) as object },
        ]),
      ),
    });
    assert.equal(begun, 3);
  });
  it('is read at once if small', async () => {
    const small = body([good('ffprobe', LONG)]);
    const text = JSON.stringify(small);
    assert.deepEqual(await unpackResult(zstdCompressSync(text), Buffer.byteLength(text)), {
      result: small,
      long: new Map(),
    });
  });
});
