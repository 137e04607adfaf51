/**
 * Drives the batches of the installation: begins their items, settles those whose requests have ended, and ends the
 * batches. Every API replica has one, and the one with the lease works. The lease decides about speed only: an item is
 * opened with its request in one transaction that checks the epoch, and settled once, by its running request.
 */
import { randomUUID } from 'node:crypto';
import { requestFields } from '../../../base/log.ts';
import { pause } from '../../../base/retry.ts';
import { Rounds } from '../../../base/rounds.ts';
import { Tally } from '../../../base/tally.ts';
import { isSealError } from '../../../platform/seal/seal.ts';
import type { Claimed, EndedItem, RunningItem, Settled } from '../../../platform/store/batch_items.ts';
import type { Driven } from '../../../platform/store/batches.ts';
import { isStoreError } from '../../../platform/store/errors.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import { chunkOf } from '../../../platform/store/uuid.ts';
import type { Deps } from '../deps.ts';
import { cancelOpen, deleteJob } from '../probe/job.ts';
import { PER_HOST } from './batch_fields.ts';
import { type Appended, appendListed } from './append_listed.ts';
import { isListing } from './bucket.ts';
import type { KeptTemplate } from './batch_request.ts';
import { Chunks } from './chunks.ts';
import { verdictOf } from './retry.ts';
import { moveBatch, type StopReason } from './states.ts';
import { type OnOpened, submit, submitChunk, type Submitted, type ToSubmit } from './submit.ts';
import { type AtHost, type Contender, hostRoom, sharedOut, Turns } from './turns.ts';

const LEASE_S = 15;
const RENEW_MS = 5_000;
/** Notices of ends and changes may be lost. */
const BUSY_MS = 2_000;
const IDLE_MS = 5_000;
/** Between two rounds: ends that come together are settled together. */
const GAP_MS = 100;
const AFTER_FAILURE_MS = 1_000;
/** A batch that has nothing to begin: its hosts are at their limits, its items wait for another try, or it fails. */
const DRY_MS = 2_000;

/** Jobs of all batches. */
const MOST_RUNNING = 200;
const MOST_OPENING = 16;
/** Items of them: each round reads all. */
const MOST_ITEMS = 5_000;
const MOST_CANCELLING = 16;
const SETTLED_AT_ONCE = 500;
const SKIPPED_AT_ONCE = 1_000;
const SKIPS_OF_A_ROUND = 10;

/** A batch that may begin items. */
interface Ready {
  batch: Driven;
  token: TokenRecord;
  contender: Contender;
}

interface Judged {
  settled: Settled[];
  /** Of batches. */
  stops: Map<string, StopReason>;
}

/** An item that is being opened: the record may not show it yet. */
interface Opening extends AtHost {
  n: number;
}

/** The ProbeJob of a request. */
const jobOf = (requestId: string): string => chunkOf(requestId) ?? requestId;

const keyOf = ({ batch, n }: { batch: string; n: number }): string => `${batch}:${n}`;

/** What the batches of an account may run at once: the other half is left to its other requests. */
const accountMost = ({ accountConcurrency }: TokenRecord['limits']): number =>
  Math.max(1, Math.ceil((accountConcurrency ?? 2 * MOST_RUNNING) / 2));

/** Jobs by batch, `token:` and `account:`, and in all; and `items:` of a batch. */
export function runsOf(atHosts: readonly AtHost[]): Tally<string> {
  const runs = new Tally<string>();
  for (const { batch } of atHosts) runs.add(`items:${batch}`);
  const jobs = new Map(atHosts.map((one) => [one.job, one]));
  for (const { batch, token, account } of jobs.values())
    for (const key of [batch, `token:${token}`, `account:${account}`, ALL]) runs.add(key);
  return runs;
}
const ALL = 'all';

/** `size`: of its next chunk. */
export function contenderOf(batch: Driven, token: TokenRecord, runs: Tally<string>, size = 1): Contender {
  const { id, concurrency, rate, maxRequests, requests } = batch;
  const { rootUserId: account, limits } = token;
  const running = runs.of(id);
  return {
    id,
    account,
    token: token.id,
    running,
    tokenRuns: runs.of(`token:${token.id}`),
    accountRuns: runs.of(`account:${account}`),
    concurrency,
    perMinute: rate,
    accountPerMinute: limits.accountRequestsPerMinute,
    tokenMost: limits.concurrency,
    // No account has more than what is left: whoever comes next finds room.
    accountMost: Math.min(accountMost(limits), MOST_RUNNING - runs.of(ALL)),
    most: maxRequests === null ? Infinity : maxRequests - requests - runs.of(`items:${id}`),
    size,
  };
}

