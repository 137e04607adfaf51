/** The verdict of a policy on a file. Pure, and bounded by counted steps. */
import { oneLine } from '../../base/printable.ts';
import type { Waived } from '../../base/schema_parts.ts';
import { compile, type CompiledRule } from './compile.ts';
import { EXHAUSTED, type Finding, type Told } from './finding.ts';
import { LONGEST_SHOWN } from './limits.ts';
import { Meter, Run } from './run.ts';
import type { Policy, RuleResult, Verdict } from './schema.ts';
import type { Facts, Outcome, RuleOutcome } from './types.ts';

export function evaluate(policy: Policy, facts: Facts, meter: Meter = new Meter()): Verdict {
  const run = new Run(facts, policy.uses, meter);
  const rules = compile(policy).map((rule) => resultOf(rule, meter.spent ? EXHAUSTED : rule.node.judge(run.site)));
  return { outcome: wholeOf(rules), rules };
}

/**
 * The worst of its rules: fail, then unknown of a rule of level fail, then warn. A rule of level warn that is unknown
 * is at worst a warning, and never a pass. One that is waived counts as a pass. Nothing applied: not-applicable.
 */
function wholeOf(rules: readonly Pick<RuleResult, 'outcome' | 'level'>[]): Outcome {
  const has = (outcome: RuleOutcome, level?: string): boolean =>
    rules.some((rule) => rule.outcome === outcome && (level === undefined || rule.level === level));
  if (has('fail')) return 'fail';
  if (has('unknown', 'fail')) return 'unknown';
  if (has('warn') || has('unknown')) return 'warn';
  return has('pass') || has('waived') ? 'pass' : 'not-applicable';
}

function resultOf({ name, level }: CompiledRule, finding: Finding): RuleResult {
  const outcome = finding.came === 'fail' && level === 'warn' ? 'warn' : finding.came;
  const told = shortened(finding.tell());
  const result: RuleResult = { name, level, outcome, ...told };
  const { first, count } = finding.alike ?? { first: [], count: 1 };
  if (count < 2) return result;
  // Streams that pass are counted; what is wrong with the first few others is told.
  if (finding.came === 'pass' || finding.came === 'not-applicable') return { ...result, more: count - 1 };
  const also = first.slice(1).flatMap((other) => {
    const { stream, actual } = shortened(other.tell());
    return stream === undefined ? [] : [{ stream, ...(actual === undefined ? {} : { actual }) }];
  });
  const more = count - 1 - also.length;
  return { ...result, ...(also.length > 0 ? { also } : {}), ...(more > 0 ? { more } : {}) };
}

/** For each rule of each verdict: written out, as a list of entries takes several times as long. */
function shortened({ message, field, actual, from, expected, ...rest }: Told): Told {
  return {
    ...rest,
    message: oneLine(message, 2 * LONGEST_SHOWN),
    ...(field === undefined ? {} : { field: oneLine(field, LONGEST_SHOWN) }),
    ...(actual === undefined ? {} : { actual: oneLine(actual, LONGEST_SHOWN) }),
    ...(from === undefined ? {} : { from: oneLine(from, LONGEST_SHOWN) }),
    ...(expected === undefined ? {} : { expected: oneLine(expected, LONGEST_SHOWN) }),
  };
}

// A verdict in which somebody accepts that rules do not hold.

export interface RuleWaiver {
  rule: string;
  waived: Waived;
}

/** Of a rule that could not be judged nobody knows what there is to accept. */
export function withWaivers<V extends Verdict>(verdict: V, waivers: readonly RuleWaiver[]): V {
  const rules = verdict.rules.map((rule) => {
    const found = waivers.find((waiver) => waiver.rule === rule.name);
    return found && (rule.outcome === 'fail' || rule.outcome === 'warn')
      ? { ...rule, outcome: 'waived' as const, waived: found.waived }
      : rule;
  });
  const isSame = rules.every((rule, at) => rule === verdict.rules[at]);
  return isSame ? verdict : { ...verdict, outcome: wholeOf(rules), rules };
}
