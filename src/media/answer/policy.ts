/** The verdict of a policy: what each rule asks for, and what was found. */
import type { PolicyResult, RuleResult } from '../../api_types.ts';
import { several } from '../../base/scaled.ts';
import { waivedWords } from '../../base/waived.ts';
import { placeOf, policyName } from '../ci_formats/policy_rules.ts';
import { percent } from './file.ts';
import { type Cell, code, line, mark, quiet, type Section, span, status, table } from './section.ts';

type Outcome = RuleResult['outcome'];

/** The worst first. */
const TALLY: Record<Outcome, string> = {
  fail: 'failed',
  unknown: 'could not be judged',
  warn: 'warned',
  waived: 'waived',
  pass: 'passed',
  'not-applicable': 'did not apply',
};
const ORDER = Object.keys(TALLY) as Outcome[];

/** Those of each outcome that there is, the worst first. */
export function byOutcome<T>(all: readonly T[], outcomeOf: (one: T) => Outcome): [Outcome, T[]][] {
  const groups = ORDER.map((outcome): [Outcome, T[]] => [outcome, all.filter((one) => outcomeOf(one) === outcome)]);
  return groups.filter(([, some]) => some.length > 0);
}

const found = ({ actual, from, confidence, also = [], more }: RuleResult): Cell => [
  actual !== undefined && span(actual, { most: 120 }),
  from !== undefined && quiet(from),
  confidence !== undefined && quiet(`${percent(confidence)} sure`),
  also.map(({ stream, actual: other = '' }): Cell => line(`${stream} ${other}`, 80)),
  more !== undefined && line(several(more, 'further stream')),
];

export function policySection(verdict: PolicyResult): Section {
  const groups = byOutcome(verdict.rules, ({ outcome }) => outcome);
  const counts = groups.map(([outcome, some]) => `${several(some.length, 'rule')} ${TALLY[outcome]}`);
  return {
    title: 'Policy',
    parts: [
      { sentence: [status(verdict.outcome), policyName(verdict), quiet(counts.join(', '))] },
      table({
        caption: 'Rules',
        rows: groups.flatMap(([, some]) => some),
        columns: [
          { title: 'Outcome', cell: ({ outcome }) => status(outcome) },
          { title: 'Rule', cell: ({ name, level }) => [span(name, { most: 100 }), level === 'warn' && mark('warns')] },
          { title: 'Where', cell: (rule) => code(placeOf(rule)) },
          { title: 'Found', cell: found },
          { title: 'Wanted', cell: ({ expected = '' }) => span(expected, { most: 120 }) },
          { title: 'In words', cell: ({ message, waived }) => [message, waived && quiet(waivedWords(waived))] },
        ],
      }),
    ],
  };
}
