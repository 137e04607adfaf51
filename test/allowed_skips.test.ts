import assert from 'node:assert/strict';
import { ALLOWED, newSkips } from './allowed_skips.ts';

describe('allowed skips', () => {
  const known = 'test/faults/node_lost.test.ts: a node is lost under load, and comes back > its jobs run on the other';
  const unknown = 'test/faults/leader_killed.test.ts: the leader is killed > every request gets its end';

  for (const environment of Object.keys(ALLOWED))
    it(`${environment}: a skip that is not in the list is new`, () => {
      assert.deepEqual(newSkips([known, unknown], environment), [unknown]);
    });

  it('an unknown environment is refused', () => {
    assert.throws(() => newSkips([], 'elsewhere'), /PROBEYARD_TESTS: "elsewhere" is not known: here, ci/);
  });
});
