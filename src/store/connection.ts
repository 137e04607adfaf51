/** Connections to Postgres: the pool for queries, and single connections for LISTEN and migrations. */
import pg from 'pg';
import { retry } from '../retry.ts';
import { asStoreError, isConnectionFailure } from './errors.ts';
import { parameters } from './storable.ts';
import { reached } from './tls.ts';

export interface ConnectionSettings {
  url: string;
  caFile?: string | undefined;
  /** 0: not sent, as poolers that refuse start-up parameters require. */
  statementTimeoutMs?: number;
  /** The application name of the sessions in pg_stat_activity. */
  name?: string;
}

// All bigints here (ids, bytes) stay far below 2^53.
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === 20 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

// The server ends a session after half a minute if its client disappeared silently (a dead node, a firewall). The
// default is two hours, during which each such session occupies one of max_connections: a few network failures in a row
// would exhaust them.
const KEEPALIVE =
  '-c tcp_keepalives_idle=15 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c tcp_user_timeout=30000';

export function clientConfig({
  url,
  caFile,
  statementTimeoutMs = 10_000,
  name = 'probeyard',
}: ConnectionSettings): pg.ClientConfig {
  const server = reached(url, caFile);
  return {
    connectionString: server.url,
    ssl: server.ssl,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: name,
    types,
    ...(statementTimeoutMs > 0
      ? { statement_timeout: statementTimeoutMs, query_timeout: statementTimeoutMs + 2_000, options: KEEPALIVE }
      : {}),
  };
}

/** The user name in this address. */
export const userOf = (url: string): string => new pg.Client({ connectionString: url.split('?')[0] ?? '' }).user ?? '';

export interface Query {
  name: string;
  text: string;
  values: unknown[];
  /**
   * False: planned on each execution, for its values. For queries whose plan depends on the values (partitions), or
   * that have many forms.
   */
  prepared?: boolean;
  /** Returns rows as arrays: allows two columns of the same name, and is cheaper for many rows. */
  array?: boolean;
}

const sent = ({ name, text, values, prepared = true, array = false }: Query) => ({
  ...(prepared ? { name } : {}),
  text,
  values: parameters(values),
  ...(array ? { rowMode: 'array' } : {}),
});

export interface Database {
  /**
   * One round trip as a named prepared statement. Only for idempotent calls: it is retried for up to `retryMs` when the
   * connection fails.
   */
  rows<T>(query: Query): Promise<T[]>;
  /** A single try without retries: for clock samples and health checks. */
  once<T>(query: Query): Promise<T[]>;
  end(): Promise<void>;
  idle(): { total: number; idle: number; waiting: number };
}

export interface PoolSettings extends ConnectionSettings {
  poolSize?: number;
  retryMs?: number;
  /** Called for connections that fail while idle. */
  onError?: (error: Error) => void;
}

const PAUSES = { first: 20, longest: 500 };

export function openDatabase(settings: PoolSettings): Database {
  const { poolSize = 10, retryMs = 10_000, onError = () => {} } = settings;
  const pool = new pg.Pool({ ...clientConfig(settings), max: poolSize, idleTimeoutMillis: 60_000 });
  pool.on('error', onError);
  const ending = new AbortController();

  const once = async <T>(query: Query): Promise<T[]> => {
    try {
      return (await pool.query(sent(query))).rows as T[];
    } catch (error) {
      throw asStoreError(error, query.name);
    }
  };

  const rows = async <T>(query: Query): Promise<T[]> => {
    const until = performance.now() + retryMs;
    try {
      return await retry(async () => (await pool.query(sent(query))).rows as T[], {
        ...PAUSES,
        until,
        signal: ending.signal,
        when: isConnectionFailure,
      });
    } catch (error) {
      throw asStoreError(error, query.name);
    }
  };

  return {
    rows,
    once,
    async end() {
      ending.abort();
      await pool.end();
    },
    idle: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
  };
}
