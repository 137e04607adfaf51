/** Begins one item: an ordinary request, opened together with its item or not at all. */
import type { Claimed } from '../../../platform/store/batch_items.ts';
import type { Driven } from '../../../platform/store/batches.ts';
import type { Opened, OpenInput, TokenRecord } from '../../../platform/store/records.ts';
import { isSealError } from '../../../platform/seal/seal.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import type { Asker } from '../http/request_context.ts';
import { fileRequest } from '../probe/file_request.ts';
import { openRequest } from '../probe/open_request.ts';
import { fromCache } from '../probe/run_request.ts';
import { fieldsOf, type KeptTemplate } from './batch_request.ts';
import { openItem } from './item_seal.ts';
import type { StopReason } from './states.ts';

export interface ToSubmit {
  epoch: number;
  batch: Driven;
  item: Claimed;
  token: TokenRecord;
}

export type Submitted =
  | { outcome: 'opened'; requestId: string }
  /** Another replica drives; the batch, or the item, has moved on. Nothing was opened. */
  | { outcome: 'not-driver' | 'not-running' | 'not-waiting' }
  /** The installation has no room: again after this time. */
  | { outcome: 'no-room'; afterMs: number }
  /** Of this item alone. */
  | { outcome: 'refused'; status: number; code: string | null }
  | { outcome: 'stop'; reason: StopReason };

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
  const { code, status, field, headers, toolCode = null } = error;
  if (code === 'quota') return { outcome: 'stop', reason: 'QuotaExceeded' };
  if (code === 'tool-unavailable' || field?.endsWith('.version')) return { outcome: 'stop', reason: 'ToolUnavailable' };
  if (status === 429 || status === 503)
    return { outcome: 'no-room', afterMs: Number(headers['Retry-After'] ?? 0) * 1_000 || AFTER_MS };
  if (field === 'policy') return { outcome: 'stop', reason: 'PolicyUnavailable' };
  if (status !== 400) return undefined;
  return OF_ITEM.includes(field)
    ? { outcome: 'refused', status, code: toolCode }
    : { outcome: 'stop', reason: 'InvalidRequest' };
}

async function addressOf({ accounts }: Pick<Deps, 'accounts'>, { batch, item }: ToSubmit): Promise<string> {
  const key = await accounts.box.open(batch.sealedKey!, 'batch', batch.id);
  return openItem(item.sealed, { batch: batch.id, n: item.n }, Buffer.from(key, 'base64'));
}

/** With the epoch of the driver, so that a deposed one opens nothing. */
const opener = ({ store }: Pick<Deps, 'store'>, { epoch, batch, item }: ToSubmit) =>
  async function openWithItem(open: OpenInput): Promise<Opened> {
    const opened = await store.openItem({ epoch, batch: batch.id, n: item.n, attempt: item.attempt, open });
    switch (opened.outcome) {
      case 'not-driver':
      case 'not-running':
      case 'not-waiting':
        throw new NotOpened(opened.outcome);
      default:
        return opened;
    }
  };

/** `onOpened`: called before anything can end the request. */
async function begin(deps: Deps, given: ToSubmit, onOpened: (requestId: string) => void): Promise<string> {
  const { store, settings } = deps;
  const { batch, token } = given;
  deps.queueRoom.check(token.rootUserId);
  deps.objectRoom.check();
  const { fields, policyRevision } = batch.template as KeptTemplate;
  // Not counted again: the driver has a rate for the batch.
  const by: Asker = { method: 'POST', state: { token, rate: { limit: 0, remaining: 0, resetMs: 0 } } };
  const asked = fieldsOf(fields, await addressOf(deps, given));
  const request = { ...(await fileRequest(deps, by, asked, policyRevision)), background: true };
  const named = { ...store.newRequest(), waiter: settings.replica, idempotency: null };
  const opened = await openRequest(deps, by, request, named, opener(deps, given));
  deps.queueRoom.opened(token.rootUserId);
  onOpened(opened.id);
  if (opened.job) {
    const cached = fromCache(deps, opened, request);
    await deps.handOver.start(opened, opened.job, request.limits.queueTimeoutMs, cached);
  }
  return opened.id;
}

export async function submit(deps: Deps, given: ToSubmit, onOpened: (requestId: string) => void): Promise<Submitted> {
  try {
    return { outcome: 'opened', requestId: await begin(deps, given, onOpened) };
  } catch (error) {
    const refused = refusalOf(error);
    if (refused) return refused;
    throw error;
  }
}
