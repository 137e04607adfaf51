/** How Postgres is reached: the pool for queries, single connections for LISTEN and migrations. */
import pg from 'pg';
import { retry } from '../retry.ts';
import { asStoreError, isConnectionFailure } from './errors.ts';
import { parameters } from './storable.ts';
import { reached } from './tls.ts';

export interface ConnectionSettings {
  url: string;
  caFile?: string | undefined;
  /** 0: none is sent; a pooler that refuses start-up parameters needs it so. */
  statementTimeoutMs?: number;
  /** How the sessions are called in pg_stat_activity. */
  name?: string;
}

// Our bigints (ids, bytes) stay far below 2^53.
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === 20 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

// A session whose client went without a word (its node died, a firewall cut it off) is ended by the server after half a
// minute. Its own time for that is two hours, and until then each holds one of max_connections: some cuts in a row and
// nobody could connect any more.
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

/** Who signs in with this address. */
export const userOf = (url: string): string => new pg.Client({ connectionString: url.split('?')[0] ?? '' }).user ?? '';

export interface Query {
  name: string;
  text: string;
  values: unknown[];
  /**
   * False: planned each time, for its values. For queries whose plan depends on them (partitions), or that come in many
   * forms.
   */
  prepared?: boolean;
  /** Rows as arrays: two columns of the same name, and less work where they are many. */
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
   * One round trip as a named prepared statement. Only for calls that may be repeated: it tries again when the
   * connection fails, for as long as `retryMs`.
   */
  rows<T>(query: Query): Promise<T[]>;
  /** Once, no retry: for clock samples and health. */
  once<T>(query: Query): Promise<T[]>;
  end(): Promise<void>;
  idle(): { total: number; idle: number; waiting: number };
}

export interface PoolSettings extends ConnectionSettings {
  poolSize?: number;
  retryMs?: number;
  /** Told of connections that fail while idle. */
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
