/**
 * Answers requests by results of equal ones, if the host of the file says that it is still the same. Of equal requests
 * that wait at this replica, one looks and, if there is no result, runs; the others wait for it and are answered by its
 * result. Whatever fails here costs a run, and no request.
 */
import { type Logger, requestFields } from '../../../base/log.ts';
import { Tally } from '../../../base/tally.ts';
import type { Ended } from '../../../platform/bus/messages.ts';
import type { CachedResult } from '../../../platform/store/cached_results.ts';
import type { Store } from '../../../platform/store/store.ts';
import { isSourceError } from '../../../source/error.ts';
import type { Asked } from '../../../source/http/ask_identity.ts';
import { endedNotice } from '../../result/ended_notice.ts';
import type { CacheOutcome, Metrics } from '../api_metrics.ts';
import type { CacheAsked } from './cache_key.ts';
import type { makeWaiting } from './waiting_callers.ts';

export interface CacheDeps {
  store: Pick<Store, 'cachedResult' | 'closeCached' | 'endsFor' | 'clock'>;
  waiting: Pick<ReturnType<typeof makeWaiting>, 'wait' | 'ended'>;
  metrics: Pick<Metrics, 'cacheAsked'>;
  log: Logger;
  /** What a host said, or a runner heard from it, is taken for true for as long. */
  seenMs: number;
  /** What keys are made with; undefined: this installation has no cache. */
  secret(): Uint8Array | undefined;
  /** Asks the host which file it is. */
  ask(asked: CacheAsked): Promise<Asked>;
}

interface Request {
  id: string;
  submittedAt: Date;
}

interface Times {
  signal: AbortSignal;
  /** The request's time in the queue: half of it is left for its own run, if that of an equal one takes longer. */
  queueMs: number;
  /** The longest that its own run can take. */
  endsWithinMs: number;
}

/** How the run of the first of equal requests ended. Abandoned: its caller is gone, and another one takes its turn. */
type Flight = 'stored' | 'not-stored' | 'abandoned';

const flightOf = ({ reason, hasBody, status }: Pick<Ended, 'reason' | 'hasBody' | 'status'>): Flight =>
  reason === 'Cancelled' ? 'abandoned' : hasBody && status === 200 ? 'stored' : 'not-stored';

/** Hosts that one account asks at a time: silent ones must not use up the sockets of the replica. */
const MOST_ASKED = 16;
const MOST_SEEN = 10_000;

interface Said {
  identity: string | undefined;
  bytes: number;
  /** Nobody was asked. */
  busy?: boolean;
}

export class ResultCache {
  readonly #deps: CacheDeps;
  /** By key and age. */
  readonly #flights = new Map<string, Promise<Flight>>();
  /** By key: what hosts are being asked, and have said. */
  readonly #asking = new Map<string, Promise<Said>>();
  readonly #seen = new Map<string, { identity: string | undefined; at: number }>();
  /** By account. */
  readonly #askedBy = new Tally<number>();

  constructor(deps: CacheDeps) {
    this.#deps = deps;
  }

  /** What keys are made with; undefined: there is no cache. */
  secret(): Uint8Array | undefined {
    return this.#deps.secret();
  }

  /** The end of an open request that was answered; null: it is to run. */
  async endOf(request: Request, asked: CacheAsked, times: Times): Promise<Ended | null> {
    const end = await this.#endOf(request, asked, times);
    // Its caller, and those who repeat it under its Idempotency-Key.
    if (end) this.#deps.waiting.ended(end);
    return end;
  }

