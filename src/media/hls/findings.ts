/** Collects the findings of rules: ordered, counted, and bounded whatever a playlist contains. */
import { getOrMake } from '../../base/get_or_make.ts';
import type { Level } from './rule.ts';
import { APPLE_CODES, RULES, type RuleId, type Note } from './rules/catalog.ts';
import type { Message } from './schema.ts';

/** Maximum for one rule in one playlist. */
const MOST_EACH = 10;
/** Maximum in total: nobody reads hundreds of playlists with a hundred faults each line by line. */
const MOST = 5_000;

export class Findings {
  readonly #messages: Message[] = [];
  readonly #counts = new Map<string, { count: number; last: Message | undefined }>();
  readonly #levels: Record<Level, number> = { 'must-fix': 0, 'should-fix': 0, info: 0 };
  #dropped = 0;

  /** Returns a note function for the playlist at this address. */
  in(url: string): Note {
    return (rule, line, detail, column) => this.add(url, rule, line, detail, column);
  }

  add(url: string, code: RuleId, line: number, detail?: string, column?: number): void {
    const rule = RULES[code];
    this.#levels[rule.level]++;
    const known = getOrMake(this.#counts, `${code} ${url}`, () => ({ count: 0, last: undefined }));
    known.count++;
    if (known.count > MOST_EACH) {
      if (known.last !== undefined) known.last.count = known.count;
      return;
    }
    if (this.#messages.length >= MOST) {
      this.#dropped++;
      return;
    }
    const apple = APPLE_CODES[code];
    const message: Message = {
      level: rule.level,
      code,
      ...(apple === undefined ? {} : { apple_code: apple }),
      rule: rule.clause,
      message: detail === undefined || detail === '' ? rule.finding : `${rule.finding}: ${detail}`,
      remedy: rule.remedy,
      url,
      line,
      ...(column === undefined ? {} : { column }),
    };
    known.last = message;
    this.#messages.push(message);
  }

  /** Ordered by level, worst first, then by playlist and line. */
  messages(): Message[] {
    const order: Record<Level, number> = { 'must-fix': 0, 'should-fix': 1, info: 2 };
    const urls = new Map<string, number>();
    for (const { url } of this.#messages) if (!urls.has(url)) urls.set(url, urls.size);
    return [...this.#messages].sort(
      (a, b) => order[a.level] - order[b.level] || (urls.get(a.url) ?? 0) - (urls.get(b.url) ?? 0) || a.line - b.line,
    );
  }

  /** Counts of all findings, reported or not. */
  totals(): Readonly<Record<Level, number>> & { untold: number } {
    return { ...this.#levels, untold: this.#dropped };
  }
}
