import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { lineSplitter, watch } from '../../src/platform/kube/call.ts';
import { SharedKubeConfig } from '../../src/platform/kube/connection.ts';

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

describe('a watch', () => {
  it('leaves no timer if the credentials cannot be read', async () => {
    const read = () => {
      throw new Error('no token');
    };
    const config = new SharedKubeConfig({ credentials: { server: 'https://api.example', read } });
    const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    // Mocha's own is there from the next turn on.
    await setImmediate();
    const before = timers();
    const call = { path: '/api/v1/pods', query: {}, signal: new AbortController().signal };
    await assert.rejects(
      watch(config, call, () => {}),
      /no token/,
    );
    assert.equal(timers(), before);
  });
});
