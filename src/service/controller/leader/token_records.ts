/** Token records: read from Postgres, never from a spec, and cached while change notifications arrive. */
import type { NamespaceBinding } from '../../../base/config.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import type { Store } from '../../../platform/store/store.ts';

/** Cache time without notifications. */
const UNTOLD_MS = 1_000;

type TokenStore = Pick<Store, 'tokenLimits' | 'defaultToken' | 'tokenOfAccount'>;

export class TokenRecords {
  readonly #store: TokenStore;
  readonly #records = new Map<number, { record: TokenRecord | undefined; at: number }>();
  readonly #fresh: () => boolean;
  /** By the namespace of a tenant; empty: the release's. */
  readonly #byHand = new Map<string, { record: Promise<TokenRecord | null>; at: number }>();

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
  byHand(binding: NamespaceBinding | undefined): Promise<TokenRecord | null> {
    const now = performance.now();
    const of = binding?.name ?? '';
    const known = this.#byHand.get(of);
    if (known && now - known.at < UNTOLD_MS) return known.record;
    const { account, token = null } = binding ?? {};
    const record = account === undefined ? this.#store.defaultToken() : this.#store.tokenOfAccount(account, token);
    const read = { record, at: now };
    this.#byHand.set(of, read);
    record.catch(() => {
      if (this.#byHand.get(of) === read) this.#byHand.delete(of);
    });
    return record;
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
