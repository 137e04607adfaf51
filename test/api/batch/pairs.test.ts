import assert from 'node:assert/strict';
import {
  type Flip,
  heldDisplay,
  JUDGED,
  makeFlips,
  type Pair,
  pairItems,
  type PairedItem,
  unreadOf,
} from '../../../src/service/api/batch/pairs.ts';

const item = (n: number, display: string, more: Partial<PairedItem> = {}): PairedItem => ({
  n,
  display,
  ref: null,
  state: 'success',
  requestId: null,
  policyOutcome: null,
  ...more,
});
const atOnce = () => undefined;
function flipsOf(pairs: readonly Pair[], judged: keyof typeof JUDGED, most: number): Flip<string>[] {
  const flips = makeFlips<string>(JUDGED[judged], most);
  for (const pair of pairs) flips.add(pair);
  return flips.end();
}
const named = (n: number, display: string, ref: string) => item(n, display, { ref });

const PAIRED: [string, PairedItem[], PairedItem[], [pairs: [number, number][], onlyA: number, onlyB: number]][] = [
  ['nothing', [], [], [[], 0, 0]],
  [
    'by address, in the order of b',
    [item(0, 'x'), item(1, 'y')],
    [item(0, 'y'), item(1, 'x')],
    [
      [
        [1, 0],
        [0, 1],
      ],
      0,
      0,
    ],
  ],
  [
    'one that is only in a, and one only in b',
    [item(0, 'x'), item(1, 'y')],
    [item(0, 'x'), item(1, 'z')],
    [[[0, 0]], 1, 1],
  ],
  [
    'by ref where both have one, whatever the address',
    [named(0, 'x', 'r')],
    [named(0, 'moved', 'r')],
    [[[0, 0]], 0, 0],
  ],
  ['not by address where both have a ref', [named(0, 'x', 'r')], [named(0, 'x', 's')], [[], 1, 1]],
  ['by address where one has no ref', [named(0, 'x', 'r')], [item(0, 'x')], [[[0, 0]], 0, 0]],
  ['by address where the other has none', [item(0, 'x')], [named(0, 'x', 'r')], [[[0, 0]], 0, 0]],
  [
    'the ref before an address that comes first',
    [item(0, 'x'), named(1, 'y', 'r')],
    [named(0, 'x', 'r'), item(1, 'x')],
    [
      [
        [1, 0],
        [0, 1],
      ],
      0,
      0,
    ],
  ],
  [
    'an address that occurs twice in order, each once',
    [item(0, 'x'), item(1, 'x')],
    [item(0, 'x'), item(1, 'x'), item(2, 'x')],
    [
      [
        [0, 0],
        [1, 1],
      ],
      0,
      1,
    ],
  ],
];

describe('batch diff: pairs', () => {
  for (const [what, a, b, [expected, onlyA, onlyB]] of PAIRED)
    it(what, async () => {
      const { pairs, onlyInA, onlyInB, erased } = await pairItems(a, b, atOnce);
      const numbers = pairs.map((pair) => [pair.a.n, pair.b.n]);
      assert.deepEqual([numbers, onlyInA, onlyInB, erased], [expected, onlyA, onlyB, 0]);
    });

  it('a long address is held as a short name of it alone', () => {
    const long = `https://pairs.test/${'x'.repeat(8_000)}`;
    const [one, same, other] = [`${long}1`, `${long}1`, `${long}2`].map(heldDisplay);
    assert.ok(one === same && one !== other && one!.length < 64, one);
    assert.equal(heldDisplay('https://pairs.test/x'), 'https://pairs.test/x');
  });

  it('items that were erased are counted, and paired with nothing', async () => {
    const { pairs, ...counts } = await pairItems([item(0, ''), item(1, 'x')], [item(0, ''), item(1, 'x')], atOnce);
    assert.deepEqual([pairs.length, counts], [1, { onlyInA: 0, onlyInB: 0, erased: 2 }]);
  });

  it('10,000 of one address are paired in order, and others get their turn', async () => {
    const many = Array.from({ length: 10_000 }, (_, n) => item(n, 'x'));
    let turns = 0;
    const { pairs } = await pairItems(many, many.slice(), () => {
      turns += 1;
      return turns % 1_000 === 0 ? Promise.resolve() : undefined;
    });
    assert.ok(pairs.every(({ a, b }, n) => a.n === n && b.n === n));
    assert.deepEqual([pairs.length, turns], [10_000, 40_000]);
  });
});

describe('batch diff: outcomes that change', () => {
  const pair = (a: Partial<PairedItem>, b: Partial<PairedItem>) => ({ a: item(0, 'x', a), b: item(0, 'x', b) });
  it('are counted by what they were and are, the commonest first, with the first pairs of each', () => {
    const [ok, failed] = [{ state: 'success' }, { state: 'error' }] as const;
    const pairs = [pair(failed, ok), pair(ok, failed), pair(ok, failed), pair(ok, ok), pair(ok, failed)];
    const flips = flipsOf(pairs, 'state', 2);
    assert.deepEqual(
      flips.map(({ from, to, count, pairs: first }) => [from, to, count, first.length]),
      [
        ['success', 'error', 3, 2],
        ['error', 'success', 1, 1],
      ],
    );
  });
  for (const [what, a, b] of [
    ['an item that has not ended', { state: 'running' }, { state: 'success' }],
    ['one that waits', { state: 'success' }, { state: 'waiting' }],
  ] as const)
    it(`${what} flips nothing`, () => assert.deepEqual(flipsOf([pair(a, b)], 'state', 1), []));
  it('a verdict flips where both have one', () => {
    const flips = flipsOf(
      [
        pair({ policyOutcome: 'pass' }, { policyOutcome: 'fail' }),
        pair({ policyOutcome: null }, { policyOutcome: 'fail' }),
        pair({ policyOutcome: 'pass' }, { policyOutcome: null }),
      ],
      'policyOutcome',
      5,
    );
    assert.deepEqual(
      flips.map(({ from, to, count }) => [from, to, count]),
      [['pass', 'fail', 1]],
    );
  });
});

describe('batch diff: whose results are not read', () => {
  for (const [a, b, why] of [
    ['success', 'success', undefined],
    ['success', 'with-errors', undefined],
    ['success', 'error', 'no-result'],
    ['skipped', 'success', 'no-result'],
    ['running', 'success', 'not-ended'],
    ['error', 'waiting', 'not-ended'],
  ] as const)
    it(`${a} and ${b}: ${why ?? 'read'}`, () => {
      assert.equal(unreadOf({ a: item(0, 'x', { state: a }), b: item(0, 'x', { state: b }) }), why);
    });
});
