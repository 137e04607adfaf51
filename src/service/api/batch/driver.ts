/**
 * Drives the batches of the installation: begins their items, settles those whose requests have ended, and ends the
 * batches. Every API replica has one, and the one with the lease works. The lease decides about speed only: an item is
 * opened with its request in one transaction that checks the epoch, and settled once, by its running request.
 */
import { randomUUID } from 'node:crypto';
import { requestFields } from '../../../base/log.ts';
import { Rest } from '../../../base/rest.ts';
import { pause } from '../../../base/retry.ts';
import { Tally } from '../../../base/tally.ts';
import type { Claimed, EndedItem, RunningItem, Settled } from '../../../platform/store/batch_items.ts';
import type { Batch, Driven } from '../../../platform/store/batches.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import type { Deps } from '../deps.ts';
import { cancelOpen } from '../probe/job.ts';
import { PER_HOST } from './batch_fields.ts';
import { verdictOf } from './retry.ts';
import { move, type StopReason } from './states.ts';
import { submit, type Submitted } from './submit.ts';
import { type AtHost, type Contender, hostRoom, Turns } from './turns.ts';

const LEASE_S = 15;
const RENEW_MS = 5_000;
/** Notices of ends and changes may be lost. */
const BUSY_MS = 2_000;
const IDLE_MS = 5_000;
/** Between two rounds: ends that come together are settled together. */
const GAP_MS = 100;
const AFTER_FAILURE_MS = 1_000;
/** A batch that has nothing to begin: its hosts are at their limits, or its items wait for another try. */
const DRY_MS = 2_000;

/** Of all batches. */
const MOST_RUNNING = 200;
const MOST_OPENING = 16;
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

/** An item that is being opened: the record may not show it yet. */
interface Opening extends AtHost {
  n: number;
}

const keyOf = ({ batch, n }: { batch: string; n: number }): string => `${batch}:${n}`;

/** What the batches of an account may run at once: the other half is left to its other requests. */
const accountMost = ({ accountConcurrency }: TokenRecord['limits']): number =>
  Math.max(1, Math.ceil((accountConcurrency ?? 2 * MOST_RUNNING) / 2));

/** By batch, `token:` and `account:`, and in all. */
export function runsOf(atHosts: readonly AtHost[]): Tally<string> {
  const runs = new Tally<string>();
  for (const { batch, token, account } of atHosts)
    for (const key of [batch, `token:${token}`, `account:${account}`, ALL]) runs.add(key);
  return runs;
}
const ALL = 'all';

export function contenderOf(batch: Driven, token: TokenRecord, runs: Tally<string>): Contender {
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
    most: maxRequests === null ? Infinity : maxRequests - requests - running,
  };
}

const mayProbe = (token: TokenRecord, now: number): boolean =>
  token.userStatus === 'active' &&
  token.permissions.includes('write:media') &&
  (token.expiresAt === null || token.expiresAt.getTime() > now);

/** Null: the batch may go on. */
export function whyStopped(
  { sealedKey, requests, ioBytes, maxRequests, maxBytes, counts }: Driven,
  token: TokenRecord | undefined,
  now: number,
): StopReason | null {
  if (sealedKey === null || !token || !mayProbe(token, now)) return 'TokenInactive';
  if (maxRequests !== null && requests + counts.running >= maxRequests) return 'RequestBudget';
  return maxBytes !== null && ioBytes >= maxBytes ? 'ByteBudget' : null;
}

export class BatchDriver {
  readonly #deps: Deps;
  readonly #holder = randomUUID();
  readonly #turns = new Turns();
  readonly #opening = new Map<string, Opening>();
  /** Of them: to be forgotten once the record is read again, which shows those that were opened. */
  readonly #opened = new Set<string>();
  /** Of each batch: the host that the next claim begins after. */
  readonly #after = new Map<string, bigint | null>();
  /** Requests that are being cancelled, or were: their ends come. */
  readonly #cancelled = new Set<string>();
  readonly #inHand = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #rest = new Rest(this.#stopping.signal);
  #epoch: number | null = null;
  #takenAt = -Infinity;
  #tidiedAt = -Infinity;
  readonly #running: Promise<void>;
  readonly #listener: { stop(): Promise<void> };

