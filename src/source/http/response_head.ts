/** Heads of responses, from a host that may be hostile. */
import type { IncomingHttpHeaders } from 'node:http';

/** The head of a response of HTTP/1, and what it says of the body and the connection. */
export interface ResponseHead {
  status: number;
  headers: IncomingHttpHeaders;
  /** A number: the bytes of the body. `close`: it ends with the connection. */
  body: number | 'chunked' | 'close';
  keepsAlive: boolean;
  /** How long the host keeps the connection without a request, if it says so. */
  keptMs: number | undefined;
}

/** The response breaks the rules of HTTP/1. */
export class ResponseError extends Error {}

/** Of Node, too. */
export const LONGEST_HEAD = 16_384;

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Repeated, the first is taken, as by Node. */
const ONCE: ReadonlySet<string> = new Set(['content-type', 'etag', 'last-modified', 'location', 'server', 'age']);
const LONGEST_LENGTH = 15;

const BEGINNING = Buffer.from('HTTP/1.');

/**
 * Where the head ends that `bytes` begin with, without its empty line; undefined: not yet. The first `from` bytes were
 * looked at before. What is no head is refused by the first bytes, or the first line, that show it.
 */
export function headEnd(bytes: Buffer, from: number): number | undefined {
  const known = Math.min(bytes.length, BEGINNING.length);
  if (bytes.compare(BEGINNING, 0, known, 0, known) !== 0) throw new ResponseError('status line');
  for (let at = bytes.indexOf(10, from); at !== -1; at = bytes.indexOf(10, at + 1)) {
    if (bytes[at - 1] !== 13) throw new ResponseError('line that ends in LF alone');
    if (bytes[at - 2] === 10) return at - 3;
  }
  return undefined;
}

/** `text`: in Latin-1, without the empty line. */
export function parseHead(text: string): ResponseHead {
  const [first = '', ...lines] = text.split('\r\n');
  const [, minor, code] = STATUS_LINE.exec(first) ?? [];
  if (code === undefined) throw new ResponseError('status line');
  const headers = headersOf(lines);
  const status = Number(code);
  const body = bodyOf(status, headers);
  const said = words(headers.connection);
  const keepsAlive = body !== 'close' && (minor === '1' ? !said.includes('close') : said.includes('keep-alive'));
  const seconds = /(?:^|[,\s])timeout=(\d{1,6})(?:$|[,\s])/i.exec(headers['keep-alive']?.toString() ?? '')?.[1];
  return { status, headers, body, keepsAlive, keptMs: seconds === undefined ? undefined : Number(seconds) * 1000 };
}

function headersOf(lines: readonly string[]): IncomingHttpHeaders {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).toLowerCase();
    const value = line.slice(colon + 1);
    if (!NAME.test(name) || !VALUE.test(value)) throw new ResponseError('header');
    const known = headers.get(name);
    if (known !== undefined && name === 'content-length') throw new ResponseError('two lengths');
    if (known === undefined) headers.set(name, trimmed(value));
    else if (!ONCE.has(name)) headers.set(name, `${known}, ${trimmed(value)}`);
  }
  return Object.assign(Object.create(null) as IncomingHttpHeaders, Object.fromEntries(headers));
}

function bodyOf(status: number, headers: IncomingHttpHeaders): ResponseHead['body'] {
  const { 'transfer-encoding': encoding, 'content-length': length } = headers;
  if (encoding !== undefined && length !== undefined) throw new ResponseError('length and transfer-encoding');
  if (length !== undefined && (!/^\d+$/.test(length) || length.length > LONGEST_LENGTH))
    throw new ResponseError('length');
  if (status < 200 || status === 204 || status === 304) return 0;
  if (encoding !== undefined) return words(encoding).at(-1) === 'chunked' ? 'chunked' : 'close';
  return length === undefined ? 'close' : Number(length);
}

const words = (list = ''): string[] => list.split(',').map((word) => trimmed(word).toLowerCase());

/** Spaces and tabs only, in linear time. */
function trimmed(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && isSpace(text, from)) from++;
  while (to > from && isSpace(text, to - 1)) to--;
  return text.slice(from, to);
}

const isSpace = (text: string, at: number): boolean => text[at] === ' ' || text[at] === '\t';
