/**
 * A batch over a bucket. Its item 0 is the listing: a request like those of other items, for which a runner lists some
 * thousand objects in place of running tools. The driver makes items of what it finds, and begins it again until there
 * is no more.
 */
import { hideQuery } from '../../../base/hide_query.ts';
import type { EndedItem } from '../../../platform/store/batch_items.ts';
import type { Batch, BatchListing, NewItem } from '../../../platform/store/batches.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import { climbs, encodeKey } from '../../../source/address/s3.ts';
import { ANYTHING, type Filter, LISTED_SCHEMES, type Listed, type Listing } from '../../../source/listing/listing.ts';
import { openResult, unpackResult } from '../../result/unpack.ts';
import type { Deps } from '../deps.ts';
import { ApiError, invalid } from '../errors.ts';
import type { ProbeRequest } from '../probe/probe_request.ts';
import { sourceRules } from '../probe/probe_request.ts';
import { outputTexts } from '../probe/stored_result.ts';
import { type Bucket, MOST_WAITING } from './batch_fields.ts';
import { itemIn, type KeptTemplate, makeSlices } from './batch_request.ts';
import { sealItem } from './item_seal.ts';

const FORM = new RegExp(`^(?:${LISTED_SCHEMES.join('|')})://`);

/** The address of the listing, as a source. */
export function listedAddress(url: string): string {
  if (!FORM.test(url)) throw invalid('bucket.url', `must begin with ${LISTED_SCHEMES.join('://, ')}://`);
  if (/[?#@]/.test(url))
    throw invalid(
      'bucket.url',
      'must have no keys and no query: probe.credential names a credential; # and ? are %23 and %3F',
    );
  // Without it, the prefix of `s3://films` would be part of the name of the bucket.
  const isWhole = /^\w+:\/\/[^/]+$/.test(url) || /^az:\/\/[^/]+\/[^/]+$/.test(url);
  return `${url}${isWhole ? '/' : ''}${ANYTHING}`;
}

const timeOf = (field: string, text: string | null): number | null => {
  const time = text === null ? null : Date.parse(text);
  if (Number.isNaN(time)) throw invalid(`bucket.${field}`, 'is no time: 2026-01-31T00:00:00Z is one');
  return time;
};

export function newListing(bucket: Bucket): BatchListing {
  const filter: Filter = {
    include: bucket.include,
    exclude: bucket.exclude,
    minBytes: bucket.min_bytes,
    maxBytes: bucket.max_bytes,
    modifiedAfter: timeOf('modified_after', bucket.modified_after),
    modifiedBefore: timeOf('modified_before', bucket.modified_before),
  };
  return { url: bucket.url, filter, cursor: null, listed: false, found: 0, filtered: 0, leftOut: 0 };
}

export const shownListing = ({ url, listed, found, filtered, leftOut }: BatchListing) => ({
  url: hideQuery(url),
  listed,
  found,
  filtered,
  left_out: leftOut,
});

export const isListing = ({ listing }: Pick<Batch, 'listing'>, n: number): boolean => n === 0 && listing !== null;

/** Enough for some pages of a slow host. */
const LISTING_MS = 60_000;

/** The request of an item as that of a listing. */
export function listingRequest(
  request: ProbeRequest,
  { filter, cursor }: BatchListing,
  { address, credential }: { address: string; credential: string | null },
): ProbeRequest {
  const listing: Listing = { ...(filter as Filter), cursor };
  return {
    ...request,
    secrets: [JSON.stringify({ address, credential: credential ?? undefined, listing })],
    report: { enabled: false },
    limits: { ...request.limits, timeoutMs: Math.max(LISTING_MS, request.limits.timeoutMs) },
    cache: undefined,
  };
}

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
    if (!listing) return null;
    const [text] = await outputTexts(unpacked, opened.packed, [listing.output]);
    return listedIn(JSON.parse(text!));
  } finally {
    opened.place.release();
  }
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

/** A runner is not trusted. */
function listedIn(value: unknown): Listed | null {
  const { names, found, filtered, unreadable, next } = value as Partial<Listed>;
  const isListed =
    Array.isArray(names) &&
    names.every((name) => typeof name === 'string') &&
    [found, filtered, unreadable].every(isCount) &&
    (next === null || typeof next === 'string');
  return isListed ? (value as Listed) : null;
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
  const { credential } = (batch.template as KeptTemplate).fields;
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
        credential ?? undefined,
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
    most: { rootUserId, items: MOST_WAITING },
  });
}
