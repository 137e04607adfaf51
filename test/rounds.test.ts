import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { Rounds } from '../src/base/rounds.ts';

const LONG_MS = 600_000;
const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;

describe('rounds', () => {
  const begun: Rounds[] = [];
  const errors: unknown[] = [];
  const begin = (round: () => Promise<number | void>, times: { restMs: number; gapMs?: number }): Rounds => {
    const rounds = new Rounds({ round, failed: (error) => errors.push(error), ...times });
    begun.push(rounds);
    return rounds;
  };
  beforeEach(() => errors.splice(0));
  afterEach(() => Promise.all(begun.splice(0).map((rounds) => rounds.stop())));

  it('begins the first one after the constructor of their owner', async () => {
    let count = 0;
    begin(async () => void count++, { restMs: LONG_MS });
    assert.equal(count, 0);
    await delay(5);
    assert.equal(count, 1);
  });

  it('rests as long as a round returns, and else as long as given', async () => {
    let count = 0;
    begin(async () => (++count < 3 ? 0 : undefined), { restMs: LONG_MS });
    await delay(20);
    assert.equal(count, 3);
  });

  it('reports a failure, and rests after it', async () => {
    let count = 0;
    const rounds = begin(
      async () => {
        if (++count === 1) throw new Error('away');
      },
      { restMs: LONG_MS },
    );
    await delay(20);
    assert.deepEqual([count, errors], [1, [new Error('away')]]);
    rounds.again();
    await delay(20);
    assert.equal(count, 2);
  });

  it('runs one at a time, and a notice during a round lets the next one follow without a rest', async () => {
    let count = 0;
    let running = 0;
    let most = 0;
    const rounds = begin(
      async () => {
        count++;
        most = Math.max(most, ++running);
        await delay(20);
        running--;
      },
      { restMs: LONG_MS },
    );
    await delay(5);
    rounds.again();
    rounds.again();
    await delay(100);
    assert.deepEqual([count, most], [2, 1]);
  });

  it('keeps the gap where notices come all the time', async () => {
    const at: number[] = [];
    const rounds = begin(async () => void at.push(performance.now()), { restMs: LONG_MS, gapMs: 50 });
    for (let notices = 0; notices < 40; notices++) {
      await delay(5);
      rounds.again();
    }
    assert.ok(at.length >= 2, `${at.length} rounds`);
    for (const [index, time] of at.slice(1).entries()) assert.ok(time - at[index]! >= 49);
  });

  it('a stop waits for the round under way, and no other begins', async () => {
    let ended = 0;
    const rounds = begin(
      async () => {
        await delay(30);
        ended++;
      },
      { restMs: 0 },
    );
    await delay(5);
    rounds.again();
    await rounds.stop();
    assert.equal(ended, 1);
    await delay(50);
    assert.equal(ended, 1);
  });

  for (const [name, times] of [
    ['rest', { restMs: LONG_MS }],
    ['gap', { restMs: LONG_MS, gapMs: LONG_MS }],
  ] as const)
    it(`a stop ends the ${name} at once, and leaves no timer`, async () => {
      const rounds = begin(async () => {}, times);
      await delay(5);
      const during = timers();
      await rounds.stop();
      assert.equal(timers(), during - 1);
      assert.ok(rounds.signal.aborted);
    });

  it('a stop before the first round lets none begin', async () => {
    let count = 0;
    await begin(async () => void count++, { restMs: 0 }).stop();
    assert.equal(count, 0);
  });
});
