/**
 * Migrates the schema to this version: runs the files of migrations/ in order, each once. The first ones, 0001 to 0007,
 * are the schema by subject. Two versions run side by side during an upgrade, so a later file only adds (expand). What
 * the old version still reads or calls is removed in a later release (contract). A function whose arguments change gets
 * a new overload beside the old one. A released file is never edited: its checksum is stored and compared.
 *
 * Each file is a transaction, and requests wait behind one that waits for a lock: so it waits briefly, and is tried
 * again. A file whose first line is `-- no transaction` holds statements that each end at the end of a line and may be
 * repeated, for what takes long and blocks nobody (`create index concurrently`, `validate constraint`).
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { retry } from '../../base/retry.ts';
import { type ConnectionSettings, type Database, withConnection } from './connection.ts';
import { isStoreError, StoreError } from './errors.ts';
import { query } from './query.ts';
import { grantRights, type Roles } from './roles.ts';

export interface Migration {
  version: number;
  name: string;
  sql: string;
  sha256: string;
}

const FOLDER = join(import.meta.dirname, 'migrations');
// An arbitrary advisory lock number, used by nothing else in this database.
const LOCK = 7_305_841_902;
const LOCK_WAIT_MS = 120_000;
const TURN_PAUSES = { first: 100, longest: 1_000 };
/** The longest that a request is held up by a file that waits for a lock. */
const TABLE_LOCK_WAIT = '500ms';
const LOCK_PAUSES = { first: 1_000, longest: 10_000 };
const LOCK_PATIENCE_MS = 600_000;
const SAY_EVERY_MS = 30_000;
const LOCKED = new Set(['55P03', '40P01']);
/** No such table, and no right to read it. */
const ABSENT = new Set(['42P01', '42501']);
/** Names of what is complete, with all rights. The table of migrations is the owner's alone. */
const APPLIED = 'schema.applied';

type Say = (fields: object, message: string) => void;

const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code);

export function readMigrations(folder = FOLDER): Migration[] {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort();
  let last = 0;
  return files.map((name) => {
    const version = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1]);
    // Gaps are allowed: parallel lines of work reserve ranges of numbers.
    if (!(version > last))
      throw new StoreError(
        'invalid',
        `${name}: migrations are named 0001_name.sql, 0002_name.sql and so on, each number once`,
      );
    last = version;
    const sql = readFileSync(join(folder, name), 'utf8');
    return { version, name, sql, sha256: createHash('sha256').update(sql).digest('hex') };
  });
}

/**
 * Returns the names of the migrations applied by this call. Idempotent, and safe to run from several replicas at once.
 */
export async function migrate(
  settings: ConnectionSettings & { roles?: Roles },
  migrations = readMigrations(),
  say: Say = () => {},
): Promise<string[]> {
  // A migration that moves rows may take longer than any request, so there is no statement timeout.
  const session = { ...settings, statementTimeoutMs: 0, name: 'probeyard-migrate' };
  return withConnection('migrate', session, async (client) => {
    await takeTurn(client);
    await client.query(`set lock_timeout = '${TABLE_LOCK_WAIT}'`);
    await client.query(
      `create table if not exists schema_migrations (version integer primary key, name text not null,
        sha256 text not null, applied_at timestamptz not null default now())`,
    );
    const applied = await applyMissing(client, migrations, say);
    if (settings.roles) await grantRights(client, settings.roles);
    await client.query(
      `insert into settings as s (key, value) select $1, jsonb_agg(name order by version) from schema_migrations
        on conflict (key) do update set value = excluded.value where s.value <> excluded.value`,
      [APPLIED],
    );
    return applied;
  });
}

/**
 * A session-level lock: it is released when the connection ends, in any case. It is asked for again and again, because
 * `create index concurrently` waits for everybody who waits in a statement: the two would wait for each other.
 */
