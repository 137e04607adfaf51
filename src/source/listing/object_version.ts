/** A version of an object in a bucket, as listings and events name it: the same text for the same bytes. */
import { createHash } from 'node:crypto';
import type { ListedObject } from './page.ts';

/** A text of 22 characters. Of a host that gives no ETag, size and time are the version. */
export function versionOf({ etag, bytes, modified }: Omit<ListedObject, 'name'>): string {
  const bare = etag.replace(/^W\//, '').replaceAll('"', '');
  const text = bare === '' ? `${bytes} ${Math.floor(modified / 1_000)}` : bare;
  return createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url');
}
