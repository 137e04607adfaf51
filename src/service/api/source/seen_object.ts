/** A version of an object as a source notes it, whether a listing or an event named it. */
import { createHash } from 'node:crypto';
import type { SeenObject } from '../../../platform/store/sources.ts';

/** `modified`: milliseconds, as its host says. */
export function seenObject(
  name: string,
  { version, at, modified }: { version: string; at: Date; modified: number | null },
): SeenObject {
  return {
    name,
    hash: createHash('sha256').update(name).digest().subarray(0, 16),
    version: Buffer.from(version, 'base64url').subarray(0, 16),
    at,
    modified: modified === null ? null : new Date(Math.min(modified, at.getTime())),
  };
}
