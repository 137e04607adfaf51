/** The verdict of a policy as findings. */
import { waivedWords } from '../../base/waived.ts';
import type { PolicyResult, RuleResult } from '../../api_types.ts';
import type { Finding, Judged } from './judged.ts';

export const policyName = ({ name, revision }: Pick<PolicyResult, 'name' | 'revision'>): string =>
  name === null ? 'policy of the request' : revision === null ? name : `${name} revision ${revision}`;

export const placeOf = ({ stream, field }: RuleResult): string =>
  [stream, field].filter((part) => part !== undefined).join('.');

function detailOf({ also = [], more, from, confidence }: RuleResult): string {
  const others = also.map(({ stream, actual }) => `${stream}${actual === undefined ? '' : `: ${actual}`}`);
  return [
    ...(others.length === 0 ? [] : [`also ${others.join(', ')}`]),
    ...(more === undefined ? [] : [`and ${more} more`]),
    ...(from === undefined ? [] : [`from ${from}${confidence === undefined ? '' : `, confidence ${confidence}`}`]),
  ].join('; ');
}

function findingOf(rule: RuleResult, failOnWarn: boolean): Finding {
  const { name, level, outcome, message, actual, expected, from, confidence, also, more, waived } = rule;
  const [detail, place] = [detailOf(rule), placeOf(rule)];
  return {
    rule: name,
    outcome,
    // A rule of level warn that is unknown is a warning, too: it fails no build.
    blocking: level === 'fail' || failOnWarn,
    message,
    ...(place === '' ? {} : { place }),
    ...(detail === '' ? {} : { detail }),
    ...(expected === undefined ? {} : { expected }),
    ...(waived === undefined ? {} : { waived: waivedWords(waived) }),
    facts: { actual, from, confidence, also, more },
  };
}

export const judgedByPolicy = (verdict: PolicyResult, subject: string, { failOnWarn = false } = {}): Judged => ({
  subject,
  by: policyName(verdict),
  outcome: verdict.outcome,
  findings: verdict.rules.map((rule) => findingOf(rule, failOnWarn)),
});
