/** Parts of an address that are common to all schemes. Error messages here never repeat any part of the text. */
import { SourceError } from '../error.ts';
import type { Credentials, SourceClass } from '../source.ts';
import { decodeLoosely, endOfAuthority } from './s3.ts';

export const invalid = (message: string): SourceError => new SourceError('source-invalid', message);

export function splitUserInfo(text: string): { credentials?: Credentials; rest: string } {
  refuseBackslash(text);
  const end = endOfAuthority(text);
  const at = text.lastIndexOf('@', end - 1);
  if (at === -1) return { rest: text };
  const [user, password] = cutAt(text.slice(0, at), ':');
  const credentials = { user: decodeLoosely(user), password: decodeLoosely(password ?? '') };
  refuseControl(credentials.user + credentials.password, 'user info');
  if (credentials.user.includes(':')) throw invalid('the user name in url must not hold a colon');
  const rest = text.slice(at + 1);
  return credentials.user === '' && credentials.password === '' ? { rest } : { credentials, rest };
}

function hostAndPort(authority: string): { host: string; port?: number } {
  const match = /^(\[[^\]]*\]|[^:[\]]*)(?::(\d{0,5}))?$/.exec(authority);
  if (match === null || match[1] === '') throw invalid('url does not name a valid host');
  const host = webUrl('http', `${match[1]!}/`).hostname;
  if (match[2] === undefined || match[2] === '') return { host };
  const port = Number(match[2]);
  if (port < 1 || port > 65535) throw invalid('url does not name a valid port');
  return { host, port };
}

/** Parses authority and path by the URL standard, which normalises every spelling of a name or an IPv4 address. */
export function webUrl(scheme: string, rest: string): URL {
  refuseBackslash(rest);
  if (rest === '' || /^[/?#]/.test(rest)) throw invalid('url does not name a valid host');
  let url: URL;
  try {
    url = new URL(`${scheme}://${rest}`);
  } catch {
    throw invalid('url does not name a valid host and port');
  }
  if (url.hostname === '' || url.port === '0') throw invalid('url does not name a valid host and port');
  if (url.username !== '' || url.password !== '') throw invalid('url holds user info in the wrong place');
  url.hash = '';
  return url;
}

/**
 * The URL standard treats a backslash as a slash, other parsers do not, so they would see different hosts. In a query
 * it is harmless.
 */
function refuseBackslash(text: string): void {
  if (/^[^?#]*\\/.test(text)) throw invalid('url must not hold a backslash');
}

export function refuseControl(text: string, what: string): void {
  if (/\p{Cc}/u.test(text)) throw invalid(`the ${what} in url must not hold control characters`);
}

export const encodeQuery = (query: string): string => new URL(`http://h/?${query}`).search.slice(1);

export function cutAt(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

export function classOf(path: string): SourceClass {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  if (name.endsWith('.m3u8') || name.endsWith('.m3u')) return 'hls';
  return name.endsWith('.mpd') ? 'dash' : 'file';
}

/** Of a scheme other than HTTP: a host, a port and a path. `classIn`: the source class for a path. */
export function networkAddress(scheme: string, text: string, classIn: (path: string) => SourceClass = () => 'stream') {
  const { credentials, rest } = splitUserInfo(text);
  const end = endOfAuthority(rest);
  const { host, port } = hostAndPort(rest.slice(0, end));
  // Only the path is parsed by the rules of http. Name and port are parsed above, because http would drop its default
  // port.
  const tail = webUrl('http', `h${rest.slice(end)}`);
  if (/%0[ad]|%00/i.test(tail.pathname)) throw invalid('url must not hold control characters');
  const authority = port === undefined ? host : `${host}:${port}`;
  return {
    port,
    path: tail.pathname,
    query: tail.searchParams,
    source: {
      scheme,
      url: `${scheme}://${authority}${tail.pathname}${tail.search}`,
      ...(credentials === undefined ? {} : { credentials }),
      class: classIn(tail.pathname),
    },
  };
}
