/** The record: all calls to Postgres that other parts may make. */
import { accountCodeCalls } from './account_codes.ts';
import { apiTokenCalls } from './api_tokens.ts';
import { attemptCalls } from './attempts.ts';
import { backupState } from './backups.ts';
import { openDatabase, type PoolSettings } from './connection.ts';
import { startClock, type StoreClock } from './clock.ts';
import { isStoreError, StoreError } from './errors.ts';
import { listen, type Listener, listenTokens, type TokenChange } from './listen.ts';
import { DEFAULT_LIMITS, type DefaultLimits } from '../../base/limits.ts';
import { retry } from '../../base/retry.ts';
import { logCalls } from './log.ts';
import { mailCalls } from './mails.ts';
import { policyCalls } from './policies.ts';
import { requestCalls } from './requests.ts';
import { retentionCalls } from './retention.ts';
import { sessionCalls } from './sessions.ts';
import { signingKeyCalls } from './signing_keys.ts';
import { statisticsCalls } from './statistics.ts';
import { tokenCalls } from './tokens.ts';
import { userCalls } from './users.ts';
import { uuidv7 } from './uuid.ts';
import { webhookCalls } from './webhooks.ts';

export interface StoreSettings extends PoolSettings {
  /** For LISTEN, bypassing any pooler; empty: the same as `url`. */
  directUrl?: string | undefined;
  defaultLimits?: DefaultLimits;
  /** Wait for Postgres without a limit, and report each failed try to `onError`. */
  waitForServer?: boolean;
}

export type Store = Awaited<ReturnType<typeof openStore>>;

const START_PAUSES = { first: 500, longest: 2_000 };

/** Fails if Postgres is unreachable for `retryMs`, unless told to wait. */
export async function openStore(settings: StoreSettings) {
  const database = openDatabase(settings);
  const listeners: Listener[] = [];
  let clock: StoreClock;
  try {
    const sample = async () => {
      const [row] = await database.rows<{ ms: number }>({
        name: 'clock',
        text: 'select (extract(epoch from clock_timestamp()) * 1000)::float8 ms',
      });
      if (!row) throw new StoreError('query-failed', 'clock returned no row');
      return row.ms;
    };
    const options = settings.onError ? { onError: (error: unknown) => settings.onError?.(error as Error) } : {};
    clock = await retry(() => startClock(sample, options), {
      ...START_PAUSES,
      attempts: settings.waitForServer ? Infinity : 1,
      when: (error) => isStoreError(error, 'unreachable', 'timeout', 'not-ready'),
      onRetry: options.onError ?? (() => {}),
    });
  } catch (error) {
    await database.end();
    throw error;
  }

  const retention = retentionCalls(database);
  return {
    ...tokenCalls(database, settings.defaultLimits ?? DEFAULT_LIMITS),
    ...requestCalls(database),
    ...retention,
    ...statisticsCalls(database, retention.requestsSince),
    ...policyCalls(database),
    ...logCalls(database, retention.requestsSince),
    ...userCalls(database),
    ...sessionCalls(database),
    ...signingKeyCalls(database),
    ...accountCodeCalls(database),
    ...mailCalls(database),
    ...attemptCalls(database),
    ...apiTokenCalls(database),
    ...webhookCalls(database),
    clock,

    /** The id and submission time of a new request, by the store's clock. The id contains the time. */
    newRequest(): { id: string; submittedAt: Date } {
      const now = Math.floor(clock.now());
      return { id: uuidv7(now), submittedAt: new Date(now) };
    },

    listenTokens(onChange: (change: TokenChange) => void): Listener {
      const listener = listenTokens({ ...settings, url: settings.directUrl || settings.url }, onChange, (error) =>
        settings.onError?.(error as Error),
      );
      listeners.push(listener);
      return listener;
    },

    /** Calls `onDue` when another webhook may be due. */
    listenWebhooks(onDue: () => void): Listener {
      const listener = listen(
        { ...settings, url: settings.directUrl || settings.url },
        'py_webhooks',
        { heard: onDue, missed: onDue },
        (error) => settings.onError?.(error as Error),
      );
      listeners.push(listener);
      return listener;
    },

    /**
     * Creates the partitions of the coming months and returns how many were missing. To be called at start and daily,
     * by any replica.
     */
    async ensurePartitions(): Promise<number> {
      const [row] = await database.rows<{ made: number }>({
        name: 'ensure_partitions',
        text: 'select ensure_partitions() made',
      });
      return row?.made ?? 0;
    },

    /** Deletes idempotency keys after a day, and rate limits that have fully recovered. */
    async forgetExpired(): Promise<void> {
      await database.rows({
        name: 'forget_idempotency',
        text: `delete from idempotency where created_at < now() - interval '24 hours'`,
      });
      await database.rows({
        name: 'forget_rates',
        text: `delete from rate_limits where tat < now() - interval '1 hour'`,
      });
    },

    async installId(): Promise<string> {
      const [row] = await database.rows<{ value: string }>({
        name: 'install_id',
        text: `select value from settings where key = 'install.id'`,
      });
      if (!row) throw new StoreError('not-ready', 'the schema is missing: run the role migrate');
      return row.value;
    },

    /** Whether Postgres answers a query right now. */
    async healthy(): Promise<boolean> {
      return database.once({ name: 'healthy', text: 'select 1' }).then(
        () => true,
        () => false,
      );
    },

    async databaseBytes(): Promise<number> {
      const [row] = await database.once<{ bytes: number }>({
        name: 'database_size',
        text: 'select pg_database_size(current_database()) bytes',
      });
      return row?.bytes ?? 0;
    },

    backupState: () => backupState(database),

    connections: () => database.idle(),

    async close(): Promise<void> {
      clock.stop();
      await Promise.all(listeners.map((listener) => listener.stop()));
      await database.end();
    },
  };
}
