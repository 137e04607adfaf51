/** The definition of a rule, and how a finding quotes a playlist. */
import { oneLine } from '../../base/printable.ts';

/**
 * must-fix: required by the specification, or players fail. should-fix: recommended by the specification, or some
 * players fail. info: worth knowing, and often intended.
 */
export const LEVELS = ['must-fix', 'should-fix', 'info'] as const;
export type Level = (typeof LEVELS)[number];

export interface Rule {
  level: Level;
  /**
   * A section of the HLS specification's second edition (draft-pantos-hls-rfc8216bis), a chapter of Apple's authoring
   * specification, or `own` if neither requires it.
   */
  clause: string;
  /** What is wrong, as a sentence without its full stop; ": " and what was found may follow. */
  finding: string;
  /** What to do about it. */
  remedy: string;
}

const APPLE = 'Apple authoring, ';

/** A rule of a clause: what is wrong, up to the first full stop, then what to do. */
const rule =
  (level: Level) =>
  (clause: string) =>
  (text: TemplateStringsArray, ...values: string[]): Rule => {
    const words = String.raw(text, ...values).trim();
    const [finding = '', ...remedy] = words.split(/\.\s+/);
    return { level, clause: clauseOf(clause), finding, remedy: remedy.join('. ') };
  };

const clauseOf = (clause: string): string =>
  clause === 'own' ? 'Probeyard' : `${/^\d|^[A-D]\./.test(clause) ? 'rfc8216bis ' : APPLE}${clause}`;

export const must = rule('must-fix');
export const should = rule('should-fix');
export const info = rule('info');

/** Quotes text of a playlist, shortened and on one line. */
export const quote = (text: string): string => `"${oneLine(text, 80)}"`;
