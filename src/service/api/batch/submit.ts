/**
 * Begins items: each becomes an ordinary request, opened together with its item or not at all. Several of them may
 * share a ProbeJob: a chunk.
 */
import { MOST_CACHE_AGE_S } from '../../../base/limits.ts';
import type { Claimed, ItemToOpen } from '../../../platform/store/batch_items.ts';
import type { Driven, EarlierRequest } from '../../../platform/store/batches.ts';
import type { Opened, Rate, TokenRecord } from '../../../platform/store/records.ts';
import { isSealError, sealSource } from '../../../platform/seal/seal.ts';
import { chunkFrom, requestOfChunk } from '../../../platform/store/uuid.ts';
import { holdsCredentials, type TagAsked } from '../../../source/source.ts';
import { readHead, withResult } from '../../result/unpack.ts';
import type { Deps } from '../deps.ts';
import { ApiError, overQuota } from '../errors.ts';
import type { Asker } from '../http/request_context.ts';
import { cacheAsked } from '../probe/cache_key.ts';
import { fileRequest } from '../probe/file_request.ts';
import { openInput, openRequest, probeJob } from '../probe/open_request.ts';
import { MOST_SECRET_BYTES, type ProbeRequest, readSources, sourceRules } from '../probe/probe_request.ts';
import { fromCache } from '../probe/run_request.ts';
import { noRoom } from '../probe/stored_result.ts';
import { BEING_PROVEN } from '../probe/tool_versions.ts';
import { fieldsOf, type KeptTemplate } from './batch_request.ts';
import { isListing, listingRequest } from './bucket.ts';
import { unsealItem } from './item_seal.ts';
import type { StopReason } from './states.ts';

interface Of {
  epoch: number;
  batch: Driven;
  token: TokenRecord;
}
export interface ToSubmit extends Of {
  item: Claimed;
}
/** At least two. */
export interface ChunkToSubmit extends Of {
  items: readonly Claimed[];
}

export type Submitted =
  | { outcome: 'opened' }
  | { outcome: 'unchanged' }
  /** Another replica drives; the batch, or the item, has moved on. Nothing was opened. */
  | { outcome: 'not-driver' | 'not-running' | 'not-waiting' }
  /** The installation has no room: again after this time. `not-yet`: for this batch alone. */
  | { outcome: 'no-room' | 'not-yet'; afterMs: number }
  /** Of this item alone. */
  | { outcome: 'refused'; status: number; code: string | null }
  | { outcome: 'stop'; reason: StopReason };

/**
 * Called before anything can end the requests. `name`: of their ProbeJob, `last`: the request that is read last, which
 * is the only one for an item alone.
 */
export type OnOpened = (opened: { name: string; items: number; last: string }) => void;

class NotOpened extends Error {
  readonly outcome: 'not-driver' | 'not-running' | 'not-waiting';
  constructor(outcome: NotOpened['outcome']) {
    super(`an item was not opened: ${outcome}`);
    this.outcome = outcome;
  }
}

const AFTER_MS = 5_000;
/** Fields of an item, or that are checked with its address. Others are the template's. */
const OF_ITEM: readonly (string | undefined)[] = [undefined, 'url', 'credential'];

/** What an error of a request is to its batch. Undefined: a fault that may be gone the next time. */
export function refusalOf(error: unknown): Submitted | undefined {
  if (error instanceof NotOpened) return { outcome: error.outcome };
  if (isSealError(error)) return { outcome: 'stop', reason: 'AddressesLost' };
  if (!(error instanceof ApiError)) return undefined;
  const { code, status, field, headers, reason, toolCode = null } = error;
  if (code === 'quota') return { outcome: 'stop', reason: 'QuotaExceeded' };
  if (code === 'tool-unavailable' || field?.endsWith('.version')) return { outcome: 'stop', reason: 'ToolUnavailable' };
  if (status === 429 || status === 503) {
    const afterMs = Number(headers['Retry-After'] ?? 0) * 1_000 || AFTER_MS;
    return { outcome: reason === BEING_PROVEN ? 'not-yet' : 'no-room', afterMs };
  }
  if (field === 'policy') return { outcome: 'stop', reason: 'PolicyUnavailable' };
  if (status !== 400) return undefined;
  return OF_ITEM.includes(field)
    ? { outcome: 'refused', status, code: toolCode }
    : { outcome: 'stop', reason: 'InvalidRequest' };
}

