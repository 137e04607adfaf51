/** Results on record, as comparisons read them: within the memory budget, given back by whoever asked. */
import { OverBudget } from '../../result/memory_budget.ts';
import { openResult } from '../../result/open_result.ts';
import { unpackResult, type Unpacked } from '../../result/unpack.ts';
import { isStoreError } from '../../store/errors.ts';
import type { RequestRecord } from '../../store/records.ts';
import { tokenOf, type Context } from '../http/context.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { unreadable } from '../probe/send_result.ts';

export interface StoredResult extends Unpacked {
  record: RequestRecord;
  /** Gives its place in the memory budget back. */
  release(): void;
}

/** Why there is nothing to compare, to be read behind the id. `missing`: it is not, or no longer, there. */
export interface NoResult {
  why: string;
  missing: boolean;
}

interface Wanted {
  kind: RequestRecord['kind'];
  /** The endpoint of that kind. */
  endpoint: string;
  signal: AbortSignal;
}

const EXPIRED: NoResult = { why: 'its result has expired', missing: true };

/** The request must be the caller's own, of this kind, and have a result. */
export async function storedResult(
  deps: Pick<Deps, 'store' | 'memory'>,
  ctx: Context,
  id: string,
  { kind, endpoint, signal }: Wanted,
): Promise<StoredResult | NoResult> {
  const { userId, rootUserId } = tokenOf(ctx);
  const record = await deps.store.readRequest(id.toLowerCase(), { userId });
  if (!record) return { why: 'not found', missing: true };
  if (record.kind !== kind) return { why: `is not a request of ${endpoint}`, missing: false };
  if (record.state === 'open') return { why: 'has not ended yet', missing: false };
  if (!record.hasBody) return { why: 'ended without a result', missing: false };
  const opened = await openResult(deps, record, rootUserId, signal).catch((error: unknown) => {
    throw error instanceof OverBudget
      ? new ApiError('unavailable', {
          text: 'too many results are being read; try again later',
          retryAfterS: error.retryAfterS,
        })
      : error;
  });
  if (!opened) return EXPIRED;
  const { packed, inflatedBytes, place } = opened;
  if (typeof packed === 'function') packed.pace = place.pace;
  try {
    return { ...(await unpackResult(packed, inflatedBytes)), record, release: () => place.release() };
  } catch (error) {
    place.release();
    // It was dropped between two reads.
    if (isStoreError(error, 'not-ready')) return EXPIRED;
    throw unreadable(error);
  }
}

/** Aborted when the caller hangs up. */
export function untilClosed(ctx: Context): AbortSignal {
  const gone = new AbortController();
  const closed = (): void => gone.abort(new ApiError('hung-up'));
  ctx.res.once('close', closed);
  if (ctx.res.closed) closed();
  return gone.signal;
}
