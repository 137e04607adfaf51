/** Makes a policy ready to be judged. Done once for a policy, when it is read. */
import { isObject } from '../../base/is_object.ts';
import { REPORT_TOOLS } from '../tools/probe_report.ts';
import { streamsOf } from './access.ts';
import { PolicyError, quoted, unknownName } from './error.ts';
import { EXHAUSTED, failed, type Finding, noReport, notApplicable, passed, unknown } from './finding.ts';
import { LONGEST_NAME, LONGEST_TEXT, MOST_CONDITIONS, MOST_DEPTH, MOST_RULES } from './limits.ts';
import { gathered, type Node, once, type Place, rangeOf, within } from './node.ts';
import { listAt, OPERATOR_NAMES } from './operators.ts';
import type { Policy } from './schema.ts';
import { c2paNode } from './subject_c2pa.ts';
import { COUNT_MEMBERS, countNode, disagreementNode, findingsNode, warningsNode } from './subject_counts.ts';
import { FIELD_MEMBERS, fieldNode } from './subject_field.ts';
import { RAW_MEMBERS, rawNode } from './subject_raw.ts';
import { type Level, LEVELS, STREAM_TYPES } from './types.ts';

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

// Makes a condition ready to be judged: its one subject, `when`, `each` and groups.

type Members = Readonly<Record<string, unknown>>;

interface Subject {
  /** Members that it takes, beside `when`, `each` and `match`. */
  members: readonly string[];
  /** Whether `each` can go through streams with it. */
  perStream: boolean;
  compile(members: Members, place: Place): Node;
}

const group = (word: 'all' | 'any' | 'none'): Subject => ({
  members: [word],
  perStream: true,
  compile: (members, place) => groupNode(word, members[word], place),
});

/** By the member that names it. */
const SUBJECTS: Readonly<Record<string, Subject>> = {
  field: { members: FIELD_MEMBERS, perStream: true, compile: fieldNode },
  tool: { members: RAW_MEMBERS, perStream: false, compile: rawNode },
  count: { members: COUNT_MEMBERS, perStream: false, compile: countNode },
  disagreement: { members: ['disagreement'], perStream: true, compile: disagreementNode },
  warnings: { members: ['warnings'], perStream: false, compile: warningsNode },
  findings: { members: ['findings'], perStream: false, compile: findingsNode },
  c2pa: { members: ['c2pa'], perStream: false, compile: c2paNode },
  all: group('all'),
  any: group('any'),
  none: group('none'),
};
const SUBJECT_NAMES = Object.keys(SUBJECTS);
const AROUND = ['when', 'each', 'match'];
const ALL_MEMBERS = [...new Set([...SUBJECT_NAMES, ...AROUND, 'path', 'confidence', ...OPERATOR_NAMES])];

function compileCondition(value: unknown, place: Place, more: readonly string[] = []): Node {
  const { at, depth } = place;
  if (!isObject(value)) throw new PolicyError(at, 'must be an object');
  if (depth > MOST_DEPTH) throw new PolicyError(at, `is nested deeper than ${MOST_DEPTH} groups`);
  const members: Members = value;
  const unknownMember = Object.keys(members).find((name) => !ALL_MEMBERS.includes(name) && !more.includes(name));
  if (unknownMember !== undefined)
    throw unknownName(within(at, unknownMember.slice(0, 50)), 'a member of a rule', unknownMember, [
      ...ALL_MEMBERS,
      ...more,
    ]);
  const named = SUBJECT_NAMES.filter((name) => Object.hasOwn(members, name));
  const [name] = named;
  if (name === undefined || named.length > 1)
    throw new PolicyError(
      at,
      named.length === 0
        ? `needs one of ${SUBJECT_NAMES.join(', ')}`
        : `has ${named.join(' and ')}: one of them is accepted, or a group of both`,
    );
  const subject = SUBJECTS[name]!;
  const misplaced = Object.keys(members).find(
    (member) => !subject.members.includes(member) && !AROUND.includes(member) && !more.includes(member),
  );
  if (misplaced !== undefined)
    throw new PolicyError(
      within(at, misplaced),
      `is not accepted beside ${name}; accepted: ${subject.members.join(', ')}`,
    );
  return around(members, subject, name, place);
}

