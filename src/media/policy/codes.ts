/**
 * Codes that a policy names must exist: a misspelt one would never be found, and its rule always pass. Checked when a
 * policy is read, and not when it is judged: a saved policy outlives a code.
 */
import { WARNING_CODES } from '../report/warning_codes.ts';
import { HLS_CODES } from '../tools/hls_codes.ts';
import { PolicyError, quoted, unknownName } from './error.ts';
import { globOf } from './glob.ts';
import { within } from './node.ts';
import type { Condition, Counted, Policy } from './types.ts';

/** The policy compiles: its members have their forms. */
export function checkCodes({ rules }: Policy): void {
  for (const [index, rule] of rules.entries()) checkCondition(rule, within('rules', index));
}

function checkCondition({ warnings, findings, when, ...groups }: Condition, at: string): void {
  checkCounted(warnings, WARNING_CODES, 'a code of a warning', within(at, 'warnings'));
  for (const [level, counted] of Object.entries(findings ?? {}) as [string, number | Counted][])
    checkCounted(counted, HLS_CODES, 'a code of the HLS validator', within(within(at, 'findings'), level));
  if (when) checkCondition(when, within(at, 'when'));
  for (const word of ['all', 'any', 'none'] as const)
    for (const [index, member] of (groups[word] ?? []).entries())
      checkCondition(member, within(within(at, word), index));
}

function checkCounted(counted: number | Counted | undefined, known: readonly string[], what: string, at: string): void {
  if (typeof counted !== 'object') return;
  for (const member of ['of', 'except'] as const) {
    const given = counted[member];
    if (given === undefined) continue;
    const list = Array.isArray(given) ? given : [given];
    for (const [index, text] of list.entries()) {
      const place = Array.isArray(given) ? within(within(at, member), index) : within(at, member);
      const glob = globOf(text, true);
      if (known.some((code) => glob.matches(code))) continue;
      if (/[*?]/.test(text))
        throw new PolicyError(place, `${quoted(text)} matches no code; known: ${known.join(', ')}`);
      throw unknownName(place, what, text, known);
    }
  }
}