  /** `ready`: the tool versions are known. */
  constructor(deps: Deps, ready: Promise<unknown>) {
    this.#deps = deps;
    deps.metrics.watchDriver(() => this.#epoch !== null);
    this.#running = this.#start(ready);
    this.#listener = deps.store.listenBatches(() => this.#rest.end());
  }

  /** To be awaited before the hand-over is stopped: what has been opened gets its job. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('this replica is shutting down'));
    await this.#running;
    await Promise.allSettled([...this.#inHand, this.#leave(), this.#listener.stop()]);
  }

  async #start(ready: Promise<unknown>): Promise<void> {
    const { signal } = this.#stopping;
    const stopped = new Promise<false>((resolve) => signal.addEventListener('abort', () => resolve(false)));
    const isReady = await Promise.race([ready.then(() => true), stopped]).catch(() => false);
    if (isReady) await this.#run();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#rest.begin();
      const ms = await this.#round().catch((error: unknown) => {
        this.#deps.log.warn({ err: error }, 'cannot drive batches');
        return AFTER_FAILURE_MS;
      });
      await pause(GAP_MS, signal);
      await this.#rest.take(ms);
    }
  }

  /** Returns the time to wait before the next round. */
  async #round(): Promise<number> {
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
    const running = await store.runningItems();
    const skipped = await this.#cancel(driven, running);
    await this.#tidy(settled + skipped > 0);
    await this.#begin(epoch, driven, running);
    return driven.length + running.length > 0 ? BUSY_MS : IDLE_MS;
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
    const { store, metrics } = this.#deps;
    let total = 0;
    for (;;) {
      const ended = await store.endedItems(SETTLED_AT_ONCE);
      if (ended.length === 0) return total;
      const { settled, stops } = await this.#judged(ended);
      const count = await store.settleItems(settled);
      for (const { batch, state, next } of settled) {
        metrics.batchItems(next.to === 'end' ? state : 'again', 1);
        this.#turns.awaken(batch);
      }
      for (const [id, reason] of stops) await this.#stop(id, reason);
      total += count;
      if (count === 0 || ended.length < SETTLED_AT_ONCE) return total;
    }
  }

  async #judged(ended: readonly EndedItem[]): Promise<{ settled: Settled[]; stops: Map<string, StopReason> }> {
    const batches = new Map<string, Batch | null>();
    for (const { batch } of ended) if (!batches.has(batch)) batches.set(batch, await this.#deps.store.readBatch(batch));
    const stops = new Map<string, StopReason>();
    const settled = ended.map((end): Settled => {
      const batch = batches.get(end.batch);
      const goesOn = batch !== null && batch !== undefined && batch.state !== 'cancelling' && batch.state !== 'ended';
      const { stop, ...next } = { stop: undefined, ...verdictOf(end, { tries: batch?.tries ?? 1, goesOn }) };
      if (stop) stops.set(end.batch, stop);
      return { ...end, next };
    });
    return { settled, stops };
  }

