import assert from 'node:assert/strict';
import { MemoryBudget, OverBudget, STREAMED_BYTES, type Place } from '../../src/service/result/memory_budget.ts';

const MB = 1_000_000;
const LARGE = { inflatedBytes: null };
const make = (waitMs = 60_000) => {
  const refused: string[] = [];
  return {
    refused,
    budget: new MemoryBudget({
      totalBytes: 8 * STREAMED_BYTES,
      wholeBytes: 4 * MB,
      waitMs,
      onRefused: (why) => refused.push(why),
    }),
  };
};
const settled = async (promise: Promise<unknown>): Promise<boolean> => {
  let done = false;
  promise.then(
    () => {
      done = true;
    },
    () => {
      done = true;
    },
  );
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  return done;
};

describe('memory budget', () => {
  it('charges a small result by its inflated size, and a streamed one a constant', async () => {
    const { budget } = make();
    const [none, some, large, larger, unknown] = await Promise.all(
      [0, MB, 5 * MB, 200 * MB, null].map((inflatedBytes, account) => budget.reserve({ inflatedBytes, account })),
    );
    assert.ok(none!.bytes > 0 && none!.bytes < 100_000);
    assert.equal(some!.bytes - none!.bytes, 6 * MB);
    assert.deepEqual(
      [large, larger, unknown].map((place) => place!.bytes),
      [STREAMED_BYTES, STREAMED_BYTES, STREAMED_BYTES],
    );
    assert.equal(
      budget.used(),
      [none, some, large, larger, unknown].reduce((sum, place) => sum + place!.bytes, 0),
    );
  });

  it("gives one account at most half: its fifth large result waits, another account's first does not", async () => {
    const { budget } = make();
    const places = await Promise.all([1, 2, 3, 4].map(() => budget.reserve({ ...LARGE, account: 1 })));
    const fifth = budget.reserve({ ...LARGE, account: 1 });
    assert.equal(await settled(fifth), false);
    await budget.reserve({ ...LARGE, account: 2 });
    places[0]!.release();
    places[0]!.release();
    await fifth;
    assert.equal(budget.used(), 5 * STREAMED_BYTES, 'a place is given back once');
  });

  it('keeps a quarter free of streamed results, so that small ones fit while large ones wait', async () => {
    const { budget } = make();
    for (let count = 0; count < 6; count++) await budget.reserve({ ...LARGE, account: count % 2 });
    const seventh = budget.reserve({ ...LARGE, account: 3 });
    assert.equal(await settled(seventh), false);
    await budget.reserve({ inflatedBytes: 100_000, account: 4 });
    assert.equal(budget.waiting(), 1);
  });

  it('refuses after the maximum wait, and names the exhausted budget', async () => {
    const { budget, refused } = make(20);
    for (let count = 0; count < 4; count++) await budget.reserve({ ...LARGE, account: 1 });
    await assert.rejects(
      budget.reserve({ ...LARGE, account: 1 }),
      (error) => error instanceof OverBudget && error.code === 'over-budget' && error.retryAfterS > 0,
    );
    for (let count = 0; count < 2; count++) await budget.reserve({ ...LARGE, account: 2 });
    await assert.rejects(budget.reserve({ ...LARGE, account: 3 }), OverBudget);
    assert.deepEqual([refused, budget.waiting()], [['account', 'replica'], 0]);
  });

  it('refuses at once if too many wait; one account gets half of the places', async () => {
    const { budget } = make();
    for (const account of [1, 1, 1, 1, 2, 2]) await budget.reserve({ ...LARGE, account });
    const waiting = Array.from({ length: 64 }, () => budget.reserve({ ...LARGE, account: 1 }));
    await assert.rejects(budget.reserve({ ...LARGE, account: 1 }), OverBudget);
    const others = Array.from({ length: 64 }, (_, index) => budget.reserve({ ...LARGE, account: 100 + index }));
    await assert.rejects(budget.reserve({ ...LARGE, account: 3 }), OverBudget);
    assert.equal(budget.waiting(), 128);
    for (const one of [...waiting, ...others]) one.catch(() => {});
  });

  it('a place that a scope holds is given back at its end, also by an error and after a release', async () => {
    const { budget } = make();
    const held = async (work: (place: Place) => void): Promise<void> => {
      using place = await budget.reserve({ ...LARGE, account: 1 });
      assert.equal(budget.used(), STREAMED_BYTES);
      work(place);
    };
    await held(() => {});
    assert.equal(budget.used(), 0);
    await held((place) => place.release());
    assert.equal(budget.used(), 0);
    await assert.rejects(
      held(() => {
        throw new Error('cannot be read');
      }),
    );
    assert.equal(budget.used(), 0);
  });

  it('removes a waiter that has disconnected', async () => {
    const { budget } = make();
    const places: Place[] = [];
    for (let count = 0; count < 4; count++) places.push(await budget.reserve({ ...LARGE, account: 1 }));
    const gone = new AbortController();
    const waits = budget.reserve({ ...LARGE, account: 1, signal: gone.signal });
    gone.abort(new Error('hung up'));
    await assert.rejects(waits, /hung up/);
    await assert.rejects(budget.reserve({ ...LARGE, account: 2, signal: gone.signal }), /hung up/);
    places.forEach((place) => place.release());
    assert.deepEqual([budget.used(), budget.waiting()], [0, 0]);
  });
});