/** Opens the addresses of a batch. */
async function openerOf({ accounts }: Pick<Deps, 'accounts'>, { batch }: Of): Promise<(item: Claimed) => string> {
  const key = Buffer.from(await accounts.box.open(batch.sealedKey!, 'batch', batch.id), 'base64');
  return ({ sealed, n }) => unsealItem(sealed, { batch: batch.id, n }, key);
}

/** The driver has a rate for the batch. */
const NOT_COUNTED: Rate = { limit: 0, remaining: 0, resetMs: 0 };
const askerOf = ({ token }: Of): Asker => ({ method: 'POST', state: { token, rate: NOT_COUNTED } });

async function requestOf(deps: Deps, of: Of, address: string, n?: number): Promise<ProbeRequest> {
  const { fields, policyRevision } = of.batch.template as KeptTemplate;
  const { listing, sourceId } = of.batch;
  if (n === 0 && listing) {
    const request = await fileRequest(deps, askerOf(of), fieldsOf({ ...fields, policy: null }, address));
    const how = { address, credential: fields.credential, versions: sourceId !== null };
    return { ...listingRequest(request, listing, how), background: true };
  }
  const request = await fileRequest(deps, askerOf(of), fieldsOf(fields, address), policyRevision);
  return { ...request, background: true };
}

/** The runner of it tags the object. Never one of a chunk, as its source has a credential. */
function tagging(request: ProbeRequest, { batch, item }: ToSubmit, address: string, id: string): ProbeRequest {
  const { fields, tagObjects } = batch.template as KeptTemplate;
  if (!tagObjects || isListing(batch, item.n)) return request;
  const secret = { address, credential: fields.credential ?? undefined, tag: { request: id } satisfies TagAsked };
  return { ...request, secrets: [JSON.stringify(secret)] };
}

/**
 * Whether the source of an item is the file that an earlier result is of. Its host is asked, and nothing runs. False
 * where it is not known.
 */
async function isUnchanged(
  deps: Deps,
  { earlier, token }: { earlier: EarlierRequest | null; token: TokenRecord },
  request: ProbeRequest,
): Promise<boolean> {
  const secret = deps.cache.secret();
  if (earlier === null || secret === undefined) return false;
  const asked = cacheAsked(request, MOST_CACHE_AGE_S, { token, catalog: deps.catalog(), secret });
  if (!asked) return false;
  // Without an identity, its host gave the file no strong validator.
  const head = await withResult(deps, earlier, token.rootUserId, readHead).catch(
    noRoom('too many results are being read; try again later'),
  );
  return head?.identity !== undefined && deps.cache.isStill(asked, head.identity);
}

/** All of them or none. With the epoch of the driver, so that a deposed one opens nothing. */
async function openItems(
  { store }: Pick<Deps, 'store'>,
  { epoch, batch }: Of,
  items: readonly ItemToOpen[],
): Promise<void> {
  const outcome = await store.openItems({ epoch, batch: batch.id, items });
  if (outcome === 'over-quota') throw overQuota('request-count');
  if (outcome !== 'opened') throw new NotOpened(outcome);
}

async function begin(deps: Deps, given: ToSubmit, onOpened: OnOpened): Promise<Submitted> {
  const { store, settings } = deps;
  const { token, item, batch } = given;
  deps.queueRoom.check(token.rootUserId);
  deps.objectRoom.check();
  const addressOf = await openerOf(deps, given);
  const address = addressOf(item);
  const asked = await requestOf(deps, given, address, item.n);
  const { onlyChanged } = batch.template as KeptTemplate;
  if (onlyChanged && (await isUnchanged(deps, { ...item, token }, asked))) return { outcome: 'unchanged' };
  const named = { ...store.newRequest(), waiter: settings.replica, idempotency: null };
  const request = tagging(asked, given, address, named.id);
  const opened = await openRequest(deps, askerOf(given), request, named, async (open): Promise<Opened> => {
    await openItems(deps, given, [{ n: item.n, attempt: item.attempt, open }]);
    return { outcome: 'opened', rate: NOT_COUNTED };
  });
  deps.queueRoom.opened(token.rootUserId);
  onOpened({ name: opened.id, items: 1, last: opened.id });
  if (opened.job) {
    const cached = fromCache(deps, opened, request);
    await deps.handOver.start(opened, opened.job, request.limits.queueTimeoutMs, cached);
  }
  return { outcome: 'opened' };
}

