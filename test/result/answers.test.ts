/** Answers of results, as they were before results were framed, from memory and from a body in slices. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { answerOf } from '../../src/service/result/answer.ts';
import { bytesOf as streamOf, lengthOf, type Piece } from '../../src/service/result/pieces.ts';
import { unpackResult } from '../../src/service/result/unpack.ts';
import { ANSWER_CASES, LONG, RECORDED } from './answer_cases.ts';
import { body, good } from './result_samples.ts';
import { inMemory, packText } from './text_body.ts';

interface RecordedAnswer {
  contentType: string;
  body?: string;
  bytes?: number;
  sha256?: string;
}
const ANSWERS = JSON.parse(readFileSync(new URL('answers.json', import.meta.url), 'utf8')) as Record<
  string,
  RecordedAnswer
>;

async function bytesOf(answer: string | Piece[], packed: Buffer): Promise<Buffer> {
  if (typeof answer === 'string') return Buffer.from(answer);
  const slices: Buffer[] = [];
  for await (const slice of streamOf(answer, packed)) {
    assert.ok(slice.length <= 400_000);
    slices.push(Buffer.from(slice));
  }
  const bytes = Buffer.concat(slices);
  assert.equal(bytes.length, lengthOf(answer));
  return bytes;
}
const slicesOf = (packed: Buffer) =>
  function* () {
    for (let at = 0; at < packed.length; at += 1_000) yield packed.subarray(at, at + 1_000);
  };

describe('answers of recorded results', function () {
  this.timeout(20_000);
  it('are all compared', () =>
    assert.deepEqual(
      Object.keys(ANSWERS),
      ANSWER_CASES.map(({ name }) => name),
    ));
  for (const { name, result, form } of ANSWER_CASES) {
    it(name, async () => {
      const recorded = ANSWERS[name]!;
      const { packed } = packText(result);
      for (const unpacked of [inMemory(result), await unpackResult(packed), await unpackResult(slicesOf(packed))]) {
        const answer = answerOf(unpacked, RECORDED, form);
        const bytes = await bytesOf(answer.body, packed);
        assert.equal(answer.contentType, recorded.contentType);
        if (recorded.body !== undefined) assert.equal(bytes.toString(), recorded.body);
        else
          assert.deepEqual(
            [bytes.length, createHash('sha256').update(bytes).digest('hex')],
            [recorded.bytes, recorded.sha256],
          );
        const without = answerOf(unpacked, RECORDED, form, { withoutOutputs: true });
        if (!form.injectOutput) assert.ok(typeof without.body === 'string' && without.body.length < 1_000);
      }
    });
  }

  it('with long outputs hold none of them', async () => {
    const { packed } = packText(body([good('ffprobe', LONG), good('mediainfo', LONG)]));
    assert.equal((await unpackResult(slicesOf(packed))).outputs, null);
  });

  it('are read from the beginning again for an earlier output', async () => {
    const { packed } = packText(body([good('mediainfo', LONG), good('ffprobe', LONG)]));
    let begun = 0;
    const counted = () => {
      begun += 1;
      return slicesOf(packed)();
    };
    const form = { shown: ['ffprobe', 'mediainfo'] as const, injectOutput: false, injectJson: false };
    const { body: pieces } = answerOf(await unpackResult(counted), RECORDED, form);
    assert.ok(typeof pieces !== 'string');
    let text = '';
    for await (const slice of streamOf(pieces, counted)) text += slice.toString('latin1');
    const { ffprobe } = JSON.parse(Buffer.from(text, 'latin1').toString()) as { ffprobe: { response: object } };
    assert.deepEqual(ffprobe.response, JSON.parse(LONG));
    assert.equal(begun, 3);
  });
});