async function takeTurn(client: pg.Client): Promise<void> {
  const take = async (): Promise<void> => {
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) taken', [LOCK]);
    if (!rows[0]!.taken) throw new StoreError('not-ready', 'another migration is running');
  };
  await retry(take, {
    ...TURN_PAUSES,
    until: performance.now() + LOCK_WAIT_MS,
    when: (error) => isStoreError(error, 'not-ready'),
  });
}

async function applyMissing(client: pg.Client, migrations: Migration[], say: Say): Promise<string[]> {
  const { rows } = await client.query<{ version: number; sha256: string }>(
    'select version, sha256 from schema_migrations',
  );
  const applied = new Map(rows.map((row) => [row.version, row.sha256]));
  const done: string[] = [];
  // Unknown versions belong to a newer release running beside this one. They only added to the schema.
  for (const migration of migrations) {
    const before = applied.get(migration.version);
    if (before !== undefined && before !== migration.sha256) {
      throw new StoreError(
        'migration-changed',
        `${migration.name} differs from the file that was applied to this database`,
      );
    }
    if (before !== undefined) continue;
    await applyPatiently(client, migration, say);
    done.push(migration.name);
  }
  return done;
}

async function applyPatiently(client: pg.Client, migration: Migration, say: Say): Promise<void> {
  const { name } = migration;
  const begun = performance.now();
  const seconds = () => Math.round(performance.now() - begun) / 1_000;
  say({ migration: name }, 'migration begins');
  const still = setInterval(() => say({ migration: name, seconds: seconds() }, 'migration goes on'), SAY_EVERY_MS);
  try {
    await retry(() => apply(client, migration), {
      ...LOCK_PAUSES,
      until: begun + LOCK_PATIENCE_MS,
      when: (error) => LOCKED.has(codeOf(error)),
      onRetry: () => void sayWhoHolds(client, name, say),
    });
  } catch (error) {
    throw new StoreError('migration-failed', `${name}: ${(error as Error).message}`, { cause: error });
  } finally {
    clearInterval(still);
  }
  say({ migration: name, seconds: seconds() }, 'migration is complete');
}

async function apply(client: pg.Client, { version, name, sql, sha256 }: Migration): Promise<void> {
  const noted = () =>
    client.query('insert into schema_migrations (version, name, sha256) values ($1, $2, $3)', [version, name, sha256]);
  if (/^-- no transaction\b/.test(sql)) {
    // Nobody waits behind these, and one that gives up begins from the start.
    await client.query('set lock_timeout = 0');
    for (const statement of sql.split(/;\s*$/m).filter((text) => text.trim() !== '')) await client.query(statement);
    await noted();
    await client.query(`set lock_timeout = '${TABLE_LOCK_WAIT}'`);
    return;
  }
  try {
    await client.query('begin');
    await client.query(sql);
    await noted();
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

async function sayWhoHolds(client: pg.Client, migration: string, say: Say): Promise<void> {
  const { rows } = await client
    .query<{ application: string; seconds: number }>(
      `select application_name application, extract(epoch from now() - xact_start)::float8 seconds
        from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
        order by xact_start limit 1`,
    )
    .catch(() => ({ rows: [] }));
  say({ migration, oldestTransaction: rows[0] }, 'a table is in use, will retry');
}

/** Fails with `not-ready` until everything of this version is there. */
export async function requireSchema(database: Database, migrations = readMigrations()): Promise<void> {
  const names = migrations.map(({ name }) => name);
  const lacking = await database
    .once<{ name: string }>(
      query('schema_lacks')`
      select name from unnest(${names}::text[]) n (name)
        where not exists (select from settings s where s.key = ${APPLIED} and s.value ? n.name)`,
    )
    .catch((error: unknown) => {
      if (ABSENT.has(codeOf((error as Error).cause))) return names.map((name) => ({ name }));
      throw error;
    });
  if (lacking.length > 0)
    throw new StoreError(
      'not-ready',
      `waiting for the schema: ${lacking[0]!.name} is not applied (${lacking.length} of ${names.length} are ` +
        'missing): see the logs of the job …-migrate-…',
    );
}
