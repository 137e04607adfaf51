/**
 * Reads a body. koa-body reads (and inflates) at most a megabyte. Parsing is done here, so that every encoding goes
 * through the same strict parsers, and no part of a multipart form is ever written to disk.
 */
import koaBody from 'koa-body';
import type { Context, Handler, Input } from './context.ts';
import { ApiError, invalid, unreadable } from '../errors.ts';
import { JSON_BOUNDS, JsonRefused, parseJson } from './input/json.ts';
import { MAX_PAIRS, parsePairs, shown, type Pair } from './input/pairs.ts';

const MAX_BYTES = 1024 * 1024;
const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';

const reader = (types: string[]) =>
  koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    text: true,
    textTypes: types,
    textLimit: MAX_BYTES,
    // One character per byte: UTF-8 is decoded below, where an invalid sequence is an error instead of a replacement
    // character.
    encoding: 'latin1',
    onError: (error: Error & { type?: string }) => {
      if (error.type === 'entity.too.large')
        throw unreadable('must be at most 1 MB', { headers: { Connection: 'close' } });
      throw unreadable('cannot be read', { detail: error.message, headers: { Connection: 'close' } });
    },
  });
const read = reader([JSON_TYPE, FORM, MULTIPART]);

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw unreadable('is not valid UTF-8');
  }
}

function json(bytes: Uint8Array): unknown {
  const text = utf8(bytes);
  try {
    return parseJson(text, { ...JSON_BOUNDS, used: 0 });
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw unreadable('is not valid JSON');
    throw error.repeated === undefined ? unreadable(error.message) : invalid(shown(error.repeated), error.message);
  }
}

async function multipart(bytes: Uint8Array<ArrayBuffer>, contentType: string): Promise<Pair[]> {
  let form: FormData;
  try {
    form = await new Response(bytes, { headers: { 'content-type': contentType } }).formData();
  } catch (error) {
    throw unreadable('is not valid multipart/form-data', { detail: (error as Error).message });
  }
  const pairs: Pair[] = [];
  for (const [name, value] of form) {
    if (pairs.length >= MAX_PAIRS) throw unreadable(`has more than ${MAX_PAIRS} fields`);
    if (typeof value !== 'string') throw invalid(shown(name), 'is a file; only text fields are accepted');
    pairs.push([name, value]);
  }
  return pairs;
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

function bytesOf(ctx: Context): Buffer<ArrayBuffer> {
  const charset = ctx.request.charset.toLowerCase();
  if (charset !== '' && charset !== 'utf-8' && charset !== 'utf8') throw unreadable('must be UTF-8');
  return Buffer.from((ctx.request as { body?: unknown }).body as string, 'latin1');
}

async function inputOf(ctx: Context, credentials: readonly string[]): Promise<Input> {
  refuseQuery(ctx, credentials);
  const type = ctx.request.is(JSON_TYPE, FORM, MULTIPART);
  if (!type)
    throw unreadable(`must be ${JSON_TYPE}, ${FORM} or ${MULTIPART}`, {
      headers: { Accept: `${JSON_TYPE}, ${FORM}, ${MULTIPART}` },
    });
  const bytes = bytesOf(ctx);
  if (type === JSON_TYPE) return { form: 'json', value: json(bytes) };
  if (type === FORM) return { form: 'form', pairs: parsePairs(utf8(bytes), 'body') };
  return { form: 'form', pairs: await multipart(bytes, ctx.get('content-type')) };
}

/** `credentials`: parameters that the query may contain in addition to the body. */
export const makeReadBody = (credentials: readonly string[]): Handler =>
  function readBody(ctx, next) {
    return (read as Handler)(ctx, async function parseBody() {
      ctx.state.input = await inputOf(ctx, credentials);
      return next();
    });
  };

export interface TextBody {
  mediaType: string;
  text: string;
}

/** For a body that is a document itself, JSON or another of these types: read as text, and parsed by the endpoint. */
export function makeReadText(others: readonly string[], { credentials }: { credentials: readonly string[] }): Handler {
  const types = [JSON_TYPE, ...others];
  const readBytes = reader(types) as Handler;
  return function readText(ctx, next) {
    return readBytes(ctx, async function takeText() {
      refuseQuery(ctx, credentials);
      const mediaType = ctx.request.is(types);
      if (!mediaType) throw unreadable(`must be ${types.join(', ')}`, { headers: { Accept: types.join(', ') } });
      const bytes = bytesOf(ctx);
      // Checked like every JSON body: readers would interpret a repeated name differently.
      if (mediaType === JSON_TYPE) json(bytes);
      ctx.state.checked = { mediaType, text: utf8(bytes) } satisfies TextBody;
      return next();
    });
  };
}
