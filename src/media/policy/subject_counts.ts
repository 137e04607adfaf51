/** The subjects that count: streams, warnings and disagreements of the report, findings of the HLS validator. */
import { isObject } from '../../base/is_object.ts';
import { LEVELS } from '../hls/rule.ts';
import { listOf, objectOf } from '../report/json.ts';
import { accessTo, NO_STREAM } from './access.ts';
import { PolicyError, quoted, unknownName } from './error.ts';
import { EXHAUSTED, failed, noReport, notApplicable, passed, unknown, type Finding, type Told } from './finding.ts';
import type { Glob } from './glob.ts';
import { NUMBER, shown } from './kinds.ts';
import { once, within, type Node, type Place } from './node.ts';
import { globs, judge, only, testsOf, type Subject, type Tests } from './operators.ts';
import type { Run } from './run.ts';
import { placeOf, streamAt, told } from './subject_field.ts';
import { STREAM_TYPES } from './types.ts';
import { allowed, toleranceOf } from './units.ts';

type Members = Readonly<Record<string, unknown>>;

/** Things that are counted by their code or path: warnings, findings, disagreements. */
const NUMBERS = ['is', 'at-least', 'at-most', 'between'] as const;

interface Counting {
  tests: Tests;
  /** Whether `of` or `except` choose among what is counted. */
  chooses: boolean;
  counts(name: string, run: Run): boolean;
}

const COUNTS: Subject = {
  kind: NUMBER,
  refer: (_operand, at) => {
    throw new PolicyError(at, 'must be a number');
  },
  within: undefined,
  frame: () => 0,
};

/** A number alone is the most that may be found; without one, nothing may. */
function countingOf(value: unknown, at: string): Counting {
  if (typeof value === 'number') return countingOf({ 'at-most': value }, at);
  if (!isObject(value)) throw new PolicyError(at, 'must be a number, or {of, except, is, at-least, at-most, between}');
  only(value, ['of', 'except', ...NUMBERS], at);
  const given = NUMBERS.filter((name) => Object.hasOwn(value, name));
  const tests = testsOf(COUNTS, given.length === 0 ? { 'at-most': 0 } : onlyOf(value, given), at);
  const globsOf = (member: 'of' | 'except'): Glob[] | undefined =>
    value[member] === undefined ? undefined : globs(value[member], true, within(at, member));
  const [of, except] = [globsOf('of'), globsOf('except')];
  const fits = (list: readonly Glob[], name: string, run: Run) =>
    list.some((glob) => run.meter.step(glob.cost(name)) && glob.matches(name));
  return {
    tests,
    chooses: of !== undefined || except !== undefined,
    counts: (name, run) =>
      (of === undefined || fits(of, name, run)) && !(except !== undefined && fits(except, name, run)),
  };
}

const onlyOf = (members: Members, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.map((name) => [name, members[name]]));

export const COUNT_MEMBERS = ['count', ...NUMBERS] as const;

export function countNode(members: Members, { at }: Place): Node {
  const type = STREAM_TYPES.find((known) => known === members['count']);
  if (type === undefined)
    throw unknownName(within(at, 'count'), 'a type of stream', String(members['count']), STREAM_TYPES);
  const given = NUMBERS.filter((name) => name in members);
  if (given.length === 0) throw new PolicyError(at, `needs an operator: ${NUMBERS.join(', ')}`);
  const counting = countingOf(onlyOf(members, given), at);
  const { expected } = counting.tests;
  const noun = type === 'stream' ? 'streams' : `${type} streams`;
  return {
    text: `number of ${noun} ${expected}`,
    judge({ run }) {
      if (!run.meter.step()) return EXHAUSTED;
      if (run.report === undefined) return noReport();
      const count = run.streams(type).length;
      return settled(counting, count, 0, run, () => ({
        message: `the file has ${count} ${noun}; expected ${expected}`,
        field: 'count',
        from: 'probe_report',
      }));
    },
  };
}

