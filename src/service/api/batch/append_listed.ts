/** What a listing found becomes items of its batch. */
import { isObject } from '../../../base/is_object.ts';
import type { EndedItem } from '../../../platform/store/batch_items.ts';
import type { Batch, BatchListing, NewItem } from '../../../platform/store/batches.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import { climbs, encodeKey } from '../../../source/address/s3.ts';
import { type Listed, MOST_CURSOR } from '../../../source/listing/listing.ts';
import { UnreadableResult } from '../../result/inflate.ts';
import { openResult, unpackResult } from '../../result/unpack.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { sourceRules } from '../probe/probe_request.ts';
import { outputTexts } from '../probe/stored_result.ts';
import { itemIn, type KeptTemplate, makeSlices } from './batch_request.ts';
import { sealItem } from './item_seal.ts';

/** Of a result. A runner is not trusted; one of ours sends a page more than half a megabyte, or 4,000 names. */
const MOST_BYTES = 4 * 1024 * 1024;
const MOST_NAMES = 5_000;

async function listedBy(deps: Deps, end: EndedItem, account: number): Promise<Listed | null> {
  const opened = await openResult(
    deps,
    { id: end.requestId, submittedAt: end.submittedAt, inflatedBytes: null },
    account,
  );
  if (!opened) return null;
  try {
    const unpacked = await unpackResult(opened.packed);
    const { listing } = unpacked.result;
    if (!listing || listing.output.to - listing.output.from > MOST_BYTES) return null;
    const [text] = await outputTexts(unpacked, opened.packed, [listing.output]);
    return listedIn(JSON.parse(text!));
  } catch (error) {
    // It will not be another one the next time.
    if (error instanceof SyntaxError || error instanceof UnreadableResult) return null;
    throw error;
  } finally {
    opened.place.release();
  }
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

function listedIn(value: unknown): Listed | null {
  if (!isObject(value)) return null;
  const { names, found, filtered, unreadable, next } = value as Partial<Listed>;
  const isListed =
    Array.isArray(names) &&
    names.length <= MOST_NAMES &&
    names.every((name) => typeof name === 'string') &&
    [found, filtered, unreadable].every(isCount) &&
    (next === null || (typeof next === 'string' && next.length <= MOST_CURSOR));
  return isListed ? (value as unknown as Listed) : null;
}

interface Found {
  items: NewItem[];
  leftOut: number;
}

async function itemsOf(
  deps: Deps,
  { batch, token, names }: { batch: Batch & { listing: BatchListing }; token: TokenRecord; names: readonly string[] },
  key: Buffer,
): Promise<Found> {
  const rules = sourceRules(deps.settings, token);
  const [place] = /^(?:az:\/\/[^/]+\/[^/]+|\w+:\/\/[^/]+)/.exec(batch.listing.url)!;
  const slices = makeSlices(deps.paceOf(token.rootUserId));
  const items: NewItem[] = [];
  let leftOut = 0;
  for (const ref of names) {
    await slices.next();
    if (!ref.isWellFormed() || climbs(ref)) {
      leftOut += 1;
      continue;
    }
    try {
      const { address, ...item } = itemIn(
        { value: { url: `${place}/${encodeKey(ref)}`, ref } },
        rules,
        batch.template as KeptTemplate,
      );
      const n = batch.items + items.length;
      items.push({ n, ...item, sealed: sealItem(address, { batch: batch.id, n }, key) });
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 400)) throw error;
      leftOut += 1;
    }
  }
  await slices.pay();
  return { items, leftOut };
}

/** Of one batch, wanted or not: a bucket without an end ends, too. */
const MOST_FOUND = 10_000_000;

export type Appended = 'appended' | 'gone' | 'too-many-items' | 'lost' | 'endless';

/** Takes what a listing found into its batch. `lost`: its result is not there. */
export async function appendListed(
  deps: Deps,
  end: EndedItem,
  { batch, token, key }: { batch: Batch & { listing: BatchListing }; token: TokenRecord; key: Buffer },
): Promise<Appended> {
  const { rootUserId } = token;
  const listed = await listedBy(deps, end, rootUserId);
  if (listed === null) return 'lost';
  const { listing } = batch;
  const found = listing.found + listed.found;
  if (found > MOST_FOUND) return 'endless';
  const { items, leftOut } = await itemsOf(deps, { batch, token, names: listed.names }, key);
  return deps.store.appendPage({
    batch: batch.id,
    requestId: end.requestId,
    ioBytes: end.ioBytes,
    items,
    had: batch.items,
    listing: {
      ...listing,
      cursor: listed.next,
      listed: listed.next === null,
      found,
      filtered: listing.filtered + listed.filtered,
      leftOut: listing.leftOut + listed.unreadable + leftOut,
    },
    most: { rootUserId, items: deps.settings.batchMaxItems },
  });
}
