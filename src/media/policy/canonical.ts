/** A policy as it is kept: the same policy, however its members are ordered or spelt, is the same text and digest. */
import { createHash } from 'node:crypto';
import type { Policy } from './schema.ts';

/** By the members' names. A policy that was read is at most so deep that this may recurse. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, ordered(member)]),
  );
}

/** `digest`: SHA-256, in hex. */
export function canonicalPolicy(policy: Policy): { document: string; digest: string } {
  const document = JSON.stringify(ordered(policy));
  return { document, digest: createHash('sha256').update(document).digest('hex') };
}