/** `more`: how many there may be that were not told one by one. It is not known whether it holds where they decide. */
function settled(counting: Counting, count: number, more: number, run: Run, about: () => Told): Finding {
  if (run.meter.spent) return EXHAUSTED;
  const { tests } = counting;
  const holds = judge(tests, count, run.site);
  const tell = (): Told => ({ ...about(), actual: String(count), expected: tests.expected });
  if (holds === undefined || (more > 0 && judge(tests, count + more, run.site) !== holds)) return unknown(tell);
  return holds ? passed(tell) : failed(Math.min(0.9, 1 - 1 / (1 + count)), tell);
}

const MOST_NAMED = 5;
const some = (names: readonly string[]): string => {
  const each = [...new Set(names)];
  const named = each
    .slice(0, MOST_NAMED)
    .map((name) => name.slice(0, 80))
    .join(', ');
  return each.length > MOST_NAMED ? `${named} and ${each.length - MOST_NAMED} more` : named;
};

/** Of what a report lists by these codes or paths: `none` and `found` say how many are counted. */
function listed(counting: Counting, run: Run, names: readonly string[], field: string, none: string, found: string) {
  if (!run.meter.step(1 + names.length)) return EXHAUSTED;
  const counted = names.filter((name) => counting.counts(name, run));
  return settled(counting, counted.length, 0, run, () => ({
    message: counted.length === 0 ? none : `${found} ${some(counted)}`,
    field,
    from: 'probe_report',
  }));
}

export function warningsNode(members: Members, { at }: Place): Node {
  const counting = countingOf(members['warnings'], within(at, 'warnings'));
  return once({
    text: `warnings ${counting.tests.expected}`,
    judge({ run }) {
      if (run.report === undefined) return noReport();
      const codes = listOf(run.report['warnings']).map((one) => String(objectOf(one)['code']));
      return listed(counting, run, codes, 'warnings', 'no such warnings', 'warnings of the report:');
    },
  });
}

export function disagreementNode(members: Members, place: Place): Node {
  const at = within(place.at, 'disagreement');
  const value = members['disagreement'];
  if (isObject(value) && 'field' in value) return fieldDisagreement(value, at, place);
  const counting = countingOf(value, at);
  return once({
    text: `disagreements ${counting.tests.expected}`,
    judge({ run }) {
      const why = incomparable(run);
      if (why !== undefined) return unknown(() => ({ message: why }));
      const paths = [...run.differences!.keys()];
      return listed(counting, run, paths, 'disagreement', 'the tools agree', 'the tools disagree on');
    },
  });
}

function incomparable(run: Run): string | undefined {
  if (run.report === undefined) return 'there is no probe_report of the file';
  if (run.differences === undefined) return 'the report was made without its diff';
  return run.single === undefined ? undefined : `there is nothing to compare: ${run.single.slice(0, 100)}`;
}

/** Beyond the report's own tolerance, unless the policy allows more. */
function fieldDisagreement(value: Members, at: string, { scope }: Place): Node {
  only(value, ['field', 'at-most'], at);
  const access = accessTo(value['field'], within(at, 'field'), scope);
  const spare = value['at-most'];
  const tolerance = spare === undefined ? undefined : toleranceOf(spare, access.kind.unit);
  if (spare !== undefined && (tolerance === undefined || access.kind.order === undefined))
    throw new PolicyError(
      within(at, 'at-most'),
      access.kind.order === undefined
        ? `${access.path} is no number: leave at-most out`
        : `${quoted(spare)} is not accepted here; accepted: ${access.kind.accepted}, a share such as "1 %"` +
            (access.kind.unit === 'seconds' ? ', or "1 frame"' : ''),
    );
  const expected = `a disagreement of at most ${spare === undefined ? "the report's tolerance" : String(spare)}`;
  return {
    text: `${access.path}: ${expected}`,
    judge(site) {
      const { run } = site;
      if (!run.meter.step()) return EXHAUSTED;
      const why = incomparable(run);
      if (why !== undefined) return unknown(() => ({ message: why }));
      const said = access.read(site);
      const about = (message: string, actual?: string) => () => told(access, site, message, expected, actual);
      if (said === NO_STREAM) return notApplicable(about('is not there: no such stream'));
      const difference = run.differences!.get(placeOf(access, site));
      if (difference === undefined)
        return said === undefined || access.kind.actual(said) === undefined
          ? unknown(about('is not known: no tool says it'))
          : passed(about('is the same for both tools'));
      const { ffprobe, mediainfo } = difference;
      const tell = (): Told => {
        const [one, other] = [shown(ffprobe), shown(mediainfo)];
        return told(access, site, `is ${one} for ffprobe and ${other} for mediainfo`, expected, `${one} / ${other}`);
      };
      const [a, b] = [ffprobe, mediainfo].map((one) => numberOf(access.kind.actual(one)));
      if (tolerance === undefined || a === undefined || b === undefined) return failed(1, tell);
      const most = allowed(tolerance, Math.max(Math.abs(a), Math.abs(b)), run.frame(streamAt(access, site)));
      return Math.abs(a - b) <= most + 1e-9 ? passed(tell) : failed(0.9, tell);
    },
  };
}

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

