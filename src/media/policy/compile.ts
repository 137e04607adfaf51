/** Makes a policy ready to be judged. Done once for a policy, when it is read. */
import { isObject } from '../../base/is_object.ts';
import { compileCondition } from './condition.ts';
import { PolicyError, quoted, unknownName } from './error.ts';
import { LONGEST_NAME, LONGEST_TEXT, MOST_RULES } from './limits.ts';
import { within, type Node } from './node.ts';
import { listAt } from './operators.ts';
import { REPORT_TOOLS } from '../tools/probe_report.ts';
import type { Policy } from './schema.ts';
import { LEVELS, type Level } from './types.ts';

export interface CompiledRule {
  name: string;
  level: Level;
  node: Node;
}

const RULE_MEMBERS = ['name', 'level', 'description'];
const POLICY_MEMBERS = ['description', 'uses', 'rules'];
const compiled = new WeakMap<Policy, readonly CompiledRule[]>();

/** Throws what is wrong with it. */
export function compile(policy: Policy): readonly CompiledRule[] {
  let rules = compiled.get(policy);
  if (!rules) compiled.set(policy, (rules = compilePolicy(policy)));
  return rules;
}

function compilePolicy(value: unknown): CompiledRule[] {
  if (!isObject(value)) throw new PolicyError('', 'must be an object with rules');
  const other = Object.keys(value).find((name) => !POLICY_MEMBERS.includes(name));
  if (other !== undefined) throw unknownName(other.slice(0, 50), 'a member of a policy', other, POLICY_MEMBERS);
  const { description, uses, rules } = value;
  described(description, 'description');
  checkUses(uses);
  const names = new Map<string, number>();
  return listAt(rules, 'rules', MOST_RULES, 'members').map((rule, index) => {
    const at = within('rules', index);
    const made = compileRule(rule, at);
    const before = names.get(made.name);
    if (before !== undefined) throw new PolicyError(within(at, 'name'), `is the name of rules[${before}] already`);
    names.set(made.name, index);
    return made;
  });
}

function compileRule(rule: unknown, at: string): CompiledRule {
  const node = compileCondition(rule, { at, scope: undefined, depth: 0 }, RULE_MEMBERS);
  const { name, level = 'fail', description } = rule as Record<string, unknown>;
  if (typeof name !== 'string' || !/^[\w .:+/()#,-]{1,100}$/u.test(name) || name.trim() !== name)
    throw new PolicyError(
      within(at, 'name'),
      `must be 1 to ${LONGEST_NAME} letters, digits, spaces and any of . : + / ( ) # , - _`,
    );
  described(description, within(at, 'description'));
  const known = LEVELS.find((one) => one === level);
  if (known === undefined)
    throw new PolicyError(within(at, 'level'), `${quoted(level)} is not accepted; accepted: ${LEVELS.join(', ')}`);
  return { name, level: known, node };
}

function described(value: unknown, at: string): void {
  if (value === undefined) return;
  if (typeof value !== 'string' || value.length > LONGEST_TEXT)
    throw new PolicyError(at, `must be text of at most ${LONGEST_TEXT} characters`);
}

function checkUses(uses: unknown): void {
  if (uses === undefined) return;
  if (!isObject(uses)) throw new PolicyError('uses', `must be an object of ${REPORT_TOOLS.join(' and ')}`);
  for (const [name, version] of Object.entries(uses)) {
    if (!REPORT_TOOLS.some((tool) => tool === name))
      throw unknownName(within('uses', name.slice(0, 50)), 'a tool', name, REPORT_TOOLS);
    if (typeof version !== 'string' || !/^[\w.+-]{1,30}$/.test(version))
      throw new PolicyError(within('uses', name), 'must be a version as text, such as "7.1"');
  }
}
