/**
 * Writes the end of a request. An end that contains a value Postgres rejects is replaced by an internal error, because
 * it could never be recorded.
 */
import { isStoreError, type StoreError } from '../../../platform/store/errors.ts';
import type { CloseInput } from '../../../platform/store/records.ts';
import type { CloseResult } from '../../../platform/store/requests.ts';
import type { Store } from '../../../platform/store/store.ts';

/** `end`: the recorded end. `refused`: why it differs from the requested one. */
export interface Recorded extends CloseResult {
  end: CloseInput;
  refused?: StoreError;
}

export async function recordEnd(store: Pick<Store, 'closeRequest'>, end: CloseInput): Promise<Recorded> {
  try {
    return { ...(await store.closeRequest(end)), end };
  } catch (error) {
    if (!isStoreError(error, 'bad-data')) throw error;
    const { id, submittedAt, attempt } = end;
    const instead: CloseInput = {
      id,
      submittedAt,
      attempt,
      state: 'error',
      status: 500,
      reason: 'InternalError',
      error: 'the result could not be recorded',
      startedAt: null,
      tools: [],
      ioBytes: 0,
      body: null,
    };
    return { ...(await store.closeRequest(instead)), end: instead, refused: error };
  }
}
