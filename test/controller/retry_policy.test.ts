import assert from 'node:assert/strict';
import {
  NO_FAILED_STARTS,
  afterFailedStart,
  afterLoss,
  afterQuickStart,
  afterRefusal,
  bootPatienceMs,
  deadlineMs,
  shunMs,
  startsAtOnce,
} from '../../src/service/controller/retry_policy.ts';

describe('retry policy', () => {
  const losses: [attempt: number, refusals: number, lostTimes: number | undefined, absences?: number][] = [
    [1, 0, undefined],
    [2, 0, undefined],
    [3, 0, 3],
    [5, 3, undefined],
    [6, 3, 3],
    [22, 20, undefined],
    [23, 20, 3],
    [23, 22, 3],
    [102, 0, undefined, 100],
    [103, 0, 3, 100],
    [123, 20, 3, 100],
  ];
  for (const [attempt, refusals, lostTimes, absences] of losses)
    it(`attempt ${attempt}, ${refusals} refusals, ${absences ?? 0} absences: ${lostTimes ? 'an end' : 'again'}`, () =>
      assert.deepEqual(
        afterLoss(attempt, refusals, absences),
        lostTimes
          ? { retry: false, error: `the analysis could not be completed: its runner was lost ${lostTimes} times` }
          : { retry: true },
      ));

  const answers: [why: Parameters<typeof afterRefusal>[0], inARow: number, expected: object][] = [
    ['silent', 1, { refused: false, endPod: 'silent' }],
    ['absent', 2, { refused: true }],
    ['absent', 3, { refused: true, endPod: 'refuses' }],
    ['tools', 1, { refused: true, endPod: 'unfit' }],
    ['protocol', 1, { refused: true, endPod: 'unfit' }],
    ['epoch', 1, { refused: true, replaceIfLeading: true }],
    ['busy', 1, { refused: true }],
    ['busy', 2, { refused: true }],
    ['busy', 3, { refused: true, endPod: 'refuses' }],
    ['tenant', 3, { refused: true, endPod: 'refuses' }],
    ['draining', 3, { refused: true, endPod: 'refuses' }],
  ];
  for (const [why, inARow, expected] of answers)
    it(`a runner refuses with "${why}", refusal ${inARow} in a row`, () =>
      assert.deepEqual(afterRefusal(why, inARow), expected));

  it('a runner is avoided longer after each refusal in a row', () =>
    assert.deepEqual([1, 2, 3].map(shunMs), [1_000, 2_000, 3_000]));

  it('pods that were not up in time are one failed round, until one that was created after them', () => {
    const first = afterFailedStart(NO_FAILED_STARTS, 0, 90_000);
    assert.deepEqual(first, { rounds: 1, at: 90_000 });
    assert.deepEqual(afterFailedStart(first, 89_999, 120_000), first);
    assert.deepEqual(afterFailedStart(first, 90_000, 270_000), { rounds: 2, at: 270_000 });
  });
  it('each quick start makes up for a failed round', () =>
    assert.deepEqual(
      [2, 1, 0].map((rounds) => afterQuickStart({ rounds, at: 7 })),
      [1, 0, 0].map((rounds) => ({ rounds, at: 7 })),
    ));
  for (const [rounds, atOnce, seconds] of [
    [0, 6, 90],
    [1, 3, 180],
    [2, 1, 360],
    [3, 1, 600],
    [2_000, 1, 600],
  ] as const)
    it(`after ${rounds} failed rounds ${atOnce} pods start at once, and have ${seconds} s`, () =>
      assert.deepEqual([startsAtOnce(6, { rounds }), bootPatienceMs({ rounds })], [atOnce, seconds * 1_000]));

  it('a job is ended 10 s after its own time limit', () => assert.equal(deadlineMs(65_000), 75_000));
});
