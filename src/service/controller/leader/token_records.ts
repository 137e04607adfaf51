/** Token records: read from Postgres, never from a spec, and cached while change notifications arrive. */
import type { TokenRecord } from '../../../platform/store/records.ts';
import type { Store } from '../../../platform/store/store.ts';

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
