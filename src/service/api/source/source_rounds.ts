/**
 * Lists the buckets of sources when it is time, and makes batches of the objects that are due: the replica that drives
 * the batches does. Each step is one transaction that checks what it begins from, so a step that was cut short, or made
 * by two replicas, is made good by the next round.
 */
import { Rounds } from '../../../base/rounds.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import type { DrivenSource, OpenBatch, SourceState } from '../../../platform/store/sources.ts';
import { MOST_ITEMS } from '../batch/batch_fields.ts';
import { type BatchDriver, mayProbe } from '../batch/driver.ts';
import { moveBatch, textOfStop } from '../batch/states.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { bodyOf, createBundle, createListing } from './source_batch.ts';

const ROUND_MS = 2_000;
const GAP_MS = 200;
/** Each has up to 10,000 names in memory. */
const MOST_AT_WORK = 4;
const CREATE_MS = 60_000;
const TURNS_KEPT_MS = 3_600_000;
const AFTER_FAILURE_MS = 5_000;
/** The clock of an origin may be behind: what it has reported since a listing began is not forgotten. */
const UNSEEN_MS = 3_600_000;

const LIVE: readonly SourceState[] = ['running', 'paused', 'stopped'];

// What is done next with a source.

/** One that waits for a try of an item does not hold up the next. */
const MOST_BUNDLES = 2;

/**
 * By account: when its last turn began. Fewer accounts work at once than may have sources that are slow, so one that
 * has had a turn comes after those that wait for theirs.
 */
export const inTurn = <T extends Pick<DrivenSource, 'rootUserId'>>(
  sources: readonly T[],
  turns: ReadonlyMap<number | null, number>,
): T[] => {
  const of = ({ rootUserId }: T): number => turns.get(rootUserId) ?? 0;
  return sources.toSorted((a, b) => of(a) - of(b));
};

type Step =
  | { do: 'drop' | 'list' | 'bundle' | 'stop' | 'wait' }
  /** `with`: the listing. */
  | { do: 'end-listing' | 'give-up-listing'; with: OpenBatch };

type Facts = Pick<DrivenSource, 'state' | 'rootUserId' | 'listDue' | 'bundleDue' | 'open'>;

/** `may`: its token is active and may probe. */
export function stepOf({ state, rootUserId, listDue, bundleDue, open }: Facts, may: boolean): Step {
  if (state === 'deleting' || rootUserId === null) return { do: 'drop' };
  const listing = open.find(({ lists }) => lists);
  if (listing?.state === 'ended') return { do: 'end-listing', with: listing };
  // The schedule is the other try.
  if (listing?.state === 'stopped') return { do: 'give-up-listing', with: listing };
  const mayList = listDue && listing === undefined;
  const mayBundle = bundleDue && open.filter(({ lists }) => !lists).length < MOST_BUNDLES;
  if (state !== 'running' || !(mayList || mayBundle)) return { do: 'wait' };
  if (!may) return { do: 'stop' };
  return { do: mayList ? 'list' : 'bundle' };
}

