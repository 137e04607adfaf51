/** What is answered to a request for a sample: pure. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

export interface SampleFile {
  type: string;
  etag: string;
  body: Buffer;
}

export interface SampleRequest {
  method: string | undefined;
  /** As in the request line. */
  target: string | undefined;
  headers: IncomingHttpHeaders;
}

export interface Response {
  status: number;
  headers: OutgoingHttpHeaders;
  body: Buffer;
}

const NOTHING = Buffer.alloc(0);
const refusal = (status: number, text: string, headers: OutgoingHttpHeaders = {}): Response => {
  const body = Buffer.from(`${text}\n`);
  const type = 'text/plain; charset=utf-8';
  return { status, headers: { ...headers, 'content-type': type, 'content-length': body.length }, body };
};

/** Of the path alone. Undefined: it is not valid. */
function nameIn(target: string): string | undefined {
  const [path = ''] = target.split('?');
  try {
    return decodeURIComponent(path).replace(/^\//, '');
  } catch {
    return undefined;
  }
}

/** First and last byte. Undefined: the whole is sent, as for several ranges or a unit other than bytes. */
export function rangeIn(text: string | undefined, size: number): [first: number, last: number] | 'none' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(text ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') return Number(last) === 0 || size === 0 ? 'none' : [Math.max(0, size - Number(last)), size - 1];
  if (last !== '' && Number(last) < Number(first)) return undefined;
  if (Number(first) >= size) return 'none';
  return [Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1)];
}

const names = (list: string, etag: string): boolean =>
  list.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag);

export function respond(
  { method, target = '', headers }: SampleRequest,
  files: ReadonlyMap<string, SampleFile>,
): Response {
  if (method !== 'GET' && method !== 'HEAD') return refusal(405, 'only GET and HEAD', { allow: 'GET, HEAD' });
  const name = nameIn(target);
  if (name === undefined) return refusal(400, 'the path is not valid');
  const file = files.get(name);
  if (file === undefined) return refusal(404, 'not found');
  const { type, etag, body } = file;
  const common = {
    'accept-ranges': 'bytes',
    'cache-control': 'no-cache',
    'content-type': type,
    'x-content-type-options': 'nosniff',
    etag,
  };
  const seen = headers['if-none-match'];
  if (seen !== undefined && names(seen, etag)) return { status: 304, headers: common, body: NOTHING };
  // A range of a file that has changed since is the whole of the new one.
  const condition = headers['if-range'];
  const range = condition === undefined || condition === etag ? rangeIn(headers.range, body.length) : undefined;
  if (range === 'none')
    return refusal(416, 'the range is not in the file', { 'content-range': `bytes */${body.length}` });
  const [first, last] = range ?? [0, body.length - 1];
  const part = range && { 'content-range': `bytes ${first}-${last}/${body.length}` };
  return {
    status: range ? 206 : 200,
    headers: { ...common, ...part, 'content-length': last - first + 1 },
    body: method === 'HEAD' ? NOTHING : body.subarray(first, last + 1),
  };
}