export const mayProbe = (token: TokenRecord, now: number): boolean =>
  token.userStatus === 'active' &&
  token.permissions.includes('write:media') &&
  (token.expiresAt === null || token.expiresAt.getTime() > now);

/** Null: the batch may go on. What runs may use the rest of its requests up, or be returned. */
export function whyStopped(
  { sealedKey, requests, ioBytes, maxRequests, maxBytes }: Driven,
  token: TokenRecord | undefined,
  now: number,
): StopReason | null {
  if (sealedKey === null || !token || !mayProbe(token, now)) return 'TokenInactive';
  if (maxRequests !== null && requests >= maxRequests) return 'RequestBudget';
  return maxBytes !== null && ioBytes >= maxBytes ? 'ByteBudget' : null;
}

/** How a listing ended whose objects are not taken into the batch. `stop`: it waits for its batch to go on. */
const PAGE_ENDS: Record<
  Exclude<Appended, 'appended' | 'gone'> | 'revoked' | 'sealed',
  Partial<EndedItem> & { stop?: StopReason }
> = {
  lost: { state: 'error', status: 500, reason: 'InternalError', code: null },
  endless: { state: 'error', status: 200, reason: 'ToolFailed', code: 'limit' },
  'too-many-items': { stop: 'TooManyItems' },
  revoked: { stop: 'TokenInactive' },
  sealed: { stop: 'AddressesLost' },
};
const UNCHANGED = { state: 'skipped', reason: 'Unchanged', status: null, code: null } as const;
const REFUSED = { state: 'error', reason: 'InvalidRequest' } as const;
const NOT_YET = { to: 'waiting', afterMs: 0, isTry: false } as const;

/** It may be about to be created. */
const CANCEL_RETRIES = { first: 200, longest: 1_000, attempts: 3, evenIfGone: true };

/** The leader ends what runs of a chunk, and returns the rest. Without a job, nothing of it runs. */
async function cancelJob(
  deps: Pick<Deps, 'kube' | 'store' | 'cancelItem' | 'settings'>,
  job: string,
  items: readonly RunningItem[],
): Promise<void> {
  const [{ requestId, submittedAt }] = items as [RunningItem];
  if (requestId === job) return void (await cancelOpen(deps, { id: requestId, submittedAt }));
  const ids = items.map((one) => one.requestId);
  if (!(await deleteJob(deps.kube, job, deps.settings.namespace, CANCEL_RETRIES)))
    await deps.store.returnItems({ ids, submittedAt });
}

export class BatchDriver {
  readonly #deps: Deps;
  readonly #holder = randomUUID();
  readonly #turns = new Turns();
  readonly #chunks = new Chunks();
  readonly #opening = new Map<string, Opening>();
  /** Of them: to be forgotten once the record is read again, which shows those that were opened. */
  readonly #opened = new Set<string>();
  /**
   * Of each batch: the host that the next claim begins after, and whether something began since the claim that began
   * with the first host.
   */
  readonly #claims = new Map<string, { after: bigint | null; begun: boolean }>();
  /** Accounts of which a page that was listed is being taken into its batch. */
  readonly #taking = new Set<number>();
  /** Batches whose page could not be taken, for a moment: others of their account have their turn. */
  readonly #untaken = new Set<string>();
  /** Jobs that are being cancelled, or were: the ends of their requests come. */
  readonly #cancelled = new Set<string>();
  readonly #inHand = new Set<Promise<void>>();
  readonly #rounds: Rounds;
  #isReady = false;
  #epoch: number | null = null;
  #takenAt = -Infinity;
  #tidiedAt = -Infinity;
  readonly #listener: { stop(): Promise<void> };

