/**
 * Whose turn it is to begin jobs, each an item or a chunk of several: the account that runs fewest, of it the batch
 * that runs fewest, and of equals the one that was served longest ago. Never above a limit. Pure but for what it
 * remembers; the driver alone keeps it.
 */
import { getOrMake } from '../../../base/get_or_make.ts';
import { Tally } from '../../../base/tally.ts';

export interface Contender {
  id: string;
  account: number;
  token: number;
  /** Jobs that run or are being opened: of it, and of all batches of its token and account, whatever their state. */
  running: number;
  tokenRuns: number;
  accountRuns: number;
  concurrency: number;
  /** Requests a minute: of the batch, and of all batches of its account. */
  perMinute: number;
  accountPerMinute: number;
  /** What the batches of its token, and of its account, may run at once. */
  tokenMost: number;
  accountMost: number;
  /** Items that its budget leaves. */
  most: number;
  /** Items of its next job, if rates and budget allow so many. */
  size: number;
}

export interface Turn {
  id: string;
  /** Of each job to begin, how many items it has. */
  jobs: number[];
}

/** What may begin at once after a pause. A driver that takes over begins anew, so it must be short. */
const BURST_MS = 2_000;
const MINUTE_MS = 60_000;

const burstOf = (perMinute: number): number => Math.max(1, Math.floor((BURST_MS * perMinute) / MINUTE_MS));

/** Of batches and accounts, in memory: a rate of a batch is a politeness, not a quota. */
class Rates {
  /** When each has its burst again. */
  readonly #wholeAt = new Map<string, number>();

