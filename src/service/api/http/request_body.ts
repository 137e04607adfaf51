/**
 * Reads a body within the bounds of its endpoint. Every encoding goes through the same strict parsers, and no part of a
 * form is written to disk.
 */
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import koaBody from 'koa-body';
import type { Context, Handler, Input } from './request_context.ts';
import { ApiError, invalid, unreadable } from '../errors.ts';
import { JSON_BOUNDS, JsonRefused, parseJson, type JsonBounds } from './input/bounded_json.ts';
import { MAX_PAIRS, parsePairs, shown, type Pair } from './input/read_fields.ts';

export interface Bounds extends JsonBounds {
  /** As sent, and inflated. */
  bytes: number;
  /** Whether a Content-Encoding is accepted. */
  inflates: boolean;
}

const KB = 1024;
export const BOUNDS: Bounds = { ...JSON_BOUNDS, bytes: KB * KB, inflates: true };
/** Where no credential is required: inflated, one kilobyte is a megabyte. */
export const BOUNDS_OF_ANYONE: Bounds = { ...BOUNDS, bytes: 16 * KB, inflates: false };

export const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';
export const BODIES = [JSON_TYPE, FORM, MULTIPART] as const;

const ENCODINGS = ['gzip', 'deflate', 'br'];

/**
 * A chunk costs 2 µs, however short it is: a megabyte of chunks of one byte takes more than a second. A body may have
 * this many chunks, and more if they are not short.
 */
const MOST_SHORT_CHUNKS = 1_000;
const SHORT_CHUNK = 64;

/** Of a form without a file. */
const FORM_LIMITS = {
  fieldNameSize: 512,
  fields: MAX_PAIRS,
  files: 1,
  parts: MAX_PAIRS + 1,
  headerPairs: 16,
  headerSize: 8 * KB,
};
/** What the parser is given at once: it goes on to the end of that after a refusal. */
const PARSED_PIECE = 4 * KB;

/** The rest of the body is not read. */
const close = { headers: { Connection: 'close' } };
const tooLarge = (most: number) =>
  unreadable(`must be at most ${most < KB * KB ? `${most / KB} kB` : `${most / KB / KB} MB`}`, close);

/** Reads a text of one of these types, of at most so many bytes once it is inflated. */
type Reader = (ctx: Context) => Promise<Buffer>;

/**
 * koa-body bounds what a body inflates to. What is sent is bounded here, in bytes and in chunks: empty gzip members
 * inflate to nothing.
 */
function makeReader(types: readonly string[], most: number): Reader {
  const read = koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    text: true,
    textTypes: [...types],
    textLimit: most,
    // One character per byte: UTF-8 is decoded below, where an invalid sequence is an error.
    encoding: 'latin1',
    onError: (error: Error & { type?: string }) => {
      if (error.type === 'entity.too.large') throw tooLarge(most);
      if (error.type === 'request.aborted') throw new ApiError('hung-up');
      throw unreadable('cannot be read', { detail: error.message, ...close });
    },
  }) as Handler;
  return async (ctx) => {
    const request = ctx.req;
    if (Number(request.headers['content-length'] ?? 0) > most) throw tooLarge(most);
    if (request.destroyed) throw new ApiError('hung-up');
    const refused = Promise.withResolvers<never>();
    let [chunks, length] = [0, 0];
    const count = (chunk: Buffer): void => {
      chunks += 1;
      length += chunk.length;
      const areShort = chunks > MOST_SHORT_CHUNKS && length < chunks * SHORT_CHUNK;
      if (length <= most && !areShort) return;
      request.removeAllListeners('data').pause();
      refused.reject(areShort ? unreadable('is sent in too many short chunks', close) : tooLarge(most));
    };
    const reading = Promise.resolve(read(ctx, async () => {}));
    // It listens already: the data begins to flow in a later turn.
    request.on('data', count);
    try {
      await Promise.race([reading, refused.promise]);
    } finally {
      request.off('data', count);
      reading.catch(() => {});
    }
    return Buffer.from((ctx.request as { body?: unknown }).body as string, 'latin1');
  };
}

function checkEncoding(ctx: Context, { inflates }: Bounds): void {
  const encoding = ctx.get('Content-Encoding').toLowerCase();
  if (encoding === '' || encoding === 'identity') return;
  const refused = (text: string) => new ApiError('unreadable-input', { text: `Content-Encoding: ${text}`, ...close });
  if (!inflates) throw refused('is not accepted here; send the body without one');
  if (!ENCODINGS.includes(encoding)) throw refused(`must be ${ENCODINGS.join(', ')}`);
}

