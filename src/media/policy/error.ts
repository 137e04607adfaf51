/** Why a policy is refused: where, and what is accepted there. */
import { nearest } from '../../base/nearest.ts';

export class PolicyError extends Error {
  readonly code = 'policy-invalid';
  /** `rules[3].field`; empty for the policy as a whole. */
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

const MOST_LISTED = 12;

/** A name that is not among the known ones: with the nearest of them, and all where they are few. */
export function unknownName(path: string, what: string, name: string, known: readonly string[]): PolicyError {
  const near = nearest(name, known);
  const hint = near === undefined ? '' : `; did you mean ${near}?`;
  const all = known.length > 0 && known.length <= MOST_LISTED ? ` (known: ${known.join(', ')})` : '';
  return new PolicyError(path, `${quoted(name)} is not ${what}${hint}${all}`);
}

// oxlint-disable-next-line no-control-regex
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
const EACH_UNPRINTABLE = new RegExp(UNPRINTABLE, 'g');

/** What a policy or a file says, as short as this and on one line. */
export function oneLine(text: string, most: number): string {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  // Nearly every text is plain already.
  return UNPRINTABLE.test(cut) || !cut.isWellFormed() ? cut.replace(EACH_UNPRINTABLE, '?').toWellFormed() : cut;
}

const MOST_QUOTED = 80;
export const quoted = (value: unknown): string =>
  `"${oneLine(typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value)), MOST_QUOTED)}"`;
