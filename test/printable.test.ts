import assert from 'node:assert/strict';
import { parse, stringify } from 'yaml';
import { printable } from '../src/base/printable.ts';

describe('printable text for a resource', () => {
  for (const [title, text, expected] of [
    ['is unchanged', 'moov atom not found (exit code 1) — äöü 中文', 'moov atom not found (exit code 1) — äöü 中文'],
    ['has no control characters', 'a\u0000b\u0007\u001b[31mc\u007f\u0085d\r\n\te', 'a b [31mc d e'],
    ['has no characters that reverse text direction', 'a\u202eb\u200bc\ufeffd', 'a b c d'],
    ['has no unpaired surrogates and no noncharacters', 'a\ud800b\ufffec', 'a b c'],
  ] as const) {
    it(title, () => assert.equal(printable(text, 100), expected));
  }
  it('is cut without leaving half a character', () => assert.equal(printable('ab😀', 3).isWellFormed(), true));
  it('is valid YAML for any bytes', () => {
    const bytes = Buffer.from(Array.from({ length: 512 }, (_, i) => i % 256)).toString('latin1');
    const text = printable(bytes, 1024);
    assert.equal(parse(stringify({ text })).text, text);
    // Characters that kubectl's YAML refuses.
    assert.ok([...text].every((character) => character >= ' ' && !(character >= '\u007f' && character <= '\u009f')));
  });
});
