/**
 * Migrates the schema to this version: runs the files of migrations/ in order, each once and in its own transaction.
 * The first ones, 0001 to 0005, are the schema by subject. Two versions run side by side during an upgrade, so a later
 * file only adds (expand). What the old version still reads or calls is removed in a later release (contract). A
 * function whose arguments change gets a new overload beside the old one. A released file is never edited: its checksum
 * is stored and compared.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { type ConnectionSettings, withConnection } from './connection.ts';
import { StoreError } from './errors.ts';
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
const LOCK_WAIT = '120s';

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
): Promise<string[]> {
  // A migration that moves rows may take longer than any request, so there is no statement timeout.
  const session = { ...settings, statementTimeoutMs: 0, name: 'probeyard-migrate' };
  return withConnection('migrate', session, async (client) => {
    await client.query(`set lock_timeout = '${LOCK_WAIT}'`);
    // A session-level lock: it is released when the connection ends, in any case.
    await client.query('select pg_advisory_lock($1)', [LOCK]);
    await client.query(
      `create table if not exists schema_migrations (version integer primary key, name text not null,
        sha256 text not null, applied_at timestamptz not null default now())`,
    );
    const applied = await applyMissing(client, migrations);
    if (settings.roles) await grantRights(client, settings.roles);
    return applied;
  });
}

async function applyMissing(client: pg.Client, migrations: Migration[]): Promise<string[]> {
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
    try {
      await client.query('begin');
      await client.query(migration.sql);
      await client.query('insert into schema_migrations (version, name, sha256) values ($1, $2, $3)', [
        migration.version,
        migration.name,
        migration.sha256,
      ]);
      await client.query('commit');
    } catch (error) {
      await client.query('rollback').catch(() => {});
      throw new StoreError('migration-failed', `${migration.name}: ${(error as Error).message}`, { cause: error });
    }
    done.push(migration.name);
  }
  return done;
}
