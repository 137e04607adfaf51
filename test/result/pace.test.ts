import assert from 'node:assert/strict';
import { inflateOutputs, type PackedSlices } from '../../src/service/result/inflate.ts';
import { makePaces } from '../../src/service/result/pace.ts';
import { unpackResult } from '../../src/service/result/unpack.ts';
import { body, good } from './result_samples.ts';
import { packText } from './text_body.ts';

const MB = 1_000_000;

/** A clock that is advanced by the pauses. */
function clock() {
  let at = 0;
  const pauses: number[] = [];
  return {
    pauses,
    pass: (ms: number) => void (at += ms),
    options: {
      share: 0.25,
      burstMs: 1_000,
      now: () => at,
      wait: async (ms: number) => {
        pauses.push(ms);
        at += ms;
      },
    },
  };
}

describe('result: pace of large results', () => {
  it('an account has its burst at once, then its share of a core', async () => {
    const time = clock();
    const pace = makePaces(time.options)(1);
    for (let ms = 0; ms < 1_000; ms += 50) await pace(50);
    assert.deepEqual(time.pauses, []);
    for (let ms = 0; ms < 500; ms += 50) await pace(50);
    assert.equal(Math.round(time.pauses.reduce((sum, ms) => sum + ms, 0)), 2_000);
  });

  it('all readers of an account share its pace, and another account has a separate one', async () => {
    const time = clock();
    const paceOf = makePaces(time.options);
    await paceOf(1)(1_000);
    assert.equal(paceOf(2)(50), undefined);
    await paceOf(1)(50);
    assert.deepEqual(time.pauses, [200]);
  });

  it('an idle account regains its burst after a while, and no more', async () => {
    const time = clock();
    const pace = makePaces(time.options)(1);
    await pace(1_000);
    time.pass(60_000);
    assert.equal(pace(1_000), undefined);
    await pace(50);
    assert.deepEqual(time.pauses, [200]);
  });

  it('the debt of a payer is what it would have to wait now, and reading it costs nothing', () => {
    const time = clock();
    const paceOf = makePaces({ ...time.options, wait: async () => {} });
    assert.deepEqual([paceOf.debtOf(1), paceOf.debtOf('192.0.2.1')], [0, 0]);
    void paceOf(1)(1_000);
    assert.equal(paceOf.debtOf(1), 0);
    void paceOf(1)(250);
    assert.deepEqual([paceOf.debtOf(1), paceOf.debtOf(1), paceOf.debtOf(2)], [1_000, 1_000, 0]);
    time.pass(400);
    assert.equal(paceOf.debtOf(1), 600);
    time.pass(600);
    assert.equal(paceOf.debtOf(1), 0);
  });

  it('inflating outputs counts by its estimate, and only what is inflated', async () => {
    const { packed } = packText(body([good('ffprobe', 'a'.repeat(3 * MB), { format: 'text' })]));
    let busy = 0;
    const paced: PackedSlices = Object.assign(() => [packed], {
      pace: (ms: number) => {
        busy += ms;
        return undefined;
      },
    });
    await unpackResult(paced);
    assert.equal(busy, 0);
    for await (const slice of inflateOutputs(paced)) assert.ok(slice.length > 0);
    assert.equal(Math.round(busy), Math.round((3 * MB) / 250_000));
  });
});
