import assert from 'node:assert/strict';
import {
  calibrationError,
  chanceOf,
  CORRECTIONS,
  crossFitted,
  platt,
  spreadOf,
  type Answered,
} from '../../bench/report/calibration.ts';
import { random } from '../../bench/report/random.ts';

const answer = (confidence: number, right: boolean, more: Partial<Answered> = {}): Answered => ({
  file: 1,
  field: 'duration',
  weight: 1,
  right,
  confidence,
  ...more,
});

/** One answer a file, right as often as `truth` says of its confidence. */
function drawn(count: number, truth: (confidence: number) => number): Answered[] {
  const draw = random(5);
  return Array.from({ length: count }, (_, file) => {
    const confidence = 0.5 + draw.next() / 2;
    return answer(confidence, draw.next() < truth(confidence), { file });
  });
}
const honest = (confidence: number): number => confidence;
/** Sure of 0.9 where 0.75 of 100 are right. */
const boastful = (confidence: number): number => 1 / (1 + ((1 - confidence) / confidence) ** 0.5);

describe('report: calibration', () => {
  const errors: [string, Answered[], number][] = [
    ['no answer', [], 0],
    ['as often right as it says', [answer(0.75, true), answer(0.75, true), answer(0.75, true), answer(0.75, false)], 0],
    ['always right, and half sure', [answer(0.5, true), answer(0.55, true)], 0.475],
    ['wrong, and quite sure', [answer(1, false)], 1],
    ['too sure in one bin and too modest in another', [answer(0.9, false), answer(0.1, true)], 0.9],
    ['too sure and too modest in the same bin', [answer(0.5, true), answer(0.5, false)], 0],
    ['a light answer that is wrong', [answer(1, true, { weight: 3 }), answer(1, false)], 0.25],
  ];
  for (const [what, answers, error] of errors)
    it(`error of ${what}: ${error}`, () => assert.ok(Math.abs(calibrationError(answers) - error) < 1e-9));

  it('few answers have an error by chance, many hardly any', () => {
    const [few, many] = [chanceOf(drawn(40, honest), 300), chanceOf(drawn(4000, honest), 30)];
    assert.ok(few > 0.08 && many < 0.02, `${few} and ${many}`);
  });

  it('answers on the same field of a file are right or wrong together by chance', () => {
    const single = drawn(40, honest);
    const versions = single.flatMap((one) => Array.from({ length: 10 }, () => ({ ...one, weight: 0.1 })));
    assert.ok(Math.abs(chanceOf(versions, 300) - chanceOf(single, 300)) < 0.01);
  });

  it('the spread is that of files: copies of an answer do not make it narrower', () => {
    const width = ([low, high]: [number, number]) => high - low;
    const single = drawn(60, honest);
    const copies = single.flatMap((one) => [one, one, one]);
    assert.ok(Math.abs(width(spreadOf(single, 300)) - width(spreadOf(copies, 300))) < 1e-9);
    assert.ok(width(spreadOf(drawn(2000, honest), 100)) < width(spreadOf(single, 300)) / 2);
  });

  it('an answer is never corrected by answers on its own file', () => {
    const answers = drawn(50, honest).flatMap((one) => [one, { ...one, field: 'size' }]);
    const seen = new Set<string>();
    const corrected = crossFitted(answers, (fitted) => {
      const files = new Set(fitted.map(({ file }) => file));
      return (one) => {
        assert.ok(!files.has(one.file), `file ${one.file}`);
        seen.add(`${one.file} ${one.field}`);
        return 0.5;
      };
    });
    assert.equal(seen.size, answers.length);
    assert.ok(corrected.length === answers.length && corrected.every(({ confidence }) => confidence === 0.5));
  });

  for (const [name, correction] of Object.entries(CORRECTIONS).slice(1))
    it(`${name}: mends confidence that is too high, and harms none that is right`, () => {
      const [wrong, right] = [drawn(3000, boastful), drawn(3000, honest)];
      const before = calibrationError(wrong);
      const after = calibrationError(crossFitted(wrong, correction));
      assert.ok(before > 0.08 && after < 0.035, `${before} to ${after}`);
      assert.ok(calibrationError(crossFitted(right, correction)) < 0.035);
    });

  it('a correction that was fitted on few answers stays near the confidence', () => {
    const correct = platt([answer(0.8, false)]);
    assert.ok(correct(answer(0.8, true)) > 0.6);
  });
});
