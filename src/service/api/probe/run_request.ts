/**
 * Runs the request of a probe endpoint once it is read: opens it in the record, follows it to its end and responds, or
 * accepts it.
 */
import { retry } from '../../../base/retry.ts';
import type { Ended } from '../../../platform/bus/messages.ts';
import { isStoreError } from '../../../platform/store/errors.ts';
import { requestTrace } from '../../../platform/tracing/request_trace.ts';
import { endedNotice } from '../../result/ended_notice.ts';
import { TEXTS } from '../../result/texts.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { setRequestId, statusSent } from '../http/middleware.ts';
import { type Context, PREFERENCE_APPLIED, prefersAsync, tokenOf } from '../http/request_context.ts';
import type { Upload } from '../http/upload_form.ts';
import { cancel, createOrEnd, recordOwnEnd } from './job.ts';
import { displayOf, openRequest, type OpenedRequest } from './open_request.ts';
import { idempotencyOf, type ProbeRequest } from './probe_request.ts';
import { answer } from './stored_result.ts';

// Keeps an uploaded file for a request that goes on without its caller, until its end.

function keepUpload(
  { waiting, settings, log }: Pick<Deps, 'waiting' | 'settings' | 'log'>,
  id: string,
  upload: Upload,
  { queueTimeoutMs, timeoutMs }: ProbeRequest['limits'],
): void {
  const overdue = AbortSignal.timeout(queueTimeoutMs + timeoutMs + settings.graceMs);
  void waiting
    .wait(id, overdue)
    .catch(() => {})
    .then(() => upload.remove())
    .catch((error: unknown) => log.warn({ err: error }, 'cannot remove an upload'));
}

// Follows an open request to its end: has the job created, by the leader if it can, and waits for the end, unless the
// wait is aborted.

type Why = 'hung-up' | 'overdue' | 'drained';
class Stopped extends Error {
  readonly why: Why;
  constructor(why: Why) {
    super(`the wait ended: ${why}`);
    this.why = why;
  }
}

const OVERDUE = { status: 500, reason: 'DeadlineExceeded', error: TEXTS.DeadlineExceeded } as const;

/** The end of a request whose caller waits in `ctx`. */
async function follow(
  deps: Deps,
  ctx: Context,
  request: OpenedRequest,
  { limits, cache }: ProbeRequest,
): Promise<Ended> {
  const { drain, waiting, settings } = deps;
  const stop = new AbortController();
  const hungUp = (): void => stop.abort(new Stopped('hung-up'));
  const drained = (): void => stop.abort(new Stopped('drained'));
  const overdue = setTimeout(
    () => stop.abort(new Stopped('overdue')),
    limits.queueTimeoutMs + limits.timeoutMs + settings.graceMs,
  );
  ctx.res.once('close', hungUp);
  drain.over.addEventListener('abort', drained);
  if (drain.over.aborted) drained();
  else if (ctx.res.closed || (ctx.req.destroyed && !ctx.req.complete)) hungUp();

  let creating: Promise<Ended | null> = Promise.resolve(null);
  try {
    const end = waiting.wait(request.id, stop.signal);
    // The promise that loses the race below must not be an unhandled rejection.
    end.catch(() => {});
    if (stop.signal.aborted) return await end;
    if (!request.job) {
      // Its notice goes to the first caller, and may already have been sent.
      void waiting.lookNow();
      return await end;
    }
    const within = { withinMs: limits.queueTimeoutMs, signal: stop.signal };
    creating = createOrEnd(deps, request, request.job, within, fromCache(deps, request, { limits, cache }));
    // A create without a response may still have created the job: then the job's end counts.
    return await Promise.race([end, creating.then((own) => own ?? end)]);
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    return await stopped(deps, request, error.why, creating);
  } finally {
    clearTimeout(overdue);
    ctx.res.off('close', hungUp);
    drain.over.removeEventListener('abort', drained);
  }
}

/** What is tried before the job is created; undefined if the cache has no part in the request. */
export const fromCache = (
  { cache: results, settings }: Pick<Deps, 'cache' | 'settings'>,
  request: OpenedRequest,
  { limits, cache }: Pick<ProbeRequest, 'limits' | 'cache'>,
) =>
  cache &&
  ((signal: AbortSignal): Promise<Ended | null> =>
    results.endOf(request, cache, {
      signal,
      queueMs: limits.queueTimeoutMs,
      endsWithinMs: limits.queueTimeoutMs + limits.timeoutMs + settings.graceMs,
    }));

