/**
 * Whose turn it is to begin items: the account that runs fewest, of it the batch that runs fewest, and of equals the
 * one that was served longest ago. Never above a limit. Pure but for what it remembers; the driver alone keeps it.
 */

export interface Contender {
  id: string;
  account: number;
  token: number;
  /** Items that run or are being opened: of it, and of all batches of its token and account, whatever their state. */
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
  /** What its budget leaves. */
  most: number;
}

export interface Turn {
  id: string;
  count: number;
}

/** What may begin at once after a pause. A driver that takes over begins anew, so it must be short. */
const BURST_MS = 2_000;
const MINUTE_MS = 60_000;

/** Of batches and accounts, in memory: a rate of a batch is a politeness, not a quota. */
class Rates {
  /** When each has its burst again. */
  readonly #wholeAt = new Map<string, number>();

  left(key: string, perMinute: number, now: number): number {
    const everyMs = MINUTE_MS / perMinute;
    const owedMs = Math.max(0, (this.#wholeAt.get(key) ?? 0) - now);
    return Math.max(0, Math.floor((Math.max(BURST_MS, everyMs) - owedMs) / everyMs + 1e-9));
  }

  take(key: string, perMinute: number, now: number): void {
    this.#wholeAt.set(key, Math.max(this.#wholeAt.get(key) ?? 0, now) + MINUTE_MS / perMinute);
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

  /** A request was opened. */
  opened({ id, account, perMinute, accountPerMinute }: Contender, now: number): void {
    this.#rates.take(id, perMinute, now);
    this.#rates.take(ofAccount(account), accountPerMinute, now);
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

  /** At most `room` items in all. */
  next(batches: readonly Contender[], room: number, now: number): Turn[] {
    const given = new Map<string, number>();
    const more = (key: string, by = 1): void => void given.set(key, (given.get(key) ?? 0) + by);
    const of = (key: string): number => given.get(key) ?? 0;
    for (const { account, token, accountRuns, tokenRuns } of batches) {
      given.set(`runs:${ofAccount(account)}`, accountRuns);
      given.set(`runs:token:${token}`, tokenRuns);
    }
    const isFree = (batch: Contender): boolean =>
      of(batch.id) < batch.most &&
      batch.running + of(batch.id) < batch.concurrency &&
      of(`runs:token:${batch.token}`) < batch.tokenMost &&
      of(`runs:${ofAccount(batch.account)}`) < batch.accountMost &&
      of(batch.id) < this.#rates.left(batch.id, batch.perMinute, now) &&
      of(ofAccount(batch.account)) < this.#rates.left(ofAccount(batch.account), batch.accountPerMinute, now);
    const rank = ({ id, account, running }: Contender): number[] => [
      of(`runs:${ofAccount(account)}`),
      this.#served.get(ofAccount(account)) ?? 0,
      running + of(id),
      this.#served.get(id) ?? 0,
    ];
    let free = batches.filter((batch) => !this.#isPaused(batch, now));
    for (let left = room; left > 0; left--) {
      free = free.filter(isFree);
      const [first] = free
        .map((batch) => ({ batch, rank: rank(batch) }))
        .reduce<{ batch: Contender; rank: number[] }[]>(
          ([best], one) => [best && compare(best.rank, one.rank) <= 0 ? best : one],
          [],
        )
        .map(({ batch }) => batch);
      if (!first) break;
      more(first.id);
      more(ofAccount(first.account));
      more(`runs:${ofAccount(first.account)}`);
      more(`runs:token:${first.token}`);
    }
    return batches.map(({ id }) => ({ id, count: of(id) })).filter(({ count }) => count > 0);
  }

  #isPaused({ id, account }: Contender, now: number): boolean {
    return [id, ofAccount(account)].some((key) => (this.#pausedUntil.get(key) ?? 0) > now);
  }
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}

// Hosts.

/** An item that runs or is being opened. */
export interface AtHost {
  batch: string;
  account: number;
  token: number;
  host: bigint;
}

/** How many more items of a batch each host may have. */
export function hostRoom(
  running: readonly AtHost[],
  { id, account, perHost }: { id: string; account: number; perHost: number },
  mostOfAccount: number,
): { full: bigint[]; left(host: bigint): number } {
  const ofBatch = Map.groupBy(
    running.filter(({ batch }) => batch === id),
    ({ host }) => host,
  );
  const ofAll = Map.groupBy(
    running.filter((one) => one.account === account),
    ({ host }) => host,
  );
  const left = (host: bigint): number =>
    Math.min(perHost - (ofBatch.get(host)?.length ?? 0), mostOfAccount - (ofAll.get(host)?.length ?? 0));
  return { full: [...ofAll.keys()].filter((host) => left(host) <= 0), left };
}
