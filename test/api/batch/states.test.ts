import assert from 'node:assert/strict';
import type { BatchState } from '../../../src/platform/store/batches.ts';
import { move, STOPS, textOfStop, type BatchEvent } from '../../../src/service/api/batch/states.ts';

const EVENTS: readonly BatchEvent[] = ['pause', 'resume', 'stop', 'cancel'];

describe('batch: the table of states', () => {
  const rows: readonly [BatchState, ...(BatchState | null)[]][] = [
    //             pause     resume     stop       cancel
    ['running', 'paused', 'running', 'stopped', 'cancelling'],
    ['paused', 'paused', 'running', null, 'cancelling'],
    ['stopped', null, 'running', null, 'cancelling'],
    ['cancelling', null, null, null, 'cancelling'],
    ['ended', null, null, null, null],
  ];
  for (const [state, ...expected] of rows)
    it(`${state}: each event`, () =>
      assert.deepEqual(
        EVENTS.map((event) => move(state, event)),
        expected,
      ));

  it('each reason of a stop has a text, and no other reason has', () => {
    for (const reason of Object.keys(STOPS)) assert.match(textOfStop(reason) ?? '', /; (?:resume|create)/);
    for (const reason of ['Completed', 'toString', null]) assert.equal(textOfStop(reason), null);
  });
});
