/** A collector takes no result whose head says anything that is not so. */
import assert from 'node:assert/strict';
import { constants, zstdCompressSync } from 'node:zlib';
import { HEAD_BYTES, LENGTH_BYTES, outputsOf, RESULT_BYTES } from '../../src/platform/bus/packing.ts';
import { outcome } from '../../src/service/controller/collect/outcome.ts';
import { readResult } from '../../src/service/controller/collect/read_result.ts';
import { BusError } from '../../src/platform/bus/errors.ts';
import { inflateHead, inflateShort } from '../../src/service/result/inflate.ts';
import { bad, body, BOTH, good } from '../result/result_samples.ts';
import { inMemory, packText, type TextBody } from '../result/text_body.ts';
import { random as seeded } from '../source/random.ts';

const LONG = JSON.stringify({ text: 'é"'.repeat(200_000), c2pa: 1 });
const SHORT: TextBody = body([good('ffprobe', '{"a":1}\n'), good('mediainfo', '<é/>', { format: 'text' })]);
const LARGE: TextBody = body([good('ffprobe', LONG), bad('mediainfo', 'failed', 'x', { output: '<é/>' })]);

/** A body whose parts are put together by hand. */
function framed(head: Buffer, outputs: Buffer): { packed: Buffer; size: number } {
  const packed = zstdCompressSync(head);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(packed.length);
  const behind = outputs.length === 0 ? outputs : zstdCompressSync(outputs);
  return { packed: Buffer.concat([length, packed, behind]), size: head.length + outputs.length };
}

type Head = ReturnType<typeof inMemory>['result'];
const lying = (from: TextBody, lie: (head: Head, outputs: Buffer) => Buffer | void) => {
  const { result, outputs } = inMemory(from);
  const changed = lie(result, outputs) ?? outputs;
  return framed(Buffer.from(JSON.stringify(result)), changed);
};
const firstOf = ({ tools }: Head) => tools[0]!.output!;
const headText = (text: string) => framed(Buffer.from(text), Buffer.alloc(0));
const windowOf64MB = { params: { [constants.ZSTD_c_windowLog]: 26 } };

const refused = async ({ packed, size }: { packed: Buffer; size: number }, message: RegExp): Promise<void> =>
  assert.rejects(readResult(packed, size), { name: 'BusError', code: 'bad-result', message });

