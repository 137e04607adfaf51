/** What content checks mean for whoever takes a file: it passes, is worth a look, or must not go on. */
import { isObject } from '../../base/is_object.ts';
import { SHORTEST_S } from './limits.ts';
import type { QcReport } from './schema.ts';
import { passagesIn, remarksIn, remarkWords, secondsWords, type Check } from './words.ts';

/** The longest passage of each check, in seconds, that does not block. */
export type Longest = Readonly<Record<Check, number>>;
/** Longer than fades, titles and pauses that are meant to be there. */
export const LONGEST: Longest = { black: 10, freeze: 10, silence: 10, phase: 10 };
export const CHECKS = Object.keys(LONGEST) as readonly Check[];

interface Found {
  verdict: 'warn' | 'block';
  text: string;
  check?: Check;
  stream?: number;
  from?: number;
  to?: number;
  seconds?: number;
}
export interface QcVerdict {
  verdict: 'pass' | 'warn' | 'block';
  /** Those that block first. */
  findings: Found[];
  /** How many further ones there are. */
  more: number;
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
    ...list.map(({ from, to, to_end: last }): Found => {
      const seconds = Math.round((to - from) * 1e3) / 1e3;
      const verdict = seconds > longest[check] ? 'block' : 'warn';
      const where = `from ${secondsWords(from)}${from < AT_START_S ? ' (the start)' : ''}${last ? ' to the end' : ''}`;
      const text = `${noun} of ${secondsWords(seconds)} ${where} in stream ${stream}`;
      return { verdict, text, check, stream, from, to, seconds };
    }),
    // How long these are is not known.
    ...(more > 0 ? [blocking(`${noun}s in stream ${stream}: ${more} more than can be listed`)] : []),
  ]);

const blocking = (text: string): Found => ({ verdict: 'block', text });
const warning = (text: string): Found => ({ verdict: 'warn', text });

function findingsOf(report: QcReport, longest: Longest): Found[] {
  const { cut, until, not_checked: left } = report;
  return [
    ...(cut === undefined ? [] : [blocking(`the checks ended at ${secondsWords(until ?? null)}: ${cut}`)]),
    ...passagesFound(report, longest),
    ...remarksIn(report).map((remark) => (remark.blocks ? blocking : warning)(remarkWords(remark))),
    ...left.map(({ stream, why }) => warning(`stream ${stream} was not checked: ${why}`)),
  ];
}

/** `checks`: their section of the envelope. What was not decoded, or not to the end, is not known to be right. */
export function verdictOf(
  { response, error = 'the source could not be decoded' }: { response?: unknown; error?: string },
  longest: Longest,
): QcVerdict {
  const found = isObject(response) ? findingsOf(response as unknown as QcReport, longest) : [blocking(error)];
  const findings = (['block', 'warn'] as const).flatMap((level) => found.filter(({ verdict }) => verdict === level));
  return {
    verdict: findings[0]?.verdict ?? 'pass',
    findings: findings.slice(0, MOST_FOUND),
    more: Math.max(0, findings.length - MOST_FOUND),
    longest,
  };
}
