/** Why a policy is refused: where, and what is accepted there. */
import { nearest } from '../../base/nearest.ts';
import { oneLine } from '../../base/printable.ts';

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

const MOST_QUOTED = 80;
export const quoted = (value: unknown): string =>
  `"${oneLine(typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value)), MOST_QUOTED)}"`;
