/**
 * Token records: read from Postgres, never from a spec, and cached while change notifications arrive. When tokens or users
 * change, new limits apply at once, and waiting jobs of an invalid token end.
 */
import { dropEarly } from './early.ts';
import { endJob, endOf } from './ends.ts';
import { stateOf } from './job.ts';
import { refusalOf } from './resolve_job.ts';
import { slotsOf, type TermState } from './term_state.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import type { Store } from '../../../platform/store/store.ts';

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
  for (const early of state.early.values()) if (refusals.has(early.job.token)) dropEarly(state, early);
  const jobs = Array.from(state.ledger.waitingEntries())
    .filter(({ token }) => refusals.has(token))
    .values();
  const endNext = async (): Promise<void> => {
    for (const job of jobs) {
      const refusal = refusals.get(job.token);
      if (state.live && refusal && stateOf(job) === 'waiting') await endJob(state, job, endOf(refusal));
    }
  };
  for (let at = 0; at < ENDED_AT_ONCE; at++) void endNext();
}

/** Cache time without notifications. */
const UNTOLD_MS = 1_000;

type TokenStore = Pick<Store, 'tokenLimits' | 'defaultToken'>;

export class TokenRecords {
  readonly #store: TokenStore;
  readonly #records = new Map<number, { record: TokenRecord | undefined; at: number }>();
  readonly #fresh: () => boolean;
  #byHand: { record: Promise<TokenRecord | null>; at: number } | undefined;

  /** `fresh`: whether change notifications arrive. */
  constructor(store: TokenStore, fresh: () => boolean) {
    this.#store = store;
    this.#fresh = fresh;
  }

  async load(ids: number[]): Promise<void> {
    const askedAt = performance.now();
    const records = await this.#store.tokenLimits(ids);
    // Concurrent reads may finish out of order: the one that started later wins.
    for (const id of ids)
      if ((this.#records.get(id)?.at ?? 0) <= askedAt) this.#records.set(id, { record: records.get(id), at: askedAt });
  }

  async of(id: number): Promise<TokenRecord | undefined> {
    const cached = this.#records.get(id);
    if (cached && (this.#fresh() || performance.now() - cached.at < UNTOLD_MS)) return cached.record;
    await this.load([id]);
    return this.known(id);
  }

  /**
   * The token of jobs created by hand, read at most once a second: hundreds of them may arrive at once. Whether it
   * still may be used is decided by `of`.
   */
  byHand(): Promise<TokenRecord | null> {
    const now = performance.now();
    if (this.#byHand && now - this.#byHand.at < UNTOLD_MS) return this.#byHand.record;
    const read = { record: this.#store.defaultToken(), at: now };
    this.#byHand = read;
    read.record.catch(() => {
      if (this.#byHand === read) this.#byHand = undefined;
    });
    return read.record;
  }

  known(id: number): TokenRecord | undefined {
    return this.#records.get(id)?.record;
  }

  /** The named tokens that are cached. */
  among(which: number[] | 'all'): number[] {
    return which === 'all' ? [...this.#records.keys()] : which.filter((id) => this.#records.has(id));
  }

  forget(id: number): void {
    this.#records.delete(id);
  }
}
