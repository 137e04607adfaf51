/** Every test file belongs to one part of a run, and nothing that a part names is gone. */
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { filesOf } from '../files.ts';
import { BESIDE_CLUSTER, CHECKS, ON_CLUSTER, runsOf, SLOW_ALONE, SLOW_ON_CLUSTER } from '../parts.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describe('parts of a test run', () => {
  it('every test file is in exactly one', () => {
    const listed = Object.values(runsOf(ROOT)).flat();
    assert.deepEqual(listed.toSorted(), filesOf(ROOT, ['test/**/*.test.ts']));
  });

  it('every pattern matches a file', () => {
    const unmatched = [CHECKS, SLOW_ALONE, ON_CLUSTER, BESIDE_CLUSTER, SLOW_ON_CLUSTER]
      .flatMap((part) => part.flatMap(([, ...patterns]) => patterns))
      // One brace at a time, so that a name within braces that is gone is found, too.
      .flatMap((pattern) => {
        const [, before = pattern, inner, after = ''] = /^(.*)\{([^}]*)\}(.*)$/.exec(pattern) ?? [];
        return inner === undefined ? [before] : inner.split(',').map((name) => `${before}${name}${after}`);
      })
      .filter((pattern) => filesOf(ROOT, [pattern]).length === 0);
    assert.deepEqual(unmatched, []);
  });
});