async function stopped(deps: Deps, request: OpenedRequest, why: Why, creating: Promise<unknown>): Promise<Ended> {
  const mine = request.job !== null;
  switch (why) {
    case 'drained':
      throw new ApiError('draining', {
        text: `this server is shutting down; read the result at /v1/probe/${request.id}`,
      });
    case 'hung-up':
      // During a shutdown the replica closes connections, so a disconnect is not the caller's wish.
      if (mine && !deps.drain.started) {
        await creating.catch(() => {});
        await cancel(deps, request);
      }
      throw new ApiError('hung-up');
    case 'overdue': {
      if (!mine) throw new ApiError('ended', { text: OVERDUE.error, detail: OVERDUE.reason, reason: OVERDUE.reason });
      const end = await recordOwnEnd(deps.store, request, OVERDUE);
      if (end.reason === OVERDUE.reason && !end.hasBody) await cancel(deps, request);
      return end;
    }
  }
}

/** Tries under one Idempotency-Key: each replaces one that ended without a result. */
const TRIES = 5;

/**
 * Whether a repeat under the same key should get a new try instead of this end: its first caller disconnected (perhaps
 * the reason for the repeat), or the fault was ours or temporary. Every other end is a result, and remains the response
 * for its key.
 */
const isNoResult = ({ hasBody, status }: Pick<Ended, 'hasBody' | 'status'>): boolean =>
  !hasBody && (status === 429 || status >= 499);

/**
 * Responds immediately. Returns an end that is not a result, for a repeat under the same key; null: the request is
 * accepted.
 */
async function accept(deps: Deps, opened: OpenedRequest, request: ProbeRequest): Promise<Ended | null> {
  const { limits, upload } = request;
  if (opened.job) {
    if (upload) {
      upload.kept = true;
      keepUpload(deps, opened.id, upload, limits);
    }
    await deps.handOver.start(opened, opened.job, limits.queueTimeoutMs, fromCache(deps, opened, request));
    return null;
  }
  const [end] = await deps.store.endsFor([opened.id]);
  return end && isNoResult(end) ? endedNotice(end) : null;
}

const PAUSES = { first: 100, longest: 1_000 };

/** A result that cannot be read because Postgres is away is held for its caller, within the time of the request. */
function answerInTime(
  deps: Deps,
  ctx: Context,
  end: Ended,
  submittedAt: Date,
  { response, limits, sources }: ProbeRequest,
): Promise<void> {
  const spentMs = deps.store.clock.now() - submittedAt.getTime();
  const of = { submittedAt, display: displayOf(sources), userId: tokenOf(ctx).userId };
  return retry(() => answer(deps, ctx, end, of, response), {
    ...PAUSES,
    until: performance.now() + limits.queueTimeoutMs + limits.timeoutMs - spentMs,
    when: (error) => isStoreError(error, 'unreachable', 'timeout') && !deps.drain.over.aborted,
  });
}

function beginTrace({ tracer, store }: Deps, ctx: Context): void {
  const route = String(ctx['_matchedRoute'] ?? '');
  const trace = requestTrace(tracer, {
    header: ctx.get('traceparent'),
    name: `${ctx.method} ${route}`,
    now: store.clock.now,
  });
  if (!trace) return;
  ctx.state.trace = trace;
  ctx.res.once('close', () =>
    trace.end(statusSent(ctx), {
      'http.route': route,
      'probeyard.request_id': ctx.state.requestId,
    }),
  );
}

export async function runProbe(deps: Deps, ctx: Context, request: ProbeRequest): Promise<void> {
  const waits = request.webhookUrl === null && !prefersAsync(ctx);
  const waiter = waits ? deps.settings.replica : null;
  const idempotency = idempotencyOf(ctx, request);
  beginTrace(deps, ctx);
  const { rootUserId } = tokenOf(ctx);
  deps.queueRoom.check(rootUserId);
  deps.objectRoom.check();
  for (let tries = 1; ; tries++) {
    const named = deps.store.newRequest();
    setRequestId(ctx, named.id);
    const opened = await openRequest(deps, ctx, request, { ...named, waiter, idempotency });
    setRequestId(ctx, opened.id);
    if (opened.job) deps.queueRoom.opened(rootUserId);
    const end = waits ? await follow(deps, ctx, opened, request) : await accept(deps, opened, request);
    if (end && idempotency && !opened.job && tries < TRIES && isNoResult(end)) {
      await deps.store.releaseKey(tokenOf(ctx).id, idempotency.key, opened.id);
      continue;
    }
    if (end) return answerInTime(deps, ctx, end, opened.submittedAt, request);
    if (prefersAsync(ctx)) ctx.set(PREFERENCE_APPLIED, 'respond-async');
    ctx.status = 202;
    ctx.body = { success: true, metadata: { request_id: opened.id } };
    return;
  }
}
