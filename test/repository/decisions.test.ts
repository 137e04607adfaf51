/** The decisions have numbers of their own, and their titles begin with them. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '../../docs/decisions');
const files = readdirSync(folder).filter((name) => /^\d{4}-/.test(name));

describe('decisions', () => {
  it('are numbered without a gap, each once', () => {
    const numbers = files.map((name) => Number(name.slice(0, 4))).sort((a, b) => a - b);
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index + 1),
    );
  });
  for (const name of files)
    it(`${name} has its number in the title`, () => {
      assert.match(readFileSync(join(folder, name), 'utf8'), new RegExp(`^# ${name.slice(0, 4)} `));
    });
});
