/**
 * Reads and checks the input by the endpoint's schema: the query of GET and DELETE, the body of POST and PUT. What that
 * takes of the event loop is charged to the caller's account, or address, whatever becomes of the call.
 */
import type { Static, TSchema } from 'typebox';
import type { Deps } from '../deps.ts';
import { ApiError, overQuota } from '../errors.ts';
import {
  BODIES,
  type Bounds,
  inputIn,
  JSON_TYPE,
  makeReceiver,
  queryPairs,
  refuseQuery,
  textIn,
} from './request_body.ts';
import { type Context, type Handler, payerOf, tokenOf } from './request_context.ts';
import { withoutDeadline } from './http_server.ts';
import { isReading } from './middleware.ts';
import { takeRequestRate } from './rate.ts';
import { readForm } from './upload_form.ts';
import { pause } from '../../../base/retry.ts';
import { makeReader } from './input/read_fields.ts';
import type { Side } from './endpoint_access.ts';

// Endpoints that take a file: it is removed with the response, unless its request goes on without the caller.

type ReadUpload = (otherwise: Handler, credentials: readonly string[]) => Handler;

type Parts = Pick<Deps, 'uploads' | 'store' | 'queueRoom' | 'paceOf' | 'log'>;

/** Refuses what would be refused after the last byte. Counts the call, and the request that it opens no second time. */
async function admit(deps: Parts, ctx: Context): Promise<void> {
  const { id: tokenId, userId, rootUserId, quotas } = tokenOf(ctx);
  deps.queueRoom.check(rootUserId);
  await takeRequestRate(deps, ctx);
  const exceeded = await deps.store.usedUpQuota({ tokenId, userId, quotas: { of: quotas, rootUserId } });
  if (exceeded !== null) throw overQuota(exceeded);
}

export const makeReadUpload = (deps: Parts): ReadUpload => {
  const { uploads, log } = deps;
  return (otherwise, credentials) =>
    async function readUpload(ctx, next) {
      if (!uploads || !ctx.request.is('multipart/form-data')) return otherwise(ctx, next);
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
};

interface Reading {
  schema: TSchema;
  /** Media types of a body that is a document itself: it is not checked by the schema. */
  text: readonly string[] | undefined;
  side: Side;
  bounds: Bounds;
  /** For an endpoint that takes a file in a multipart form. */
  readUpload: ReadUpload | undefined;
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
      const ended = new AbortController();
      const late = pause(LONGEST_WAIT_MS, ended.signal).then(() => true);
      const isLate = await Promise.race([waiting.then(() => false), late]);
      ended.abort();
      if (isLate) throw new ApiError('rate-limited', { retryAfterS: LONGEST_WAIT_MS / 1000 });
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
export function readInput(deps: Payers, { schema, text, side, bounds, readUpload }: Reading): Handler[] {
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
  const receiveForm = readUpload?.(receiveWhole, credentials) ?? receiveWhole;
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
