/** The subject `field`: a value of the report, and how sure the report is of it. */
import { accessTo, NO_STREAM, withinTable, type Access } from './access.ts';
import { PolicyError } from './error.ts';
import { EXHAUSTED, failed, passed, unknown, type Came, type Finding, type Told } from './finding.ts';
import { shown, type Value } from './kinds.ts';
import { within, type Node, type Place } from './node.ts';
import { farOf, judge, only, OPERATOR_NAMES, testsOf, type Subject, type Tests } from './operators.ts';
import type { Run, Site, Stream } from './run.ts';

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
  const leaf: Leaf = { access, tests, sure, expected };
  return { text: `${access.path} ${expected}`, judge: (run, own) => judged(leaf, run, own) };
}

function subjectOf(access: Access, scope: Place['scope']): Subject {
  const { kind, tolerance } = access;
  const frame = ({ run, own }: Site): number => run.frame(streamAt(access, run, own));
  return {
    kind,
    refer(operand, at) {
      only(operand, ['field'], at);
      const other = accessTo((operand as { field?: unknown }).field, within(at, 'field'), scope);
      if (other.kind.name !== kind.name)
        throw new PolicyError(within(at, 'field'), `${other.path} is a ${other.kind.name}, and this is a ${kind.name}`);
      return ({ run, own }) => {
        const value = other.read(run, own);
        return value === NO_STREAM ? undefined : other.kind.actual(value);
      };
    },
    within:
      tolerance === undefined
        ? undefined
        : (actual, wanted, site) => withinTable(access, actual, wanted, frame(site), durationAt(access, site)),
    frame,
  };
}

function streamAt(access: Access, run: Run, own: Stream | undefined): Stream | undefined {
  const stream = access.streamOf(run, own);
  return stream === NO_STREAM ? undefined : stream;
}

function durationAt(access: Access, { run, own }: Site): number | undefined {
  const duration = (streamAt(access, run, own)?.view ?? run.container)['duration'];
  return typeof duration === 'number' ? duration : undefined;
}

function confidenceOf(value: unknown, at: string): number | undefined {
  if (value === undefined) return undefined;
  const bound =
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as { 'at-least'?: unknown })['at-least']
      : undefined;
  if (typeof bound !== 'number' || !(bound >= 0 && bound <= 1))
    throw new PolicyError(at, 'must be {at-least: N}, N from 0 to 1');
  only(value as object, ['at-least'], at);
  return bound;
}

/** One value of one stream: kept as it was found, and put into words only if it is told. */
class Judged implements Finding {
  readonly came: Came;
  readonly #leaf: Leaf;
  readonly #site: Site;
  readonly #said: unknown;
  readonly #words: Words;

  constructor(came: Came, leaf: Leaf, site: Site, said: unknown, words: Words) {
    this.came = came;
    this.#leaf = leaf;
    this.#site = site;
    this.#said = said;
    this.#words = words;
  }

