/** Converts the end of a request to the response. */
import type { Ended } from '../../../platform/bus/messages.ts';
import { textOf } from '../../result/texts.ts';
import { unpackResult } from '../../result/unpack.ts';
import { verdictOf } from '../../result/verdict.ts';
import { answerOf, hasEnvelope, JSON_TYPE, skippedSections, type ResponseForm } from '../../result/answer.ts';
import { type Context, nameIgnored } from '../http/request_context.ts';
import type { Deps } from '../deps.ts';
import { ApiError, expired } from '../errors.ts';
import { resultFor, sendPieces } from './stored_result.ts';

const RETRY_AFTER_S: Readonly<Record<number, number>> = { 429: 10, 503: 5 };

/** An end without an envelope, as an error for the caller. */
function endError({ status, reason, error, code }: Pick<Ended, 'status' | 'reason' | 'error' | 'code'>): ApiError {
  const retryAfterS = RETRY_AFTER_S[status];
  return new ApiError('ended', {
    status,
    text: textOf({ reason, error }),
    detail: reason,
    reason,
    ...(code === undefined ? {} : { toolCode: code }),
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
  });
}

export async function answer(
  deps: Pick<Deps, 'store' | 'memory' | 'metrics'>,
  ctx: Context,
  end: Ended,
  submittedAt: Date,
  form: ResponseForm,
): Promise<void> {
  if (!hasEnvelope(end)) throw endError(end);
  const began = performance.now();
  const { id, inflatedBytes = null, body, queueTimeMs, error = null } = end;
  const inline = body === undefined ? undefined : Buffer.from(body, 'base64');
  const opened = await resultFor(deps, ctx, { id, submittedAt, inflatedBytes, inline }, unpackResult);
  if (!opened) throw expired();
  const { packed, value: unpacked } = opened;
  const verdict = verdictOf(unpacked.result, form.policy);
  if (verdict) ctx.set('X-Policy-Outcome', verdict.outcome);
  const made = answerOf(unpacked, { requestId: id, queueTimeMs, error }, form);
  nameIgnored(ctx, skippedSections(unpacked.result, form));
  ctx.status = 200;
  // HTML and XML contain data of the media: no browser may execute it on our origin.
  if (made.contentType !== JSON_TYPE)
    ctx.set({
      'Content-Security-Policy': "sandbox; default-src 'none'; style-src 'unsafe-inline'",
      'X-Content-Type-Options': 'nosniff',
    });
  sendPieces(ctx, made.body, packed, made.contentType);
  deps.metrics.step('answer', performance.now() - began);
}
