import assert from 'node:assert/strict';
import { mayTake, reserveOf, shareOf } from '../../src/service/controller/pools/share.ts';

const size = (minReady: number, maxPods: number, maxPodsPerTenant?: number) => ({
  minReady,
  maxPods,
  ...(maxPodsPerTenant === undefined ? {} : { maxPodsPerTenant }),
});

describe('share of an account', () => {
  for (const [of, share, reserve] of [
    [size(2, 20), 10, 2],
    [size(1, 5), 2, 1],
    [size(1, 1), 1, 0],
    [size(0, 0), 1, 0],
    [size(2, 20, 3), 3, 2],
    [size(10, 10), 5, 5],
  ] as const) {
    it(`${JSON.stringify(of)}: share ${share}, reserve ${reserve}`, () => {
      assert.deepEqual([shareOf(of), reserveOf(of)], [share, reserve]);
    });
  }

  const pool = size(2, 20);
  for (const [title, holding, expected] of [
    ['an account without a runner takes one, even of the reserve', { held: 0, bound: 19, fewestOfOthers: 0 }, true],
    ['an account below half takes one while others wait', { held: 9, bound: 9, fewestOfOthers: 0 }, true],
    [
      'an account at half takes none while an account with fewer waits',
      { held: 10, bound: 10, fewestOfOthers: 9 },
      false,
    ],
    [
      'an account at half takes one while only an account with as many waits',
      { held: 10, bound: 10, fewestOfOthers: 10 },
      true,
    ],
    [
      'an account at half takes one while no other account waits',
      { held: 10, bound: 10, fewestOfOthers: undefined },
      true,
    ],
    [
      'a lone account stops where minReady untouched runners just fit',
      { held: 18, bound: 18, fewestOfOthers: undefined },
      false,
    ],
    ['an account with a runner takes none of the reserve', { held: 1, bound: 18, fewestOfOthers: undefined }, false],
    [
      'an account with a runner leaves the last untouched one',
      { held: 1, bound: 1, fewestOfOthers: undefined, untouched: 1 },
      false,
    ],
    [
      'an account with a runner takes one of two untouched ones',
      { held: 1, bound: 1, fewestOfOthers: undefined, untouched: 2 },
      true,
    ],
    [
      'an account without a runner takes the last untouched one',
      { held: 0, bound: 5, fewestOfOthers: 5, untouched: 1 },
      true,
    ],
  ] as const) {
    it(title, () => assert.equal(mayTake(pool, holding), expected));
  }

  it('a lone account always gets its first runner', () =>
    assert.equal(mayTake(size(1, 1), { held: 0, bound: 0, fewestOfOthers: undefined }), true));
  it('under the scope any, a lone account gets every runner', () => {
    const any = { ...pool, reuse: { scope: 'any' as const, maxJobs: 1, maxAgeSeconds: 10, idleSeconds: 1 } };
    assert.deepEqual(
      [18, 19].map((held) => mayTake(any, { held, bound: held, fewestOfOthers: undefined })),
      [true, true],
    );
    assert.equal(mayTake(any, { held: 10, bound: 10, fewestOfOthers: 0 }), false);
    assert.equal(mayTake(any, { held: 1, bound: 1, fewestOfOthers: undefined, untouched: 0 }), true);
  });
  it('a pool of one runner gives an account no second one', () =>
    assert.equal(mayTake(size(1, 1), { held: 1, bound: 1, fewestOfOthers: undefined }), false));
});
