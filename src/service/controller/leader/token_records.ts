/** Token records: read from Postgres, never from a spec, and cached while change notifications arrive. */
import type { NamespaceBinding } from '../../../base/config.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import type { Store } from '../../../platform/store/store.ts';

/** Cache time without notifications. */
const UNTOLD_MS = 1_000;

type TokenStore = Pick<Store, 'tokenLimits' | 'defaultToken' | 'tokenOfAccount'>;

export type TokenRecords = ReturnType<typeof tokenRecords>;

/** `fresh`: whether change notifications arrive. */
export function tokenRecords(store: TokenStore, fresh: () => boolean) {
  const records = new Map<number, { record: TokenRecord | undefined; at: number }>();
  /** The ids of each read under way that have not changed since it began. */
  const reads = new Set<Set<number>>();
  /** By the namespace of a tenant; empty: the release's. */
  const ofHand = new Map<string, { record: Promise<TokenRecord | null>; at: number }>();

  const known = (id: number): TokenRecord | undefined => records.get(id)?.record;

  async function load(ids: number[]): Promise<void> {
    const askedAt = performance.now();
    const unchanged = new Set(ids);
    reads.add(unchanged);
    try {
      const read = await store.tokenLimits(ids);
      // Concurrent reads may finish out of order: the one that started later wins.
      for (const id of unchanged)
        if ((records.get(id)?.at ?? 0) <= askedAt) records.set(id, { record: read.get(id), at: askedAt });
    } finally {
      reads.delete(unchanged);
    }
    const changed = ids.filter((id) => !unchanged.has(id));
    if (changed.length > 0) await load(changed);
  }

  async function of(id: number): Promise<TokenRecord | undefined> {
    const cached = records.get(id);
    if (cached && (fresh() || performance.now() - cached.at < UNTOLD_MS)) return cached.record;
    await load([id]);
    return known(id);
  }

  /**
   * The token of jobs created by hand, read at most once a second: hundreds of them may arrive at once. Whether it
   * still may be used is decided by `of`.
   */
  function byHand(binding: NamespaceBinding | undefined): Promise<TokenRecord | null> {
    const now = performance.now();
    const name = binding?.name ?? '';
    const before = ofHand.get(name);
    if (before && now - before.at < UNTOLD_MS) return before.record;
    const { account, token = null } = binding ?? {};
    const record = account === undefined ? store.defaultToken() : store.tokenOfAccount(account, token);
    const read = { record, at: now };
    ofHand.set(name, read);
    record.catch(() => {
      if (ofHand.get(name) === read) ofHand.delete(name);
    });
    return record;
  }

  return {
    load,
    of,
    byHand,
    known,
    /** Returns those that are cached. Those that are being read are read again. */
    changed(which: number[] | 'all'): number[] {
      for (const unchanged of reads) for (const id of which === 'all' ? [...unchanged] : which) unchanged.delete(id);
      return which === 'all' ? [...records.keys()] : which.filter((id) => records.has(id));
    },
    forget: (id: number): boolean => records.delete(id),
  };
}
