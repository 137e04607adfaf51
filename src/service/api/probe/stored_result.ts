/** Stored results: read within the memory budget, and the answer that is made from the end of a request. */
import { Readable } from 'node:stream';
import { withWaivers } from '../../../media/policy/evaluate.ts';
import { MOST_REPORT_BYTES } from '../../../media/qc/limits.ts';
import type { QcWaived } from '../../../media/qc/waived.ts';
import type { Ended } from '../../../platform/bus/messages.ts';
import type { Output, ResultBody } from '../../../platform/bus/result_body.ts';
import { isStoreError } from '../../../platform/store/errors.ts';
import type { RequestRecord } from '../../../platform/store/requests.ts';
import { answerOf, hasEnvelope, JSON_TYPE, skippedSections, type ResponseForm } from '../../result/answer.ts';
import { UnreadableResult, type Packed } from '../../result/inflate.ts';
import { OverBudget, type Place } from '../../result/memory_budget.ts';
import { bytesOf, lengthOf, wholeOf, type Piece } from '../../result/pieces.ts';
import { textOf } from '../../result/texts.ts';
import {
  gathered,
  openResult,
  readTexts,
  unpackResult,
  type ResultRef,
  type Texts,
  type Unpacked,
} from '../../result/unpack.ts';
import { verdictOf } from '../../result/verdict.ts';
import type { Deps } from '../deps.ts';
import { ApiError, expired, inside, orNotFound } from '../errors.ts';
import { callerOf, type Context, nameIgnored, tokenOf, uuidOf } from '../http/request_context.ts';
import { type Of, waivedChecks, waiversOf } from '../waivers/applied.ts';

export interface StoredResult {
  result: ResultBody;
  /** Long outputs are not among them. */
  texts: Texts;
  record: RequestRecord;
  /** Place in the memory budget, released by the caller. */
  place: Place;
}

/** Why there is no result; `why`: the same as a text to follow the id. Requests of other users do not exist. */
export interface NoResult {
  absent: 'unknown' | 'other-kind' | 'open' | 'none' | 'expired' | 'unreadable';
  why: string;
}

interface Wanted {
  signal: AbortSignal;
  /** Accepts only requests of this kind, from this endpoint. */
  only?: { kind: RequestRecord['kind']; endpoint: string };
}

type Read<T> = (packed: Packed) => Promise<T>;

/** `value`: what was read of it. */
interface Opened<T> {
  packed: Packed;
  place: Place;
  value: T;
}

/** For the rejection of a reservation. */
export const noRoom =
  (text: string) =>
  (error: unknown): never => {
    if (!(error instanceof OverBudget)) throw error;
    throw new ApiError('unavailable', { text, retryAfterS: error.retryAfterS, reason: 'memory' });
  };

/**
 * Reads at the account's pace. `hint`: appended to the error if there is no memory. Null: the result is no longer
 * stored.
 */
async function readWithin<T>(
  deps: Pick<Deps, 'store' | 'memory'>,
  stored: ResultRef,
  account: number,
  read: Read<T>,
  { signal, hint }: { signal: AbortSignal; hint: string },
): Promise<Opened<T> | null> {
  const opened = await openResult(deps, stored, account, signal).catch(
    noRoom(`too many results are being read; ${hint}`),
  );
  if (!opened) return null;
  const { packed, place } = opened;
  if (typeof packed === 'function') packed.pace = place.pace;
  try {
    return { packed, place, value: await read(packed) };
  } catch (error) {
    place.release();
    // Deleted between two reads.
    if (isStoreError(error, 'not-ready')) return null;
    throw error;
  }
}

/** The request must be the caller's own, and have a result. */
export async function storedResult(
  deps: Pick<Deps, 'store' | 'memory'>,
  ctx: Context,
  id: string,
  { only, signal }: Wanted,
): Promise<StoredResult | NoResult> {
  const { userId, rootUserId } = tokenOf(ctx);
  const record = await deps.store.readRequest(id.toLowerCase(), { userId });
  if (!record) return { absent: 'unknown', why: 'does not exist' };
  if (only && record.kind !== only.kind) return { absent: 'other-kind', why: `is not a request of ${only.endpoint}` };
  if (record.state === 'open') return { absent: 'open', why: 'has not ended yet' };
  if (!record.hasBody) return { absent: 'none', why: 'ended without a result' };
  const read = async (packed: Packed) => {
    const unpacked = await unpackResult(packed);
    return { result: unpacked.result, texts: await readTexts(unpacked, packed) };
  };
  try {
    const opened = await readWithin(deps, record, rootUserId, read, { signal, hint: 'try again later' });
    if (!opened) return { absent: 'expired', why: 'has a result that has expired' };
    return { ...opened.value, record, place: opened.place };
  } catch (error) {
    if (error instanceof UnreadableResult) return { absent: 'unreadable', why: 'has a result that cannot be read' };
    throw error;
  }
}

/** The request that the path names, which must be the caller's own. */
export async function ownRequest({ store }: Pick<Deps, 'store'>, ctx: Context): Promise<RequestRecord> {
  const record = orNotFound(await store.readRequest(uuidOf(ctx), { userId: tokenOf(ctx).userId }));
  return record;
}

