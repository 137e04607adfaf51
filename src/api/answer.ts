/** From the end of a request to the answer to its caller. */
import { Readable } from 'node:stream';
import type { Ended } from '../bus/messages.ts';
import { JSON_TYPE } from '../envelope/assemble.ts';
import { unpackResult, type Unpacked } from '../envelope/unpack.ts';
import { answerOf, type Wanted } from '../envelope/wanted.ts';
import type { Context } from './context.ts';
import type { Deps } from './deps.ts';
import { GatewayError, inside } from './errors.ts';
import { makeLargeAnswers } from './large_answers.ts';

const RETRY_AFTER_QUEUE_S = 10;

/** Packed: results of this size may be of some megabytes. */
const LARGE = 128 * 1024;
const largeAnswers = makeLargeAnswers();

async function resultOf({ store }: Pick<Deps, 'store'>, ctx: Context, end: Ended, submittedAt: Date): Promise<Unpacked> {
  const packed = end.body === undefined ? await store.readBody(end.id, submittedAt) : Buffer.from(end.body, 'base64');
  if (!packed) throw inside('the record has no body where it says that there is one');
  if (packed.length > LARGE) await largeAnswers.place(ctx.res);
  return unpackResult(packed);
}

const TEXTS: Record<number, string> = {
  400: 'the request cannot be done',
  404: 'the source is not accessible',
  429: 'the request waited too long in the queue',
};

/** An end without a result, as the error that its caller gets. */
export function endError({ status, reason, error }: Pick<Ended, 'status' | 'reason' | 'error'>): GatewayError {
  const code = `ended-${reason.replaceAll(/(?<=[a-z])[A-Z]/g, '-$&').toLowerCase()}`;
  return new GatewayError(status, code, error ?? TEXTS[status] ?? 'something went wrong on our side', {
    headers: status === 429 ? { 'Retry-After': String(RETRY_AFTER_QUEUE_S) } : {},
  });
}

export async function answer(deps: Pick<Deps, 'store' | 'metrics'>, ctx: Context, end: Ended, submittedAt: Date, wanted: Wanted): Promise<void> {
  if (!end.hasBody) throw endError(end);
  const began = performance.now();
  const result = await resultOf(deps, ctx, end, submittedAt);
  const made = answerOf(result, { requestId: end.id, queueTimeMs: end.queueTimeMs }, wanted);
  ctx.status = made.status;
  ctx.type = made.contentType;
  // HTML and XML hold what stands in the media: no browser may run it as ours.
  if (made.contentType !== JSON_TYPE) ctx.set({ 'Content-Security-Policy': "sandbox; default-src 'none'; style-src 'unsafe-inline'", 'X-Content-Type-Options': 'nosniff' });
  if (typeof made.body === 'string') ctx.body = made.body;
  else {
    ctx.body = Readable.from(made.body, { objectMode: false });
    // A stream has no type of its own, and no length.
    ctx.type = made.contentType;
    ctx.length = made.body.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  }
  deps.metrics.step('answer', performance.now() - began);
}
