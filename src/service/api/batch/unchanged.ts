/** Whether the source of an item is the file that an earlier result is of. Its host is asked, and nothing runs. */
import { MOST_CACHE_AGE_S } from '../../../base/limits.ts';
import type { EarlierRequest } from '../../../platform/store/batches.ts';
import { isStoreError } from '../../../platform/store/errors.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import { UnreadableResult } from '../../result/inflate.ts';
import { openResult, readHead } from '../../result/unpack.ts';
import type { Deps } from '../deps.ts';
import { cacheAsked } from '../probe/cache_key.ts';
import type { ProbeRequest } from '../probe/probe_request.ts';

/** Undefined: its host gave the file no strong validator, or the result is not kept any more. */
async function identityIn(deps: Deps, earlier: EarlierRequest, account: number): Promise<string | undefined> {
  const opened = await openResult(deps, { ...earlier, inflatedBytes: null }, account);
  if (!opened) return undefined;
  try {
    return (await readHead(opened.packed)).identity;
  } catch (error) {
    if (error instanceof UnreadableResult || isStoreError(error, 'not-ready')) return undefined;
    throw error;
  } finally {
    opened.place.release();
  }
}

/** False where it is not known. */
export async function isUnchanged(
  deps: Deps,
  { earlier, token }: { earlier: EarlierRequest | null; token: TokenRecord },
  request: ProbeRequest,
): Promise<boolean> {
  const secret = deps.cache.secret();
  if (earlier === null || secret === undefined) return false;
  const asked = cacheAsked(request, MOST_CACHE_AGE_S, { token, catalog: deps.catalog(), secret });
  const identity = asked && (await identityIn(deps, earlier, token.rootUserId));
  return asked !== undefined && identity !== undefined && deps.cache.isStill(asked, identity);
}
