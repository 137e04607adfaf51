/** A condition that is ready to be judged, and the ways in which findings become one. */
import { isObject } from '../../base/is_object.ts';
import { PolicyError } from './error.ts';
import { failed, notApplicable, passed, unknown, type Finding, type Told } from './finding.ts';
import { MOST_TOLD } from './limits.ts';
import { only } from './operators.ts';
import type { Site, Stream } from './run.ts';
import type { StreamType } from './types.ts';

export interface Node {
  /** What it asks for, for people. */
  text: string;
  judge(site: Site): Finding;
}

/** Where a condition stands in its policy. */
export interface Place {
  at: string;
  /** The type of stream that `each` goes through here. */
  scope: StreamType | undefined;
  depth: number;
}

export const within = (at: string, member: string | number): string =>
  typeof member === 'number' ? `${at}[${member}]` : at === '' ? member : `${at}.${member}`;

/** Judged once for an evaluation, whatever stream it is asked for: its work does not grow with the streams. */
export function once(node: Node): Node {
  return {
    text: node.text,
    judge({ run }) {
      const known = run.memo.get(node) as Finding | undefined;
      if (known) return known;
      const finding = node.judge(run.site);
      run.memo.set(node, finding);
      return finding;
    },
  };
}

/** How many of those that apply have to pass. Undefined: every one, and at least one. */
export interface Range {
  low: number;
  high: number;
  text: string;
}

const WRITTEN = /^(exactly|at-least|at-most) (\d{1,4})$/;
const MOST_COUNTED = 10_000;

export function rangeOf(match: unknown, at: string): Range | undefined {
  if (match === undefined || match === 'every') return undefined;
  if (match === 'any') return { low: 1, high: Infinity, text: 'at least 1' };
  const written = typeof match === 'string' ? WRITTEN.exec(match) : null;
  const given = written ? { [written[1]!]: Number(written[2]) } : match;
  if (isObject(given)) {
    only(given, ['exactly', 'at-least', 'at-most'], at);
    const entries = Object.entries(given);
    const [[word = '', count] = []] = entries;
    if (
      entries.length === 1 &&
      Number.isInteger(count) &&
      (count as number) >= 0 &&
      (count as number) <= MOST_COUNTED
    ) {
      const of = count as number;
      const text = `${word.replace('-', ' ')} ${of}`;
      if (word === 'exactly') return { low: of, high: of, text };
      return word === 'at-least' ? { low: of, high: Infinity, text } : { low: 0, high: of, text };
    }
  }
  throw new PolicyError(at, 'must be every, any, "exactly N", "at-least N" or "at-most N", N up to 10000');
}

/** Those that came to one thing: counted, and the first few kept to be told. */
class Alike {
  readonly first: Finding[] = [];
  count = 0;
  add(finding: Finding, at: Stream | undefined): void {
    if (this.count++ < MOST_TOLD) this.first.push(at === undefined ? finding : of(finding, at));
  }
  get finding(): Finding {
    const [one] = this.first;
    return {
      came: one!.came,
      far: () => this.first.reduce((least, each) => Math.min(least, each.far()), 1),
      tell: () => one!.tell(),
      alike: this,
    };
  }
}

const of = (finding: Finding, { path }: Stream): Finding => ({
  came: finding.came,
  far: () => finding.far(),
  tell: () => ({ stream: path, ...finding.tell() }),
});

/**
 * What all findings come to: `every`, or a number of them. `noun` names what was judged, `streams` where each of them
 * is from.
 */
export function gathered(
  findings: readonly Finding[],
  range: Range | undefined,
  noun: string,
  text: string,
  streams?: readonly Stream[],
): Finding {
  const by = { pass: new Alike(), fail: new Alike(), unknown: new Alike(), 'not-applicable': new Alike() };
  for (let index = 0; index < findings.length; index++)
    by[findings[index]!.came].add(findings[index]!, streams?.[index]);
  const { pass, fail, unknown: open } = by;
  const nothing = (): Finding => notApplicable(() => ({ message: `there is no ${noun}` }));
  const applied = pass.count + fail.count + open.count;
  if (range === undefined) {
    const worst = [fail, open, pass, by['not-applicable']].find(({ count }) => count > 0);
    return worst === undefined ? nothing() : worst.finding;
  }
  if (applied === 0 && findings.length > 0) return by['not-applicable'].finding;
  const { low, high } = range;
  // A ban is not kept by a file in which there is nothing to look at.
  if (applied === 0 && low === 0) return nothing();
  const tell = (): Told => ({
    message: `${pass.count} of ${applied} ${noun}${applied === 1 ? '' : 's'} satisfy: ${text}; expected ${range.text}`,
    actual: String(pass.count),
    expected: range.text,
  });
  if (pass.count > high || pass.count + open.count < low)
    return failed(pass.count < low ? (0.9 * (low - pass.count)) / low : 0.9, tell);
  return pass.count >= low && pass.count + open.count <= high ? passed(tell) : unknown(tell);
}
