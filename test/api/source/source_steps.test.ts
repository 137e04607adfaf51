import assert from 'node:assert/strict';
import { inTurn, stepOf } from '../../../src/service/api/source/source_rounds.ts';

const batch = (state: string, lists = false) => ({ id: 'b', state, reason: null, lists });
const FACTS = { state: 'running', rootUserId: 1, listDue: false, bundleDue: false, open: [] };

describe('source: what is done next', () => {
  for (const [what, facts, may, expected] of [
    ['nothing is due', {}, true, 'wait'],
    ['a listing is due', { listDue: true }, true, 'list'],
    ['objects are due', { bundleDue: true }, true, 'bundle'],
    ['both are due', { listDue: true, bundleDue: true }, true, 'list'],
    [
      'it lists, and objects are due',
      { listDue: true, bundleDue: true, open: [batch('running', true)] },
      true,
      'bundle',
    ],
    ['it lists, and another listing is due', { listDue: true, open: [batch('running', true)] }, true, 'wait'],
    ['one batch is open', { bundleDue: true, open: [batch('running')] }, true, 'bundle'],
    ['two batches are open', { bundleDue: true, open: [batch('running'), batch('stopped')] }, true, 'wait'],
    ['its listing has ended', { listDue: true, open: [batch('ended', true)] }, true, 'end-listing'],
    ['its listing has ended, and it is paused', { state: 'paused', open: [batch('ended', true)] }, true, 'end-listing'],
    ['its listing has stopped', { open: [batch('stopped', true)] }, true, 'give-up-listing'],
    ['its token may not probe', { listDue: true }, false, 'stop'],
    ['its token may not probe, and nothing is due', {}, false, 'wait'],
    ['it is paused', { state: 'paused', listDue: true, bundleDue: true }, true, 'wait'],
    ['it has stopped', { state: 'stopped', listDue: true }, false, 'wait'],
    ['it is to be deleted', { state: 'deleting', listDue: true }, true, 'drop'],
    ['its user is erased', { rootUserId: null }, false, 'drop'],
  ] as const)
    it(`${what}: ${expected}`, () =>
      assert.equal(stepOf({ ...FACTS, ...facts } as unknown as Parameters<typeof stepOf>[0], may).do, expected));
});

it('sources: accounts that have not had a turn come before those that have, and the earlier turn first', () => {
  const sources = [4, 3, null, 4, 2, 1].map((rootUserId, n) => ({ rootUserId, n }));
  const turns = new Map<number | null, number>([
    [4, 20],
    [3, 10],
    [null, 30],
  ]);
  assert.deepEqual(
    inTurn(sources, turns).map(({ n }) => n),
    [4, 5, 1, 0, 3, 2],
  );
});
