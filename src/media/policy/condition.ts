/** Makes a condition ready to be judged: its one subject, `when`, `each` and groups. */
import { isObject } from '../../base/is_object.ts';
import { streamsOf } from './access.ts';
import { PolicyError, unknownName } from './error.ts';
import { EXHAUSTED, failed, noReport, notApplicable, passed, unknown, type Finding } from './finding.ts';
import { MOST_CONDITIONS, MOST_DEPTH } from './limits.ts';
import { gathered, once, rangeOf, within, type Node, type Place } from './node.ts';
import { listAt, OPERATOR_NAMES } from './operators.ts';
import { COUNT_MEMBERS, countNode, disagreementNode, findingsNode, warningsNode } from './subject_counts.ts';
import { c2paNode } from './subject_c2pa.ts';
import { FIELD_MEMBERS, fieldNode } from './subject_field.ts';
import { RAW_MEMBERS, rawNode } from './subject_raw.ts';
import { STREAM_TYPES } from './types.ts';

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

export function compileCondition(value: unknown, place: Place, more: readonly string[] = []): Node {
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
