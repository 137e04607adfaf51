/** The verdict of a policy of which rules are waived. */
import assert from 'node:assert/strict';
import type { PolicyResult, RuleResult } from '../../src/media/policy/schema.ts';
import { withWaivers } from '../../src/media/policy/evaluate.ts';

const waived = { waiver: '019a5f3e-8a00-7000-8000-000000000001', reason: 'Archive', by: null, until: '2027-01-31' };
const rule = (name: string, outcome: RuleResult['outcome']): RuleResult => ({
  name,
  level: outcome === 'warn' ? 'warn' : 'fail',
  outcome,
  message: name,
});
const verdict = (outcome: PolicyResult['outcome'], ...outcomes: RuleResult['outcome'][]): PolicyResult => ({
  name: 'house',
  revision: 1,
  outcome,
  rules: outcomes.map((one, at) => rule(`rule ${at}`, one)),
});

describe('a policy of which a rule is waived', () => {
  for (const [given, whole, first] of [
    [verdict('fail', 'fail', 'pass'), 'pass', 'waived'],
    [verdict('fail', 'fail'), 'pass', 'waived'],
    [verdict('fail', 'fail', 'fail'), 'fail', 'waived'],
    [verdict('fail', 'fail', 'warn'), 'warn', 'waived'],
    [verdict('fail', 'fail', 'unknown'), 'unknown', 'waived'],
    [verdict('warn', 'warn', 'pass'), 'pass', 'waived'],
    [verdict('unknown', 'unknown', 'pass'), 'unknown', 'unknown'],
    [verdict('pass', 'pass'), 'pass', 'pass'],
    [verdict('not-applicable', 'not-applicable'), 'not-applicable', 'not-applicable'],
  ] as const)
    it(`${given.rules.map(({ outcome }) => outcome).join(', ')}: ${whole}`, () => {
      const now = withWaivers(given, [{ rule: 'rule 0', waived }]);
      assert.deepEqual([now.outcome, now.rules[0]!.outcome], [whole, first]);
      assert.deepEqual(now.rules[0]!.waived, first === 'waived' ? waived : undefined);
      assert.equal('waived' in given.rules[0]!, false, 'what was given stays as it is');
    });

  it('stays as it is where no waiver is of its rules', () => {
    const given = verdict('fail', 'fail');
    assert.equal(withWaivers(given, [{ rule: 'another', waived }]), given);
  });
});
