/** Whether the source of an item is the file that an earlier result is of. Its host is asked, and nothing runs. */
import { MOST_CACHE_AGE_S } from '../../../base/limits.ts';
import type { EarlierRequest } from '../../../platform/store/batches.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import { readHead, withResult } from '../../result/unpack.ts';
import type { Deps } from '../deps.ts';
import { cacheAsked } from '../probe/cache_key.ts';
import type { ProbeRequest } from '../probe/probe_request.ts';
import { noRoom } from '../probe/stored_result.ts';

/** False where it is not known. */
export async function isUnchanged(
  deps: Deps,
  { earlier, token }: { earlier: EarlierRequest | null; token: TokenRecord },
  request: ProbeRequest,
): Promise<boolean> {
  const secret = deps.cache.secret();
  if (earlier === null || secret === undefined) return false;
  const asked = cacheAsked(request, MOST_CACHE_AGE_S, { token, catalog: deps.catalog(), secret });
  if (!asked) return false;
  // Without an identity, its host gave the file no strong validator.
  const head = await withResult(deps, earlier, token.rootUserId, readHead).catch(
    noRoom('too many results are being read; try again later'),
  );
  return head?.identity !== undefined && deps.cache.isStill(asked, head.identity);
}
