/** Connections to Postgres: the pool for queries, and single connections for LISTEN and migrations. */
import pg from 'pg';
import { retry, within } from '../../base/retry.ts';
import { asStoreError, isConnectionFailure, isRefused, isStoreError, READ_ONLY, StoreError } from './errors.ts';
import { type Address, addresses, clientsOf } from './sign_in.ts';
import { parameters } from './storable.ts';
import { reached } from './tls.ts';

/** Files are read for each new connection. */
export interface ConnectionSettings extends Address {
  caFile?: string | undefined;
  /** Client certificate and its private key, both or none. */
  certificateFile?: string | undefined;
  keyFile?: string | undefined;
  /** 0: not sent, as poolers that refuse start-up parameters require. */
  statementTimeoutMs?: number;
  /** How long a query may take before its connection counts as dead. */
  queryTimeoutMs?: number;
  /** The application name of the sessions in pg_stat_activity. */
  name?: string;
}

// All bigints here (ids, bytes) stay far below 2^53.
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === 20 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

const CONNECT_MS = 5_000;
const PAUSES = { first: 20, longest: 500 };

// The server ends a session after half a minute if its client disappeared silently (a dead node, a firewall). The
// default is two hours, during which each such session occupies one of max_connections: a few network failures in a row
// would exhaust them.
const KEEPALIVE =
  '-c tcp_keepalives_idle=15 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c tcp_user_timeout=30000';

export function clientConfig({
  url,
  caFile,
  certificateFile,
  keyFile,
  statementTimeoutMs = 10_000,
  queryTimeoutMs = statementTimeoutMs > 0 ? statementTimeoutMs + 2_000 : undefined,
  name = 'probeyard',
}: Omit<ConnectionSettings, keyof Address> & { url: string }): pg.ClientConfig {
  const server = reached(url, caFile, { certificateFile, keyFile });
  return {
    connectionString: server.url,
    ssl: server.ssl,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: name,
    types,
    ...(queryTimeoutMs === undefined ? {} : { query_timeout: queryTimeoutMs }),
    ...(statementTimeoutMs > 0 ? { statement_timeout: statementTimeoutMs, options: KEEPALIVE } : {}),
  };
}

/** The class of clients with these settings. Throws if they cannot be used. */
export const clientClass = (settings: ConnectionSettings): new () => pg.Client =>
  clientsOf(() => addresses(settings).map((url) => clientConfig({ ...settings, url })));

