import assert from 'node:assert/strict';
import { parse, stringify } from 'yaml';
import { printable } from '../../src/kube/printable.ts';

describe('text that a resource may carry', () => {
  for (const [title, text, expected] of [
    ['stays as it is', 'moov atom not found (exit code 1) — äöü 中文', 'moov atom not found (exit code 1) — äöü 中文'],
    ['has no control characters', 'a\u0000b\u0007\u001b[31mc\u007f\u0085d\r\n\te', 'a b [31mc d e'],
    ['has nothing that turns text around', 'a\u202eb\u200bc\ufeffd', 'a b c d'],
    ['has no half characters and none that are none', 'a\ud800b\ufffec', 'a b c'],
  ] as const) {
    it(title, () => assert.equal(printable(text, 100), expected));
  }
  it('is cut without leaving half a character', () => assert.equal(printable('ab😀', 3).isWellFormed(), true));
  it('is YAML whatever the bytes were', () => {
    const bytes = Buffer.from(Array.from({ length: 512 }, (_, i) => i % 256)).toString('latin1');
    const text = printable(bytes, 1024);
    assert.equal(parse(stringify({ text })).text, text);
    // What kubectl's YAML refuses.
    assert.ok([...text].every((character) => character >= ' ' && !(character >= '\u007f' && character <= '\u009f')));
  });
});
