/** The operators: what each accepts, and whether a value satisfies it. One row each. */
import { isObject } from '../../base/is_object.ts';
import { PolicyError, quoted } from './error.ts';
import { failed, passed, unknown, type Finding, type Told } from './finding.ts';
import { globOf, type Glob } from './glob.ts';
import { refused, shown, type Kind, type Value } from './kinds.ts';
import { LONGEST_GLOB, LONGEST_TEXT, MOST_VALUES } from './limits.ts';
import type { Site } from './run.ts';
import { allowed, toleranceOf } from './units.ts';

export interface Test {
  expected: string;
  /** Steps of one value, where it is more than one. */
  cost?: number;
  /** Of a list, it is asked of every value; other tests are asked of one. */
  ofEach?: true;
  /** Undefined where it cannot be told. */
  holds(actual: Value, site: Site): boolean | undefined;
  /** How far a value that does not satisfy it is from one that does, from 0 to 1. */
  far?(actual: Value, site: Site): number;
}

/** What operators need of the subject whose values they compare. */
export interface Subject {
  kind: Kind;
  /** A reference to another value, as far as the subject can be compared with one. */
  refer(operand: object, at: string): (site: Site) => Value | undefined;
  /** The same within the report's own tolerance; undefined where it has none for this field. */
  within: ((actual: Value, wanted: Value, site: Site) => boolean | undefined) | undefined;
  frame(site: Site): number;
}

interface Wanted {
  text: string;
  of(site: Site): Value | undefined;
}

function wanted(subject: Subject, operand: unknown, at: string): Wanted {
  if (isObject(operand)) {
    const of = subject.refer(operand, at);
    return { text: String(operand['field'] ?? operand['path']), of };
  }
  const value = valueOf(subject, operand, at);
  return { text: String(operand), of: () => value };
}

function valueOf({ kind }: Subject, operand: unknown, at: string): Value {
  if (typeof operand === 'string' && operand.length > LONGEST_TEXT)
    throw new PolicyError(at, `must be at most ${LONGEST_TEXT} characters long`);
  const value = kind.wanted(operand);
  if (value === undefined) throw new PolicyError(at, refused(kind, operand));
  return value;
}

export function listAt(value: unknown, at: string, most: number, noun: string): unknown[] {
  if (!Array.isArray(value)) throw new PolicyError(at, 'must be a list');
  if (value.length === 0) throw new PolicyError(at, 'must not be empty');
  if (value.length > most) throw new PolicyError(at, `must have at most ${most} ${noun}`);
  return value;
}
const listOf = (operand: unknown, at: string): unknown[] => listAt(operand, at, MOST_VALUES, 'values');

function ordered({ kind }: Subject, operator: string, at: string): (value: Value) => number | undefined {
  const { order } = kind;
  if (order === undefined) throw new PolicyError(at, `${operator} compares numbers, and this is a ${kind.name}`);
  return (value) => order(value);
}

/** How far one number is from another, relative to the larger. */
const apart = (a: number, b: number): number =>
  a === b ? 0 : Math.min(0.9, Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b), 1e-9));

type Compile = (subject: Subject, operand: unknown, at: string) => Test;

/** Compares with what is wanted; undefined where that is not known. */
const against =
  <T>({ of }: Wanted, compare: (actual: Value, wanted: Value, site: Site) => T | undefined) =>
  (actual: Value, site: Site): T | undefined => {
    const value = of(site);
    return value === undefined ? undefined : compare(actual, value, site);
  };

/** A test of two numbers: of the value and of the bound, where both are known. */
const ofNumbers = (
  order: (value: Value) => number | undefined,
  bound: Wanted,
  expected: string,
  holds: (actual: number, bound: number, site: Site) => boolean,
): Test => {
  const both = (actual: Value, site: Site): [number, number] | undefined => {
    const other = bound.of(site);
    const [a, b] = [order(actual), other === undefined ? undefined : order(other)];
    return a === undefined || b === undefined ? undefined : [a, b];
  };
  return {
    expected,
    holds(actual, site) {
      const numbers = both(actual, site);
      return numbers && holds(...numbers, site);
    },
    far(actual, site) {
      const numbers = both(actual, site);
      return numbers ? apart(...numbers) : 1;
    },
  };
};

const limit =
  (operator: string, words: string, holds: (actual: number, bound: number) => boolean): Compile =>
  (subject, operand, at) => {
    const order = ordered(subject, operator, at);
    const bound = wanted(subject, operand, at);
    return ofNumbers(order, bound, `${words} ${bound.text}`, holds);
  };

