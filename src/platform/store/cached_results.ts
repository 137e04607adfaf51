/** Results that answer later requests, too (0003_requests.sql). */
import { randomUUID } from 'node:crypto';
import { MOST_CACHE_AGE_S } from '../../base/limits.ts';
import { column, type RecordOf } from './columns.ts';
import type { Database } from './connection.ts';
import { calling } from './function_call.ts';
import { query } from './query.ts';
import { bigint } from './storable.ts';

const CACHED = { identity: column<string>(), requestId: column<string>(), readAt: column<Date>() };
export type CachedResult = RecordOf<typeof CACHED>;

/** `key`: of the account, the source, the tools and their options. */
export interface CacheKey {
  key: Buffer;
  rootUserId: number;
  maxAgeS: number;
}

const parametersOf = ({ key, rootUserId, maxAgeS }: CacheKey) => ({ key, root_id: rootUserId, max_age_s: maxAgeS });

/** Null: there is none that young, or it was deleted. */
export const cachedResult = (database: Database, key: CacheKey): Promise<CachedResult | null> =>
  database.first<CachedResult>(calling('cached_result', parametersOf(key), CACHED));

/**
 * Ends an open request with the cached result of this file. `none`: there is no such result (any more), and the request
 * is still open; `ended`: it has ended otherwise.
 */
export const closeCached = (
  database: Database,
  { id, submittedAt, key, identity, ioBytes }: CachedClose,
): Promise<'cached' | 'none' | 'ended'> =>
  database.value(
    calling('close_cached', {
      id,
      submitted_at: submittedAt,
      ...parametersOf(key),
      identity,
      io_bytes: bigint(ioBytes),
      closer: randomUUID(),
    }),
  );

interface CachedClose {
  id: string;
  submittedAt: Date;
  key: CacheKey;
  identity: string;
  /** What asking the host which file it has took. */
  ioBytes: number;
}

/** Those that are too old for every request. */
export const forgetCached = (database: Database): Promise<void> =>
  database.run(query('forget_cached')`
    delete from cached_results where read_at < now() - make_interval(secs => ${MOST_CACHE_AGE_S})`);
