import assert from 'node:assert/strict';
import { jitteredBackoff } from '../../src/kube/backoff.ts';

describe('back-off', () => {
  it('doubles to its ceiling, and starts anew', () => {
    const backoff = jitteredBackoff(800, 30_000, () => 0);
    assert.deepEqual(
      [1, 2, 3, 4, 5, 6, 7, 8].map(() => backoff.next()),
      [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000],
    );
    backoff.reset();
    assert.equal(backoff.next(), 800);
  });

  it('takes off up to half at random', () => {
    assert.equal(jitteredBackoff(800, 30_000, () => 1).next(), 400);
    assert.equal(jitteredBackoff(800, 30_000, () => 0.5).next(), 600);
  });
});
