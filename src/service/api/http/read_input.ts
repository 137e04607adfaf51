/**
 * Reads and checks the input by the endpoint's schema: the query of GET and DELETE, the body of POST and PUT. What that
 * takes of the event loop is charged to the caller's account, or address, whatever becomes of the call. A body is read
 * within the bounds of its endpoint. Every encoding goes through the same strict parsers, and no part of a form without
 * a file is written to disk.
 */
import koaBody from 'koa-body';
import type { Static, TSchema } from 'typebox';
import { within } from '../../../base/retry.ts';
import type { Deps } from '../deps.ts';
import { ApiError, invalid, overQuota, unreadable } from '../errors.ts';
import type { Side } from './endpoint_access.ts';
import { withoutDeadline } from './http_server.ts';
import { JSON_BOUNDS, JsonRefused, parseJson, type JsonBounds } from './input/bounded_json.ts';
import { makeReader, or, parsePairs, shown, utf8, type Pair } from './input/read_fields.ts';
import { isReading } from './middleware.ts';
import { takeRequestRate } from './rate.ts';
import { type Context, type Handler, type Input, payerOf, tokenOf } from './request_context.ts';
import { notMultipart, parseForm, readForm } from './upload_form.ts';

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

const JSON_TYPE = 'application/json';
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

/** The rest of the body is not read. */
const close = { headers: { Connection: 'close' } };
const tooLarge = (most: number) =>
  unreadable(`must be at most ${most < KB * KB ? `${most / KB} kB` : `${most / KB / KB} MB`}`, close);

/**
 * Reads a text of one of these types, of at most so many bytes once it is inflated. koa-body bounds what a
 * body inflates to. What is sent is bounded here, in bytes and in chunks: empty gzip members inflate to nothing.
 */
function makeBytesReader(types: readonly string[], most: number): (ctx: Context) => Promise<Buffer> {
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
function makeReceiver(types: readonly string[], bounds: Bounds): (ctx: Context) => Promise<Body> {
  const read = makeBytesReader(types, bounds.bytes);
  return async (ctx) => {
    const type = ctx.request.is([...types]);
    if (!type) throw unreadable(`must be ${or(types)}`, { headers: { Accept: types.join(', ') } });
    const charset = ctx.request.charset.toLowerCase();
    if (charset !== '' && charset !== 'utf-8' && charset !== 'utf8') throw unreadable('must be UTF-8');
    checkEncoding(ctx, bounds);
    return { type, bytes: await read(ctx) };
  };
}

function json(text: string, bounds: JsonBounds): unknown {
  try {
    return parseJson(text, { ...bounds, used: 0 });
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw unreadable('is not valid JSON');
    throw error.repeated === undefined ? unreadable(error.message) : invalid(shown(error.repeated), error.message);
  }
}

async function multipart(bytes: Buffer, contentType: string): Promise<Pair[]> {
  const { pairs } = await parseForm([bytes], contentType).catch((error: unknown) => {
    throw error instanceof ApiError ? error : notMultipart(error);
  });
  return pairs;
}

/** As bytes: to replace them in a text of a megabyte takes 20 ms. */
function withoutPluses(bytes: Buffer): Buffer {
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === 0x2b) bytes[at] = 0x20;
  return bytes;
}

