/** What content checks mean for whoever takes a file: it passes, is worth a look, or must not go on. */
import { isObject } from '../../base/is_object.ts';
import type { Waived } from '../../base/schema_parts.ts';
import { SHORTEST_S } from './limits.ts';
import type { QcReport } from './schema.ts';
import type { QcWaived } from './waived.ts';
import { passagesIn, waivableOf, remarksIn, remarkWords, secondsWords, type Check, type Waivable } from './words.ts';

/** Checks whose passages block where they are long. */
export type Limited = Extract<Check, 'black' | 'freeze' | 'silence' | 'phase'>;
/** The longest passage of each, in seconds, that does not block. */
export type Longest = Readonly<Record<Limited, number>>;
/** Longer than fades, titles and pauses that are meant to be there. */
export const LONGEST: Longest = { black: 10, freeze: 10, silence: 10, phase: 10 };
export const CHECKS = Object.keys(LONGEST) as readonly Limited[];
const limitOf = (longest: Longest, check: Check): number => (check in longest ? longest[check as Limited] : Infinity);

interface Found {
  verdict: 'warn' | 'block';
  text: string;
  check?: Waivable;
  stream?: number;
  from?: number;
  to?: number;
  seconds?: number;
}
interface WaivedFound extends Found {
  waived: Waived;
}
export interface QcVerdict {
  verdict: 'pass' | 'warn' | 'block';
  /** Those that block first. */
  findings: Found[];
  /** How many further ones there are. */
  more: number;
  /** What would be among the findings if nobody accepted it. */
  waived: WaivedFound[];
  /** How many are waived. */
  waived_count: number;
  longest: Longest;
}

const MOST_FOUND = 50;
/** Tracks of one film begin no later after each other. */
const AT_START_S = 0.1;

/** Options of the checks that report every passage which is longer than its limit. */
export const optionsFor = (longest: Longest): Record<string, number> =>
  Object.fromEntries(CHECKS.map((check) => [`${check}_min`, Math.min(SHORTEST_S, longest[check])]));

const passagesFound = (report: QcReport, longest: Longest): Found[] =>
  passagesIn(report).flatMap(({ check, noun, stream, list, more }) => [
    ...list.map(({ from, to, to_end: last, detail }): Found => {
      const seconds = Math.round((to - from) * 1e3) / 1e3;
      const verdict = seconds > limitOf(longest, check) ? 'block' : 'warn';
      const where = `from ${secondsWords(from)}${from < AT_START_S ? ' (the start)' : ''}${last ? ' to the end' : ''}`;
      const text = `${noun} of ${secondsWords(seconds)} ${where} in stream ${stream}${detail ? `: ${detail}` : ''}`;
      return { verdict, text, check, stream, from, to, seconds };
    }),
    // How long these are is not known.
    ...(more > 0
      ? [(check in longest ? blocking : warning)(`${noun}s in stream ${stream}: ${more} more than can be listed`)]
      : []),
  ]);

const blocking = (text: string): Found => ({ verdict: 'block', text });
const warning = (text: string): Found => ({ verdict: 'warn', text });

function findingsOf(report: QcReport, longest: Longest): Found[] {
  const { cut, until, not_checked: left } = report;
  return [
    ...(cut === undefined ? [] : [blocking(`the checks ended at ${secondsWords(until ?? null)}: ${cut}`)]),
    ...passagesFound(report, longest),
    ...remarksIn(report).map((remark) => {
      const place = waivableOf(remark);
      const found = (remark.blocks ? blocking : warning)(remarkWords(remark));
      return { ...found, ...(place ? { check: place.check, stream: place.stream } : {}), ...remark.range };
    }),
    ...left.map(({ stream, why }) => warning(`stream ${stream} was not checked: ${why}`)),
  ];
}

const keyOf = ({ check, stream, from = null, to = null }: Partial<Omit<QcWaived, 'waived'>>): string =>
  [check, stream, from, to].join(' ');

/** The section of the checks in an envelope. */
interface Section {
  response?: unknown;
  error?: string;
  waived?: readonly QcWaived[];
}

/** What was not decoded, or not to the end, is not known to be right. */
export function verdictOf(
  { response, error = 'the source could not be decoded', waived = [] }: Section,
  longest: Longest,
): QcVerdict {
  const all = isObject(response) ? findingsOf(response as unknown as QcReport, longest) : [blocking(error)];
  const accepted = new Map(waived.map((one) => [keyOf(one), one.waived]));
  const waivedFound = all.flatMap((found): WaivedFound[] => {
    const by = accepted.get(keyOf(found));
    return by ? [{ ...found, waived: by }] : [];
  });
  const found = all.filter((one) => !accepted.has(keyOf(one)));
  const findings = (['block', 'warn'] as const).flatMap((level) => found.filter(({ verdict }) => verdict === level));
  return {
    verdict: findings[0]?.verdict ?? 'pass',
    findings: findings.slice(0, MOST_FOUND),
    more: Math.max(0, findings.length - MOST_FOUND),
    waived: waivedFound.slice(0, MOST_FOUND),
    waived_count: waivedFound.length,
    longest,
  };
}
