/**
 * A batch over a bucket. Its item 0 is the listing: a request like those of other items, for which a runner lists some
 * thousand objects in place of running tools. The driver makes items of what it finds, and begins it again until there
 * is no more.
 */
import { hideQuery } from '../../../base/hide_query.ts';
import type { Batch, BatchListing } from '../../../platform/store/batches.ts';
import { ANYTHING, type Filter, LISTED_SCHEMES, type Listing, MOST_CURSOR } from '../../../source/listing/listing.ts';
import { invalid } from '../errors.ts';
import { MOST_SECRET_BYTES, type ProbeRequest } from '../probe/probe_request.ts';
import type { Bucket } from './batch_fields.ts';

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

/** In UTF-8, of what a job of the listing has beside its cursor. */
const MOST_BYTES = MOST_SECRET_BYTES - MOST_CURSOR - 1_024;

export function newListing(bucket: Bucket): BatchListing {
  const filter: Filter = {
    include: bucket.include,
    exclude: bucket.exclude,
    minBytes: bucket.min_bytes,
    maxBytes: bucket.max_bytes,
    modifiedAfter: timeOf('modified_after', bucket.modified_after),
    modifiedBefore: timeOf('modified_before', bucket.modified_before),
  };
  if (Buffer.byteLength(JSON.stringify([bucket.url, filter])) > MOST_BYTES)
    throw invalid('bucket', `must have at most ${MOST_BYTES} bytes in UTF-8: send fewer or shorter patterns`);
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
  { address, credential, versions }: { address: string; credential: string | null; versions: boolean },
): ProbeRequest {
  const listing: Listing = { ...(filter as Filter), cursor, ...(versions ? { versions } : {}) };
  return {
    ...request,
    secrets: [JSON.stringify({ address, credential: credential ?? undefined, listing })],
    report: { enabled: false },
    limits: { ...request.limits, timeoutMs: Math.max(LISTING_MS, request.limits.timeoutMs) },
    cache: undefined,
  };
}
