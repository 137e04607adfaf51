/** What a person reads of a waiver, wherever a finding or a rule is shown that it covers. */
import type { Waived } from './schema_parts.ts';

export const waivedWords = ({ reason, by, until }: Omit<Waived, 'waiver'>): string =>
  `waived until ${until.slice(0, 10)}${by === null ? '' : ` by ${by}`}: ${reason}`;
