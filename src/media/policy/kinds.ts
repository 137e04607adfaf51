/** Kinds of values: how a policy writes one, how a report shows it, and when two mean the same. */
import { languageOf } from '../report/normalise/language.ts';
import { valueOf } from '../report/normalise/ratio.ts';
import { same, type Tolerance } from '../report/tolerances.ts';
import { oneLine } from '../../base/printable.ts';
import { quoted } from './error.ts';
import { LONGEST_COMPARED, LONGEST_SHOWN } from './limits.ts';
import { acceptedOf, quantityOf, type Unit } from './units.ts';

export type Value = string | number | boolean;

export interface Kind {
  /** Values of two kinds with the same name may be compared. */
  readonly name: string;
  readonly unit: Unit;
  /** What a policy may write, for messages. */
  readonly accepted: string;
  /** The closed list of words, where there is one. */
  readonly words?: readonly string[];
  /** A list of values in the report: one of them counts. */
  readonly list?: true;
  wanted(operand: unknown): Value | undefined;
  /** A value of a report; undefined where it says nothing. */
  actual(said: unknown): Value | undefined;
  /** Undefined where it cannot be told: `pcm` may be any of its family. */
  equal(actual: Value, wanted: Value): boolean | undefined;
  /** Where values have an order. */
  order?(value: Value): number | undefined;
  /** Where values are texts; `caseless`: in whatever case. */
  readonly text?: 'caseless' | 'exact';
}

const numeric = (name: string, unit: Unit, equal: (a: number, b: number) => boolean): Kind => ({
  name,
  unit,
  accepted: acceptedOf(unit),
  wanted: (operand) => quantityOf(operand, unit),
  actual: (said) => (typeof said === 'number' && Number.isFinite(said) ? said : undefined),
  equal: (actual, wanted) => equal(actual as number, wanted as number),
  order: (value) => value as number,
});
const near = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));

export const NUMBER = numeric('number', 'none', near);
export const BYTES = numeric('bytes', 'bytes', near);
export const HERTZ = numeric('hertz', 'hertz', near);
/** An average of 0 stands where no tool says one. */
export const BITS: Kind = {
  ...numeric('bits per second', 'bits', near),
  actual: (said) => (typeof said === 'number' && said > 0 ? said : undefined),
};
/** The report rounds to milliseconds. */
export const SECONDS = numeric('seconds', 'seconds', (a, b) => Math.abs(a - b) < 0.001);

/** One tool rounds to three decimals, so equal is what the report's table says of rates (0.05 %) and ratios (0.5 %). */
const fraction = (name: string, percent: number, accepted: string): Kind => ({
  name,
  unit: 'rate',
  accepted,
  wanted(operand) {
    const value = valueOf(typeof operand === 'string' ? operand.replace(/ ?fps$/i, '') : operand);
    return value !== undefined && value > 0 ? value : undefined;
  },
  actual(said) {
    if (typeof said === 'number') return said > 0 ? said : undefined;
    const { numerator, denominator } = (said ?? {}) as { numerator?: unknown; denominator?: unknown };
    return typeof numerator === 'number' && typeof denominator === 'number' && numerator > 0 && denominator > 0
      ? numerator / denominator
      : undefined;
  },
  equal: (a, b) => Math.abs((a as number) - (b as number)) <= (Math.max(a as number, b as number) * percent) / 100,
  order: (value) => value as number,
});
export const RATE = fraction('frame rate', 0.05, 'a number or a fraction such as "24000/1001"');
export const RATIO = fraction('ratio', 0.5, 'a number or a ratio such as "16:9"');

const textual = (
  name: string,
  text: 'caseless' | 'exact',
  equal: (actual: string, wanted: string) => boolean | undefined = (a, b) => a === b,
): Kind => {
  const read = (value: unknown): string | undefined => {
    if (typeof value !== 'string' || value.length === 0) return undefined;
    const cut = value.slice(0, LONGEST_COMPARED);
    return text === 'caseless' ? cut.trim().toLowerCase() : cut;
  };
  return {
    name,
    unit: 'none',
    accepted: 'text',
    text,
    wanted: read,
    actual: read,
    equal: (actual, wanted) => equal(actual as string, wanted as string),
  };
};
const by = (kind: 'family' | 'container' | 'fourcc' | 'matrix' | 'layout') => {
  const tolerance: Tolerance = { kind };
  return (a: string, b: string) => same(a, b, tolerance, 0);
};
const FAMILIES = new Set(['pcm', 'adpcm', 'dsd']);
const sameFamily = by('family');
const sameContainer = by('container');

