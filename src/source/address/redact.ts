import { knownProtocol } from '../protocols/table.ts';
import { readTokenOf } from '../upload/chunks.ts';
import { secretsInHeaders } from '../headers.ts';
import { HIDDEN, hideQuery } from '../../base/hide_query.ts';
import { parseSource } from './parse.ts';
import { decodeLoosely } from './s3.ts';
import type { Source } from '../source.ts';
import { cutAt } from './text.ts';

/** Scheme, host and last path segment; only the first segment if the path contains a stream key. */
export function displaySource(source: Source): string {
  const [, scheme = '', host = '', path = ''] = /^([a-z0-9]+):\/\/([^/?#]*)([^?#]*)/.exec(source.url) ?? [];
  const segments = path.split('/').filter((segment) => segment !== '');
  if (knownProtocol(scheme)?.keyInPath)
    return `${scheme}://${host}${segments[0] === undefined ? '' : `/${segments[0]}`}`;
  const last = segments.at(-1);
  return `${scheme}://${host}${segments.length > 1 ? '/…' : ''}${last === undefined ? '' : `/${last}`}`;
}

/**
 * A displayable address: no user info, no fragment, every query value hidden. Text that is not an address is hidden
 * completely.
 */
export function redactUrl(text: string): string {
  try {
    return hideQuery(parseSource(text).url);
  } catch {
    const scheme = /^([a-z][a-z0-9+.-]{0,20}):\/\//i.exec(text)?.[1]?.toLowerCase();
    return scheme === undefined ? HIDDEN : `${scheme}://${HIDDEN}`;
  }
}

/** The source's secrets, in the forms in which they can occur in a text. */
function secretsOf(source: Source): string[] {
  const raw: string[] = [];
  // A short word would also be removed from unrelated tool output. Tools never hold a credential, so only an origin
  // could echo it.
  const add = (value: string | undefined, least: number): void => {
    if (value !== undefined && value.length >= least) raw.push(value);
  };
  add(source.credentials?.password, 6);
  add(source.credentials?.user, 12);
  add(source.s3?.secret, 6);
  add(source.s3?.accessKey, 12);
  add(source.s3?.session, 6);
  add(source.s3?.bearer, 6);
  for (const value of secretsInHeaders(source.headers ?? [])) add(value, 6);
  if (source.upload) for (const value of [source.upload.key, readTokenOf(source.upload.key)]) add(value, 6);
  const [, query = ''] = cutAt(source.url, '?');
  // A further question mark is part of a value, or some hosts take it for another `&`.
  for (const pair of [...query.split('&'), ...query.split(/[&?]/)]) {
    const value = pair.slice(pair.indexOf('=') + 1);
    add(value, 12);
    add(decodeLoosely(value), 12);
  }
  if (source.credentials) {
    const { user, password } = source.credentials;
    add(Buffer.from(`${user}:${password}`).toString('base64'), 6);
  }
  const forms = new Set<string>();
  for (const value of raw) {
    const encoded = encodeURIComponent(value);
    for (const form of [
      value,
      encoded,
      encodeURI(value),
      encoded.replace(/%[0-9A-F]{2}/g, (c) => c.toLowerCase()),
      JSON.stringify(value).slice(1, -1),
      value.replaceAll('/', '\\/'),
      escapeXml(value),
    ]) {
      forms.add(form);
    }
  }
  return [...forms].sort((a, b) => b.length - a.length);
}

/** Removes the source's credentials, and the user info of any address, from a text. */
export function redactor(source: Source): (text: string) => string {
  const secrets = secretsOf(source);
  const pattern = secrets.length === 0 ? undefined : new RegExp(secrets.map(escapePattern).join('|'), 'g');
  return (text) => {
    // Starts at the colon: with the scheme in the pattern, each of its letters would be a starting point.
    const bare = text.replace(/(?<=[a-z0-9+.-])(:(?:\\?\/){2})[^\s/@"'<>\\]*@/gi, '$1');
    return pattern === undefined ? bare : bare.replace(pattern, HIDDEN);
  };
}

export const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

export const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
