/** A list of sources at a web address. It is read when the batch is created, and the address is not kept. */
import { isSourceError } from '../../../source/error.ts';
import { OverBudget } from '../../result/memory_budget.ts';
import type { Deps } from '../deps.ts';
import { ApiError, invalid } from '../errors.ts';
import { type Asker, tokenOf } from '../http/request_context.ts';
import { sourceRules } from '../probe/probe_request.ts';
import { readSource } from '../probe/request_source.ts';
import { MOST_ITEMS } from './batch_fields.ts';

const MOST_LIST_BYTES = 4 * 1024 * 1024;
export const LIST_MS = 20_000;
const FIELD = 'items_url';

const refused = (text: string): ApiError => invalid(FIELD, text);

async function fetched(deps: Pick<Deps, 'settings' | 'fetchSource'>, by: Asker, address: string): Promise<string> {
  const token = tokenOf(by);
  const source = readSource(address, sourceRules(deps.settings, token), FIELD);
  if (source.scheme !== 'http' && source.scheme !== 'https') throw refused('must begin with http:// or https://');
  const signal = AbortSignal.timeout(LIST_MS);
  try {
    return (await deps.fetchSource(source, token.allow, { most: MOST_LIST_BYTES, signal })).toString('utf8');
  } catch (error) {
    if (signal.aborted) throw refused(`could not be read within ${LIST_MS / 1000} s`);
    throw isSourceError(error) ? refused(error.message) : error;
  }
}

/** Its items, each as a line of JSON. One more than a batch may have says that there are more. */
export async function linesAt(
  deps: Pick<Deps, 'settings' | 'fetchSource' | 'memory' | 'work'>,
  by: Asker,
  address: string,
): Promise<string[]> {
  const account = tokenOf(by).rootUserId;
  // As much as a long result is charged with.
  const place = await deps.memory.reserve({ inflatedBytes: null, account }).catch((error: unknown) => {
    if (!(error instanceof OverBudget)) throw error;
    const { retryAfterS } = error;
    throw new ApiError('unavailable', {
      text: 'too much is being read; try again later',
      retryAfterS,
      reason: 'memory',
    });
  });
  try {
    const text = await fetched(deps, by, address);
    const read = await deps.work.run('readList', { text, most: MOST_ITEMS + 1 }, { account, what: FIELD });
    if ('refused' in read) throw refused(read.refused);
    return read.lines;
  } finally {
    place.release();
  }
}