  async #stop(id: string, reason: StopReason): Promise<void> {
    const { store, log } = this.#deps;
    const stopped = await store.moveBatch({ id, from: ['running'], to: move('running', 'stop')!, reason });
    if (stopped) log.info({ batch: id, reason }, 'stopped a batch');
  }

  // Cancellation, and the end of batches.

  /** Returns how many items it skipped. */
  async #cancel(driven: readonly Driven[], running: readonly RunningItem[]): Promise<number> {
    const { store } = this.#deps;
    const ids = new Set(driven.filter(({ state }) => state === 'cancelling').map(({ id }) => id));
    for (const id of this.#cancelled)
      if (!running.some(({ requestId }) => requestId === id)) this.#cancelled.delete(id);
    for (const item of running) if (ids.has(item.batch)) this.#cancelRequest(item);
    let total = 0;
    for (const batch of ids)
      for (let step = 0; step < SKIPS_OF_A_ROUND; step++) {
        const skipped = await store.skipItems({ batch, limit: SKIPPED_AT_ONCE });
        total += skipped;
        if (skipped < SKIPPED_AT_ONCE) break;
      }
    return total;
  }

  #cancelling = 0;

  #cancelRequest({ requestId, submittedAt }: RunningItem): void {
    if (this.#cancelled.has(requestId) || this.#cancelling >= MOST_CANCELLING) return;
    this.#cancelled.add(requestId);
    this.#cancelling += 1;
    this.#keep(
      cancelOpen(this.#deps, { id: requestId, submittedAt })
        .catch((error: unknown) => {
          // The next round tries again.
          this.#cancelled.delete(requestId);
          this.#deps.log.warn({ err: error, ...requestFields({ id: requestId }) }, 'cannot cancel an item of a batch');
        })
        .then(() => {
          this.#cancelling -= 1;
        }),
    );
  }

  #keep(work: Promise<void>): void {
    const kept: Promise<void> = work.finally(() => {
      this.#inHand.delete(kept);
      this.#rest.end();
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
    if (expired.length > 0) this.#rest.end();
  }

  // Items.

  /** Without those twice that the record shows already. */
  #atHosts(running: readonly RunningItem[]): AtHost[] {
    const all = new Map<string, AtHost>(this.#opening);
    for (const one of running) all.set(keyOf(one), one);
    return [...all.values()];
  }

  async #begin(epoch: number, driven: readonly Driven[], running: readonly RunningItem[]): Promise<void> {
    const ready = await this.#ready(driven, this.#atHosts(running));
    const now = performance.now();
    const contenders = ready.map(({ contender }) => contender);
    this.#turns.keep(contenders, now);
    const known = new Set(driven.map(({ id }) => id));
    for (const id of this.#after.keys()) if (!known.has(id)) this.#after.delete(id);
    const room = Math.min(MOST_RUNNING - this.#atHosts(running).length, MOST_OPENING - this.#opening.size);
    for (const { id, count } of this.#turns.next(contenders, room, now)) {
      const one = ready.find(({ batch }) => batch.id === id)!;
      await this.#beginOf(epoch, one, count, this.#atHosts(running));
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
      ready.push({ batch, token, contender: contenderOf(batch, token, runs) });
    }
    return ready;
  }

  async #beginOf(epoch: number, { batch, token, contender }: Ready, count: number, atHosts: AtHost[]): Promise<void> {
    const { id, perHost } = batch;
    const { account } = contender;
    const { full, left } = hostRoom(atHosts, { id, account, perHost }, PER_HOST.most);
    const from = this.#after.get(id) ?? null;
    const opening = [...this.#opening.values()].filter((one) => one.batch === id).length;
    const { items, after } = await this.#deps.store.claimItems({
      batch: id,
      full,
      after: from,
      limit: count + opening,
    });
    this.#after.set(id, after);
    let begun = 0;
    const used = new Map<bigint, number>();
    for (const item of items) {
      const here = used.get(item.host) ?? 0;
      if (begun >= count || this.#opening.has(keyOf({ batch: id, n: item.n })) || here >= left(item.host)) continue;
      used.set(item.host, here + 1);
      begun += 1;
      this.#submit(epoch, { batch, token, contender }, item);
    }
    if (begun > 0) return;
    // From the first host again, or with those after the last one.
    if (from !== null || after !== null) this.#rest.end();
    else this.#turns.pauseBatch(id, performance.now() + DRY_MS);
  }

  #submit(epoch: number, { batch, token, contender }: Ready, item: Claimed): void {
    const key = keyOf({ batch: batch.id, n: item.n });
    const { account } = contender;
    this.#opening.set(key, { batch: batch.id, n: item.n, host: item.host, account, token: token.id });
    this.#turns.opened(contender, performance.now());
    this.#keep(
      submit(this.#deps, { epoch, batch, item, token }, (requestId) => this.#await(requestId))
        .then((submitted) => this.#submitted(contender, item, submitted))
        .catch((error: unknown) => {
          this.#deps.log.warn({ err: error, batch: batch.id, n: item.n }, 'cannot begin an item of a batch');
          this.#turns.pauseAccount(account, performance.now() + AFTER_FAILURE_MS);
        })
        .finally(() => void this.#opened.add(key)),
    );
  }

  async #submitted({ id, account }: Contender, { n, attempt }: Claimed, submitted: Submitted): Promise<void> {
    const { store, metrics } = this.#deps;
    switch (submitted.outcome) {
      case 'stop':
        return this.#stop(id, submitted.reason);
      case 'refused': {
        const { status, code } = submitted;
        if (await store.refuseItem({ batch: id, n, attempt, status, reason: 'InvalidRequest', code }))
          metrics.batchItems('error', 1);
        return this.#turns.awaken(id);
      }
      case 'no-room':
        return this.#turns.pauseAccount(account, performance.now() + submitted.afterMs);
      case 'not-driver':
        return this.#deposed();
      default:
    }
  }

  /** Its end is settled at once. A lost notice is covered by the look of each round. */
  #await(requestId: string): void {
    this.#deps.waiting.wait(requestId, this.#stopping.signal).then(
      () => this.#rest.end(),
      () => {},
    );
  }
}
