/** Handles changes of tokens and users: new limits apply at once, and waiting jobs of an invalid token end. */
import { endOf } from './ends.ts';
import { stateOf } from './job.ts';
import { refusalOf } from './resolve_job.ts';
import { slotsOf, type TermState } from './term_state.ts';

/** Maximum number of waiting jobs that are ended concurrently. */
const ENDED_AT_ONCE = 20;

/**
 * A token or user changed, or notifications may have been lost: limits always come from the record, never from a spec.
 */
export async function tokensChanged(state: TermState, which: number[] | 'all'): Promise<void> {
  const known = state.tokens.among(which);
  // Tokens without jobs are just dropped from the cache and read again with their next job.
  const ids = known.filter((id) => !state.isIdle(id));
  for (const id of known) if (state.isIdle(id)) state.tokens.forget(id);
  if (ids.length === 0) return;
  await state.tokens.load(ids);
  for (const id of ids) {
    const record = state.tokens.known(id);
    if (record && !state.isIdle(id)) state.ledger.setLimits(id, slotsOf(record));
  }
  endWaiting(state, ids);
  state.scheduleAll();
}

/**
 * Ends the waiting jobs, and what was begun early, of tokens that were revoked, have expired or belong to a suspended
 * account.
 */
function endWaiting(state: TermState, tokens: readonly number[]): void {
  const clock = state.deps.store.clock.now();
  const refusals = new Map(
    tokens.flatMap((id) => {
      const refusal = refusalOf(state.tokens.known(id), clock);
      return refusal ? [[id, refusal] as const] : [];
    }),
  );
  if (refusals.size === 0) return;
  for (const { job } of state.jobs.early()) if (refusals.has(job.token)) void state.move(job, { is: 'expired' });
  const jobs = Array.from(state.ledger.waitingEntries())
    .filter(({ token }) => refusals.has(token))
    .values();
  const endNext = async (): Promise<void> => {
    for (const job of jobs) {
      const refusal = refusals.get(job.token);
      if (state.live && refusal && stateOf(job) === 'waiting')
        await state.move(job, { is: 'ended', end: endOf(refusal) });
    }
  };
  for (let at = 0; at < ENDED_AT_ONCE; at++) void endNext();
}
