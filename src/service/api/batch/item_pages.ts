/** The items of a batch, page by page. */
import type { BatchItem, ItemsPage } from '../../../platform/store/batch_items.ts';
import type { Deps } from '../deps.ts';

const ROWS = 500;

interface Filters {
  state?: ItemsPage['state'] | null;
  code?: string | null;
}

export async function* itemPages(
  { store }: Pick<Deps, 'store'>,
  batch: string,
  { state, code }: Filters = {},
  rows = ROWS,
): AsyncGenerator<BatchItem[], void> {
  for (let after = -1, more = true; more;) {
    const items = await store.itemsPage({
      batch,
      after,
      limit: rows,
      state: state ?? undefined,
      code: code ?? undefined,
    });
    yield items;
    more = items.length === rows;
    after = items.at(-1)?.n ?? after;
  }
}
