/**
 * S3 objects spelled as addresses. A secret is base64 and may contain an unescaped slash, which ends the authority for
 * a strict URL parser. Therefore the text is split at the first `@` that is followed by an S3 name.
 */
const AMAZON =
  /^(?:(?<bucket>[a-z0-9][a-z0-9._-]*)\.)?s3(?:-accelerate)?(?:\.dualstack)?(?:[.-](?<region>[a-z]{2}(?:-[a-z]+)+-\d+))?\.amazonaws\.com(?:\.cn)?$/i;

/**
 * An S3 name: Amazon's, or one listed by the operator (`name`, or `.name` with the bucket as a subdomain, each with an
 * optional port).
 */
export function s3Host(host: string, listed: readonly string[] = []): { bucket?: string; region?: string } | undefined {
  const match = AMAZON.exec(host);
  if (match?.groups) {
    const { bucket, region } = match.groups;
    return {
      ...(bucket === undefined ? {} : { bucket: bucket.toLowerCase() }),
      ...(region === undefined ? {} : { region: region.toLowerCase() }),
    };
  }
  const name = host.toLowerCase();
  for (const entry of listed) {
    const wanted = entry.toLowerCase();
    if (name === wanted) return {};
    if (wanted.startsWith('.') && name.endsWith(wanted) && name.length > wanted.length)
      return { bucket: name.slice(0, -wanted.length) };
  }
  return undefined;
}

export interface Split {
  user: string;
  password: string;
  rest: string;
}

/** A DNS name and a port. */
const LONGEST_AUTHORITY = 253 + 6;

const withoutPort = (authority: string): string => authority.replace(/:\d*$/, '');

/** Splits `KEY:SECRET@s3.amazonaws.com/…`, with any slash in SECRET; undefined if the text has another form. */
export function splitS3OverHttp(afterScheme: string, listed: readonly string[] = []): Split | undefined {
  const colon = afterScheme.indexOf(':');
  if (colon <= 0) return undefined;
  const user = afterScheme.slice(0, colon);
  if (/[/?#@[\]]/.test(user)) return undefined;
  // A host contains no `@`, so of several before a slash only the last can precede it. Each part is therefore examined
  // once.
  for (let from = colon; from < afterScheme.length;) {
    const part = afterScheme.slice(from, from + endOfAuthority(afterScheme.slice(from)));
    const at = from + part.lastIndexOf('@');
    const authority = at < from ? '' : part.slice(at - from + 1);
    from += part.length + 1;
    if (authority === '' || authority.length > LONGEST_AUTHORITY) continue;
    if (s3Host(authority, listed) === undefined && s3Host(withoutPort(authority), listed) === undefined) continue;
    const secret = afterScheme.slice(colon + 1, at);
    // host:8080/a@s3.amazonaws.com is a path on a host with a port, not a key with a secret.
    if (user.includes('.') && /^\d+[/?#]/.test(secret)) return undefined;
    return { user, password: secret, rest: afterScheme.slice(at + 1) };
  }
  return undefined;
}

export function endOfAuthority(text: string): number {
  const end = text.search(/[/?#]/);
  return end === -1 ? text.length : end;
}

/** Amazon's rule for a path: everything except unreserved characters is encoded, slashes are kept. */
export function encodeKey(key: string): string {
  return encodeStrictly(key).replace(/%2F/g, '/');
}

export const encodeStrictly = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

/** Percent-decodes where possible; a lone `%` is kept. */
export const decodeLoosely = (text: string): string =>
  decoded(text) ?? text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => decoded(run) ?? run);

/** Percent-decoded; undefined if any part is invalid. */
export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Servers decode once, and a gateway before them once more. What needs more rounds than this means no good. */
const MOST_DECODED = 8;

/**
 * Whether a server or a gateway may read a path as another one: it has a segment `.` or `..` (also with parameters,
 * `..;x`) or a backslash, in any encoding and however often encoded.
 */
export function climbs(path: string): boolean {
  let text = path;
  for (let round = 0; round < MOST_DECODED; round++) {
    const plain = decodeLoosely(text);
    if (plain === text) return /\\|(?:^|\/)\.{1,2}(?:;[^/]*)?(?:\/|$)/.test(plain);
    text = plain;
  }
  return true;
}
