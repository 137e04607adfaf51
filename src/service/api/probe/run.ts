/**
 * Runs the request of a probe endpoint once it is read: opens it, follows it to its end and responds, or accepts it.
 */
import type { Ended } from '../../../platform/bus/messages.ts';
import { endedNotice } from '../../result/ended_notice.ts';
import { retry } from '../../../base/retry.ts';
import { isStoreError } from '../../../platform/store/errors.ts';
import { requestTrace } from '../../../platform/tracing/request_trace.ts';
import { answer, type EndedRequest } from './answer.ts';
import { tokenOf, type Context } from '../http/context.ts';
import { PREFERENCE_APPLIED, prefersAsync } from '../http/prefer.ts';
import type { Deps } from '../deps.ts';
import { keepUpload } from './keep_upload.ts';
import { follow } from './follow.ts';
import { openRequest, type OpenedRequest } from './open.ts';
import type { ProbeRequest } from './request.ts';

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
async function accept(deps: Deps, opened: OpenedRequest, { limits, upload }: ProbeRequest): Promise<Ended | null> {
  if (opened.job) {
    if (upload) {
      upload.kept = true;
      keepUpload(deps, opened.id, upload, limits);
    }
    await deps.handOver.start(opened, opened.job, limits.queueTimeoutMs);
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
  ended: EndedRequest,
  { response, limits }: ProbeRequest,
): Promise<void> {
  const spentMs = deps.store.clock.now() - ended.submittedAt.getTime();
  return retry(() => answer(deps, ctx, ended, response), {
    ...PAUSES,
    until: performance.now() + limits.queueTimeoutMs + limits.timeoutMs - spentMs,
    when: (error) => isStoreError(error, 'unreachable', 'timeout') && !deps.drain.over.aborted,
  });
}

/** The caller disconnected before the first byte of the response. */
const HUNG_UP = 499;

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
    trace.end(ctx.res.headersSent ? ctx.res.statusCode : HUNG_UP, {
      'http.route': route,
      'probeyard.request_id': ctx.state.requestId,
    }),
  );
}

export async function runProbe(deps: Deps, ctx: Context, request: ProbeRequest): Promise<void> {
  beginTrace(deps, ctx);
  const { idempotency } = request;
  const { rootUserId } = tokenOf(ctx);
  deps.queueRoom.check(rootUserId);
  deps.objectRoom.check();
  for (let tries = 1; ; tries++) {
    const opened = await openRequest(deps, ctx, request);
    if (opened.job) deps.queueRoom.opened(rootUserId);
    const end = request.waits ? await follow(deps, ctx, opened, request.limits) : await accept(deps, opened, request);
    if (end && idempotency && !opened.job && tries < TRIES && isNoResult(end)) {
      await deps.store.releaseKey(tokenOf(ctx).id, idempotency.key, opened.id);
      continue;
    }
    if (end) return answerInTime(deps, ctx, { end, submittedAt: opened.submittedAt }, request);
    if (prefersAsync(ctx)) ctx.set(PREFERENCE_APPLIED, 'respond-async');
    ctx.status = 202;
    ctx.body = { success: true, metadata: { request_id: opened.id } };
    return;
  }
}
