/** The record: all calls to Postgres that other parts may make. */
import { DEFAULT_LIMITS, type DefaultLimits } from '../../base/limits.ts';
import { retry } from '../../base/retry.ts';
import * as calls from './calls.ts';
import { startClock, type StoreClock } from './clock.ts';
import { openDatabase, type Database, type PoolSettings } from './connection.ts';
import { isStoreError, StoreError } from './errors.ts';
import { listen, type Listener, listenTokens, type TokenChange } from './listen.ts';
import { requireSchema } from './migrate.ts';
import { query } from './query.ts';
import { uuidv7 } from './uuid.ts';

export interface StoreSettings extends PoolSettings {
  /** For LISTEN, bypassing any pooler; empty: the same as `url`. */
  directUrl?: string | undefined;
  defaultLimits?: DefaultLimits;
  /** Wait for Postgres without a limit, and an hour for its schema; report each failed try to `onError`. */
  waitForServer?: boolean;
}

export type Store = Awaited<ReturnType<typeof openStore>>;

const CALLS = { ...calls, databaseBytes, healthy, installId };

type Call<Result, Rest extends unknown[]> = (database: calls.TokenDatabase, ...rest: Rest) => Result;
/** The same calls without the connection; what a file exports beside its calls is left out. */
type Bound<All> = {
  [Name in keyof All as All[Name] extends Call<unknown, never[]> ? Name : never]: All[Name] extends Call<
    infer Result,
    infer Rest
  >
    ? (...rest: Rest) => Result
    : never;
};

export type StoreCalls = Bound<typeof CALLS>;

export function bound(database: calls.TokenDatabase): StoreCalls {
  const all = Object.entries(CALLS).filter(([, call]) => typeof call === 'function');
  return Object.fromEntries(
    all.map(([name, call]) => [name, (call as Call<unknown, unknown[]>).bind(null, database)]),
  ) as StoreCalls;
}

async function installId(database: Database): Promise<string> {
  const id = await database.valueOrNull<string>(
    query('install_id')`select value from settings where key = 'install.id'`,
  );
  if (id === null) throw new StoreError('not-ready', 'the schema is missing: run the role migrate');
  return id;
}

/** Whether Postgres answers a query right now. */
async function healthy(database: Database): Promise<boolean> {
  return database.once(query('healthy')`select 1`).then(
    () => true,
    () => false,
  );
}

async function databaseBytes(database: Database): Promise<number> {
  const [row] = await database.once<{ bytes: number }>(query('database_size')`
    select pg_database_size(current_database()) bytes`);
  return row?.bytes ?? 0;
}

const START_PAUSES = { first: 500, longest: 2_000 };
/** A migration of large tables takes long. After it the process ends, so that its pod shows it. */
const SCHEMA_WAIT_MS = 3_600_000;

async function clockOf(database: Database, settings: StoreSettings): Promise<StoreClock> {
  const { waitForServer, onError = () => {} } = settings;
  const sample = () =>
    database.value<number>(query('clock')`select (extract(epoch from clock_timestamp()) * 1000)::float8`);
  const failed = (error: unknown) => onError(error as Error);
  const begin = async (): Promise<StoreClock> => {
    if (waitForServer) await requireSchema(database);
    return startClock(sample, { onError: failed });
  };
  const until = performance.now() + SCHEMA_WAIT_MS;
  return retry(begin, {
    ...START_PAUSES,
    attempts: waitForServer ? Infinity : 1,
    when: (error) =>
      isStoreError(error, 'unreachable', 'timeout') || (isStoreError(error, 'not-ready') && performance.now() < until),
    onRetry: failed,
  });
}

/** Fails if Postgres is unreachable for `retryMs`, unless told to wait. */
export async function openStore(settings: StoreSettings) {
  const database = { ...openDatabase(settings), defaultLimits: settings.defaultLimits ?? DEFAULT_LIMITS };
  const clock = await clockOf(database, settings).catch(async (error: unknown) => {
    await database.end();
    throw error;
  });
  const listeners: Listener[] = [];
  const direct = { ...settings, url: settings.directUrl || settings.url };
  const onError = (error: unknown) => settings.onError?.(error as Error);
  const stopped = (listener: Listener): Listener => {
    listeners.push(listener);
    return listener;
  };
  return {
    ...bound(database),
    clock,

    /** Makes the calls in one transaction. `name` stands in errors. */
    together: <T>(name: string, work: (store: StoreCalls) => Promise<T>): Promise<T> =>
      database.transaction(name, (within) =>
        // A call that makes a transaction of its own joins this one.
        work(bound({ ...database, ...within, transaction: (_, joined) => joined(within) })),
      ),

    /** The id and submission time of a new request, by the store's clock. The id contains the time. */
    newRequest(): { id: string; submittedAt: Date } {
      const now = Math.floor(clock.now());
      return { id: uuidv7(now), submittedAt: new Date(now) };
    },

    listenTokens: (onChange: (change: TokenChange) => void): Listener =>
      stopped(listenTokens(direct, onChange, onError)),

    /** Calls `onDue` when another webhook may be due. */
    listenWebhooks: (onDue: () => void): Listener =>
      stopped(listen(direct, 'py_webhooks', { heard: onDue, missed: onDue }, onError)),

    /** Calls `onChange` when a batch was created, runs again or is to be cancelled. */
    listenBatches: (onChange: () => void): Listener =>
      stopped(listen(direct, 'py_batches', { heard: onChange, missed: onChange }, onError)),

    connections: () => database.idle(),

    async close(): Promise<void> {
      clock.stop();
      await Promise.all(listeners.map((listener) => listener.stop()));
      await database.end();
    },
  };
}