export interface Body {
  type: string;
  bytes: Buffer;
}

/** The body, which must be of one of these types. */
export function makeReceiver(types: readonly string[], bounds: Bounds): (ctx: Context) => Promise<Body> {
  const read = makeReader(types, bounds.bytes);
  return async (ctx) => {
    const type = ctx.request.is([...types]);
    if (!type) throw unreadable(`must be ${listed(types)}`, { headers: { Accept: types.join(', ') } });
    const charset = ctx.request.charset.toLowerCase();
    if (charset !== '' && charset !== 'utf-8' && charset !== 'utf8') throw unreadable('must be UTF-8');
    checkEncoding(ctx, bounds);
    return { type, bytes: await read(ctx) };
  };
}

const listed = (types: readonly string[]): string =>
  types.length === 1 ? types[0]! : `${types.slice(0, -1).join(', ')} or ${types.at(-1)}`;

function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw unreadable('is not valid UTF-8');
  }
}

function json(text: string, bounds: JsonBounds): unknown {
  try {
    return parseJson(text, { ...bounds, used: 0 });
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw unreadable('is not valid JSON');
    throw error.repeated === undefined ? unreadable(error.message) : invalid(shown(error.repeated), error.message);
  }
}

function parserOf(contentType: string): BusboyInstance {
  try {
    return new Busboy({ headers: { 'content-type': contentType }, limits: FORM_LIMITS });
  } catch (error) {
    throw notMultipart(error as Error);
  }
}

const notMultipart = ({ message: detail }: Error): ApiError =>
  unreadable('is not valid multipart/form-data', { detail });

/** Counted while it is parsed. */
async function multipart(bytes: Buffer, contentType: string): Promise<Pair[]> {
  const parser = parserOf(contentType);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const pairs: Pair[] = [];
  const refuse = (error: ApiError): void => {
    parser.destroy();
    reject(error);
  };
  const tooMany = (): void => refuse(unreadable(`has more than ${MAX_PAIRS} fields`));
  parser
    .on('error', (error: Error) => refuse(notMultipart(error)))
    .on('fieldsLimit', tooMany)
    .on('partsLimit', tooMany)
    .on('file', (name, file) => {
      file.on('error', () => {}).resume();
      refuse(invalid(shown(name), 'is a file; only text fields are accepted'));
    })
    .on('field', (name: string | undefined, value) => {
      if (name === undefined) refuse(unreadable('is not valid multipart/form-data'));
      else pairs.push([name, value]);
    })
    .on('finish', resolve);
  for (let at = 0; at < bytes.length && !parser.destroyed; at += PARSED_PIECE)
    parser.write(bytes.subarray(at, at + PARSED_PIECE));
  if (!parser.destroyed) parser.end();
  await promise;
  // The parser replaces what is not valid. Last, because a file may be anything, and is refused as what it is.
  utf8(bytes);
  return pairs;
}

/** As bytes: to replace them in a text of a megabyte takes 20 ms. */
function withoutPluses(bytes: Buffer): Buffer {
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === 0x2b) bytes[at] = 0x20;
  return bytes;
}

/** Only its own work: nothing is waited for. */
export async function inputIn({ type, bytes }: Body, contentType: string, bounds: JsonBounds): Promise<Input> {
  if (type === JSON_TYPE) return { form: 'json', value: json(utf8(bytes), bounds) };
  if (type === FORM) return { form: 'form', pairs: parsePairs(utf8(withoutPluses(bytes)), 'body') };
  return { form: 'form', pairs: await multipart(bytes, contentType) };
}

/** A body that is a document itself. */
export interface TextBody {
  mediaType: string;
  text: string;
  /** Of JSON. It is checked like every JSON body: readers would interpret a repeated name differently. */
  value?: unknown;
}

export function textIn({ type, bytes }: Body, bounds: JsonBounds): TextBody {
  const text = utf8(bytes);
  return { mediaType: type, text, ...(type === JSON_TYPE ? { value: json(text, bounds) } : {}) };
}

/** Credentials in a query are never treated as fields. */
export const queryPairs = (ctx: Context, credentials: readonly string[]): Pair[] =>
  parsePairs(ctx.querystring, 'query').filter(([name]) => !credentials.includes(name));

export function refuseQuery(ctx: Context, credentials: readonly string[]): void {
  const [stray] = queryPairs(ctx, credentials);
  if (stray)
    throw new ApiError('invalid-field', {
      text: `"${shown(stray[0])}": is not accepted in the query of a ${ctx.method}; send fields in the body`,
    });
}
