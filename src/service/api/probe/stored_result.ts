/** Stored results for comparisons and policies: read within the memory budget, released by the caller. */
import { UnreadableResult } from '../../result/inflate.ts';
import { OverBudget, type Place } from '../../result/memory_budget.ts';
import { openResult, type OpenResult, type StoredResult as Kept } from '../../result/open_result.ts';
import { readTexts, unpackResult, type Texts } from '../../result/unpack.ts';
import { isStoreError } from '../../../platform/store/errors.ts';
import type { RequestRecord } from '../../../platform/store/records.ts';
import { tokenOf, type Context } from '../http/context.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import type { ResultBody } from '../../../platform/bus/result_body.ts';

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

const EXPIRED: NoResult = { absent: 'expired', why: 'has a result that has expired' };

/**
 * Reads at the account's pace. `hint`: appended to the error if there is no memory. Null: the result is no longer
 * stored.
 */
export async function openWithin(
  deps: Pick<Deps, 'store' | 'memory'>,
  stored: Kept,
  account: number,
  { signal, hint }: { signal: AbortSignal; hint: string },
): Promise<OpenResult | null> {
  const opened = await openResult(deps, stored, account, signal).catch((error: unknown) => {
    if (!(error instanceof OverBudget)) throw error;
    const { retryAfterS } = error;
    throw new ApiError('unavailable', {
      text: `too many results are being read; ${hint}`,
      retryAfterS,
      reason: 'memory',
    });
  });
  if (opened && typeof opened.packed === 'function') opened.packed.pace = opened.place.pace;
  return opened;
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
  const opened = await openWithin(deps, record, rootUserId, { signal, hint: 'try again later' });
  if (!opened) return EXPIRED;
  const { packed, place } = opened;
  try {
    const unpacked = await unpackResult(packed);
    return { result: unpacked.result, texts: await readTexts(unpacked, packed), record, place };
  } catch (error) {
    place.release();
    // Deleted between two reads.
    if (isStoreError(error, 'not-ready')) return EXPIRED;
    if (error instanceof UnreadableResult) return { absent: 'unreadable', why: 'has a result that cannot be read' };
    throw error;
  }
}

/** What a policy is judged on. */
export const judged = ({ result: { tools, report }, texts, record: { display } }: StoredResult) => ({
  result: { tools, ...(report ? { report } : {}) },
  texts,
  display,
});

/** Aborted when the caller disconnects. */
export function untilClosed(ctx: Context): AbortSignal {
  const gone = new AbortController();
  const closed = (): void => gone.abort(new ApiError('hung-up'));
  ctx.res.once('close', closed);
  if (ctx.res.closed) closed();
  return gone.signal;
}
