import assert from 'node:assert/strict';
import { commitsIn, remarks } from './commits.ts';

describe('remarks on commits', () => {
  const long = `Report: ${'a'.repeat(70)}`;
  const log = [
    '',
    'aaa Test: a shorter name\n\n10\t2\tsrc/a.ts\n',
    `bbb ${long}\n\n1\t1\tsrc/a.ts\n`,
    'ccc Add everything\n\n300\t101\tsrc/a.ts\n-\t-\tdocs/a.png\n',
    'ddd Generate\n\n300\t101\tdocs/made.md\n500\t0\ttest/fixtures/a.json\n500\t0\tpackage-lock.json\n',
  ].join('\0');

  it('name long subjects and large changes, generated files and fixtures apart', () => {
    assert.deepEqual(remarks(commitsIn(log), new Set(['docs/made.md'])), [
      `bbb has a subject of 78 letters: ${long}`,
      'ccc changes 401 lines: Add everything',
    ]);
  });
});
