import assert from 'node:assert/strict';
import { lineSplitter } from '../../src/platform/kube/call.ts';

function split(chunks: Buffer[]): string[] {
  const lines: string[] = [];
  const take = lineSplitter((line) => lines.push(line));
  for (const chunk of chunks) take(chunk);
  return lines;
}

describe('lines of a watch', () => {
  const lines = ['{"a":"ä€😀"}', '{"b":1}', '{"c":"\\n is no line"}'];
  const bytes = Buffer.from(`${lines.join('\n')}\n`);

  it('are complete wherever the stream is split, even inside a character', () => {
    for (let at = 0; at <= bytes.length; at++)
      assert.deepEqual(split([bytes.subarray(0, at), bytes.subarray(at)]), lines, `torn at ${at}`);
  });

  it('are complete byte by byte', () => {
    assert.deepEqual(split([...bytes].map((byte) => Buffer.from([byte]))), lines);
  });

  it('do not include an unfinished end', () => {
    assert.deepEqual(split([bytes.subarray(0, -1)]), lines.slice(0, 2));
  });

  it('leave out empty ones', () => {
    assert.deepEqual(split([Buffer.from('\n\na\n\n')]), ['a']);
  });
});