/** Only its own work: nothing is waited for. */
async function inputIn({ type, bytes }: Body, contentType: string, bounds: JsonBounds): Promise<Input> {
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

/** To parse more at once holds the event loop for too long, whatever else the endpoint takes. */
const MOST_JSON_BYTES = KB * KB;

function textIn({ type, bytes }: Body, bounds: JsonBounds): TextBody {
  if (type === JSON_TYPE && bytes.length > MOST_JSON_BYTES) throw tooLarge(MOST_JSON_BYTES);
  const text = utf8(bytes);
  return { mediaType: type, text, ...(type === JSON_TYPE ? { value: json(text, bounds) } : {}) };
}

/** Credentials in a query are never treated as fields. */
const queryPairs = (ctx: Context, credentials: readonly string[]): Pair[] =>
  parsePairs(ctx.querystring, 'query').filter(([name]) => !credentials.includes(name));

function refuseQuery(ctx: Context, credentials: readonly string[]): void {
  const [stray] = queryPairs(ctx, credentials);
  if (stray)
    throw new ApiError('invalid-field', {
      text: `"${shown(stray[0])}": is not accepted in the query of a ${ctx.method}; send fields in the body`,
    });
}

// Endpoints that take a file: it is removed with the response, unless its request goes on without the caller.

type Parts = Pick<Deps, 'uploads' | 'store' | 'queueRoom' | 'paceOf' | 'log'>;

/** Refuses what would be refused after the last byte. Counts the call, and the request that it opens no second time. */
async function admit(deps: Parts, ctx: Context): Promise<void> {
  const { id: tokenId, userId, rootUserId, quotas } = tokenOf(ctx);
  deps.queueRoom.check(rootUserId);
  await takeRequestRate(deps, ctx);
  const exceeded = await deps.store.usedUpQuota({ tokenId, userId, quotas: { of: quotas, rootUserId } });
  if (exceeded !== null) throw overQuota(exceeded);
}

/** `otherwise`: reads what holds no file. */
const receiveUpload = (deps: Parts, otherwise: Handler, credentials: readonly string[]): Handler =>
  async function readUpload(ctx, next) {
    const { uploads, log } = deps;
    if (!uploads || !ctx.request.is(MULTIPART)) return otherwise(ctx, next);
    refuseQuery(ctx, credentials);
    const { rootUserId, limits } = tokenOf(ctx);
    await admit(deps, ctx);
    withoutDeadline(ctx.req);
    const { pairs, upload } = await readForm(ctx.req, {
      spool: uploads.spool,
      account: rootUserId,
      maxBytes: Math.min(uploads.maxBytes, limits.fileBytes),
      hashed: ctx.get('Idempotency-Key') !== '',
      pace: uploads.pace,
      charge: deps.paceOf(rootUserId),
    });
    ctx.state.input = { form: 'form', pairs };
    if (!upload) return next();
    ctx.state.upload = { ...upload, kept: false };
    try {
      return await next();
    } finally {
      if (!ctx.state.upload.kept)
        await upload.remove().catch((error: unknown) => log.warn({ err: error }, 'cannot remove an upload'));
    }
  };

interface Reading {
  schema: TSchema;
  /** Media types of a body that is a document itself: it is not checked by the schema. */
  text: readonly string[] | undefined;
  /** `credentials`: names in the query that are none of its fields. */
  side: Pick<Side, 'emptyBody'> & { credentials: readonly string[] };
  bounds: Bounds;
  /** A multipart form may hold a file. */
  upload: boolean;
}

type Payers = Pick<Deps, 'paceOf' | 'accounts'>;

/** A call that would have to wait longer for its account's pace is refused. */
const LONGEST_WAIT_MS = 30_000;

const paceOf = ({ paceOf: paces, accounts }: Payers, ctx: Context) =>
  paces(payerOf(ctx, accounts.settings.trustedHops));

/** Hanging up does not help a caller: the next call waits for what was used, before its body is read. */
const awaitPace = (deps: Payers): Handler =>
  async function awaitTurn(ctx, next) {
    const waiting = paceOf(deps, ctx)(0);
    if (waiting) {
      const late = () => new ApiError('rate-limited', { retryAfterS: LONGEST_WAIT_MS / 1000 });
      await within(LONGEST_WAIT_MS, waiting, late);
      if (ctx.res.closed) throw new ApiError('hung-up');
    }
    return next();
  };

/** `work` waits for nothing but itself: the time until it has ended is time of the event loop. */
const charged = (deps: Payers, work: (ctx: Context) => Promise<void>): Handler =>
  async function chargeInput(ctx, next) {
    const began = performance.now();
    try {
      await work(ctx);
    } finally {
      await paceOf(deps, ctx)(performance.now() - began);
    }
    return next();
  };

const takesBody = ({ method }: Context): boolean => !isReading(method) && method !== 'DELETE';
const hasBody = (ctx: Context): boolean => (ctx.request.length ?? 0) > 0 || ctx.get('Transfer-Encoding') !== '';

/** The checked input is in `ctx.state.checked`; `checkedBy` returns it with its type. */
export function readInput(deps: Payers & Parts, { schema, text, side, bounds, upload }: Reading): Handler[] {
  const { credentials, emptyBody } = side;
  const types = text === undefined ? BODIES : [JSON_TYPE, ...text];
  const read = makeReader<unknown>(schema, bounds);
  const receiveBody = makeReceiver(types, bounds);

  const receiveWhole: Handler = async function receiveWhole(ctx, next) {
    if (text === undefined && emptyBody && !hasBody(ctx)) return next();
    refuseQuery(ctx, credentials);
    ctx.state.body = await receiveBody(ctx);
    return next();
  };
  const receiveForm = upload ? receiveUpload(deps, receiveWhole, credentials) : receiveWhole;
  const receive: Handler = function receiveInput(ctx, next) {
    return takesBody(ctx) ? receiveForm(ctx, next) : next();
  };

  async function understand(ctx: Context): Promise<void> {
    const { body } = ctx.state;
    // Not held while the call waits.
    ctx.state.body = undefined;
    if (text !== undefined) {
      ctx.state.checked = textIn(body!, bounds);
      return;
    }
    if (!takesBody(ctx)) ctx.state.input = { form: 'query', pairs: queryPairs(ctx, credentials) };
    else if (body) ctx.state.input = await inputIn(body, ctx.get('Content-Type'), bounds);
    ctx.state.checked = read(ctx.state.input ?? { form: 'json', value: {} });
  }
  return [awaitPace(deps), receive, charged(deps, understand)];
}

export const checkedBy = <T extends TSchema>(_schema: T, ctx: Context): Static<T> => ctx.state.checked as Static<T>;
