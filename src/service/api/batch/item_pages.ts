/** The items of a batch, page by page. */
import { type BatchItem, type ItemsPage, LOOKED_AT } from '../../../platform/store/batch_items.ts';
import type { Batch } from '../../../platform/store/batches.ts';
import type { Deps } from '../deps.ts';

const ROWS = 500;

export type ItemFilters = Pick<ItemsPage, 'state' | 'code' | 'facets'>;
type Of = Pick<Batch, 'id' | 'items'>;

/** `next`: what the page after it begins after; null: there is none. With facets it may have fewer than `limit`. */
export async function itemPage(
  { store }: Pick<Deps, 'store'>,
  { id: batch, items: total }: Of,
  { after, limit, ...filters }: ItemFilters & Pick<ItemsPage, 'after' | 'limit'>,
): Promise<{ items: BatchItem[]; next: number | null }> {
  const found = await store.itemsPage({ batch, after, limit: limit + 1, ...filters });
  const items = found.slice(0, limit);
  if (found.length > limit) return { items, next: items.at(-1)!.n };
  return { items, next: filters.facets && after + LOOKED_AT < total - 1 ? after + LOOKED_AT : null };
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