  /** `ready`: the tool versions are known. */
  constructor(deps: Deps, ready: Promise<unknown>) {
    this.#deps = deps;
    deps.metrics.watchDriver(() => this.leads);
    ready.then(
      () => {
        this.#isReady = true;
        this.#rounds.again();
      },
      () => {},
    );
    this.#rounds = new Rounds({
      round: () => this.#round(),
      failed: (error) => deps.log.warn({ err: error }, 'cannot drive batches'),
      restMs: AFTER_FAILURE_MS,
      gapMs: GAP_MS,
    });
    this.#listener = deps.store.listenBatches(() => this.#rounds.again());
  }

  /** To be awaited before the hand-over is stopped: what has been opened gets its job. */
  async stop(): Promise<void> {
    await this.#rounds.stop();
    await Promise.allSettled([...this.#inHand, this.#leave(), this.#listener.stop()]);
  }

  /** As far as it knows: not after the lease may be another's, also where nothing can be asked. */
  get leads(): boolean {
    return this.#epoch !== null && performance.now() - this.#takenAt < LEASE_S * 1000;
  }

  /** Returns the time to wait before the next round. */
  async #round(): Promise<number> {
    if (!this.#isReady) return IDLE_MS;
    const { store, drain } = this.#deps;
    if (drain.started) {
      await this.#leave();
      return IDLE_MS;
    }
    const epoch = await this.#lead();
    if (epoch === null) return RENEW_MS;
    const settled = await this.#settle();
    for (const key of this.#opened) this.#opening.delete(key);
    this.#opened.clear();
    const driven = await store.drivenBatches();
    const since = performance.now();
    const running = await store.runningItems();
    this.#forgetOver(driven, running, since);
    const skipped = await this.#cancel(driven, running);
    await this.#tidy(settled + skipped > 0);
    await this.#begin(epoch, driven, running);
    return driven.length + running.length > 0 ? BUSY_MS : IDLE_MS;
  }

  /** Chunks of which nothing runs. `since`: later ones may not be among those that run. */
  #forgetOver(driven: readonly Driven[], running: readonly RunningItem[], since: number): void {
    const jobs = new Set(running.map(({ requestId }) => jobOf(requestId)));
    this.#chunks.keep({ jobs, batches: new Set(driven.map(({ id }) => id)), since });
  }

  /** What fails for one batch, as a query of it that takes too long, holds up no other. */
  async #alone(batch: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (isStoreError(error, 'unreachable')) throw error;
      this.#deps.log.warn({ err: error, batch }, 'cannot drive a batch, will retry');
      this.#turns.pauseBatch(batch, performance.now() + DRY_MS);
    }
  }

  // The lease.

  async #lead(): Promise<number | null> {
    if (performance.now() - this.#takenAt < RENEW_MS) return this.#epoch;
    const { store, log } = this.#deps;
    const before = this.#epoch;
    const began = performance.now();
    this.#epoch = await store.takeDriver({ holder: this.#holder, seconds: LEASE_S });
    this.#takenAt = this.#epoch === null ? -Infinity : began;
    if (this.#epoch !== null && before === null) log.info({ epoch: this.#epoch }, 'drives the batches');
    return this.#epoch;
  }

  async #leave(): Promise<void> {
    if (this.#epoch === null) return;
    this.#deposed();
    await this.#deps.store.leaveDriver(this.#holder).catch(() => {});
  }

  #deposed(): void {
    this.#epoch = null;
    this.#takenAt = -Infinity;
  }

  // Ends.

  /** Returns how many items it settled. */
  async #settle(): Promise<number> {
    const { store } = this.#deps;
    let total = 0;
    for (;;) {
      const ended = await store.endedItems(SETTLED_AT_ONCE);
      if (ended.length === 0) return total;
      const count = await this.#record(await this.#judged(ended));
      total += count;
      if (count === 0 || ended.length < SETTLED_AT_ONCE) return total;
    }
  }

  /** Returns how many items it settled. */
  async #record({ settled, stops }: Judged): Promise<number> {
    const { store, metrics } = this.#deps;
    const count = await store.settleItems(settled);
    for (const { batch, state, next, requestId } of settled) {
      this.#chunks.ended(jobOf(requestId));
      metrics.batchItems(next.to === 'end' ? state : 'again', 1);
      this.#turns.awaken(batch);
    }
    for (const [id, reason] of stops) await this.#stop(id, reason);
    return count;
  }

  async #judged(ended: readonly EndedItem[]): Promise<Judged> {
    const batches = new Map<string, Driven | null>();
    for (const { batch } of ended)
      if (!batches.has(batch)) batches.set(batch, await this.#deps.store.drivenBatch(batch));
    const judged: Judged = { settled: [], stops: new Map() };
    for (const end of ended) {
      const batch = batches.get(end.batch);
      const goesOn = batch !== null && batch !== undefined && batch.state !== 'cancelling' && batch.state !== 'ended';
      if (goesOn && isListing(batch, end.n) && end.state !== 'error') {
        this.#takePage(end, batch);
        continue;
      }
      const { stop, ...next } = { stop: undefined, ...verdictOf(end, { tries: batch?.tries ?? 1, goesOn }) };
      if (stop) judged.stops.set(end.batch, stop);
      judged.settled.push({ ...end, next });
    }
    return judged;
  }

  /** Beside the rounds, as it goes at the pace of its account, which other accounts do not wait for. */
  #takePage(end: EndedItem, batch: Driven): void {
    const account = batch.rootUserId ?? batch.userId;
    if (this.#taking.has(account) || this.#untaken.has(batch.id)) return;
    this.#taking.add(account);
    this.#keep(
      this.#append(end, batch)
        .then(async (page) => {
          if (page === 'appended' || page === 'gone') return;
          const { stop, ...change } = PAGE_ENDS[page];
          const failed = { ...end, ...change };
          const next = stop ? NOT_YET : verdictOf(failed, { tries: batch.tries, goesOn: true });
          await this.#record({ settled: [{ ...failed, next }], stops: new Map(stop && [[batch.id, stop]]) });
        })
        .catch((error: unknown) => {
          const named = { err: error, batch: batch.id };
          this.#deps.log.warn(named, 'cannot take what was listed into its batch, will retry');
          this.#untaken.add(batch.id);
          const later = pause(AFTER_FAILURE_MS, this.#rounds.signal);
          this.#keep(later.then(() => void this.#untaken.delete(batch.id)));
        })
        .finally(() => this.#taking.delete(account)),
    );
  }

  /** Of a listing that succeeded. `gone`: it is to be left as it is, for this round. */
  async #append(end: EndedItem, batch: Driven): Promise<keyof typeof PAGE_ENDS | 'appended' | 'gone'> {
    const { store, accounts } = this.#deps;
    const token = (await store.tokenLimits([batch.tokenId])).get(batch.tokenId);
    if (batch.sealedKey === null || !token) return 'revoked';
    let key: Buffer;
    try {
      key = Buffer.from(await accounts.box.open(batch.sealedKey, 'batch', batch.id), 'base64');
    } catch (error) {
      if (isSealError(error)) return 'sealed';
      throw error;
    }
    const listed = { ...batch, listing: batch.listing! };
    const appended = await appendListed(this.#deps, end, { batch: listed, token, key });
    if (appended === 'appended') {
      this.#chunks.ended(jobOf(end.requestId));
      this.#turns.awaken(batch.id);
    }
    return appended;
  }

  async #stop(id: string, reason: StopReason): Promise<void> {
    const stopped = await moveBatch(this.#deps, { id, state: 'running' }, 'stop', reason);
    if (stopped) this.#deps.log.info({ batch: id, reason }, 'stopped a batch');
  }

  // Cancellation, and the end of batches.

  /** Returns how many items it skipped. */
  async #cancel(driven: readonly Driven[], running: readonly RunningItem[]): Promise<number> {
    const { store } = this.#deps;
    const ids = new Set(driven.filter(({ state }) => state === 'cancelling').map(({ id }) => id));
    const jobs = Map.groupBy(running, ({ requestId }) => jobOf(requestId));
    for (const job of this.#cancelled) if (!jobs.has(job)) this.#cancelled.delete(job);
    for (const [job, items] of jobs) if (ids.has(items[0]!.batch)) this.#cancelJob(job, items);
    let total = 0;
    for (const batch of ids)
      await this.#alone(batch, async () => {
        for (let step = 0; step < SKIPS_OF_A_ROUND; step++) {
          const skipped = await store.skipItems({ batch, limit: SKIPPED_AT_ONCE });
          total += skipped;
          if (skipped < SKIPPED_AT_ONCE) break;
        }
      });
    return total;
  }

  #cancelling = 0;

  #cancelJob(job: string, items: readonly RunningItem[]): void {
    if (this.#cancelled.has(job) || this.#cancelling >= MOST_CANCELLING) return;
    this.#cancelled.add(job);
    this.#cancelling += 1;
    this.#keep(
      cancelJob(this.#deps, job, items)
        .catch((error: unknown) => {
          // The next round tries again.
          this.#cancelled.delete(job);
          this.#deps.log.warn({ err: error, ...requestFields({ job }) }, 'cannot cancel items of a batch');
        })
        .then(() => {
          this.#cancelling -= 1;
        }),
    );
  }

  #keep(work: Promise<void>): void {
    const kept: Promise<void> = work.finally(() => {
      this.#inHand.delete(kept);
      this.#rounds.again();
    });
    this.#inHand.add(kept);
  }

  async #tidy(isDue: boolean): Promise<void> {
    const { store, log } = this.#deps;
    if (!isDue && performance.now() - this.#tidiedAt < BUSY_MS) return;
    this.#tidiedAt = performance.now();
    const expired = await store.expireBatches();
    for (const id of expired) log.info({ batch: id }, 'the deadline of a batch is over');
    for (const { id, reason } of await store.endBatches()) log.info({ batch: id, reason }, 'a batch ended');
    if (expired.length > 0) this.#rounds.again();
  }

  // Items.

  /** Without those twice that the record shows already. */
  #atHosts(running: readonly RunningItem[]): AtHost[] {
    const all = new Map<string, AtHost>(this.#opening);
    for (const one of running) all.set(keyOf(one), { ...one, job: jobOf(one.requestId) });
    return [...all.values()];
  }

  async #begin(epoch: number, driven: readonly Driven[], running: readonly RunningItem[]): Promise<void> {
    const ready = await this.#ready(driven, this.#atHosts(running));
    const now = performance.now();
    const contenders = ready.map(({ contender }) => contender);
    this.#turns.keep(contenders, now);
    const known = new Set(driven.map(({ id }) => id));
    for (const id of this.#claims.keys()) if (!known.has(id)) this.#claims.delete(id);
    const atHosts = this.#atHosts(running);
    const opening = new Set([...this.#opening.values()].map(({ job }) => job)).size;
    const room = Math.min(MOST_RUNNING - runsOf(atHosts).of(ALL), MOST_OPENING - opening);
    let left = MOST_ITEMS - atHosts.length;
    for (const { id, jobs } of this.#turns.next(contenders, room, now)) {
      const one = ready.find(({ batch }) => batch.id === id)!;
      const sizes = jobs.map((items) => Math.max(1, Math.min(items, Math.floor(left / jobs.length))));
      left -= sizes.reduce((sum, size) => sum + size, 0);
      await this.#alone(id, () => this.#beginOf(epoch, one, sizes, this.#atHosts(running)));
    }
  }

  /** Stops those that may not go on. */
  async #ready(driven: readonly Driven[], atHosts: readonly AtHost[]): Promise<Ready[]> {
    const { store } = this.#deps;
    const live = driven.filter(({ state, counts }) => state === 'running' && counts.waiting > 0);
    const tokens = await store.tokenLimits([...new Set(live.map(({ tokenId }) => tokenId))]);
    const runs = runsOf(atHosts);
    const ready: Ready[] = [];
    for (const batch of live) {
      const token = tokens.get(batch.tokenId);
      const reason = whyStopped(batch, token, store.clock.now());
      if (reason !== null || !token) {
        await this.#stop(batch.id, reason ?? 'TokenInactive');
        continue;
      }
      ready.push({ batch, token, contender: contenderOf(batch, token, runs, this.#sizeOf(batch)) });
    }
    return ready;
  }

  /** The host of an item may have to be asked first. One with a named credential has its own runner. */
  #sizeOf({ id, template, counts, concurrency }: Driven): number {
    const { fields, onlyChanged } = template as KeptTemplate;
    if (onlyChanged || fields.cache.max_age || fields.credential !== null) return 1;
    return this.#chunks.sizeOf(id, { waiting: counts.waiting, atOnce: concurrency });
  }

  async #beginOf(epoch: number, { batch, token, contender }: Ready, sizes: number[], atHosts: AtHost[]): Promise<void> {
    const { id, perHost } = batch;
    const { account } = contender;
    const { full, left } = hostRoom(atHosts, { id, account, perHost }, PER_HOST.most);
    const last = this.#claims.get(id) ?? { after: null, begun: false };
    const opening = [...this.#opening.values()].filter((one) => one.batch === id).length;
    const { items: claimed, after } = await this.#deps.store.claimItems({
      batch: id,
      full,
      after: last.after,
      limit: sizes.reduce((sum, size) => sum + size, opening),
    });
    const free = claimed.filter(({ n }) => !this.#opening.has(keyOf({ batch: id, n })));
    const jobs = sharedOut(free, sizes, left);
    const begun = jobs.length > 0 || (last.after !== null && last.begun);
    this.#claims.set(id, { after, begun });
    for (const chunk of jobs) this.#submit(epoch, { batch, token, contender }, chunk);
    // What else was claimed, and counted for others, was for nothing.
    if (Math.max(...sizes) > 1 && jobs.length > 0 && jobs.every(([first]) => !first?.plain)) this.#chunks.halve(id);
    if (jobs.length > 0) return;
    // With the hosts after the last one, or from the first again, unless nothing of any host could begin.
    if (after !== null || begun) this.#rounds.again();
    else this.#turns.pauseBatch(id, performance.now() + DRY_MS);
  }

  #submit(epoch: number, { batch, token, contender }: Ready, items: readonly Claimed[]): void {
    const { account } = contender;
    const job = `opening:${++this.#openings}`;
    const keys = items.map(({ n }) => keyOf({ batch: batch.id, n }));
    for (const { n, host } of items)
      this.#opening.set(keyOf({ batch: batch.id, n }), { job, batch: batch.id, n, host, account, token: token.id });
    this.#turns.opened(contender, performance.now(), items.length);
    this.#keep(
      this.#begun({ epoch, batch, token }, contender, items)
        .catch((error: unknown) => {
          const named = { err: error, batch: batch.id, n: items[0]?.n, items: items.length };
          this.#deps.log.warn(named, 'cannot begin items of a batch');
          // There may be time to open fewer of them.
          this.#chunks.halve(batch.id);
          this.#turns.pauseAccount(account, performance.now() + AFTER_FAILURE_MS);
        })
        .finally(() => keys.forEach((key) => this.#opened.add(key))),
    );
  }

  #openings = 0;

  async #begun(of: Omit<ToSubmit, 'item'>, contender: Contender, items: readonly Claimed[]): Promise<void> {
    const { id } = contender;
    const [first, ...others] = items;
    if (!first) return;
    const opened: OnOpened = ({ name, items: count, last }) =>
      this.#await(last, this.#chunks.begun(name, id, first.plain ? count : 0));
    if (others.length === 0)
      return this.#submitted(contender, first, await submit(this.#deps, { ...of, item: first }, opened));
    const { refused, submitted } = await submitChunk(this.#deps, { ...of, items }, opened);
    for (const { item, ...why } of refused) await this.#submitted(contender, item, { outcome: 'refused', ...why });
    // Fewer of them may have a quota, or be as they were claimed.
    if (submitted.outcome === 'stop' || submitted.outcome === 'not-waiting') this.#chunks.halve(id);
    if (submitted.outcome !== 'stop' || submitted.reason !== 'QuotaExceeded')
      await this.#submitted(contender, first, submitted);
  }

  async #submitted({ id, account }: Contender, { n, attempt }: Claimed, submitted: Submitted): Promise<void> {
    const { store, metrics } = this.#deps;
    switch (submitted.outcome) {
      case 'stop':
        return this.#stop(id, submitted.reason);
      case 'unchanged':
      case 'refused': {
        const end = submitted.outcome === 'refused' ? { ...REFUSED, ...submitted } : UNCHANGED;
        if (await store.endUnopened({ batch: id, n, attempt, ...end })) metrics.batchItems(end.state, 1);
        return this.#turns.awaken(id);
      }
      case 'no-room':
        return this.#turns.pauseAccount(account, performance.now() + submitted.afterMs);
      case 'not-yet':
        return this.#turns.pauseBatch(id, performance.now() + submitted.afterMs);
      case 'not-driver':
        return this.#deposed();
      default:
    }
  }

  /** Its end is settled at once. A lost notice is covered by the look of each round. */
  #await(requestId: string, over: AbortSignal): void {
    this.#deps.waiting.wait(requestId, AbortSignal.any([this.#rounds.signal, over])).then(
      () => this.#rounds.again(),
      () => {},
    );
  }
}
