/** The verdict of a policy, for people. */
import { placeOf, policyName } from '../../media/ci_formats/policy_rules.ts';
import type { PolicyResult } from '../../api_types.ts';
import { oneLine, type Terminal } from '../terminal.ts';
import { several } from './figures.ts';
import { paint, tableText, type Colour } from './table.ts';

type Outcome = PolicyResult['outcome'];
const COLOURS: Readonly<Record<Outcome, Colour>> = {
  pass: 'green',
  fail: 'red',
  warn: 'yellow',
  unknown: 'yellow',
  'not-applicable': 'dim',
};

/** Everything that is no pass; what passed is counted. */
export function verdictText(terminal: Terminal, verdict: PolicyResult, by = policyName(verdict)): string {
  const { outcome, rules } = verdict;
  const passed = rules.filter((rule) => rule.outcome === 'pass').length;
  const told = rules.filter((rule) => rule.outcome !== 'pass');
  const counts = `${passed} of ${several(rules.length, 'rule')} passed`;
  const head = `${paint(terminal, COLOURS[outcome], outcome)} ${oneLine(by)}: ${counts}\n`;
  if (told.length === 0) return head;
  const rows = told.map((rule) => [
    rule.name,
    { text: rule.outcome, colour: COLOURS[rule.outcome] },
    placeOf(rule),
    rule.message,
  ]);
  return head + tableText(terminal, ['RULE', 'OUTCOME', 'WHERE', 'WHY'], rows);
}
