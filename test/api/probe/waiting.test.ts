import assert from 'node:assert/strict';
import { pino } from 'pino';
import type { Ended } from '../../../src/platform/bus/messages.ts';
import { makeWaiting } from '../../../src/service/api/probe/waiting_callers.ts';

const log = pino({ level: 'silent' });
const end = (id: string): Ended => ({ id, status: 200, reason: 'Completed', queueTimeMs: 1, hasBody: false });
const never = new AbortController().signal;

describe('waiting for ends', () => {
  it('resolves for every waiter of the same request', async () => {
    const waiting = makeWaiting({ look: async () => [], log });
    const both = Promise.all([waiting.wait('a', never), waiting.wait('a', never)]);
    assert.equal(waiting.size(), 2);
    waiting.ended(end('a'));
    waiting.ended(end('a'));
    waiting.ended(end('b'));
    assert.deepEqual(await both, [end('a'), end('a')]);
    assert.equal(waiting.size(), 0);
    waiting.stop();
  });

  it('rejects when its signal aborts, and leaves other waiters waiting', async () => {
    const waiting = makeWaiting({ look: async () => [], log });
    const stop = new AbortController();
    const one = waiting.wait('a', stop.signal);
    const other = waiting.wait('a', never);
    stop.abort(new Error('enough'));
    await assert.rejects(one, { message: 'enough' });
    await assert.rejects(waiting.wait('b', stop.signal), { message: 'enough' });
    assert.equal(waiting.size(), 1);
    waiting.ended(end('a'));
    assert.deepEqual(await other, end('a'));
    waiting.stop();
  });

  it('polls in batches, never concurrently, and continues after a failed poll', async () => {
    const looks: number[] = [];
    let atOnce = 0;
    let fail = true;
    const waiting = makeWaiting({
      everyMs: 5,
      log,
      look: async (ids) => {
        assert.equal(++atOnce, 1);
        looks.push(ids.length);
        await new Promise((resolve) => setTimeout(resolve, 1));
        atOnce--;
        if (fail) {
          fail = false;
          throw new Error('Postgres is away');
        }
        return ids.map(end);
      },
    });
    const all = Promise.all(Array.from({ length: 1_200 }, (_, index) => waiting.wait(String(index), never)));
    await Promise.all([waiting.lookNow(), waiting.lookNow()]);
    await all;
    assert.deepEqual(looks, [500, 500, 500, 200]);
    waiting.stop();
  });
});
