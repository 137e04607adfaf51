import assert from 'node:assert/strict';
import { evaluate } from '../../src/media/policy/evaluate.ts';
import { readPolicy } from '../../src/media/policy/read.ts';
import { sampleFacts } from './facts.ts';

describe('policy: evaluate', () => {
  it('tells what was found, what was expected, and where the value comes from', () => {
    const policy = readPolicy({ rules: [{ name: 'wrapper', field: 'container.format', in: ['mov', 'mxf'] }] });
    const { outcome, rules } = evaluate(policy, sampleFacts('picture_and_sound.mkv'));
    assert.equal(outcome, 'fail');
    assert.deepEqual(rules, [
      {
        name: 'wrapper',
        level: 'fail',
        outcome: 'fail',
        message: 'format of the container is matroska; expected one of mov, mxf',
        field: 'container.format',
        actual: 'matroska',
        expected: 'one of mov, mxf',
        from: 'probe_report',
        confidence: 0.999,
      },
    ]);
  });
});