  async #endOf(request: Request, asked: CacheAsked, times: Times): Promise<Ended | null> {
    const name = `${nameOf(asked)} ${asked.maxAgeS}`;
    let patience: AbortSignal | undefined;
    for (;;) {
      const running = this.#flights.get(name);
      if (!running) return this.#first(name, request, asked, times);
      patience ??= AbortSignal.any([times.signal, AbortSignal.timeout(times.queueMs / 2)]);
      const flight = await before(running, patience);
      if (flight === 'abandoned') continue;
      const end = flight === 'stored' ? await this.#answer(request, this.#withWait(request, asked)) : null;
      return end ?? this.#ended(request);
    }
  }

  /** How old the result may be is said of the time at which it was asked for. */
  #withWait({ submittedAt }: Request, asked: CacheAsked): CacheAsked {
    const waitedMs = this.#deps.store.clock.now() - submittedAt.getTime();
    return { ...asked, maxAgeS: asked.maxAgeS + Math.round(waitedMs / 1000) };
  }

  /** A request may have been cancelled while it waited: it must not run. */
  async #ended({ id }: Request): Promise<Ended | null> {
    const [end] = await this.#deps.store.endsFor([id]).catch(() => []);
    return end ? endedNotice(end) : null;
  }

  /** The first of equal requests. Its flight is entered before anything is awaited, so there is one. */
  async #first(
    name: string,
    request: Request,
    asked: CacheAsked,
    { signal, endsWithinMs }: Times,
  ): Promise<Ended | null> {
    const flight = Promise.withResolvers<Flight>();
    this.#flights.set(name, flight.promise);
    const over = (how: Flight): void => {
      this.#flights.delete(name);
      flight.resolve(how);
    };
    const end = await this.#answer(request, asked);
    if (end) over(flightOf(end));
    else if (signal.aborted) over('abandoned');
    else
      this.#deps.waiting.wait(request.id, AbortSignal.timeout(endsWithinMs)).then(
        (ended) => over(flightOf(ended)),
        () => over('not-stored'),
      );
    return end;
  }

  async #answer(request: Request, asked: CacheAsked): Promise<Ended | null> {
    const { metrics, log } = this.#deps;
    try {
      const { outcome, end = null } = await this.#look(request, asked);
      metrics.cacheAsked(outcome);
      return end;
    } catch (error) {
      metrics.cacheAsked('failed');
      log.warn(
        { err: error, ...requestFields({ id: request.id }) },
        'cannot look for a cached result, running the job',
      );
      return null;
    }
  }

  async #look(request: Request, asked: CacheAsked): Promise<{ outcome: CacheOutcome; end?: Ended }> {
    const { store } = this.#deps;
    const found = await store.cachedResult(asked);
    if (!found) return { outcome: 'absent' };
    const { identity, bytes, busy = false } = await this.#identityOf(asked, found);
    if (identity === undefined) return { outcome: busy ? 'busy' : 'unknown' };
    if (identity !== found.identity) return { outcome: 'changed' };
    const closed = await store.closeCached({ ...request, key: asked, identity, ioBytes: bytes });
    if (closed === 'none') return { outcome: 'absent' };
    const [end] = await store.endsFor([request.id]);
    if (!end) throw new Error('a request that was answered from the cache has no end');
    return { outcome: closed === 'cached' ? 'hit' : 'ended', end: endedNotice(end) };
  }

  /** Whether the host says that the file is this one. False: another one, or it does not say. */
  async isStill(asked: CacheAsked, identity: string): Promise<boolean> {
    try {
      return (await this.#said(asked)).identity === identity;
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'cannot ask whether a file has changed, running the job');
      return false;
    }
  }

  /** As its host says it, or has said it moments ago: to a runner, or to an equal request. */
  async #identityOf(asked: CacheAsked, found: CachedResult): Promise<Said> {
    const { seenMs, store } = this.#deps;
    if (store.clock.now() - found.readAt.getTime() < seenMs) return { identity: found.identity, bytes: 0 };
    return this.#said(asked);
  }

  async #said(asked: CacheAsked): Promise<Said> {
    const name = nameOf(asked);
    const seen = this.#seen.get(name);
    if (seen && performance.now() - seen.at < this.#deps.seenMs) return { identity: seen.identity, bytes: 0 };
    const asking = this.#asking.get(name);
    // Its bytes are counted to the request that asked.
    if (asking) return { ...(await asking), bytes: 0 };
    if (this.#askedBy.of(asked.rootUserId) >= MOST_ASKED) return { identity: undefined, bytes: 0, busy: true };
    const now = this.#ask(name, asked);
    this.#asking.set(name, now);
    return now;
  }

  async #ask(name: string, asked: CacheAsked): Promise<Said> {
    this.#askedBy.add(asked.rootUserId);
    try {
      const said = await this.#deps.ask(asked).catch((error: unknown) => {
        if (!isSourceError(error)) throw error;
        return { identity: undefined, bytes: 0 };
      });
      this.#seen.delete(name);
      this.#seen.set(name, { identity: said.identity, at: performance.now() });
      if (this.#seen.size > MOST_SEEN) this.#seen.delete(this.#seen.keys().next().value!);
      return said;
    } finally {
      this.#askedBy.add(asked.rootUserId, -1);
      this.#asking.delete(name);
    }
  }
}

const nameOf = ({ key }: CacheAsked): string => key.toString('base64');

/** Undefined: the signal came first. */
async function before<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) return undefined;
  const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
  const abort = (): void => resolve(undefined);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
