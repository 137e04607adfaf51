/** The items of a batch, page by page. */
import { type BatchItem, type ItemsPage, LOOKED_AT } from '../../../platform/store/batch_items.ts';
import type { Batch } from '../../../platform/store/batches.ts';
import type { Pace } from '../../result/pace.ts';
import type { Deps } from '../deps.ts';

const ROWS = 500;

export interface ItemFilters extends Pick<ItemsPage, 'state' | 'code'> {
  /** `pace`: of who asks, and pays for the time of Postgres, as no index has facets. The next call waits for it. */
  search?: { facets: NonNullable<ItemsPage['facets']>; pace: Pace };
}
type Of = Pick<Batch, 'id' | 'items'>;

/** `next`: what the page after it begins after; null: there is none. With facets it may have fewer than `limit`. */
export async function itemPage(
  { store }: Pick<Deps, 'store'>,
  { id: batch, items: total }: Of,
  { after, limit, state, code, search }: ItemFilters & Pick<ItemsPage, 'after' | 'limit'>,
): Promise<{ items: BatchItem[]; next: number | null }> {
  const began = performance.now();
  const found = await store.itemsPage({ batch, after, limit: limit + 1, state, code, facets: search?.facets });
  void search?.pace(performance.now() - began);
  const items = found.slice(0, limit);
  if (found.length > limit) return { items, next: items.at(-1)!.n };
  return { items, next: search && after + LOOKED_AT < total - 1 ? after + LOOKED_AT : null };
}

export async function* itemPages(
  deps: Pick<Deps, 'store'>,
  batch: Of,
  filters: ItemFilters = {},
  limit = ROWS,
): AsyncGenerator<BatchItem[], void> {
  for (let after: number | null = -1; after !== null;) {
    const page = await itemPage(deps, batch, { after, limit, ...filters });
    yield page.items;
    after = page.next;
  }
}
