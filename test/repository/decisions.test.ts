/** The decisions have numbers of their own, their titles begin with them, and the index has each. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { ROOT, tracked } from './tracked.ts';

const folder = new URL('docs/decisions/', ROOT);
const files = readdirSync(folder).filter((name) => /^\d{4}-/.test(name));
/** Whoever reads a decision reads it on one page. */
const MOST_LINES = 60;

describe('decisions', () => {
  it('are numbered without a gap, each once', () => {
    const numbers = files.map((name) => Number(name.slice(0, 4))).sort((a, b) => a - b);
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index + 1),
    );
  });

  it('are listed in the index, in their order', () => {
    const index = readFileSync(new URL('README.md', folder), 'utf8');
    assert.deepEqual(
      [...index.matchAll(/\]\((\d{4}-[^)]+)\)/g)].map(([, name]) => name),
      files.toSorted(),
    );
  });

  for (const name of files)
    it(`${name} has its number in the title, and fits on a page`, () => {
      const text = readFileSync(new URL(name, folder), 'utf8');
      assert.match(text, new RegExp(`^# ${name.slice(0, 4)} `));
      assert.ok(text.split('\n').length <= MOST_LINES, `at most ${MOST_LINES} lines`);
    });

  it('each number that a text names is that of a decision', () => {
    const wrong = tracked()
      .filter((path) => /\.(ts|tsx|md|c|yaml)$/.test(path))
      .flatMap((path) =>
        [...readFileSync(new URL(path, ROOT), 'utf8').matchAll(/\bdecisions?[ /](\d{4})\b/gi)]
          .filter(([, number]) => !files.some((name) => name.startsWith(`${number}-`)))
          .map(([text]) => `${path}: ${text}`),
      );
    assert.deepEqual(wrong, []);
  });
});
