/** A list of sources at a web address. It is read when the batch is created, and the address is not kept. */
import { isSourceError } from '../../../source/error.ts';
import type { Deps } from '../deps.ts';
import { ApiError, invalid } from '../errors.ts';
import { type Asker, tokenOf } from '../http/request_context.ts';
import { sourceRules } from '../probe/probe_request.ts';
import { readSource } from '../probe/request_source.ts';
import { MOST_ITEMS } from './batch_fields.ts';
import { makeOneAtATime } from './one_at_a_time.ts';

const MOST_LIST_BYTES = 4 * 1024 * 1024;
export const LIST_MS = 20_000;
const FIELD = 'items_url';

const refused = (text: string): ApiError => invalid(FIELD, text);
/** With a cause: another time it may be read. */
const unread = (text: string, cause: unknown): ApiError =>
  new ApiError('invalid-field', { text: `${FIELD}: ${text}`, field: FIELD, cause });
export const isUnread = ({ field, cause }: ApiError): boolean => field === FIELD && cause !== undefined;

type Fetching = Pick<Deps, 'settings' | 'fetchSource'>;

async function fetched(deps: Fetching, by: Asker, address: string, gone: AbortSignal): Promise<string> {
  const token = tokenOf(by);
  const source = readSource(address, sourceRules(deps.settings, token), FIELD);
  if (source.scheme !== 'http' && source.scheme !== 'https') throw refused('must begin with http:// or https://');
  const signal = AbortSignal.any([gone, AbortSignal.timeout(LIST_MS)]);
  try {
    return (await deps.fetchSource(source, token.allow, { most: MOST_LIST_BYTES, signal })).toString('utf8');
  } catch (error) {
    gone.throwIfAborted();
    if (signal.aborted) throw unread(`could not be read within ${LIST_MS / 1000} s`, error);
    throw isSourceError(error) ? unread(error.message, error) : error;
  }
}

const readAlone = makeOneAtATime('list being read', LIST_MS / 1000);

/** Its items, each as a line of JSON. One more than a batch may have says that there are more. */
export async function linesAt(
  deps: Fetching & Pick<Deps, 'memory' | 'work'>,
  by: Asker,
  address: string,
  gone: AbortSignal,
): Promise<string[]> {
  const account = tokenOf(by).rootUserId;
  // As much as a long result is charged with.
  return readAlone(deps, { inflatedBytes: null, account, signal: gone }, async () => {
    const text = await fetched(deps, by, address, gone);
    const read = await deps.work.run('readList', { text, most: MOST_ITEMS + 1 }, { account, what: FIELD });
    if ('refused' in read) throw refused(read.refused);
    return read.lines;
  });
}
