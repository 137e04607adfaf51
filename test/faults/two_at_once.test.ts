import assert from 'node:assert/strict';
import type { Cluster } from '../cluster/fixture.ts';
import { underLoad } from './load.ts';
import { inFull } from '../long.ts';
import { drawPairs, injectPair } from './pairs.ts';
import { whole, wholeCluster } from './whole.ts';

/** `make faults` draws another pair in each run; set it to repeat one. */
const SEED = Number(process.env['FAULT_SEED'] ?? (inFull() ? Math.floor(Math.random() * 100_000) : 6));
/** The number of pairs; CI draws for some minutes. */
const PAIRS = Number(process.env['PAIRS'] ?? 1);

describe(`two faults at once, drawn by the seed ${SEED}`, function () {
  this.timeout(500_000);
  let c: Cluster;
  before(async () => {
    c = await wholeCluster();
  });
  after(() => c.close());

  for (const [round, pair] of drawPairs(SEED, PAIRS).entries()) {
    it(`${pair.first}, then ${pair.second} after ${pair.afterMs} ms (pair ${round + 1}): one end each`, async () => {
      const { statuses, ms } = await underLoad(c, () => injectPair(c, pair));
      console.log(`      callers were told ${JSON.stringify(statuses)} in ${Math.round(ms / 1000)} s`);
      await whole(c);
    });
  }
});

describe('draw of faults', () => {
  it('is the same for the same seed, and different for another', () => {
    assert.deepEqual(drawPairs(7, 20), drawPairs(7, 20));
    assert.notDeepEqual(drawPairs(7, 20), drawPairs(8, 20));
    for (const { first, second } of drawPairs(7, 200)) assert.notEqual(first, second);
  });
});