/** These outputs as texts: in the order of the body they are read in one pass. */
export async function outputTexts(
  { outputs }: Pick<Unpacked, 'outputs'>,
  packed: Packed,
  wanted: readonly Output[],
): Promise<string[]> {
  if (outputs) return wanted.map(({ from, to }) => outputs.toString('utf8', from, to));
  const all = await gathered(bytesOf(wanted.map(wholeOf), packed));
  let at = 0;
  return wanted.map(({ from, to }) => all.toString('utf8', at, (at += to - from)));
}

/** What a policy is judged on. */
export const judged = ({ result: { tools, report }, texts, record: { display } }: StoredResult) => ({
  result: { tools, ...(report ? { report } : {}) },
  texts,
  display,
});

/** Aborted when the caller disconnects. A response has one, whatever is tried for it how often. */
export function untilClosed({ state, res }: Context): AbortSignal {
  if (state.gone) return state.gone;
  const gone = new AbortController();
  const closed = (): void => gone.abort(new ApiError('hung-up'));
  res.once('close', closed);
  if (res.closed) closed();
  return (state.gone = gone.signal);
}

// Sends a response made from a stored result: its place in the memory budget, its way to the socket, and the error if
// there is no room.

/**
 * The place is released when the socket has taken the whole response, or is closed. `account`: who pays. Null: the
 * result is no longer stored.
 */
export async function resultFor<T>(
  deps: Pick<Deps, 'store' | 'memory'>,
  ctx: Context,
  stored: ResultRef,
  read: Read<T>,
  account = callerOf(ctx).rootUserId,
): Promise<Opened<T> | null> {
  const result = await readWithin(deps, stored, account, read, {
    signal: untilClosed(ctx),
    hint: `read this one later at /v1/probe/${stored.id}`,
  }).catch((error: unknown) => {
    if (!(error instanceof UnreadableResult)) throw error;
    throw inside(`a stored result cannot be read: ${error.message}`, error);
  });
  if (!result) return null;
  if (ctx.res.closed) result.place.release();
  else ctx.res.once('close', () => result.place.release());
  return result;
}

/** Shorter texts are written at once. */
const ONE_WRITE = 64 * 1024;

/** Sends pieces as fast as the socket takes them, so that the progress can be measured. */
export function sendPieces(ctx: Context, body: string | readonly Piece[], packed: Packed, contentType: string): void {
  if (typeof body === 'string' && body.length <= ONE_WRITE) {
    ctx.type = contentType;
    ctx.body = body;
    return;
  }
  const pieces = typeof body === 'string' ? [body] : body;
  ctx.body = Readable.from(bytesOf(pieces, packed), { objectMode: false });
  // Setting a stream clears type and length.
  ctx.type = contentType;
  ctx.length = lengthOf(pieces);
}

/** A result with what is waived now: of the verdict in its place, of the content checks beside their report. */
export const waivedNow =
  (
    deps: Pick<Deps, 'store'>,
    of: Of,
    { policy: asked, shown }: Pick<ResponseForm, 'policy' | 'shown'>,
  ): Read<{ unpacked: Unpacked; waived: QcWaived[] }> =>
  async (packed) => {
    const unpacked = await unpackResult(packed);
    const { tools, policy } = unpacked.result;
    const checks = shown.includes('qc') ? tools.find(({ name, format }) => name === 'qc' && format === 'json') : null;
    const name = policy === undefined ? null : (asked?.name ?? null);
    if (!checks?.output && name === null) return { unpacked, waived: [] };
    const waivers = await waiversOf(deps, of, name);
    const result = policy ? { ...unpacked.result, policy: withWaivers(policy, waivers.rules) } : unpacked.result;
    const output = waivers.checks.length > 0 ? checks?.output : null;
    const isRead = output && output.to - output.from <= MOST_REPORT_BYTES;
    const [report] = isRead ? await outputTexts(unpacked, packed, [output]) : [];
    return {
      unpacked: { ...unpacked, result },
      waived: report === undefined ? [] : waivedChecks(report, waivers),
    };
  };

const RETRY_AFTER_S: Readonly<Record<number, number>> = { 429: 10, 503: 5 };

/** An end without an envelope, as an error for the caller. */
function endError({ status, reason, error, code }: Pick<Ended, 'status' | 'reason' | 'error' | 'code'>): ApiError {
  return new ApiError('ended', {
    status,
    text: textOf({ reason, error }),
    detail: reason,
    reason,
    toolCode: code,
    retryAfterS: RETRY_AFTER_S[status],
  });
}

export async function answer(
  deps: Pick<Deps, 'store' | 'memory' | 'metrics'>,
  ctx: Context,
  end: Ended,
  request: Of & Pick<RequestRecord, 'submittedAt'>,
  form: ResponseForm,
): Promise<void> {
  if (!hasEnvelope(end)) throw endError(end);
  const began = performance.now();
  const { id, inflatedBytes = null, body, queueTimeMs, error = null, cache } = end;
  const inline = body === undefined ? undefined : Buffer.from(body, 'base64');
  const opened = await resultFor(
    deps,
    ctx,
    { id, submittedAt: request.submittedAt, inflatedBytes, inline },
    waivedNow(deps, request, form),
  );
  if (!opened) throw expired();
  const { packed, value } = opened;
  const { unpacked, waived } = value;
  const verdict = verdictOf(unpacked.result, form.policy);
  if (verdict) ctx.set('X-Policy-Outcome', verdict.outcome);
  const made = answerOf(unpacked, { requestId: id, queueTimeMs, error, cache, waived }, form);
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
