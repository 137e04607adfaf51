/** The subject `field`: a value of the report, and how sure the report is of it. */
import { isObject } from '../../base/is_object.ts';
import { same } from '../report/tolerances.ts';
import { accessTo, NO_STREAM, type Access } from './access.ts';
import { PolicyError } from './error.ts';
import { EXHAUSTED, failed, noReport, notApplicable, passed, unknown, type Finding, type Told } from './finding.ts';
import { shown, type Value } from './kinds.ts';
import { within, type Node, type Place } from './node.ts';
import { ofValue, only, OPERATOR_NAMES, testsOf, type Subject, type Tests } from './operators.ts';
import type { Site, Stream } from './run.ts';

export const FIELD_MEMBERS = ['field', 'confidence', ...OPERATOR_NAMES] as const;

export function fieldNode(members: Readonly<Record<string, unknown>>, { at, scope }: Place): Node {
  const access = accessTo(members['field'], within(at, 'field'), scope);
  const tests = testsOf(subjectOf(access, scope), members, at);
  const sure = confidenceOf(members['confidence'], within(at, 'confidence'));
  if (tests.tests.length === 0 && tests.presence === undefined && sure === undefined)
    throw new PolicyError(at, `needs an operator: ${OPERATOR_NAMES.join(', ')} or confidence`);
  const expected = [tests.expected, ...(sure === undefined ? [] : [`a confidence of at least ${sure}`])]
    .filter((text) => text !== '')
    .join(', ');
  const leaf: Leaf = {
    access,
    tests,
    sure,
    expected,
    about: (site, message, actual) => told(access, site, message, expected, actual),
  };
  return { text: `${access.path} ${expected}`, judge: (site) => judged(leaf, site) };
}

function subjectOf(access: Access, scope: Place['scope']): Subject {
  const { kind, tolerance } = access;
  const frame = (site: Site): number => site.run.frame(streamAt(access, site));
  return {
    kind,
    refer(operand, at) {
      only(operand, ['field'], at);
      const other = accessTo((operand as { field?: unknown }).field, within(at, 'field'), scope);
      if (other.kind.name !== kind.name)
        throw new PolicyError(within(at, 'field'), `${other.path} is a ${other.kind.name}, and this is a ${kind.name}`);
      return (site) => {
        const value = other.read(site);
        return value === NO_STREAM ? undefined : other.kind.actual(value);
      };
    },
    within:
      tolerance === undefined
        ? undefined
        : (actual, wanted, site) =>
            kind.text === undefined
              ? same(actual, wanted, tolerance, frame(site), durationAt(access, site))
              : kind.equal(actual, wanted),
    frame,
  };
}

export function streamAt(access: Access, site: Site): Stream | undefined {
  const stream = access.streamOf(site);
  return stream === NO_STREAM ? undefined : stream;
}

function durationAt(access: Access, site: Site): number | undefined {
  const duration = (streamAt(access, site)?.view ?? site.run.container)['duration'];
  return typeof duration === 'number' ? duration : undefined;
}

function confidenceOf(value: unknown, at: string): number | undefined {
  if (value === undefined) return undefined;
  const bound = isObject(value) ? value['at-least'] : undefined;
  if (typeof bound !== 'number' || !(bound >= 0 && bound <= 1))
    throw new PolicyError(at, 'must be {at-least: N}, N from 0 to 1');
  only(value as object, ['at-least'], at);
  return bound;
}

interface Leaf {
  access: Access;
  tests: Tests;
  sure: number | undefined;
  expected: string;
  about(site: Site, message: string, actual?: string): Told;
}

function judged(leaf: Leaf, site: Site): Finding {
  const { access, tests, sure, expected } = leaf;
  const { run } = site;
  if (!run.meter.step(tests.cost)) return EXHAUSTED;
  if (run.report === undefined) return noReport({ expected });
  const said = access.read(site);
  const { presence } = tests;
  if (said === NO_STREAM) {
    const missing = telling(leaf, site, presence === false ? 'is absent' : 'is not there: no such stream');
    if (presence === undefined) return notApplicable(missing);
    return presence ? failed(1, missing) : passed(missing);
  }
  if (Array.isArray(said) && access.kind.list) return ofList(said, leaf, site);
  const actual = access.kind.actual(said);
  if (actual === undefined) {
    const unsaid = (): Told =>
      leaf.about(site, `is not known: no ${access.fromPictures ? 'picture that was read' : 'tool'} says it`);
    if (presence === undefined || access.fromPictures) return unknown(unsaid);
    return presence ? failed(1, unsaid) : passed(telling(leaf, site, 'is absent'));
  }
  const finding = ofValue(tests, said, actual, site, leaf.about, expected);
  if (finding.came === 'unknown' && run.meter.spent) return EXHAUSTED;
  return finding.came === 'pass' && sure !== undefined ? sureOf(leaf, sure, site) : finding;
}

/** The text of one value of one stream, which is made only if it is told. */
const telling =
  ({ about }: Leaf, site: Site, message: string, actual?: string) =>
  (): Told =>
    about(site, message, actual);

function ofList(said: readonly unknown[], leaf: Leaf, site: Site): Finding {
  const { access, tests } = leaf;
  const values = said.map((value) => access.kind.actual(value)).filter((value): value is Value => value !== undefined);
  const text = values.length === 0 ? 'none' : shown(said);
  const broken = tests.tests.filter((test) => {
    const one = (value: Value) => test.holds(value, site) === true;
    return !(test.ofEach ? values.every(one) : values.some(one));
  });
  const present = tests.presence === undefined || tests.presence === values.length > 0;
  const tell = telling(leaf, site, `is ${text}`, text);
  if (broken.length === 0 && present) return passed(tell);
  // Another picture may have the one that is missing.
  if (present && access.fromPictures && broken.every(({ ofEach }) => !ofEach)) return unknown(tell);
  return failed(1, tell);
}

function sureOf(leaf: Leaf, sure: number, site: Site): Finding {
  const confidence = site.run.confidence(placeOf(leaf.access, site));
  if (confidence === undefined) return unknown(telling(leaf, site, 'has no confidence'));
  const text = `has a confidence of ${confidence}`;
  if (confidence >= sure) return passed(telling(leaf, site, text));
  return failed(Math.min(0.9, sure - confidence), telling(leaf, site, `${text}; expected at least ${sure}`));
}

/** As the report's `confidence` and `diff` name it. */
export function placeOf(access: Access, site: Site): string {
  const stream = streamAt(access, site);
  return stream === undefined ? `container.${access.field}` : `${stream.path}.${access.field}`;
}

export function told(access: Access, site: Site, message: string, expected: string, actual?: string): Told {
  const stream = streamAt(access, site);
  const place = placeOf(access, site);
  const confidence = site.run.confidence(place);
  const chosen = site.run.differences?.get(place)?.chosen;
  const whole = access.path.startsWith('container.') ? ' of the container' : '';
  return {
    message: `${access.field}${stream === undefined ? whole : ` of ${stream.path}`} ${message}`,
    field: access.path,
    expected,
    ...(stream === undefined ? {} : { stream: stream.path }),
    ...(actual === undefined ? {} : { actual, from: chosen ?? 'probe_report' }),
    ...(confidence === undefined || actual === undefined ? {} : { confidence }),
  };
}