function around(members: Members, subject: Subject, name: string, place: Place): Node {
  const { at, depth } = place;
  const each = members['each'];
  if (each === undefined) {
    if (members['match'] !== undefined && name !== 'tool')
      throw new PolicyError(within(at, 'match'), 'needs each, or a raw path');
    const inner = subject.compile(members, place);
    return members['when'] === undefined ? inner : conditional(whenOf(members['when'], place), inner);
  }
  const type = STREAM_TYPES.find((known) => known === each);
  if (type === undefined) throw unknownName(within(at, 'each'), 'a type of stream', String(each), STREAM_TYPES);
  if (!subject.perStream)
    throw new PolicyError(
      within(at, 'each'),
      name === 'tool' ? 'a raw path selects its own elements: leave each out' : `${name} is not a matter of streams`,
    );
  const range = rangeOf(members['match'], within(at, 'match'));
  const inside: Place = { at, depth, scope: type };
  const inner = subject.compile(members, inside);
  const node = members['when'] === undefined ? inner : conditional(whenOf(members['when'], inside), inner);
  const noun = type === 'stream' ? 'stream' : `${type} stream`;
  const text = `${range === undefined ? 'every' : range.text} of ${streamsOf(type)}: ${inner.text}`;
  return once({
    text,
    judge({ run }) {
      if (run.report === undefined) return noReport();
      const findings: Finding[] = [];
      const streams = run.streams(type);
      for (const stream of streams) {
        findings.push(node.judge(stream.site));
        if (run.meter.spent) return EXHAUSTED;
      }
      return gathered(findings, range, noun, inner.text, streams);
    },
  });
}

const whenOf = (value: unknown, { at, scope, depth }: Place): Node =>
  compileCondition(value, { at: within(at, 'when'), scope, depth: depth + 1 });

function conditional(when: Node, inner: Node): Node {
  return {
    text: inner.text,
    judge(site) {
      const condition = when.judge(site);
      if (condition.came === 'pass') return inner.judge(site);
      if (condition.came !== 'unknown')
        return notApplicable(() => {
          const { stream } = condition.tell();
          return { message: `does not apply: not ${when.text}`, ...(stream === undefined ? {} : { stream }) };
        });
      return unknown(() => {
        const told = condition.tell();
        return { ...told, message: `it is not known whether this applies: ${told.message}` };
      });
    },
  };
}

function groupNode(word: 'all' | 'any' | 'none', value: unknown, { at, scope, depth }: Place): Node {
  const place = within(at, word);
  const nodes = listAt(value, place, MOST_CONDITIONS, 'members').map((member, index) =>
    compileCondition(member, { at: within(place, index), scope, depth: depth + 1 }),
  );
  const text = `${word} of (${nodes.map((node) => node.text).join('; ')})`.slice(0, 200);
  const judges = { all: allOf, any: anyOf, none: noneOf }[word];
  return {
    text,
    judge(site) {
      const findings: Finding[] = [];
      for (const node of nodes) {
        findings.push(node.judge(site));
        if (site.run.meter.spent) return EXHAUSTED;
      }
      return judges(findings);
    },
  };
}

const first = (findings: readonly Finding[], came: Finding['came']): Finding | undefined =>
  findings.find((finding) => finding.came === came);
const NOTHING_APPLIES = (findings: readonly Finding[]): Finding => findings[0]!;

function allOf(findings: readonly Finding[]): Finding {
  const wrong = first(findings, 'fail');
  if (wrong)
    return {
      came: 'fail',
      far: () =>
        findings.reduce((sum, finding) => sum + (finding.came === 'pass' ? 0 : finding.far()), 0) / findings.length,
      tell: () => wrong.tell(),
    };
  return first(findings, 'unknown') ?? first(findings, 'pass') ?? NOTHING_APPLIES(findings);
}

/** The nearest branch alone is told: what a file would need least to pass. */
function anyOf(findings: readonly Finding[]): Finding {
  const right = first(findings, 'pass');
  if (right) return right;
  const open = first(findings, 'unknown');
  const wrong = findings.filter(({ came }) => came === 'fail');
  if (open) return open;
  if (wrong.length === 0) return NOTHING_APPLIES(findings);
  return {
    came: 'fail',
    far: () => wrong.reduce((least, finding) => Math.min(least, finding.far()), 1),
    tell: () => wrong.reduce((best, finding) => (finding.far() < best.far() ? finding : best)).tell(),
  };
}

function noneOf(findings: readonly Finding[]): Finding {
  const wrong = first(findings, 'pass');
  if (wrong)
    return failed(1, () => {
      const told = wrong.tell();
      return { ...told, message: `${told.message}, which none may` };
    });
  const open = first(findings, 'unknown');
  if (open) return open;
  const right = first(findings, 'fail');
  return right ? passed(() => right.tell()) : NOTHING_APPLIES(findings);
}
