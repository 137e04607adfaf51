import { SourceError } from '../error.ts';
import { decodeLoosely, encodeKey, endOfAuthority, s3Host, s3Object, splitS3, splitS3OverHttp } from './s3.ts';
import { schemes, type Credentials, type Scheme, type Source, type SourceClass } from '../source.ts';

/** The longest address that is accepted, in characters. */
export const longestSource = 8192;

export type ParseOptions = {
  /** Names that speak S3 beside Amazon's: `minio.example.com`, `minio.example.com:9000`, `.minio.example.com`. */
  s3Hosts?: readonly string[];
};

const invalid = (message: string): SourceError => new SourceError('source-invalid', message);
const known: ReadonlySet<string> = new Set(schemes);

/** Reads an address in any of the offered spellings. No message of an error here repeats any part of the text. */
export function parseSource(text: string, options: ParseOptions = {}): Source {
  if (typeof text !== 'string') throw invalid('url must be a string');
  if (text.length > longestSource)
    throw new SourceError('source-too-long', `url must have at most ${longestSource} characters`);
  const trimmed = withoutBlanks(text);
  if (trimmed === '') throw invalid('url must not be empty');
  // The URL parser would silently drop tabs and line ends.
  if (/[\p{Cc}\u2028\u2029]/u.test(trimmed)) throw invalid('url must not hold control characters');
  if (!trimmed.isWellFormed()) throw invalid('url is not well-formed text');
  const match = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(trimmed);
  const scheme = match?.[1]?.toLowerCase();
  if (match === null || scheme === undefined || !known.has(scheme)) {
    throw new SourceError('source-scheme', `url must begin with one of ${schemes.map((s) => `${s}://`).join(' ')}`);
  }
  const rest = match[2]!;
  if (scheme === 's3') return parseS3(rest);
  if (scheme === 'http' || scheme === 'https') return parseWeb(scheme, rest, options.s3Hosts ?? []);
  return parseOther(scheme as Scheme, rest);
}

/** ` +$` in a pattern would be tried at every blank inside the text. */
function withoutBlanks(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && text[from] === ' ') from++;
  while (to > from && text[to - 1] === ' ') to--;
  return text.slice(from, to);
}

function parseS3(text: string): Source {
  const split = splitS3(text);
  const rest = split?.rest ?? text;
  const slash = rest.search(/[/?#@]/);
  const bucket = slash === -1 ? rest : rest.slice(0, slash);
  if (slash === -1 || rest[slash] !== '/') throw invalid('url must name a bucket and a path: s3://BUCKET/PATH');
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/.test(bucket) || bucket.includes('..'))
    throw invalid('url does not name a valid bucket');
  const [path, query] = cutAt(rest.slice(slash + 1), '?');
  const key = decodeLoosely(path);
  if (key === '') throw invalid('url must name a path in the bucket');
  refuseControl(key, 'path');
  return {
    scheme: 's3',
    url: `s3://${bucket}/${encodeKey(key)}${query === undefined ? '' : `?${encodeQuery(query)}`}`,
    s3: s3Object(bucket, key, split === undefined ? undefined : keysOf(split.user, split.password ?? '')),
    class: classOf(key),
  };
}

function parseWeb(scheme: 'http' | 'https', text: string, s3Hosts: readonly string[]): Source {
  const s3 = splitS3OverHttp(text, s3Hosts);
  if (s3 !== undefined) return parseS3OverHttp(scheme, s3.user, s3.password ?? '', s3.rest, s3Hosts);
  const { credentials, rest } = splitUserInfo(text);
  const url = webUrl(scheme, rest);
  return { scheme, url: url.href, ...(credentials === undefined ? {} : { credentials }), class: classOf(url.pathname) };
}

function parseS3OverHttp(
  scheme: 'http' | 'https',
  user: string,
  password: string,
  rest: string,
  s3Hosts: readonly string[],
): Source {
  const url = webUrl(scheme, rest);
  const host = s3Host(url.host, s3Hosts) ?? s3Host(url.hostname, s3Hosts);
  if (host === undefined) throw invalid('url does not name a valid host');
  // The path as it was written: dots and double slashes are part of an object's name.
  const [path, query] = cutAt(cutAt(rest.slice(endOfAuthority(rest)), '#')[0], '?');
  const [first, key] = host.bucket === undefined ? cutAt(path.slice(1), '/') : [host.bucket, path.slice(1)];
  const bucket = decodeLoosely(first);
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/.test(bucket)) throw invalid('url does not name a valid bucket');
  if (key === undefined || key === '') throw invalid('url must name a path in the bucket');
  const name = decodeLoosely(key);
  refuseControl(name, 'path');
  const style = host.bucket === undefined ? 'path' : 'host';
  const search = query === undefined ? '' : `?${encodeQuery(query)}`;
  return {
    scheme,
    url: `${scheme}://${url.host}/${style === 'path' ? `${bucket}/` : ''}${encodeKey(name)}${search}`,
    s3: s3Object(bucket, name, keysOf(user, password), host, style),
    class: classOf(name),
  };
}

