/**
 * What tells a file from every other one under its address: a strong validator of its host, and its size. Two equal
 * identities are the same bytes, if the host keeps to RFC 9110.
 */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Versions of an object, by the header that names them. A bucket without versions says `null`. */
const VERSIONS = ['x-amz-version-id', 'x-goog-generation', 'x-ms-version-id'] as const;

/** Weak ones begin with `W/`. */
const STRONG_ETAG = /^"[\x21\x23-\x7e\x80-\xff]{1,1024}"$/;
const VERSION = /^[\x21-\x7e]{1,1024}$/;

export const IDENTITY_PATTERN = '^[A-Za-z0-9_-]{43}$';

const versionsOf = (headers: IncomingHttpHeaders): (string | undefined)[] =>
  VERSIONS.map((name) => headers[name]).map((value) =>
    typeof value === 'string' && VERSION.test(value) && value !== 'null' ? value : undefined,
  );

/** The validator that must stay the same between the parts of a file. */
export const markOf = ({ headers }: { headers: IncomingHttpHeaders }): string =>
  [headers.etag ?? headers['last-modified'], ...versionsOf(headers)].filter((one) => one !== undefined).join(' ');

/** Undefined: the host gives the file no strong validator, or does not tell its size. */
export function identityOf(headers: IncomingHttpHeaders, size: number | undefined): string | undefined {
  if (size === undefined) return undefined;
  const etag = headers.etag !== undefined && STRONG_ETAG.test(headers.etag) ? headers.etag : undefined;
  const versions = versionsOf(headers);
  if (etag === undefined && versions.every((version) => version === undefined)) return undefined;
  // Undefined ones are null in it, so that a version is never taken for a tag.
  return createHash('sha256')
    .update(JSON.stringify([etag, ...versions, size]))
    .digest('base64url');
}
