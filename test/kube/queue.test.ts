import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { runWorkers, workQueue } from '../../src/platform/kube/queue.ts';
import { until } from '../until.ts';

describe('work queue', () => {
  it('returns keys in order, each once however often it was added', async () => {
    const queue = workQueue();
    for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key);
    assert.equal(queue.length, 3);
    assert.deepEqual([await queue.get(), await queue.get(), await queue.get()], ['a', 'b', 'c']);
  });

  it('returns a key that is added during its work again when that is done, once', async () => {
    const queue = workQueue();
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.add('a');
    assert.equal(queue.length, 0);
    queue.done('a');
    assert.equal(queue.length, 1);
    assert.equal(await queue.get(), 'a');
    queue.done('a');
    assert.equal(queue.length, 0);
  });

  it('gives a key to a worker that already waits', async () => {
    const queue = workQueue();
    const waiting = queue.get();
    queue.add('a');
    assert.equal(await waiting, 'a');
    assert.equal(queue.processing, 1);
  });

  it('returns fresh keys first, but never starves the others', async () => {
    const queue = workQueue();
    for (let n = 0; n < 3; n++) queue.add(`old-${n}`, { low: true });
    for (let n = 0; n < 20; n++) queue.add(`new-${n}`);
    const order: string[] = [];
    for (let n = 0; n < 23; n++) order.push((await queue.get())!);
    assert.deepEqual(order.slice(0, 8), ['new-0', 'new-1', 'new-2', 'new-3', 'new-4', 'new-5', 'new-6', 'old-0']);
    assert.deepEqual(
      order.filter((key) => key.startsWith('old')),
      ['old-0', 'old-1', 'old-2'],
    );
  });

  it('promotes a waiting key that has become fresh, and never demotes one', async () => {
    const queue = workQueue();
    queue.add('a', { low: true });
    queue.add('b', { low: true });
    queue.add('c');
    queue.add('b');
    queue.add('c', { low: true });
    assert.deepEqual([await queue.get(), await queue.get(), await queue.get()], ['c', 'b', 'a']);
  });

  it('keeps a fresh addition fresh while the key is being processed', async () => {
    const queue = workQueue();
    queue.add('a');
    await queue.get();
    queue.add('a', { low: true });
    queue.add('a');
    queue.add('b', { low: true });
    queue.done('a');
    assert.equal(await queue.get(), 'a');
  });

  it('when stopped: waiting workers get nothing, and later keys are ignored', async () => {
    const queue = workQueue();
    const waiting = queue.get();
    queue.addAfter('later', 1_000_000);
    queue.stop();
    assert.equal(await waiting, undefined);
    queue.add('a');
    assert.deepEqual([await queue.get(), queue.length, queue.delayed], [undefined, 0, 0]);
  });

  describe('timing', () => {
    beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
    afterEach(() => mock.timers.reset());

    it('adds after a delay, the earlier of two delays', async () => {
      const queue = workQueue();
      queue.addAfter('a', 1000);
      queue.addAfter('a', 100);
      queue.addAfter('a', 5000);
      assert.equal(queue.delayed, 1);
      mock.timers.tick(99);
      assert.equal(queue.length, 0);
      mock.timers.tick(1);
      assert.deepEqual([queue.length, queue.delayed], [1, 0]);
      mock.timers.tick(10_000);
      assert.equal(queue.length, 1);
    });

    it('waits longer after each failure of a key, and starts over after it was forgotten', () => {
      const queue = workQueue();
      for (const delay of [5, 10, 20, 40]) {
        queue.addRateLimited('a');
        mock.timers.tick(delay - 1);
        assert.equal(queue.length, 0, `not before ${delay} ms`);
        mock.timers.tick(1);
        assert.equal(queue.length, 1, `after ${delay} ms`);
        void queue.get();
        queue.done('a');
      }
      queue.forget('a');
      queue.addRateLimited('a');
      mock.timers.tick(5);
      assert.equal(queue.length, 1);
    });

    it('never delays a retry for more than 1,000 s', () => {
      const queue = workQueue();
      for (let failure = 1; failure <= 30; failure++) {
        queue.addRateLimited('a');
        mock.timers.tick(1_000_000);
        void queue.get();
        queue.done('a');
      }
      queue.addRateLimited('a');
      mock.timers.tick(999_999);
      assert.equal(queue.length, 0);
      mock.timers.tick(1);
      assert.equal(queue.length, 1);
    });
  });
});

describe('workers', () => {
  it('work on many keys at once, never twice on one key at once', async () => {
    const queue = workQueue();
    const active = new Map<string, number>();
    let together = 0;
    let most = 0;
    let twice = false;
    const runs = new Map<string, number>();
    const workers = runWorkers(queue, 4, async (key) => {
      active.set(key, (active.get(key) ?? 0) + 1);
      twice ||= active.get(key) !== 1;
      together += 1;
      most = Math.max(most, together);
      queue.add(`k${(Number(key.slice(1)) + 1) % 5}`);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      together -= 1;
      active.set(key, active.get(key)! - 1);
      runs.set(key, (runs.get(key) ?? 0) + 1);
    });
    for (let n = 0; n < 5; n++) queue.add(`k${n}`);
    await until('each key ran ten times', () => runs.size === 5 && [...runs.values()].every((count) => count >= 10));
    await workers.stop();
    assert.equal(twice, false);
    assert.ok(most > 1 && most <= 4, `${most} at once`);
  });

  it('retry a key after an error, and forget its failures after a success', async () => {
    const queue = workQueue();
    const failures: number[] = [];
    let left = 3;
    const workers = runWorkers(
      queue,
      2,
      async () => {
        if (left-- > 0) throw new Error('not yet');
      },
      (_error, _key, count) => failures.push(count),
    );
    queue.add('a');
    await until('success', () => left < 0);
    await workers.stop();
    assert.deepEqual(failures, [1, 2, 3]);
    assert.equal(queue.failures('a'), 0);
  });

  it('repeat a key after the delay that its work requests', async () => {
    const queue = workQueue();
    let runs = 0;
    const workers = runWorkers(queue, 1, async () => (++runs < 3 ? 1 : undefined));
    queue.add('a');
    await until('three turns', () => runs === 3);
    await workers.stop();
  });

  it('finish the current work when they are stopped, and start none', async () => {
    const queue = workQueue();
    const gate = Promise.withResolvers<void>();
    const begun: string[] = [];
    const workers = runWorkers(queue, 1, async (key) => {
      begun.push(key);
      await gate.promise;
    });
    queue.add('a');
    queue.add('b');
    await until('the first has begun', () => begun.length === 1);
    let stopped = false;
    const stopping = workers.stop().then(() => {
      stopped = true;
    });
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    assert.equal(stopped, false);
    gate.resolve();
    await stopping;
    assert.deepEqual(begun, ['a']);
  });
});
