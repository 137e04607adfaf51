import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { WorkQueue } from '../../src/platform/kube/queue.ts';
import { until } from '../until.ts';

describe('work queue', () => {
  it('keeps keys until the work begins, in order, each once however often it was added', async () => {
    const queue = new WorkQueue();
    for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key);
    await turn();
    const worked: string[] = [];
    queue.run(1, async (key) => {
      worked.push(key);
    });
    await turn();
    assert.deepEqual(worked, ['a', 'b', 'c']);
    await queue.stop();
  });

  it('works on a key that is added during its work again when that is done, once', async () => {
    const queue = new WorkQueue();
    const gate = Promise.withResolvers<void>();
    let runs = 0;
    queue.run(2, async () => {
      runs += 1;
      if (runs === 1) await gate.promise;
    });
    queue.add('a');
    await turn();
    queue.add('a');
    queue.add('a');
    await turn();
    assert.equal(runs, 1);
    gate.resolve();
    await turn();
    assert.equal(runs, 2);
    await queue.stop();
  });

  it('works on many keys at once, never twice on one key at once', async () => {
    const queue = new WorkQueue();
    const active = new Map<string, number>();
    let together = 0;
    let most = 0;
    let twice = false;
    const runs = new Map<string, number>();
    queue.run(4, async (key) => {
      active.set(key, (active.get(key) ?? 0) + 1);
      twice ||= active.get(key) !== 1;
      together += 1;
      most = Math.max(most, together);
      queue.add(`k${(Number(key.slice(1)) + 1) % 5}`);
      await turn();
      together -= 1;
      active.set(key, active.get(key)! - 1);
      runs.set(key, (runs.get(key) ?? 0) + 1);
    });
    for (let n = 0; n < 5; n++) queue.add(`k${n}`);
    await until('each key ran ten times', () => runs.size === 5 && [...runs.values()].every((count) => count >= 10));
    await queue.stop();
    assert.equal(twice, false);
    assert.ok(most > 1 && most <= 4, `${most} at once`);
  });

  it('when stopped: ends the current work, begins none, and ignores later keys', async () => {
    const queue = new WorkQueue();
    const gate = Promise.withResolvers<void>();
    const begun: string[] = [];
    queue.run(1, async (key) => {
      begun.push(key);
      await gate.promise;
    });
    queue.add('a');
    queue.add('b');
    queue.addAfter('later', 1);
    await until('the first has begun', () => begun.length === 1);
    let stopped = false;
    const stopping = queue.stop().then(() => {
      stopped = true;
    });
    queue.add('a');
    queue.add('c');
    queue.addAfter('d', 0);
    await turn();
    assert.equal(stopped, false);
    gate.resolve();
    await stopping;
    await turn();
    assert.deepEqual(begun, ['a']);
  });

  describe('timing', () => {
    beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
    afterEach(() => mock.timers.reset());

    const pass = async (ms: number): Promise<void> => {
      mock.timers.tick(ms);
      await turn();
    };

    it('adds after a delay, the earlier of two delays', async () => {
      const queue = new WorkQueue();
      const worked: string[] = [];
      queue.run(1, async (key) => {
        worked.push(key);
      });
      queue.addAfter('a', 1000);
      queue.addAfter('a', 100);
      queue.addAfter('a', 5000);
      await pass(99);
      assert.deepEqual(worked, []);
      await pass(1);
      assert.deepEqual(worked, ['a']);
      await pass(10_000);
      assert.deepEqual(worked, ['a']);
      await queue.stop();
    });

    it('repeats a key after the delay that its work returns', async () => {
      const queue = new WorkQueue();
      let runs = 0;
      queue.run(1, async () => (++runs < 3 ? 7 : undefined));
      queue.add('a');
      await turn();
      await pass(6);
      assert.equal(runs, 1);
      await pass(1);
      await pass(7);
      await pass(1_000);
      assert.equal(runs, 3);
      await queue.stop();
    });

    it('waits longer after each failure of a key, and starts over after a success', async () => {
      const queue = new WorkQueue();
      const failures: number[] = [];
      let fails = true;
      let runs = 0;
      queue.run(
        1,
        async () => {
          runs += 1;
          if (fails) throw new Error('not yet');
        },
        (_error, _key, count) => failures.push(count),
      );
      queue.add('a');
      await turn();
      for (const [at, delay] of [5, 10, 20, 40].entries()) {
        await pass(delay - 1);
        assert.equal(runs, at + 1, `not before ${delay} ms`);
        await pass(1);
        assert.equal(runs, at + 2, `after ${delay} ms`);
      }
      fails = false;
      await pass(80);
      fails = true;
      queue.add('a');
      await turn();
      await pass(5);
      assert.deepEqual(failures, [1, 2, 3, 4, 5, 1, 2]);
      await queue.stop();
    });

    it('never delays a retry for more than 1,000 s', async () => {
      const queue = new WorkQueue();
      let runs = 0;
      queue.run(1, async () => {
        runs += 1;
        throw new Error('never');
      });
      queue.add('a');
      await turn();
      for (let failure = 1; failure <= 30; failure++) await pass(1_000_000);
      assert.equal(runs, 31);
      await pass(999_999);
      assert.equal(runs, 31);
      await pass(1);
      assert.equal(runs, 32);
      await queue.stop();
    });
  });
});
