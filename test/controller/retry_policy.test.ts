import assert from 'node:assert/strict';
import { afterLoss, afterRefusal, deadlineMs, shunMs } from '../../src/service/controller/retry_policy.ts';

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

  it('a job is ended 10 s after its own time limit', () => assert.equal(deadlineMs(65_000), 75_000));
});
