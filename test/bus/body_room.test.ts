import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { makeBodyRoom } from '../../src/platform/bus/body_room.ts';

describe('bus: room for bodies', () => {
  it('a body waits until there is room for it, and later ones wait behind it', async () => {
    const room = makeBodyRoom({ totalBytes: 100, mostWaiting: 3 });
    const first = await room.reserve(60);
    const order: string[] = [];
    const larger = room.reserve(50).then((release) => (order.push('larger'), release!));
    const small = room.reserve(10).then((release) => (order.push('small'), release!));
    await turn();
    assert.deepEqual([room.used(), order], [60, []]);
    first!();
    first!();
    const releases = await Promise.all([larger, small]);
    assert.deepEqual([room.used(), order], [60, ['larger', 'small']]);
    for (const release of releases) release();
    assert.equal(room.used(), 0);
  });

  it('a body larger than the whole room waits until it is alone', async () => {
    const room = makeBodyRoom({ totalBytes: 100, mostWaiting: 3 });
    const first = await room.reserve(1);
    let alone = false;
    const huge = room.reserve(1_000).then((release) => ((alone = true), release!));
    await turn();
    assert.equal(alone, false);
    first!();
    const release = await huge;
    assert.equal(room.used(), 100);
    release();
  });

  it('refuses a body when too many wait, and a body that needs no room never waits', async () => {
    const room = makeBodyRoom({ totalBytes: 100, mostWaiting: 1 });
    const first = await room.reserve(100);
    const waiting = room.reserve(1);
    assert.equal(await room.reserve(1), null);
    assert.ok(await room.reserve(0));
    first!();
    (await waiting)!();
  });
});