/** Every one that is not told counts as unknown, unless another one decides. */
function some(values: readonly Value[], kind: Kind, actual: Value): boolean | undefined {
  let open = false;
  for (const value of values) {
    const same = kind.equal(actual, value);
    if (same === true) return true;
    open ||= same === undefined;
  }
  return open ? undefined : false;
}
const negated = (holds: boolean | undefined): boolean | undefined => (holds === undefined ? undefined : !holds);
const nearestOf = (values: readonly Value[], { order }: Kind, actual: Value): number => {
  const own = order?.(actual);
  if (own === undefined) return 1;
  return values.reduce<number>((least, value) => Math.min(least, apart(own, order!(value) ?? Infinity)), 1);
};
const texts = (values: readonly unknown[]): string => values.map(String).join(', ');

const membership =
  (words: string, negate: boolean): Compile =>
  (subject, operand, at) => {
    const given = listOf(operand, at);
    const values = given.map((value, index) => valueOf(subject, value, `${at}[${index}]`));
    const { kind } = subject;
    return {
      expected: `${words} ${texts(given)}`,
      cost: 1 + (values.length >> 2),
      ...(negate ? { ofEach: true as const } : {}),
      holds: (actual) => (negate ? negated(some(values, kind, actual)) : some(values, kind, actual)),
      far: (actual) => (negate ? 1 : nearestOf(values, kind, actual)),
    };
  };

function patterns(operand: unknown, longest: number, at: string): string[] {
  const list = Array.isArray(operand) ? listOf(operand, at) : [operand];
  return list.map((value, index) => {
    const place = Array.isArray(operand) ? `${at}[${index}]` : at;
    if (typeof value !== 'string' || value === '') throw new PolicyError(place, 'must be text');
    if (value.length > longest) throw new PolicyError(place, `must be at most ${longest} characters long`);
    return value;
  });
}

export const globs = (operand: unknown, caseless: boolean, at: string): Glob[] =>
  patterns(operand, LONGEST_GLOB, at).map((text) => globOf(text, caseless));

function textOnly({ kind }: Subject, operator: string, at: string): boolean {
  if (kind.text === undefined) throw new PolicyError(at, `${operator} compares text, and this is a ${kind.name}`);
  return kind.text === 'caseless';
}

/** What numbers look like is no text of theirs: globs and prefixes read only text. */
const asText = (actual: Value): string | undefined => (typeof actual === 'string' ? actual : undefined);

const OPERATORS: Readonly<Record<string, Compile>> = {
  is(subject, operand, at) {
    const { kind } = subject;
    const other = wanted(subject, operand, at);
    const distance = against(other, (actual, value) => nearestOf([value], kind, actual));
    return {
      expected: other.text,
      holds: against(other, kind.equal),
      far: (actual, site) => distance(actual, site) ?? 1,
    };
  },
  not(subject, operand, at) {
    if (Array.isArray(operand)) return membership('none of', true)(subject, operand, at);
    const { kind } = subject;
    const other = wanted(subject, operand, at);
    const holds = against(other, (actual, value) => negated(kind.equal(actual, value)));
    return { expected: `not ${other.text}`, ofEach: true, holds };
  },
  in: membership('one of', false),
  'at-least': limit('at-least', 'at least', (actual, bound) => actual >= bound - 1e-9 * Math.abs(bound)),
  'at-most': limit('at-most', 'at most', (actual, bound) => actual <= bound + 1e-9 * Math.abs(bound)),
  above: limit('above', 'above', (actual, bound) => actual > bound),
  below: limit('below', 'below', (actual, bound) => actual < bound),
  between(subject, operand, at) {
    const bounds = listOf(operand, at);
    if (bounds.length !== 2) throw new PolicyError(at, 'must be a list of two values, the lower one first');
    const order = ordered(subject, 'between', at);
    const [low, high] = bounds.map((bound, index) => order(valueOf(subject, bound, `${at}[${index}]`)));
    if (low === undefined || high === undefined || low > high)
      throw new PolicyError(at, 'must be two numbers, the lower one first');
    return {
      expected: `between ${String(bounds[0])} and ${String(bounds[1])}`,
      holds(actual) {
        const value = order(actual);
        return value === undefined ? undefined : value >= low && value <= high;
      },
      far(actual) {
        const value = order(actual);
        return value === undefined ? 1 : apart(value, value < low ? low : high);
      },
    };
  },
  within(subject, operand, at) {
    const { kind, within } = subject;
    const given = isObject(operand) ? operand : undefined;
    const spare = given?.['tolerance'];
    const target = given === undefined ? operand : 'value' in given ? given['value'] : without(given, 'tolerance');
    if (given !== undefined && 'value' in given) only(given, ['value', 'tolerance'], at);
    const place = given !== undefined && 'value' in given ? `${at}.value` : at;
    const other = wanted(subject, target, place);
    if (spare === undefined) {
      if (within === undefined)
        throw new PolicyError(at, 'the report has no tolerance for this field: give {value, tolerance}');
      return { expected: `${other.text}, within the report's tolerance`, holds: against(other, within) };
    }
    const order = ordered(subject, 'within', at);
    const tolerance = toleranceOf(spare, kind.unit);
    if (tolerance === undefined)
      throw new PolicyError(
        `${at}.tolerance`,
        `${quoted(spare)} is not accepted here; accepted: a number or text in the unit of the field, or a share ` +
          `such as "0.5 %"${kind.unit === 'seconds' ? ', or "2 frames"' : ''}`,
      );
    return ofNumbers(
      order,
      other,
      `${other.text}, within ${String(spare)}`,
      (a, b, site) => Math.abs(a - b) <= allowed(tolerance, b, subject.frame(site)) + 1e-9,
    );
  },
  'starts-with'(subject, operand, at) {
    const caseless = textOnly(subject, 'starts-with', at);
    const given = patterns(operand, LONGEST_TEXT, at);
    const wantedTexts = caseless ? given.map((text) => text.toLowerCase()) : given;
    return {
      expected: `starting with ${given.join(' or ')}`,
      cost: 1 + (given.length >> 2),
      holds(actual) {
        const text = asText(actual);
        return text === undefined ? undefined : wantedTexts.some((start) => text.startsWith(start));
      },
    };
  },
  matches(subject, operand, at) {
    const list = globs(operand, textOnly(subject, 'matches', at), at);
    return {
      expected: `matching ${list.map(({ text }) => text).join(' or ')}`,
      holds(actual, { run }) {
        const text = asText(actual);
        if (text === undefined) return undefined;
        return (
          list.some((glob) => run.meter.step(glob.cost(text)) && glob.matches(text)) ||
          (run.meter.spent ? undefined : false)
        );
      },
    };
  },
};

