/** A verdict in which somebody accepts that rules do not hold. */
import type { Waived } from '../../base/schema_parts.ts';
import { wholeOf } from './evaluate.ts';
import type { Verdict } from './schema.ts';

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
