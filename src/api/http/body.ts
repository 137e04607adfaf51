/**
 * Reads a body within the bounds of its endpoint. Every encoding goes through the same strict parsers, and no part of a
 * form is written to disk.
 */
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { Context, Input } from './context.ts';
import { ApiError, invalid, unreadable } from '../errors.ts';
import { JSON_BOUNDS, JsonRefused, parseJson, type JsonBounds } from './input/json.ts';
import { MAX_PAIRS, parsePairs, shown, type Pair } from './input/pairs.ts';

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

const INFLATE = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
} as const;
/** Each piece is one callback. */
const INFLATED_PIECE = 64 * KB;

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

function readBytes(request: IncomingMessage, most: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > most) throw tooLarge(most);
  if (request.destroyed) throw new ApiError('hung-up');
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const pieces: Buffer[] = [];
  let length = 0;
  const refuse = (error: ApiError): void => {
    request.off('data', take).pause();
    reject(error);
  };
  function take(piece: Buffer): void {
    pieces.push(piece);
    length += piece.length;
    if (length > most) refuse(tooLarge(most));
    else if (pieces.length > MOST_SHORT_CHUNKS && length < pieces.length * SHORT_CHUNK)
      refuse(unreadable('is sent in too many short chunks', close));
  }
  request
    .on('data', take)
    .once('end', () => resolve(Buffer.concat(pieces, length)))
    .once('close', () => reject(new ApiError('hung-up')));
  return promise;
}

function encodingOf(ctx: Context, { inflates }: Bounds): keyof typeof INFLATE | null {
  const encoding = ctx.get('Content-Encoding').toLowerCase();
  if (encoding === '' || encoding === 'identity') return null;
  const refused = (text: string) => new ApiError('unreadable-input', { text: `Content-Encoding: ${text}`, ...close });
  if (!inflates) throw refused('is not accepted here; send the body without one');
  if (!Object.hasOwn(INFLATE, encoding)) throw refused(`must be ${Object.keys(INFLATE).join(', ')}`);
  return encoding as keyof typeof INFLATE;
}

async function inflated(bytes: Buffer, encoding: keyof typeof INFLATE, most: number): Promise<Buffer> {
  try {
    return await INFLATE[encoding](bytes, { maxOutputLength: most, chunkSize: INFLATED_PIECE });
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(most);
    throw unreadable('cannot be read', { detail: (error as Error).message });
  }
}

export interface Body {
  type: string;
  bytes: Buffer;
}

/** The body, which must be of one of these types. */
export async function receiveBody(ctx: Context, types: readonly string[], bounds: Bounds): Promise<Body> {
  const type = ctx.request.is([...types]);
  if (!type) throw unreadable(`must be ${listed(types)}`, { headers: { Accept: types.join(', ') } });
  const charset = ctx.request.charset.toLowerCase();
  if (charset !== '' && charset !== 'utf-8' && charset !== 'utf8') throw unreadable('must be UTF-8');
  const encoding = encodingOf(ctx, bounds);
  const bytes = await readBytes(ctx.req, bounds.bytes);
  return { type, bytes: encoding === null ? bytes : await inflated(bytes, encoding, bounds.bytes) };
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
