import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import { packBody } from '../../src/platform/bus/packing.ts';
import { inflateOutputs } from '../../src/service/result/inflate.ts';

describe('inflating a stored result', () => {
  it('leaves no listener behind, however many pieces its body has', async () => {
    const text = randomBytes(1_500_000).toString('hex');
    const outputs = { packed: [zstdCompressSync(text)], bytes: text.length };
    const { packed } = packBody({ tools: [], ioUsage: 0 }, outputs);
    const pieces = function* (): Iterable<Buffer> {
      for (let at = 0; at < packed.length; at += 4_096) yield packed.subarray(at, at + 4_096);
    };
    const warnings: string[] = [];
    const warned = ({ message }: Error): void => void warnings.push(message);
    process.on('warning', warned);
    let bytes = 0;
    for await (const slice of inflateOutputs(pieces)) bytes += slice.length;
    // A warning is emitted in a later turn.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', warned);
    assert.deepEqual([bytes, warnings], [text.length, []]);
  });
});