function parseOther(scheme: Scheme, text: string): Source {
  const { credentials, rest } = splitUserInfo(text);
  const end = endOfAuthority(rest);
  const { host, port } = hostAndPort(rest.slice(0, end));
  // http only lends its rules for a path; the name and the port are read above, so that no default port of http's is
  // lost.
  const tail = webUrl('http', `h${rest.slice(end)}`);
  if (/%0[ad]|%00/i.test(tail.pathname)) throw invalid('url must not hold control characters');
  if (scheme === 'srt') {
    if (port === undefined) throw invalid('an srt url must name a port');
    const mode = tail.searchParams.get('mode');
    if (mode !== null && mode !== 'caller') throw invalid('an srt url can only call (mode=caller)');
  }
  const path = scheme === 'srt' && tail.pathname === '/' ? '' : tail.pathname;
  const url = `${scheme}://${host}${port === undefined ? '' : `:${port}`}${path}${tail.search}`;
  return {
    scheme,
    url,
    ...(credentials === undefined ? {} : { credentials }),
    class: scheme === 'ftp' ? classOf(tail.pathname) : 'stream',
  };
}

function splitUserInfo(text: string): { credentials?: Credentials; rest: string } {
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

/** Authority and path by the URL standard, which folds every spelling of a name or an IPv4 address into one. */
function webUrl(scheme: 'http' | 'https', rest: string): URL {
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
 * The URL standard takes a backslash for a slash, other parsers do not: the two would see different hosts. In a query
 * it is harmless.
 */
function refuseBackslash(text: string): void {
  if (/^[^?#]*\\/.test(text)) throw invalid('url must not hold a backslash');
}

function keysOf(user: string, secret: string): { accessKey: string; secret: string } {
  const keys = { accessKey: decodeLoosely(user), secret: decodeLoosely(secret) };
  // The key is written into a header with commas and slashes around it.
  if (!/^[\x21-\x7e]+$/.test(keys.accessKey) || /[,/\s]/.test(keys.accessKey))
    throw invalid('url does not hold a valid access key');
  if (keys.secret === '') throw invalid('url holds an access key without a secret');
  refuseControl(keys.secret, 'secret');
  return keys;
}

function refuseControl(text: string, what: string): void {
  if (/\p{Cc}/u.test(text)) throw invalid(`the ${what} in url must not hold control characters`);
}

const encodeQuery = (query: string): string => new URL(`http://h/?${query}`).search.slice(1);

function cutAt(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function classOf(path: string): SourceClass {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  if (name.endsWith('.m3u8') || name.endsWith('.m3u')) return 'hls';
  return name.endsWith('.mpd') ? 'dash' : 'file';
}