describe('reading the result of a runner', function () {
  this.timeout(20_000);

  for (const result of [body([]), SHORT, LARGE, body([good('ffprobe', LONG), good('mediainfo', LONG)])])
    it(`takes what an honest one sends: ${outputsOf(inMemory(result).result).length} outputs`, async () => {
      const { packed, size } = packText(result);
      const read = await readResult(packed, size);
      assert.deepEqual(read, inMemory(result).result);
      assert.deepEqual(outcome(read, BOTH), outcome(inMemory(result).result, BOTH));
    });

  const large = packText(LARGE);
  const table: [string, { packed: Buffer; size: number }, RegExp][] = [
    ['empty', { packed: Buffer.alloc(0), size: 0 }, /ends before its head/],
    ['shorter than the length of its head', { packed: Buffer.from([9, 0]), size: 2 }, /ends before its head/],
    ['shorter than its head', { packed: Buffer.from([9, 0, 0, 0, 1]), size: 5 }, /ends before its head/],
    ['of a head of 4 GB', { packed: Buffer.from([255, 255, 255, 255, 1]), size: 5 }, /longer than a head/],
    ['of a head that is not zstd', { packed: Buffer.from([2, 0, 0, 0, 1, 2]), size: 2 }, /cannot be inflated/],
    ['of a head that inflates to more', headText(' '.repeat(HEAD_BYTES + 1)), /cannot be inflated/],
    ['of a head that is not JSON', headText('{"tools":[}'), /not valid JSON/],
    ['of a head nested without end', headText('['.repeat(1_000_000)), /not valid JSON/],
    ['of a head nested deeply', headText(`${'['.repeat(50_000)}${']'.repeat(50_000)}`), /nested more than 32 deep/],
    [
      'of a head whose policy is nested deeply',
      headText(`{"tools":[],"ioUsage":0,"policy":{"more":${'['.repeat(40)}${']'.repeat(40)}}}`),
      /nested more than 32 deep/,
    ],
    ['of a head of another form', headText('{"tools":{},"ioUsage":0}'), /form of one: \/tools must be array/],
    [
      'of nine tools',
      headText(JSON.stringify({ ...inMemory(body([])).result, tools: Array(9).fill(bad('ffprobe', 'failed', 'x')) })),
      /must NOT have more than 8 items/,
    ],
    ['declared smaller', { ...large, size: large.size - 1 }, /not the declared one/],
    ['declared larger', { ...large, size: large.size + 1 }, /not the declared one/],
    [
      'of outputs over the limit',
      lying(LARGE, (head) => void (head.tools[1]!.output!.to = RESULT_BYTES)),
      /not the declared one|over the limit/,
    ],
    ['of an output that begins later', lying(SHORT, (head) => void (firstOf(head).from = 1)), /do not follow/],
    ['of an output that ends before it begins', lying(SHORT, (head) => void (head.tools[1]!.output!.to = 1)), /./],
    [
      'of outputs that overlap',
      lying(SHORT, (head) => void (head.tools[1]!.output!.from = 0)),
      /do not follow one another/,
    ],
    ['of too few bytes of output', lying(SHORT, (_, outputs) => outputs.subarray(1)), /declared|not as long/],
    ['of too many bytes of output', lying(SHORT, (_, outputs) => Buffer.concat([outputs, outputs])), /declared/],
    ['of an output that is none', lying(SHORT, (_, outputs) => outputs.subarray(outputs.length)), /declared/],
    [
      'of text that is called JSON',
      lying(SHORT, (head) => void (head.tools[1]!.format = 'json')),
      /not the JSON that its head says/,
    ],
    [
      'of long text that is called JSON',
      lying(LARGE, (_, outputs) => void outputs.write('}', 1)),
      /not the JSON that its head says/,
    ],
    [
      'of JSON with more behind it',
      lying(SHORT, (_, outputs) => void outputs.write('} ,"b":{', 0)),
      /not the JSON that its head says/,
    ],
    ['of another length in a string', lying(SHORT, (head) => void (firstOf(head).escaped += 1)), /not what its head/],
    ['of a long output, the same', lying(LARGE, (head) => void (firstOf(head).escaped += 1)), /not what its head/],
    ['of another end of an object', lying(LARGE, (head) => void (firstOf(head).json!.close -= 1)), /not what its head/],
    ['of a member that is none', lying(LARGE, (head) => void (firstOf(head).json!.members = {})), /not what its head/],
    [
      'of other white space behind an object',
      lying(LARGE, (head) => void (firstOf(head).json!.tail = ',"metadata":{}')),
      /not what its head/,
    ],
    ['of a shape where none belongs', lying(SHORT, (head) => void (firstOf(head).json = shape())), /not what its head/],
    ['without a shape', lying(LARGE, (head) => void delete firstOf(head).json), /not what its head/],
    [
      'of more about an output',
      lying(SHORT, (head) => void Object.assign(firstOf(head), { x: 1 })),
      /not what its head/,
    ],
    ['of an output that is not UTF-8', lying(SHORT, (_, outputs) => void (outputs[10] = 0xff)), /not UTF-8/],
    [
      'of a long output that is not UTF-8',
      lying(LARGE, (_, outputs) => void (outputs[outputs.indexOf(0xc3) + 1] = 0x20)),
      /not UTF-8/,
    ],
    [
      'of long outputs that break off',
      { ...large, packed: large.packed.subarray(0, -9) },
      /cannot be inflated|ends before/,
    ],
    [
      'compressed with a window of 64 MB',
      (({ packed, size }) => ({
        size,
        packed: Buffer.concat([
          packed.subarray(0, LENGTH_BYTES + packed.readUInt32LE()),
          zstdCompressSync(Buffer.alloc(70_000_000, ' '), windowOf64MB),
        ]),
      }))(large),
      /cannot be inflated/,
    ],
  ];
  function shape() {
    return { isObject: true, isEmpty: false, members: {}, close: 6, tail: '\n' };
  }
  for (const [what, result, message] of table) it(`refuses one ${what}`, () => refused(result, message));

  it('takes a mutated one only if it says what is so, and never fails otherwise', async () => {
    const random = seeded(7);
    let taken = 0;
    for (let round = 0; round < 2_000; round++) {
      const from = round % 50 === 0 ? LARGE : SHORT;
      const { result, outputs } = inMemory(from);
      let head: Buffer = Buffer.from(JSON.stringify(result));
      const bytes = Buffer.from(outputs);
      const which = Math.floor(random() * 3);
      const at = (of: Buffer) => Math.floor(random() * of.length);
      if (which === 0) head[at(head)] = Math.floor(random() * 256);
      else if (which === 1) bytes[at(bytes)] = Math.floor(random() * 256);
      else
        head = Buffer.from(head.toString().replace(/\d+/g, (digits) => (random() < 0.1 ? String(at(bytes)) : digits)));
      const { packed, size } = framed(head, bytes);
      if (random() < 0.2) packed[at(packed)] = Math.floor(random() * 256);
      const sent = random() < 0.1 ? packed.subarray(0, at(packed)) : packed;
      try {
        const read = await readResult(sent, size);
        taken += 1;
        for (const { output, isJson } of outputsOf(read)) {
          const all = inflateShort(sent, size - (await inflateHead(sent)).length);
          if (isJson) JSON.parse(all.toString('utf8', output.from, output.to));
        }
      } catch (error) {
        assert.ok(error instanceof BusError && error.code === 'bad-result', String(error));
      }
    }
    assert.ok(taken > 200, `${taken} were taken`);
  });
});