export const TEXT = textual('text', 'exact');
export const WORD = textual('word', 'caseless');
/** A family in the policy is all of its members; a family in the report may be any of them. */
export const CODEC: Kind = {
  ...textual('codec', 'caseless', (a, b) =>
    a === b ? true : FAMILIES.has(a) && b.startsWith(`${a}_`) ? undefined : sameFamily(a, b),
  ),
  accepted: 'the name of a codec or of its family, such as "h264" or "pcm"',
};
/** WebM is Matroska, AVIF is HEIF; not the other way round. */
export const CONTAINER = textual('container', 'caseless', (a, b) =>
  a === b ? true : ['webm', 'avif', 'mp2'].includes(b) ? false : sameContainer(a, b),
);
export const MATRIX = textual('matrix', 'caseless', by('matrix'));
export const LAYOUT = textual('channel layout', 'caseless', by('layout'));
export const LANGUAGE: Kind = {
  ...textual('language', 'caseless'),
  accepted: 'a language as BCP 47 or ISO 639 writes it, such as "en" or "eng"',
  wanted: (operand) => (typeof operand === 'string' ? languageOf(operand)?.toLowerCase() : undefined),
  // The report has canonical ones already.
  actual: (said) => (typeof said === 'string' ? said.slice(0, LONGEST_COMPARED).toLowerCase() : undefined),
};

/** `4.1` of H.264 and HEVC; `1b` lies between 1 and 1.1. */
const levelOf = (value: unknown): number | undefined => {
  if (value === '1b') return 1.05;
  const number = valueOf(value);
  return number !== undefined && number > 0 && number < 100 ? number : undefined;
};
export const LEVEL: Kind = {
  ...numeric('codec level', 'none', near),
  accepted: 'a level such as 4.1, "4.1" or "1b"',
  wanted: levelOf,
  actual: levelOf,
};

/** Shown only where it is true: where a report says nothing, it is false. */
export const FLAG: Kind = {
  name: 'flag',
  unit: 'none',
  accepted: 'true or false',
  wanted: (operand) => (typeof operand === 'boolean' ? operand : undefined),
  actual: (said) => (typeof said === 'boolean' ? said : undefined),
  equal: (a, b) => a === b,
};

/** A word of a closed list: another word in a policy can never come true. */
export const oneOf = (...words: string[]): Kind => {
  const places = new Map(words.map((word) => [word.toLowerCase(), word.toLowerCase()]));
  return {
    ...WORD,
    accepted: words.join(', '),
    words,
    wanted: (operand) => (typeof operand === 'string' ? places.get(operand.trim().toLowerCase()) : undefined),
  };
};

/** As a tool prints it: what reads as a number is one, whatever its form. */
export const SAID: Kind = {
  name: 'output',
  unit: 'none',
  accepted: 'text, a number, true or false',
  text: 'exact',
  wanted: scalarOf,
  actual: scalarOf,
  equal(actual, wanted) {
    const [a, b] = [numberOf(actual), numberOf(wanted)];
    return a !== undefined && b !== undefined ? near(a, b) : typeof actual === typeof wanted && actual === wanted;
  },
  order: numberOf,
};
function scalarOf(value: unknown): Value | undefined {
  if (typeof value === 'string') return value.slice(0, LONGEST_COMPARED);
  return typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)) ? value : undefined;
}
function numberOf(value: Value): number | undefined {
  return typeof value === 'boolean' ? undefined : valueOf(value);
}

/** A value of a report or an output, for people. */
export function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null) {
    if (Array.isArray(value)) return cut(value.map(shown).join(', '));
    const { numerator, denominator } = value as { numerator?: unknown; denominator?: unknown };
    if (typeof numerator === 'number')
      return denominator === 1 ? String(numerator) : `${numerator}/${String(denominator)}`;
  }
  return typeof value === 'string' ? cut(value) : cut(JSON.stringify(value) ?? 'nothing');
}
const cut = (text: string): string => oneLine(text, LONGEST_SHOWN);

export const refused = (kind: Kind, operand: unknown): string =>
  `${quoted(operand)} is not accepted here; accepted: ${kind.accepted}`;