export function findingsNode(members: Members, { at: place }: Place): Node {
  const at = within(place, 'findings');
  const value = members['findings'];
  if (!isObject(value) || Object.keys(value).length === 0)
    throw new PolicyError(at, `must be an object of ${LEVELS.join(', ')}`);
  only(value, LEVELS, at);
  const asked = LEVELS.flatMap((level) =>
    Object.hasOwn(value, level) ? [{ level, counting: countingOf(value[level], within(at, level)) }] : [],
  );
  const text = asked.map(({ level, counting }) => `${level} ${counting.tests.expected}`).join(', ');
  return once({
    text: `findings ${text}`,
    judge({ run }) {
      const read = run.read('msv');
      if ('why' in read) return unknown(() => ({ message: 'the HLS validator gave no report' }));
      const report = objectOf(read.output);
      const summary = objectOf(report['summary']);
      if (typeof summary['must_fix'] !== 'number')
        return unknown(() => ({ message: 'the HLS validator could not judge the playlist' }));
      const messages = listOf(report['messages']).map(objectOf);
      let open: Finding | undefined;
      let last: Finding | undefined;
      for (const { level, counting } of asked) {
        if (!run.meter.step(1 + messages.length)) return EXHAUSTED;
        // The summary counts what is not told one by one, too.
        const total = Number(summary[level.replace('-', '_')]);
        const count = counting.chooses ? chosen(messages, level, counting, run) : total;
        const untold = counting.chooses ? Number(summary['untold'] ?? 0) : 0;
        last = settled(counting, count, untold, run, () => ({
          message: `${count} ${level} findings${count > 0 ? `: ${some(codesOf(messages, level, counting, run))}` : ''}`,
          field: `findings.${level}`,
          from: 'msv',
        }));
        if (last.came === 'fail') return last;
        if (last.came === 'unknown') open ??= last;
      }
      return open ?? last!;
    },
  });
}

const codesOf = (messages: readonly Members[], level: string, counting: Counting, run: Run): string[] =>
  messages
    .filter((message) => message['level'] === level && counting.counts(String(message['code']), run))
    .map(({ code }) => String(code));

/** The last message of a rule in a playlist says how often it was found there, where not every one is told. */
function chosen(messages: readonly Members[], level: string, counting: Counting, run: Run): number {
  const perPlace = new Map<string, { told: number; found: number }>();
  for (const message of messages) {
    const code = String(message['code']);
    if (message['level'] !== level || !counting.counts(code, run)) continue;
    const key = `${code} ${String(message['url'])}`;
    const known = perPlace.get(key) ?? { told: 0, found: 0 };
    perPlace.set(key, { told: known.told + 1, found: Math.max(known.found, Number(message['count'] ?? 0)) });
  }
  return [...perPlace.values()].reduce((sum, place) => sum + Math.max(place.told, place.found), 0);
}
