/** What a listing found becomes items of its batch. */
import { isObject } from '../../../base/is_object.ts';
import { jsonIn } from '../../../base/json_in.ts';
import type { EndedItem } from '../../../platform/store/batch_items.ts';
import type { Batch, BatchListing, NewItem } from '../../../platform/store/batches.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import type { SeenObject, SeenObjects } from '../../../platform/store/sources.ts';
import { climbs, encodeKey } from '../../../source/address/s3.ts';
import { type Listed, MOST_CURSOR } from '../../../source/listing/listing.ts';
import { unpackResult, withResult } from '../../result/unpack.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { sourceRules } from '../probe/probe_request.ts';
import { outputTexts } from '../probe/stored_result.ts';
import { seenObject } from '../source/seen_object.ts';
import { itemIn, type KeptTemplate, makeSlices, type ReadItem } from './batch_request.ts';
import { sealItems } from './item_seal.ts';

/** Of a result. A runner is not trusted; one of ours sends a page more than half a megabyte, or 4,000 names. */
const MOST_BYTES = 4 * 1024 * 1024;
const MOST_NAMES = 5_000;

const listedBy = (deps: Deps, { requestId: id, submittedAt }: EndedItem, account: number): Promise<Listed | null> =>
  withResult(deps, { id, submittedAt }, account, async (packed) => {
    const unpacked = await unpackResult(packed);
    const { listing } = unpacked.result;
    if (!listing || listing.output.to - listing.output.from > MOST_BYTES) return null;
    const [text] = await outputTexts(unpacked, packed, [listing.output]);
    return listedIn(jsonIn(text!));
  });

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

function listedIn(value: unknown): Listed | null {
  if (!isObject(value)) return null;
  const { names, versions = [], found, filtered, unreadable, next } = value as Partial<Listed>;
  const isListed =
    Array.isArray(names) &&
    names.length <= MOST_NAMES &&
    names.every((name) => typeof name === 'string') &&
    Array.isArray(versions) &&
    versions.every((one) => Array.isArray(one) && typeof one[0] === 'string' && (one[1] === null || isCount(one[1]))) &&
    [found, filtered, unreadable].every(isCount) &&
    (next === null || (typeof next === 'string' && next.length <= MOST_CURSOR));
  return isListed ? (value as unknown as Listed) : null;
}

/** Of the `ref` of an item. */
const MOST_NAME = 1_024;

/** As an address, and as a text of Postgres. */
export const mayBeRead = (name: string): boolean =>
  name.length <= MOST_NAME && name.isWellFormed() && !name.includes('\0') && !climbs(name);

/** By name of an object: its item, without those that no address can have. */
export async function itemsOf(
  deps: Deps,
  { url, template, token }: { url: string; template: KeptTemplate; token: TokenRecord },
  names: readonly string[],
): Promise<{ items: ReadItem[]; leftOut: number }> {
  const rules = sourceRules(deps.settings, token);
  const [place] = /^(?:az:\/\/[^/]+\/[^/]+|\w+:\/\/[^/]+)/.exec(url)!;
  const slices = makeSlices(deps.paceOf(token.rootUserId));
  const items: ReadItem[] = [];
  for (const ref of names) {
    await slices.next();
    if (!mayBeRead(ref)) continue;
    try {
      items.push(itemIn({ value: { url: `${place}/${encodeKey(ref)}`, ref } }, rules, template));
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 400)) throw error;
    }
  }
  await slices.pay();
  return { items, leftOut: names.length - items.length };
}

interface Taken {
  items: NewItem[];
  leftOut: number;
  seen?: SeenObjects;
}

async function newItems(deps: Deps, { batch, token, key }: Into, names: readonly string[]): Promise<Taken> {
  const template = batch.template as KeptTemplate;
  const { items, leftOut } = await itemsOf(deps, { url: batch.listing.url, template, token }, names);
  const place = { batch: batch.id, n: batch.items };
  return { items: await sealItems(items, place, key, makeSlices(deps.paceOf(token.rootUserId))), leftOut };
}

/** Of a source: they become items when they are due. */
function seenOf(source: string, { names, versions }: Listed, at: Date): Taken | null {
  if (versions?.length !== names.length) return null;
  const objects = new Map<string, SeenObject>();
  for (const [n, name] of names.entries()) {
    const [version, modified] = versions[n]!;
    if (mayBeRead(name)) objects.set(name, seenObject(name, { version, at, modified }));
  }
  return { items: [], leftOut: names.length - objects.size, seen: { source, objects: [...objects.values()] } };
}

/** Of one batch, wanted or not: a bucket without an end ends, too. */
const MOST_FOUND = 10_000_000;

export type Appended = 'appended' | 'gone' | 'too-many-items' | 'lost' | 'endless';

interface Into {
  batch: Batch & { listing: BatchListing };
  token: TokenRecord;
  key: Buffer;
}

/** Takes what a listing found into its batch, or its source. `lost`: its result is not there. */
export async function appendListed(deps: Deps, end: EndedItem, into: Into): Promise<Appended> {
  const { batch, token } = into;
  const { rootUserId } = token;
  const listed = await listedBy(deps, end, rootUserId);
  if (listed === null) return 'lost';
  const { listing, sourceId } = batch;
  const found = listing.found + listed.found;
  if (found > MOST_FOUND) return 'endless';
  const taken =
    sourceId === null ? await newItems(deps, into, listed.names) : seenOf(sourceId, listed, end.submittedAt);
  if (taken === null) return 'lost';
  const { leftOut, ...what } = taken;
  return deps.store.appendPage({
    ...what,
    batch: batch.id,
    requestId: end.requestId,
    ioBytes: end.ioBytes,
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