/** One connection, to be ended by the caller. `what` it is for stands in errors. */
export async function connectedFor(what: string, settings: ConnectionSettings): Promise<pg.Client> {
  const attempt = async (Client: new () => pg.Client): Promise<pg.Client> => {
    const client = new Client();
    client.on('error', () => {});
    try {
      await client.connect();
      return client;
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
  };
  try {
    const Client = clientClass(settings);
    return await retry(() => attempt(Client), { ...PAUSES, attempts: 2, when: isRefused });
  } catch (error) {
    throw asStoreError(error, what);
  }
}

/** What the work made; disposing of it ends its connection. An error of the work does so, and says what it was for. */
export async function holdConnection<T extends object>(
  what: string,
  settings: ConnectionSettings,
  work: (client: pg.Client) => Promise<T>,
): Promise<T & AsyncDisposable> {
  const client = await connectedFor(what, settings);
  const close = async (): Promise<void> => {
    await client.end().catch(() => {});
  };
  try {
    return { ...(await work(client)), [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw asStoreError(error, what);
  }
}

/** The result of work on one connection, which ends with it. */
export async function withConnection<T>(
  what: string,
  settings: ConnectionSettings,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  await using held = await holdConnection(what, settings, async (client) => ({ result: await work(client) }));
  return held.result;
}

/** The user name in this address. */
export const userOf = (url: string): string => new pg.Client({ connectionString: url.split('?')[0] ?? '' }).user ?? '';

export interface Query {
  name: string;
  text: string;
  values?: unknown[];
  /**
   * False: planned on each execution, for its values. For queries whose plan depends on the values (partitions), or
   * that have many forms.
   */
  prepared?: boolean;
  /** Returns rows as arrays: allows two columns of the same name, and is cheaper for many rows. */
  array?: boolean;
  /** A caller waits for it before their request is accepted: the whole call takes at most `heldMs`. */
  held?: boolean;
}

const sent = ({ name, text, values = [], prepared = true, array = false }: Query, named: boolean) => ({
  ...(prepared && named ? { name } : {}),
  text,
  values: parameters(values),
  ...(array ? { rowMode: 'array' } : {}),
});

/** How queries are sent: each for itself, or within one transaction. */
export interface Queries {
  /**
   * One round trip as a named prepared statement. Only for idempotent calls: it is retried for up to `retryMs` when the
   * connection fails.
   */
  rows<T>(query: Query): Promise<T[]>;
  first<T>(query: Query): Promise<T | null>;
  /** Of a query that always gives a row. */
  one<T>(query: Query): Promise<T>;
  /** The first column of every row. */
  column<T>(query: Query): Promise<T[]>;
  /** The first column of a row that is always there. */
  value<T>(query: Query): Promise<T>;
  valueOrNull<T>(query: Query): Promise<T | null>;
  hasRow(query: Query): Promise<boolean>;
  /** Of a query whose rows nobody wants. */
  run(query: Query): Promise<void>;
  /** A single try without retries: for clock samples and health checks. */
  once<T>(query: Query): Promise<T[]>;
}

export interface Database extends Queries {
  /**
   * What the work asks is committed when the work is done, and undone when it fails. When the connection fails, all of
   * it is retried, as one call is. The work waits for nothing but its queries: it holds a connection of the pool.
   */
  transaction<T>(name: string, work: (queries: Queries) => Promise<T>): Promise<T>;
  end(): Promise<void>;
  idle(): { total: number; idle: number; waiting: number; max: number };
}

export interface PoolSettings extends ConnectionSettings {
  poolSize?: number;
  /** False: no statement has a name, for poolers that assign connections by transaction. */
  prepared?: boolean;
  retryMs?: number;
  /** How long a caller is held while Postgres is away. */
  heldMs?: number;
  /** Called for connections that fail while idle. */
  onError?: (error: Error) => void;
}

/** A failover of Postgres mostly takes longer, and a caller can retry. */
const HELD_MS = 5_000;
/** Connections through a proxy or a service address otherwise stay where they were opened, after a failover too. */
const LIFETIME_S = 1_800;

/**
 * Rejects a connection to a standby, or to a primary that was made read-only: reads of it would be stale. The address
 * leads to another server later.
 */
async function refuseReadOnly(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ transaction_read_only: string }>('show transaction_read_only');
  if (rows[0]?.transaction_read_only === 'on')
    throw Object.assign(new Error('the server is read-only, as a standby is'), { code: READ_ONLY });
}

function queriesBy(rows: Queries['rows'], once: Queries['once']): Queries {
  const first = async <T>(query: Query): Promise<T | null> => (await rows<T>(query))[0] ?? null;
  const one = async <T>(query: Query): Promise<T> => {
    const row = await first<T>(query);
    if (row === null) throw new StoreError('query-failed', `${query.name} returned no row`);
    return row;
  };
  return {
    rows,
    first,
    one,
    column: async <T>(query: Query) => (await rows<[T]>({ ...query, array: true })).map(([value]) => value),
    value: async <T>(query: Query) => (await one<[T]>({ ...query, array: true }))[0],
    valueOrNull: async <T>(query: Query) => (await first<[T]>({ ...query, array: true }))?.[0] ?? null,
    hasRow: async (query) => (await rows(query)).length > 0,
    run: async (query) => void (await rows(query)),
    once,
  };
}

async function inTransaction<T>(
  pool: pg.Pool,
  prepared: boolean,
  name: string,
  work: (queries: Queries) => Promise<T>,
): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw asStoreError(error, name);
  });
  const ask = async <R>(query: Query): Promise<R[]> => {
    try {
      return (await client.query(sent(query, prepared))).rows as R[];
    } catch (error) {
      throw asStoreError(error, query.name);
    }
  };
  const say = (text: string): Promise<unknown> => ask({ name: `${text} ${name}`, text, prepared: false });
  // The pool listens to idle connections alone. What fails is told to the query, too.
  const ignore = (): void => {};
  client.on('error', ignore);
  let broken = false;
  try {
    await say('begin');
    const result = await work(queriesBy(ask, ask));
    await say('commit');
    return result;
  } catch (error) {
    // After a time-out the connection may still be at work: with its end the server undoes the rest.
    broken =
      isStoreError(error, 'unreachable', 'timeout') ||
      !(await say('rollback').then(
        () => true,
        () => false,
      ));
    throw error;
  } finally {
    client.release(broken);
    client.removeListener('error', ignore);
  }
}

export function openDatabase(settings: PoolSettings): Database {
  const { poolSize = 10, prepared = true, retryMs = 10_000, heldMs = HELD_MS, onError = () => {} } = settings;
  const pool = new pg.Pool({
    Client: clientClass(settings),
    connectionTimeoutMillis: CONNECT_MS,
    max: poolSize,
    idleTimeoutMillis: 60_000,
    maxLifetimeSeconds: LIFETIME_S,
    onConnect: refuseReadOnly,
  });
  pool.on('error', onError);
  const ending = new AbortController();

  const once = async <T>(query: Query): Promise<T[]> => {
    try {
      // A second attempt takes the other password, if there is one.
      return await retry(async () => (await pool.query(sent(query, prepared))).rows as T[], {
        ...PAUSES,
        attempts: 2,
        when: isRefused,
      });
    } catch (error) {
      throw asStoreError(error, query.name);
    }
  };

  const retried = <T>(query: Query, withinMs: number, limit: object = {}): Promise<T[]> =>
    retry(async () => (await pool.query({ ...sent(query, prepared), ...limit })).rows as T[], {
      ...PAUSES,
      until: performance.now() + withinMs,
      signal: ending.signal,
      when: isConnectionFailure,
    });

  const rows = async <T>(query: Query): Promise<T[]> => {
    try {
      if (!query.held) return await retried(query, retryMs);
      // The time-out of the query ends a connection on which nothing is answered, so that the next caller gets another.
      return await within(
        heldMs,
        retried<T>(query, Math.min(heldMs, retryMs), { query_timeout: heldMs }),
        () => new StoreError('unreachable', `${query.name}: no answer from Postgres within ${heldMs} ms`),
      );
    } catch (error) {
      throw asStoreError(error, query.name);
    }
  };

  return {
    ...queriesBy(rows, once),
    transaction: (name, work) =>
      retry(() => inTransaction(pool, prepared, name, work), {
        ...PAUSES,
        until: performance.now() + retryMs,
        signal: ending.signal,
        when: (error) => isStoreError(error, 'unreachable'),
      }),
    async end() {
      ending.abort();
      await pool.end();
    },
    idle: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount, max: poolSize }),
  };
}
