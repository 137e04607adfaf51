import assert from 'node:assert/strict';
import { constants, zstdCompressSync } from 'node:zlib';
import { LiftError } from '../../src/service/result/lift.ts';
import { outcome } from '../../src/service/controller/collect/outcome.ts';
import { skimResult } from '../../src/service/result/skim.ts';
import { bad, body, BOTH, good } from './result_samples.ts';

const long = JSON.stringify({ text: 'é"'.repeat(200_000) });
const packed = (value: unknown) => zstdCompressSync(JSON.stringify(value));

describe('skimming a result', () => {
  it('has the same outcome, and only the existence of outputs', async () => {
    for (const result of [
      body([good('ffprobe', long), good('mediainfo', '{}')]),
      body([good('ffprobe', long), bad('mediainfo', 'crashed', 'x')]),
      body([bad('ffprobe', 'failed', 'y', { output: long }), bad('mediainfo', 'failed', 'z')]),
    ]) {
      const { body: skimmed, inflatedBytes } = await skimResult(packed(result), 10_000_000);
      assert.equal(inflatedBytes, Buffer.byteLength(JSON.stringify(result)));
      assert.deepEqual(outcome(skimmed, BOTH), outcome(result, BOTH));
      assert.deepEqual(
        { ...skimmed, tools: skimmed.tools.map((tool) => ({ ...tool, output: tool.output?.slice(0, 2) })) },
        {
          ...result,
          tools: result.tools.map((tool) => ({
            ...tool,
            output: tool.output === long ? 'ou' : tool.output?.slice(0, 2),
          })),
        },
      );
    }
  });
  for (const [what, bytes, most] of [
    ['larger than declared', packed(body([good('ffprobe', long)])), 1_000],
    ['not zstd', Buffer.from('{}'), 1_000],
    ['truncated', packed(body([good('ffprobe', long)])).subarray(0, 30), 10_000_000],
    ['not JSON', zstdCompressSync('{"tools":[}'), 1_000],
    [
      'compressed with a window of 64 MB',
      zstdCompressSync(JSON.stringify(body([])) + ' '.repeat(70_000_000), {
        params: { [constants.ZSTD_c_windowLog]: 26 },
      }),
      100_000_000,
    ],
  ] as const) {
    it(`refuses a result that is ${what}`, () => assert.rejects(skimResult(bytes, most), LiftError));
  }
});
