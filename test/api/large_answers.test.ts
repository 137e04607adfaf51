import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { makeLargeAnswers } from '../../src/api/large_answers.ts';
import { until } from '../until.ts';

const response = (closed = false) => Object.assign(new EventEmitter(), { closed });

describe('large answers', () => {
  it('are made a few at a time, in order, each place given back once', async () => {
    const large = makeLargeAnswers(2);
    const all = Array.from({ length: 5 }, () => response());
    const placed: number[] = [];
    all.forEach((one, index) => void large.place(one as never).then(() => placed.push(index)));
    await turn();
    assert.deepEqual(placed, [0, 1]);
    all[1]!.emit('close');
    all[1]!.emit('close');
    await turn();
    assert.deepEqual(placed, [0, 1, 2]);
    all[0]!.emit('close');
    all[2]!.emit('close');
    await turn();
    assert.deepEqual(placed, [0, 1, 2, 3, 4]);
  });
  it('do not wait for a caller who is gone, nor for ever for one who reads slowly', async () => {
    const large = makeLargeAnswers(1, 50);
    await large.place(response(true) as never);
    await large.place(response() as never);
    let third = false;
    void large.place(response() as never).then(() => { third = true; });
    await turn();
    assert.equal(third, false);
    await until('the slow one has lost its place', () => third);
  });
});