export class SourceRounds {
  readonly #deps: Deps;
  readonly #driver: Pick<BatchDriver, 'leads'>;
  readonly #rounds = new Rounds({
    round: () => this.#round(),
    failed: (error) => this.#deps.log.warn({ err: error }, 'cannot follow sources'),
    restMs: ROUND_MS,
    gapMs: GAP_MS,
  });
  /** By account: one at a time. */
  readonly #working = new Map<number, Promise<void>>();
  /** When the last turn of an account began, of the last hour. */
  readonly #turns = new Map<number | null, number>();
  /** Sources that are not looked at before this time. */
  readonly #pausedUntil = new Map<string, number>();

  constructor(deps: Deps, driver: Pick<BatchDriver, 'leads'>) {
    this.#deps = deps;
    this.#driver = driver;
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    await Promise.allSettled(this.#working.values());
  }

  async #round(): Promise<void> {
    const { store } = this.#deps;
    if (!this.#driver.leads || this.#deps.drain.started) return;
    await store.forgetMissing();
    const sources = await store.drivenSources();
    const now = performance.now();
    for (const [id, until] of this.#pausedUntil) if (until <= now) this.#pausedUntil.delete(id);
    const ready = sources.filter(({ id, rootUserId }) => !this.#pausedUntil.has(id) && !this.#isBusy(rootUserId));
    const tokens = await store.tokenLimits([...new Set(ready.map(({ tokenId }) => tokenId))]);
    for (const [account, at] of this.#turns) if (at < now - TURNS_KEPT_MS) this.#turns.delete(account);
    for (const source of inTurn(ready, this.#turns)) this.#follow(source, tokens.get(source.tokenId));
  }

  #isBusy(account: number | null): boolean {
    return this.#working.has(account ?? ERASED);
  }

  #follow(source: DrivenSource, token: TokenRecord | undefined): void {
    const account = source.rootUserId ?? ERASED;
    const may = token !== undefined && mayProbe(token, this.#deps.store.clock.now());
    if (this.#isBusy(account) || this.#working.size >= MOST_AT_WORK || stepOf(source, may).do === 'wait') return;
    const work = this.#made(source, may ? token : undefined)
      .catch((error: unknown) => {
        this.#deps.log.warn({ err: error, source: source.id }, 'cannot follow a source, will retry');
        return false;
      })
      .then((done) => {
        if (!done) this.#pausedUntil.set(source.id, performance.now() + AFTER_FAILURE_MS);
        this.#working.delete(account);
        this.#rounds.again();
      });
    this.#working.set(account, work);
    this.#turns.set(source.rootUserId, performance.now());
  }

  /** False: not now, and not in the next round. */
  async #made(source: DrivenSource, token: TokenRecord | undefined): Promise<boolean> {
    const step = stepOf(source, token !== undefined);
    switch (step.do) {
      case 'drop':
        return this.#drop(source);
      case 'end-listing':
        return this.#endListing(source, step.with);
      case 'give-up-listing':
        return (await moveBatch(this.#deps, step.with, 'cancel', step.with.reason)) !== null;
      case 'stop':
        return this.#stop(source.id, 'TokenInactive', textOfStop('TokenInactive'));
      default:
        return token !== undefined && this.#create(source, token, step.do === 'list');
    }
  }

  async #create({ id }: DrivenSource, token: TokenRecord, lists: boolean): Promise<boolean> {
    const { store, log } = this.#deps;
    const source = await store.readSource(id);
    if (!source) return true;
    const body = await bodyOf(this.#deps, source);
    if (!body) return this.#stop(id, 'AddressesLost', textOfStop('AddressesLost'));
    const gone = AbortSignal.any([this.#rounds.signal, AbortSignal.timeout(CREATE_MS)]);
    const of = { source, body, token, gone };
    try {
      if (lists) return (await createListing(this.#deps, of)) === 'created';
      const { items } = await store.unfinishedBatches(token.rootUserId);
      const room = Math.min(MOST_ITEMS, this.#deps.settings.batchMaxItems - items);
      const objects = room > 0 ? await store.dueObjects(id, room) : [];
      return objects.length > 0 && (await createBundle(this.#deps, of, objects)) === 'created';
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500 || error.status === 429) throw error;
      log.info({ source: id, text: error.message }, 'stopped a source');
      return this.#stop(id, 'InvalidRequest', error.message);
    }
  }

  async #stop(id: string, reason: string, text: string | null): Promise<boolean> {
    await this.#deps.store.moveSource({ id, from: ['running'], to: 'stopped', reason, text });
    return true;
  }

  async #endListing({ id: source }: DrivenSource, { id, reason }: OpenBatch): Promise<boolean> {
    const { store } = this.#deps;
    const batch = await store.readBatch(id);
    if (!batch?.listing) return true;
    const { listed, found, filtered, leftOut } = batch.listing;
    const [item] = await store.itemsPage({ batch: id, after: -1, limit: 1 });
    const error = listed ? null : (item?.code ?? item?.reason ?? reason);
    if (listed && !(await this.#forget(source, new Date(batch.createdAt.getTime() - UNSEEN_MS)))) return false;
    const last = { at: batch.createdAt.toISOString(), error, found, filtered, left_out: leftOut };
    await store.endSourceListing({ source, batch: id, last });
    return true;
  }

  /** Whether all are forgotten. Another replica begins anew. */
  async #forget(source: string, unseenSince: Date | null): Promise<boolean> {
    let after: Buffer | null = Buffer.alloc(0);
    while (after !== null && this.#driver.leads && !this.#rounds.signal.aborted)
      after = await this.#deps.store.forgetObjects(source, { unseenSince, after });
    return after === null;
  }

  async #drop({ id, state, open }: DrivenSource): Promise<boolean> {
    const { store } = this.#deps;
    if (state !== 'deleting') await store.moveSource({ id, from: LIVE, to: 'deleting' });
    for (const batch of open) await moveBatch(this.#deps, batch, 'cancel');
    const listing = open.find(({ lists, state: of }) => lists && of === 'ended');
    if (listing) await this.#endListing({ id } as DrivenSource, listing);
    if (!(await this.#forget(id, null))) return true;
    return !open.some(({ lists }) => lists) && store.dropSource(id);
  }
}

/** In place of an account. */
const ERASED = -1;
