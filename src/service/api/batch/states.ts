/** What callers and the driver may do to a batch, by its state. The record moves it only from the state seen. */
import type { Batch, BatchState } from '../../../platform/store/batches.ts';
import type { Deps } from '../deps.ts';

/** `stop`: by its budget, a quota, or because it cannot go on. A deadline and the end are the record's own. */
export type BatchEvent = 'pause' | 'resume' | 'stop' | 'cancel';

/** The same state: there is nothing to do. Absent: it is refused. */
const MOVES: Readonly<Record<BatchState, Partial<Record<BatchEvent, BatchState>>>> = {
  running: { pause: 'paused', resume: 'running', stop: 'stopped', cancel: 'cancelling' },
  paused: { pause: 'paused', resume: 'running', cancel: 'cancelling' },
  stopped: { resume: 'running', cancel: 'cancelling' },
  cancelling: { cancel: 'cancelling' },
  ended: {},
};

export const move = (state: BatchState, event: BatchEvent): BatchState | null => MOVES[state][event] ?? null;

/** Null: its state does not allow it or stays the same, or it has another state by now. */
export async function moveBatch(
  { store }: Pick<Deps, 'store'>,
  { id, state }: Pick<Batch, 'id' | 'state'>,
  event: BatchEvent,
  reason = event === 'cancel' ? 'Cancelled' : null,
): Promise<Batch | null> {
  const to = move(state, event);
  return to === null || to === state ? null : store.moveBatch({ id, from: [state], to, reason });
}

/** Why a batch stopped by itself, and what it takes to go on. */
export const STOPS = {
  RequestBudget: 'max_requests is used up; resume with a larger one, or with null for none',
  ByteBudget: 'max_bytes is used up; resume with a larger one, or with null for none',
  QuotaExceeded: 'a monthly quota is used up; resume when there is room again',
  TooManyItems: 'the account has as many items that have not ended as it may; resume when some have ended',
  TokenInactive: 'its token or account is not active, or the token may not probe; resume when it is and may',
  ToolUnavailable: 'a version of a tool that it names is no longer available; resume when it is, or create it anew',
  PolicyUnavailable: 'the revision of its policy is no longer on record; create it anew',
  AddressesLost: 'its addresses can no longer be decrypted; create it anew',
  InvalidRequest: 'an option of it is no longer accepted; create it anew without',
} as const;
export type StopReason = keyof typeof STOPS;

export const textOfStop = (reason: string | null): string | null =>
  reason !== null && Object.hasOwn(STOPS, reason) ? STOPS[reason as StopReason] : null;