export const OPERATOR_NAMES: readonly string[] = [...Object.keys(OPERATORS), 'exists', 'absent'];

const without = (object: Record<string, unknown>, name: string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));

export function only(object: object, names: readonly string[], at: string): void {
  const other = Object.keys(object).find((name) => !names.includes(name));
  if (other !== undefined) throw new PolicyError(`${at}.${other}`, `is unknown; known: ${names.join(', ')}`);
}

/** What a condition says of the values of its subject. `exists` and `absent` are the subject's own to judge. */
export interface Tests {
  tests: Test[];
  expected: string;
  /** Steps of one value; what globs read comes on top. */
  cost: number;
  /** Whether the value has to be there, or must not be; undefined where neither is asked. */
  presence: boolean | undefined;
}

export function testsOf(subject: Subject, members: Readonly<Record<string, unknown>>, at: string): Tests {
  const tests: Test[] = [];
  let presence: boolean | undefined;
  for (const name of OPERATOR_NAMES) {
    if (!Object.hasOwn(members, name)) continue;
    const place = at === '' ? name : `${at}.${name}`;
    if (name === 'exists' || name === 'absent') {
      const operand = members[name];
      if (typeof operand !== 'boolean') throw new PolicyError(place, 'must be true or false');
      const asked = name === 'exists' ? operand : !operand;
      if (presence !== undefined && presence !== asked) throw new PolicyError(place, 'contradicts exists');
      presence = asked;
    } else tests.push(OPERATORS[name]!(subject, members[name], place));
  }
  if (presence === false && tests.length > 0)
    throw new PolicyError(at, 'a value that must be absent cannot satisfy another operator');
  const expected = [
    ...(presence === undefined ? [] : [presence ? 'present' : 'absent']),
    ...tests.map((test) => test.expected),
  ];
  const cost = tests.reduce((sum, test) => sum + (test.cost ?? 1), 1);
  return { tests, expected: expected.join(', '), cost, presence };
}

/** All tests of one value: false where one fails, else undefined where one cannot be told. */
export function judge({ tests }: Tests, actual: Value, site: Site): boolean | undefined {
  let told: boolean | undefined = true;
  for (const test of tests) {
    const holds = test.holds(actual, site);
    if (holds === false) return false;
    if (holds === undefined) told = undefined;
  }
  return told;
}

/** What the tests say of a value that is there: all subjects put it into the same words. */
export function ofValue(
  tests: Tests,
  said: unknown,
  actual: Value,
  site: Site,
  about: (site: Site, message: string, actual: string) => Told,
  expected = tests.expected,
): Finding {
  const none = tests.presence === false;
  const holds = none ? false : judge(tests, actual, site);
  const tell = (): Told => {
    const text = shown(said);
    if (holds === true) return about(site, `is ${text}`, text);
    const why = holds === undefined ? ', which cannot be compared' : '';
    return about(site, `is ${text}${why}; expected ${none ? 'none' : expected}`, text);
  };
  if (holds === true) return passed(tell);
  if (holds === undefined) return unknown(tell);
  return none ? failed(1, tell) : { came: 'fail', far: () => farOf(tests, actual, site), tell };
}

const farOf = ({ tests }: Tests, actual: Value, site: Site): number =>
  tests.reduce((sum, test) => sum + (test.holds(actual, site) === true ? 0 : (test.far?.(actual, site) ?? 1)), 0) /
  Math.max(1, tests.length);
