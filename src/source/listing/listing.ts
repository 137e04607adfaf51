/**
 * Lists what is in a bucket: page by page, filtered, and cut off where another job is to go on. Each page of S3 begins
 * after the last name of the one before, so a lost listing can be repeated from any name, and one that does not get on
 * is seen.
 */
import type { StoreKind } from '../../base/source_settings.ts';
import { decodeLoosely, encodeStrictly } from '../address/s3.ts';
import { cutAt } from '../address/text.ts';
import { unreachable } from '../error.ts';
import type { Source } from '../source.ts';
import { versionOf } from './object_version.ts';
import { azurePage, type ListedObject, type Page, PAGE_OBJECTS, s3Page } from './page.ts';

/** What is wanted of a bucket. */
export interface Filter {
  /** With `*` for any characters. None: everything. */
  include: readonly string[];
  exclude: readonly string[];
  minBytes: number | null;
  maxBytes: number | null;
  /** Milliseconds. */
  modifiedAfter: number | null;
  modifiedBefore: number | null;
}
export interface Listing extends Filter {
  /** Where it goes on. Null: at the beginning. */
  cursor: string | null;
  versions?: boolean;
}

export interface Listed {
  names: string[];
  /** If asked for, of each name: its version, and when it was modified in milliseconds, if the host says. */
  versions?: [version: string, modified: number | null][];
  /** Objects that the host listed, those that are not wanted, and those whose name cannot be read. */
  found: number;
  filtered: number;
  unreadable: number;
  /** Null: that was all. */
  next: string | null;
}

/** Ends the address of a listing, as an address must name an object: what begins with the rest is listed. */
export const ANYTHING = '...';

/** A job ends after the page that comes to one of these. */
const MOST_FOUND = 20_000;
const MOST_NAMES = 4_000;
const MOST_NAME_BYTES = 512 * 1024;
/** Of a name or a marker, which the record keeps and a job has. A marker may have 1,024 characters as base64. */
export const MOST_CURSOR = 6_144;

const noListing = (why: string) => unreachable('protocol', `the host does not answer with a listing: ${why}`);

/** Linear but for what a pattern repeats. */
function fits(name: string, pattern: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return name === first;
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const part of others) {
    const found = name.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

/** `from`: where the part of the name begins that patterns are compared with. */
export function isWanted({ name, bytes, modified }: Omit<ListedObject, 'etag'>, filter: Filter, from: number): boolean {
  const { include, exclude, minBytes, maxBytes, modifiedAfter, modifiedBefore } = filter;
  // A folder, as consoles make them.
  if (name.endsWith('/')) return false;
  const part = name.slice(from);
  const any = (patterns: readonly string[]): boolean => patterns.some((pattern) => fits(part, pattern));
  return (
    (include.length === 0 || any(include)) &&
    !any(exclude) &&
    (minBytes === null || bytes >= minBytes) &&
    (maxBytes === null || bytes <= maxBytes) &&
    (modifiedAfter === null || modified >= modifiedAfter) &&
    (modifiedBefore === null || modified < modifiedBefore)
  );
}

const isAfter = (name: string, other: string): boolean => Buffer.compare(Buffer.from(name), Buffer.from(other)) > 0;

interface Store {
  query(prefix: string, cursor: string | null): Record<string, string>;
  read(xml: string): Page | undefined;
  /** Where the page after this one begins. Throws if the listing does not get on. */
  after(page: Page, cursor: string | null): string | null;
}

const S3: Store = {
  query: (prefix, cursor) => ({
    'list-type': '2',
    'encoding-type': 'url',
    'max-keys': String(PAGE_OBJECTS),
    prefix,
    ...(cursor === null ? {} : { 'start-after': cursor }),
  }),
  read: s3Page,
  after({ objects, isLast }, cursor) {
    let last = cursor;
    for (const { name } of objects) {
      if (last !== null && !isAfter(name, last)) throw noListing('its names are not in order');
      last = name;
    }
    if (isLast) return null;
    if (last === cursor) throw noListing('it says that there is more, and lists nothing');
    return last;
  },
};

const AZURE: Store = {
  query: (prefix, cursor) => ({
    restype: 'container',
    comp: 'list',
    maxresults: String(PAGE_OBJECTS),
    prefix,
    ...(cursor === null ? {} : { marker: cursor }),
  }),
  read: azurePage,
  after({ isLast, marker }, cursor) {
    if (isLast) return null;
    if (marker === cursor) throw noListing('each page names itself as the next one');
    return marker;
  },
};

const STORES: Readonly<Record<StoreKind, Store>> = { s3: S3, gs: S3, az: AZURE };
export const LISTED_SCHEMES = Object.keys(STORES) as StoreKind[];

/** Of a source whose address ends with ANYTHING. `main`: the web address that it is read from. */
function placeOfListing(source: Source, main: string): { base: string; query: string; prefix: string } {
  const [address] = cutAt(source.url, '?');
  const [web, query = ''] = cutAt(main, '?');
  const path = address.replace(source.scheme === 'az' ? /^\w+:\/\/[^/]+\/[^/]+\// : /^\w+:\/\/[^/]+\//, '');
  const base = web.slice(0, web.length - path.length);
  return {
    base: source.scheme === 'az' ? base.replace(/\/$/, '') : base,
    query,
    prefix: decodeLoosely(path).slice(0, -ANYTHING.length),
  };
}

/** `get`: reads the text of this address. Throws a SourceError. */
export async function listBucket(
  source: Source,
  listing: Listing,
  main: string,
  get: (url: string) => Promise<string>,
): Promise<Listed> {
  const store = STORES[source.scheme as StoreKind];
  if (store === undefined) throw unreachable('protocol', `${source.scheme}:// addresses cannot be listed`);
  const { base, query, prefix } = placeOfListing(source, main);
  const from = prefix.lastIndexOf('/') + 1;
  const listed: Listed = { names: [], found: 0, filtered: 0, unreadable: 0, next: listing.cursor };
  if (listing.versions) listed.versions = [];
  let bytes = 0;
  for (let pages = 0; pages * PAGE_OBJECTS < MOST_FOUND; pages++) {
    const asked = Object.entries(store.query(prefix, listed.next)).map(
      ([name, value]) => `${name}=${encodeStrictly(value)}`,
    );
    const page = store.read(await get(`${base}?${[...asked, ...(query === '' ? [] : [query])].join('&')}`));
    if (page === undefined) throw noListing('it is no XML of one, or ends early');
    if (page.objects.some(({ name }) => !name.startsWith(prefix))) throw noListing('its names are of another place');
    if (page.objects.length + page.unreadable > PAGE_OBJECTS)
      throw noListing('a page has more names than were asked for');
    if ([page.marker, ...page.objects.map(({ name }) => name)].some(({ length }) => length > MOST_CURSOR))
      throw noListing(`a name or marker has more than ${MOST_CURSOR} characters`);
    listed.next = store.after(page, listed.next);
    const wanted = page.objects.filter((object) => isWanted(object, listing, from));
    for (const object of wanted) {
      listed.names.push(object.name);
      listed.versions?.push([versionOf(object), object.modified >= 0 ? object.modified : null]);
    }
    bytes += wanted.reduce((sum, { name }) => sum + Buffer.byteLength(name), 0);
    listed.found += page.objects.length + page.unreadable;
    listed.filtered += page.objects.length - wanted.length;
    listed.unreadable += page.unreadable;
    if (listed.next === null || listed.names.length >= MOST_NAMES || bytes >= MOST_NAME_BYTES) return listed;
  }
  if (listed.found === 0) throw noListing('it says that there is more, and lists nothing');
  return listed;
}