  left(key: string, perMinute: number, now: number): number {
    const everyMs = MINUTE_MS / perMinute;
    const owedMs = Math.max(0, (this.#wholeAt.get(key) ?? 0) - now);
    return Math.max(0, Math.floor((Math.max(BURST_MS, everyMs) - owedMs) / everyMs + 1e-9));
  }

  take(key: string, perMinute: number, now: number, count: number): void {
    this.#wholeAt.set(key, Math.max(this.#wholeAt.get(key) ?? 0, now) + (count * MINUTE_MS) / perMinute);
  }

  forget(now: number): void {
    for (const [key, at] of this.#wholeAt) if (at <= now) this.#wholeAt.delete(key);
  }
}

const ofAccount = (account: number): string => `account:${account}`;

export class Turns {
  readonly #rates = new Rates();
  /** Not before this time: of a batch, or `account:` and its id. */
  readonly #pausedUntil = new Map<string, number>();
  /** By batch and account: the number of the last opening. */
  readonly #served = new Map<string, number>();
  #openings = 0;

  /** The batch, or the whole account, has nothing to begin for a while. */
  pauseBatch(id: string, until: number): void {
    this.#pausedUntil.set(id, until);
  }
  pauseAccount(account: number, until: number): void {
    this.#pausedUntil.set(ofAccount(account), until);
  }
  /** There may be something to begin. */
  awaken(id: string): void {
    this.#pausedUntil.delete(id);
  }

  /** A job was begun, with so many requests. */
  opened({ id, account, perMinute, accountPerMinute }: Contender, now: number, count = 1): void {
    this.#rates.take(id, perMinute, now, count);
    this.#rates.take(ofAccount(account), accountPerMinute, now, count);
    this.#openings += 1;
    for (const key of [id, ofAccount(account)]) this.#served.set(key, this.#openings);
  }

  /** Forgets batches and accounts that are not among these. */
  keep(batches: readonly Contender[], now: number): void {
    const keys = new Set(batches.flatMap(({ id, account }) => [id, ofAccount(account)]));
    for (const map of [this.#pausedUntil, this.#served])
      for (const key of map.keys()) if (!keys.has(key)) map.delete(key);
    this.#rates.forget(now);
  }

  /** At most `room` jobs in all. */
  next(batches: readonly Contender[], room: number, now: number): Turn[] {
    const given = new Tally<string>();
    const jobs = new Map<string, number[]>();
    for (const { account, token, accountRuns, tokenRuns } of batches) {
      given.set(`runs:${ofAccount(account)}`, accountRuns);
      given.set(`runs:token:${token}`, tokenRuns);
    }
    const runs = ({ id, running }: Contender): number => running + (jobs.get(id)?.length ?? 0);
    const itemsFor = (batch: Contender): number => this.#itemsFor(batch, given, now);
    const isFree = (batch: Contender): boolean =>
      runs(batch) < batch.concurrency &&
      given.of(`runs:token:${batch.token}`) < batch.tokenMost &&
      given.of(`runs:${ofAccount(batch.account)}`) < batch.accountMost &&
      itemsFor(batch) > 0;
    const rank = (batch: Contender): number[] => [
      given.of(`runs:${ofAccount(batch.account)}`),
      this.#served.get(ofAccount(batch.account)) ?? 0,
      runs(batch),
      this.#served.get(batch.id) ?? 0,
    ];
    let free = batches.filter((batch) => !this.#isPaused(batch, now));
    for (let left = room; left > 0; left--) {
      free = free.filter(isFree);
      const first = firstOf(free, rank);
      if (!first) break;
      const { id, account, token } = first;
      const items = itemsFor(first);
      jobs.set(id, [...(jobs.get(id) ?? []), items]);
      for (const key of [id, ofAccount(account)]) given.add(key, items);
      for (const key of [`runs:${ofAccount(account)}`, `runs:token:${token}`]) given.add(key);
    }
    return [...jobs].map(([id, sizes]) => ({ id, jobs: sizes }));
  }

  /**
   * Of its next job. A chunk waits for half of what the rate of its batch allows at once, which would else cut it into
   * single items. That of its account it takes as it comes: other batches would not leave it so many.
   */
  #itemsFor(batch: Contender, given: Tally<string>, now: number): number {
    const { id, account, most, size, perMinute, accountPerMinute } = batch;
    const left = (key: string, rate: number): number => this.#rates.left(key, rate, now) - given.of(key);
    const wanted = Math.min(size, most - given.of(id));
    const own = left(id, perMinute);
    if (own < Math.min(wanted, Math.ceil(burstOf(perMinute) / 2))) return 0;
    return Math.min(wanted, own, left(ofAccount(account), accountPerMinute));
  }

  #isPaused({ id, account }: Contender, now: number): boolean {
    return [id, ofAccount(account)].some((key) => (this.#pausedUntil.get(key) ?? 0) > now);
  }
}

function firstOf(batches: readonly Contender[], rank: (batch: Contender) => number[]): Contender | undefined {
  const [first, ...others] = batches.map((batch) => ({ batch, rank: rank(batch) }));
  return others.reduce((best, one) => (best && compare(best.rank, one.rank) <= 0 ? best : one), first)?.batch;
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}

// Hosts.

/** An item that runs or is being opened. Those of one job are read one after the other, so they count as one. */
export interface AtHost {
  job: string;
  batch: string;
  account: number;
  token: number;
  host: bigint;
}

/** How many more jobs of a batch each host may be read by. */
export function hostRoom(
  running: readonly AtHost[],
  { id, account, perHost }: { id: string; account: number; perHost: number },
  mostOfAccount: number,
): { full: bigint[]; left(host: bigint): number } {
  const jobsAt = (of: (one: AtHost) => boolean): Map<bigint, Set<string>> => {
    const jobs = new Map<bigint, Set<string>>();
    for (const one of running) if (of(one)) getOrMake(jobs, one.host, () => new Set()).add(one.job);
    return jobs;
  };
  const ofBatch = jobsAt(({ batch }) => batch === id);
  const ofAll = jobsAt((one) => one.account === account);
  const left = (host: bigint): number =>
    Math.min(perHost - (ofBatch.get(host)?.size ?? 0), mostOfAccount - (ofAll.get(host)?.size ?? 0));
  return { full: [...ofAll.keys()].filter((host) => left(host) <= 0), left };
}

/**
 * Shares items out among jobs of these sizes, with no host in more jobs than it has room for. What is not `plain` has a
 * job of its own: a source with credentials must not share a runner, and a listing runs no tools.
 */
export function sharedOut<T extends { host: bigint; plain: boolean }>(
  items: readonly T[],
  sizes: readonly number[],
  left: (host: bigint) => number,
): T[][] {
  const jobs: T[][] = [];
  const used = new Tally<bigint>();
  let rest = items;
  for (const size of sizes) {
    const hosts = new Set<bigint>();
    const [taken, others]: [T[], T[]] = [[], []];
    for (const item of rest) {
      const [first] = taken;
      const hasPlace = first === undefined || (taken.length < size && first.plain && item.plain);
      const fits = hasPlace && (hosts.has(item.host) || used.of(item.host) < left(item.host));
      if (fits && !hosts.has(item.host)) used.add(item.host);
      if (fits) hosts.add(item.host);
      (fits ? taken : others).push(item);
    }
    if (taken.length > 0) jobs.push(taken);
    rest = others;
  }
  return jobs;
}
