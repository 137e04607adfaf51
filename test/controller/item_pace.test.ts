import assert from 'node:assert/strict';
import type { Job } from '../../src/service/controller/leader/job.ts';
import { isCrowded, ITEM_EVERY_MS, ItemPace, QUIET_MS } from '../../src/service/controller/leader/item_pace.ts';
import { waitMs as waitOf } from '../../src/service/controller/leader/orders.ts';
import type { TermState } from '../../src/service/controller/leader/term_state.ts';
import { Runners } from '../../src/service/controller/pools/runners.ts';
import { beat, facts } from './runner_fixture.ts';

describe('items of chunks beside callers', () => {
  for (const [callers, items, cores, crowded] of [
    [0, 1, 1, false],
    [0, 50, 2, false],
    [1, 1, 1, true],
    [1, 1, 2, true],
    [1, 1, 3, false],
    [1, 2, 3, true],
    [6, 1, 8, false],
    [6, 2, 8, true],
    [1, 1, Infinity, false],
  ] as const)
    it(`${callers} jobs of callers and ${items} items are ${crowded ? '' : 'not '}too many for ${cores} cores`, () =>
      assert.equal(isCrowded({ callers, items, cores }), crowded));

  const runner = (node: string, job?: string, cores = 2) => ({
    node,
    cores,
    task: job === undefined ? undefined : { job, attempt: 1, doneBefore: 0, reserved: false },
  });
  const isItem = (job: string): boolean => job.startsWith('chunk');
  const [first, second, other] = [runner('a', 'chunk-1'), runner('a', 'chunk-2'), runner('b', 'chunk-3')];
  const caller = runner('a', 'caller');

  it('go on at once where no caller has a job on their node', () => {
    const pace = new ItemPace();
    const waitMs = (job: string, one: typeof first, runners: (typeof first)[]): number[] =>
      [1_000, 1_000].map((now) => pace.waitMs(job, one, { runners, isItem }, now));
    assert.deepEqual(waitMs('chunk-3', other, [first, second, other, caller]), [0, 0]);
    assert.deepEqual(waitMs('chunk-1', first, [first, second]), [0, 0]);
  });

  it('begin one at a time beside a caller', () => {
    const pace = new ItemPace();
    const runners = [first, second, caller];
    const waitMs = (one: typeof first, now: number): number =>
      pace.waitMs(one.task!.job, one, { runners, isItem }, now);
    assert.deepEqual([waitMs(first, 1_000), waitMs(second, 1_000), waitMs(first, 1_100)], [0, 250, 150]);
    assert.deepEqual([waitMs(second, 1_250), waitMs(first, 1_250)], [0, 250]);
    assert.deepEqual([waitMs(first, 9_000), waitMs(second, 9_000)], [0, 250]);
  });

  it('that have no runner yet begin by the same pace', () => {
    const pace = new ItemPace();
    const free = runner('a');
    const waitMs = (job: string): number => pace.waitMs(job, free, { runners: [free, caller], isItem }, 1_000);
    assert.deepEqual([waitMs('chunk-4'), waitMs('chunk-5')], [0, ITEM_EVERY_MS]);
  });

  it('go on as before when no caller was there for a moment', () => {
    const pace = new ItemPace();
    const runners = [first, second];
    pace.callerSeen(caller, 1_000);
    const waitMs = (now: number): number => pace.waitMs('chunk-1', first, { runners, isItem }, now);
    assert.deepEqual([waitMs(1_000), waitMs(1_000), waitMs(1_000 + QUIET_MS)], [0, ITEM_EVERY_MS, 0]);
  });

  it('are not paced by a job that is over, whose runner does not say so yet', () => {
    const runners = new Runners();
    for (const uid of ['a', 'b']) {
      runners.pod(facts(uid), 0);
      runners.heartbeat(beat(uid, { cores: 2 }), 1);
    }
    runners.heartbeat(beat('a', { cores: 2, phase: 'running', job: 'over', attempt: 1 }), 2);
    const state = { pace: new ItemPace(), jobs: { get: () => undefined }, deps: { runners } };
    const wait = (): number => waitOf(state as unknown as TermState, { key: 'item' } as Job, runners.get('b')!);
    assert.deepEqual([wait(), wait()], [0, 0]);
  });

  it('that rest take no core from the others', () => {
    const pace = new ItemPace();
    const runners = [runner('a', 'chunk-1', 3), runner('a', 'chunk-2', 3), runner('a', 'caller', 3)] as const;
    const waitMs = (at: 0 | 1): number => pace.waitMs(`chunk-${at + 1}`, runners[at], { runners, isItem }, 1_000);
    assert.deepEqual([waitMs(0), waitMs(0), waitMs(1), waitMs(1)], [0, ITEM_EVERY_MS, 0, 0]);
    pace.forget('chunk-1');
    assert.equal(waitMs(1), ITEM_EVERY_MS);
  });
});