  far(): number {
    if (this.came === 'pass') return 0;
    const { access, tests } = this.#leaf;
    const actual = this.#words === 'other' ? access.kind.actual(this.#said) : undefined;
    return actual === undefined ? 1 : farOf(tests, actual, this.#site);
  }

  tell(): Told {
    const { access, expected } = this.#leaf;
    const { run, own } = this.#site;
    const about = (message: string, actual?: string): Told => told(access, run, own, message, expected, actual);
    switch (this.#words) {
      case 'no-stream':
        return about('is not there: no such stream');
      case 'absent':
        return about('is absent');
      case 'unsaid':
        return about(`is not known: no ${access.fromPictures ? 'picture that was read' : 'tool'} says it`);
      case 'present':
        return about(`is ${shown(this.#said)}; expected none`, shown(this.#said));
      case 'other':
        return about(`is ${shown(this.#said)}; expected ${expected}`, shown(this.#said));
      case 'incomparable':
        return about(`is ${shown(this.#said)}, which cannot be compared; expected ${expected}`, shown(this.#said));
      case 'good':
        return about(`is ${shown(this.#said)}`, shown(this.#said));
    }
  }
}
type Words = 'no-stream' | 'absent' | 'unsaid' | 'present' | 'other' | 'incomparable' | 'good';

interface Leaf {
  access: Access;
  tests: Tests;
  sure: number | undefined;
  expected: string;
}

function judged(leaf: Leaf, run: Run, own: Stream | undefined): Finding {
  const { access, tests, sure, expected } = leaf;
  if (!run.meter.step(tests.cost)) return EXHAUSTED;
  if (run.report === undefined) return unknown(() => ({ message: 'there is no probe_report of the file', expected }));
  const said = access.read(run, own);
  const site = own === undefined ? run.site : own.site;
  const { presence } = tests;
  if (said === NO_STREAM) {
    if (presence === undefined) return new Judged('not-applicable', leaf, site, said, 'no-stream');
    return new Judged(presence ? 'fail' : 'pass', leaf, site, said, presence ? 'no-stream' : 'absent');
  }
  if (Array.isArray(said) && access.kind.list)
    return ofList(said, access, tests, run, own, (message, actual) =>
      told(access, run, own, message, expected, actual),
    );
  const actual = access.kind.actual(said);
  if (actual === undefined) {
    if (presence === undefined || access.fromPictures) return new Judged('unknown', leaf, site, said, 'unsaid');
    return presence ? new Judged('fail', leaf, site, said, 'unsaid') : new Judged('pass', leaf, site, said, 'absent');
  }
  if (presence === false) return new Judged('fail', leaf, site, said, 'present');
  const holds = judge(tests, actual, site);
  if (holds === false) return new Judged('fail', leaf, site, said, 'other');
  if (holds === undefined) return run.meter.spent ? EXHAUSTED : new Judged('unknown', leaf, site, said, 'incomparable');
  if (sure === undefined) return new Judged('pass', leaf, site, said, 'good');
  return sureOf(access, sure, run, own, (message, value) => told(access, run, own, message, expected, value));
}

function ofList(
  said: readonly unknown[],
  access: Access,
  tests: Tests,
  run: Run,
  own: Stream | undefined,
  about: (message: string, actual?: string) => Told,
): Finding {
  const values = said.map((value) => access.kind.actual(value)).filter((value): value is Value => value !== undefined);
  const text = values.length === 0 ? 'none' : shown(said);
  const broken = tests.tests.filter((test) => {
    const one = (value: Value) => test.holds(value, own?.site ?? run.site) === true;
    return !(test.ofEach ? values.every(one) : values.some(one));
  });
  const present = tests.presence === undefined || tests.presence === values.length > 0;
  const tell = (): Told => about(`is ${text}`, text);
  if (broken.length === 0 && present) return passed(tell);
  // Another picture may have the one that is missing.
  if (present && access.fromPictures && broken.every(({ ofEach }) => !ofEach)) return unknown(tell);
  return failed(1, tell);
}

function sureOf(
  access: Access,
  sure: number,
  run: Run,
  own: Stream | undefined,
  about: (message: string, actual?: string) => Told,
): Finding {
  const confidence = run.confidence(placeOf(access, run, own));
  if (confidence === undefined) return unknown(() => about('has no confidence'));
  const text = `has a confidence of ${confidence}`;
  if (confidence >= sure) return passed(() => about(text));
  return failed(Math.min(0.9, sure - confidence), () => about(`${text}; expected at least ${sure}`));
}

/** As the report's `confidence` and `diff` name it. */
export function placeOf(access: Access, run: Run, own: Stream | undefined): string {
  const stream = streamAt(access, run, own);
  return stream === undefined ? `container.${access.field}` : `${stream.path}.${access.field}`;
}

export function told(
  access: Access,
  run: Run,
  own: Stream | undefined,
  message: string,
  expected: string,
  actual?: string,
): Told {
  const stream = streamAt(access, run, own);
  const place = placeOf(access, run, own);
  const confidence = run.confidence(place);
  const chosen = run.differences?.get(place)?.chosen;
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
