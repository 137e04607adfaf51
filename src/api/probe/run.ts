/**
 * Runs the request of a probe endpoint once it is read: opens it, follows it to its end and responds, or accepts it.
 */
import type { Ended } from '../../bus/messages.ts';
import { endedNotice } from '../../result/ended_notice.ts';
import { answer } from './answer.ts';
import { tokenOf, type Context } from '../http/context.ts';
import { PREFERENCE_APPLIED, prefersAsync } from '../http/prefer.ts';
import type { Deps } from '../deps.ts';
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
async function accept(deps: Deps, opened: OpenedRequest, { limits }: ProbeRequest): Promise<Ended | null> {
  if (opened.job) {
    await deps.handOver.start(opened, opened.job, limits.queueTimeoutMs);
    return null;
  }
  const [end] = await deps.store.endsFor([opened.id]);
  return end && isNoResult(end) ? endedNotice(end) : null;
}

export async function runProbe(deps: Deps, ctx: Context, request: ProbeRequest): Promise<void> {
  const { idempotency } = request;
  deps.queueRoom.check();
  for (let tries = 1; ; tries++) {
    const opened = await openRequest(deps, ctx, request, tries > 1);
    if (opened.job) deps.queueRoom.opened();
    const end = request.waits ? await follow(deps, ctx, opened, request.limits) : await accept(deps, opened, request);
    if (end && idempotency && !opened.job && tries < TRIES && isNoResult(end)) {
      await deps.store.releaseKey(tokenOf(ctx).id, idempotency.key, opened.id);
      continue;
    }
    if (end) return answer(deps, ctx, end, opened.submittedAt, request.response);
    if (prefersAsync(ctx)) ctx.set(PREFERENCE_APPLIED, 'respond-async');
    ctx.status = 202;
    ctx.body = { success: true, metadata: { request_id: opened.id } };
    return;
  }
}