export async function submit(deps: Deps, given: ToSubmit, onOpened: OnOpened): Promise<Submitted> {
  try {
    return await begin(deps, given, onOpened);
  } catch (error) {
    const refused = refusalOf(error);
    if (refused) return refused;
    throw error;
  }
}

// Chunks.

type Sourced = Pick<ProbeRequest, 'secrets' | 'sources'> & { item: Claimed };

/** Of its item alone, and before its request was opened. */
export interface RefusedOfChunk {
  item: Claimed;
  status: number;
  code: string | null;
}

export interface SubmittedChunk {
  refused: RefusedOfChunk[];
  submitted: Submitted;
}

const MOST_OF_SEAL = MOST_SECRET_BYTES - 1_024;

/** The sources that go into one job, and the request that they share. Undefined: all were refused. */
async function chunkOf(deps: Deps, given: ChunkToSubmit, refused: RefusedOfChunk[]) {
  const addressOf = await openerOf(deps, given);
  const { credential } = (given.batch.template as KeptTemplate).fields;
  const along = { headers: undefined, credential: credential ?? undefined };
  const rules = sourceRules(deps.settings, given.token);
  const sourced: Sourced[] = [];
  let request: ProbeRequest | undefined;
  let bytes = 0;
  for (const item of given.items) {
    try {
      const url = addressOf(item);
      request ??= await requestOf(deps, given, url);
      const read = readSources({ url }, rules, along);
      // Whatever the record says of it: a source with credentials is the only one of its job.
      if (sourced[0] && [sourced[0], read].some(({ sources }) => holdsCredentials(sources[0]))) continue;
      bytes += Buffer.byteLength(JSON.stringify(read.secrets[0])) + 1;
      if (bytes > MOST_OF_SEAL && sourced.length > 0) break;
      sourced.push({ ...read, item });
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal?.outcome !== 'refused') throw error;
      refused.push({ item, status: refusal.status, code: refusal.code });
    }
  }
  return request && { request, sourced };
}

async function beginChunk(
  deps: Deps,
  given: ChunkToSubmit,
  { request, sourced }: { request: ProbeRequest; sourced: readonly Sourced[] },
  onOpened: OnOpened,
): Promise<void> {
  const { store, settings, sealKeys } = deps;
  const { token } = given;
  deps.queueRoom.check(token.rootUserId);
  deps.objectRoom.check();
  const by = askerOf(given);
  const { id, submittedAt } = store.newRequest();
  const name = chunkFrom(id);
  const items = sourced.map(({ item: { n, attempt }, secrets, sources }, at) => ({
    n,
    attempt,
    open: {
      ...openInput(
        by,
        { ...request, secrets, sources },
        {
          id: requestOfChunk(name, at + 1),
          submittedAt,
          // One notice is enough: the last one's.
          waiter: at === sourced.length - 1 ? settings.replica : null,
          idempotency: null,
        },
      ),
      webhookUrl: null,
    },
  }));
  await openItems(deps, given, items);
  deps.queueRoom.opened(token.rootUserId);
  onOpened({ name, items: items.length, last: items.at(-1)!.open.id });
  const sealed = sealSource(
    JSON.stringify(sourced.map(({ secrets }) => secrets[0])),
    { requestId: name, tokenId: token.id },
    sealKeys(),
  );
  const shown = { ...request, sources: sourced[0]!.sources };
  const job = probeJob(deps, by, shown, { id: name, submittedAt, items: items.length }, [sealed]);
  await deps.handOver.start({ id: items[0]!.open.id, submittedAt }, job, request.limits.queueTimeoutMs);
}

export async function submitChunk(deps: Deps, given: ChunkToSubmit, onOpened: OnOpened): Promise<SubmittedChunk> {
  const refused: RefusedOfChunk[] = [];
  try {
    const chunk = await chunkOf(deps, given, refused);
    const [first, ...others] = chunk?.sourced ?? [];
    if (!chunk || !first) return { refused, submitted: { outcome: 'not-waiting' } };
    if (others.length === 0)
      return { refused, submitted: await submit(deps, { ...given, item: first.item }, onOpened) };
    await beginChunk(deps, given, chunk, onOpened);
    return { refused, submitted: { outcome: 'opened' } };
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal) return { refused, submitted: refusal };
    throw error;
  }
}
