/** Loads a dump into an empty database: the schema of its version first, then all of its rows or none. */
import pg from 'pg';
import type { Erased } from './backups.ts';
import { type ConnectionSettings, withConnection, holdConnection } from './connection.ts';
import { copyIn } from './copy.ts';
import { columnList, type DumpContent, type DumpedTable, tablesOf } from './dump.ts';
import { asStoreError, isConnectionFailure, StoreError } from './errors.ts';
import { migrate, type Migration, readMigrations } from './migrate.ts';
import { sql } from './query.ts';

export type Load = Awaited<ReturnType<typeof openLoad>>;

/** Written in the same transaction as the rows. */
const RESTORED = 'restore.done';

/** The migrations that made the dump's schema, from those of this version. */
function migrationsOf(content: DumpContent, known = readMigrations()): Migration[] {
  const here = new Map(known.map((migration) => [migration.version, migration]));
  return content.migrations.map(({ version, name, sha256 }) => {
    const migration = here.get(version);
    if (!migration)
      throw new StoreError(
        'invalid',
        `the backup was made by a newer version: its schema has ${name}, which this version does not know`,
      );
    if (migration.sha256 !== sha256)
      throw new StoreError(
        'migration-changed',
        `${migration.name} differs from the file that made the backup's schema`,
      );
    return migration;
  });
}

/** Why nothing can be restored into this database, or undefined. */
async function occupied(client: pg.Client, migrations: Migration[]): Promise<string | undefined> {
  const { rows } = await client.query<{ name: string }>(
    `select relname::text as name from pg_class where relnamespace = current_schema()::regnamespace
      and relkind in ('r', 'p', 'v', 'm') and not relispartition order by 1`,
  );
  if (rows.length === 0) return undefined;
  if (!rows.some(({ name }) => name === 'schema_migrations')) return `it has the table ${rows[0]!.name}`;
  const known = new Set(migrations.map(({ version }) => version));
  const { rows: applied } = await client.query<{ version: number; name: string }>(
    'select version, name from schema_migrations order by version',
  );
  const other = applied.find(({ version }) => !known.has(version));
  if (other) return `its schema has ${other.name}, which the backup has not`;
  for (const table of ['users', 'requests']) {
    const { rows: found } = await client.query(sql`select 1 from pg_class where oid = to_regclass(${table})`);
    if (found.length > 0 && (await client.query(`select 1 from ${table} limit 1`)).rows.length > 0)
      return `its table ${table} has rows`;
  }
  return undefined;
}

const differs = (a: DumpedTable[], b: DumpedTable[]): string | undefined => {
  const text = (tables: DumpedTable[]) => new Map(tables.map(({ name, columns }) => [name, columns.toSorted().join()]));
  const [ours, theirs] = [text(a), text(b)];
  return [...new Set([...ours.keys(), ...theirs.keys()])].find((name) => ours.get(name) !== theirs.get(name));
};

export async function openLoad(settings: ConnectionSettings, content: DumpContent) {
  const migrations = migrationsOf(content);
  return holdConnection(
    'restore',
    { ...settings, statementTimeoutMs: 0, name: 'probeyard-restore' },
    async (client) => {
      const reason = await occupied(client, migrations);
      if (reason !== undefined)
        throw new StoreError(
          'invalid',
          `a backup is restored into an empty database only, and this one is not: ${reason}`,
        );
      await migrate(settings, migrations);
      await client.query('begin');
      const tables = await tablesOf(client);
      const strange = differs(tables, content.tables);
      if (strange !== undefined) throw new StoreError('invalid', `the backup's table ${strange} has another form`);
      await client.query(`truncate ${tables.map(({ name }) => client.escapeIdentifier(name)).join(', ')}`);
      const rules = await withoutRules(client, tables);
      await makeMonths(client, content);
      return loading(client, content, rules);
    },
  );
}

/**
 * Tables refer to one another in circles (a token to the session that made it, a session to its token), so references
 * are checked once all rows are there. Triggers act on changes, and a restored row is none. Returns what undoes it.
 */
async function withoutRules(client: pg.Client, tables: DumpedTable[]): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as "table", quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
      from pg_constraint where contype = 'f' and conparentid = 0
      and connamespace = current_schema()::regnamespace order by 1, 2`,
  );
  const triggers = async (action: 'enable' | 'disable'): Promise<void> => {
    for (const { name } of tables)
      await client.query(`alter table ${client.escapeIdentifier(name)} ${action} trigger user`);
  };
  await triggers('disable');
  for (const { table, name } of rows) await client.query(`alter table ${table} drop constraint ${name}`);
  return async () => {
    for (const { table, name, definition } of rows)
      await client.query(`alter table ${table} add constraint ${name} ${definition}`);
    await triggers('enable');
  };
}

/** In place of those that the migrations have made. The first part of a table takes what is older, too. */
async function makeMonths(client: pg.Client, { months, tables }: DumpContent): Promise<void> {
  const { rows } = await client.query<{ part: string }>(
    `select c.oid::regclass::text part from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname !~ '_default$'`,
  );
  for (const { part } of rows) await client.query(`drop table ${part}`);
  const begun = new Set<string>();
  for (const { table, month } of months) {
    const [, year, of, day] = /^(\d{4})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])?$/.exec(month) ?? [];
    if (year === undefined || !tables.some(({ name }) => name === table))
      throw new StoreError(
        'invalid',
        `the backup has a part of a table that is no month and no day: ${table} ${month}`,
      );
    const first = [Number(year), Number(of) - 1, Number(day ?? 1)] as const;
    const [starts, ends] = [
      new Date(Date.UTC(...first)),
      new Date(Date.UTC(first[0], first[1] + (day === undefined ? 1 : 0), first[2] + (day === undefined ? 0 : 1))),
    ];
    await client.query(
      `create table ${client.escapeIdentifier(`${table}_${month}`)}
        partition of ${client.escapeIdentifier(table)}
        for values from (${begun.has(table) ? `'${starts.toISOString()}'` : 'minvalue'}) to ('${ends.toISOString()}')`,
    );
    begun.add(table);
  }
}

const ERASE: Record<Erased['kind'], string> = {
  // The user and everybody below: what they did is erased in steps by the controllers.
  user: `select count(*)::integer as n from unnest($1::text[]) e (id) join users u on u.id = e.id::bigint,
    lateral erase_user(u.id)`,
  request: `select count(*) filter (where erase_request(e.id::uuid, null, null) = 'erased')::integer as n
    from unnest($1::text[]) e (id)`,
  token: `with gone as (update tokens set revoked_at = now(), updated_at = now()
    where id = any($1::bigint[]) and revoked_at is null returning 1) select count(*)::integer as n from gone`,
};

function loading(client: pg.Client, content: DumpContent, rules: () => Promise<void>) {
  let complete: Promise<void> | undefined;
  const completed = (): Promise<void> => {
    complete ??= rules().catch((error: unknown) => {
      throw asStoreError(error, 'restore: the rows of the backup do not fit together');
    });
    return complete;
  };
  return {
    async rows(table: DumpedTable, rows: AsyncIterable<Buffer>): Promise<void> {
      const into = `${client.escapeIdentifier(table.name)} (${columnList(client, table)})`;
      try {
        await copyIn(client, `copy ${into} from stdin`, rows);
      } catch (error) {
        // Of the backup itself: it says what is wrong with it.
        if (!(error instanceof pg.DatabaseError) && !isConnectionFailure(error)) throw error;
        throw asStoreError(error, `restore of the table ${table.name}`);
      }
    },
    /** Erases again what was erased after the dump. Returns how many of them the dump still had. */
    async erase(kind: Erased['kind'], ids: string[]): Promise<number> {
      await completed();
      const { rows } = await client.query<{ n: number }>(ERASE[kind], [ids]);
      // A number of an erased user is never given again.
      if (kind === 'user')
        await client.query(sql`
          select setval(s, greatest((select max(e::bigint) from unnest(${ids}::text[]) e), nextval(s)))
            from pg_get_serial_sequence('users', 'id') s`);
      return rows[0]?.n ?? 0;
    },
    /** Makes everything visible at once, under the name of the dump. */
    async commit(name: string): Promise<void> {
      await completed();
      // One that was ended after the backup must not work again, and no list has it.
      await client.query('delete from report_links');
      for (const { name: sequence, value } of content.sequences)
        await client.query(sql`
          select setval(c.oid::regclass,
              greatest(${value}::bigint, coalesce(pg_sequence_last_value(c.oid::regclass), 0)))
            from pg_class c
            where relname = ${sequence} and relkind = 'S' and relnamespace = current_schema()::regnamespace`);
      await client.query(sql`
        insert into settings (key, value) values (${RESTORED}, jsonb_build_object('name', ${name}::text, 'at', now()))
          on conflict (key) do update set value = excluded.value`);
      await client.query('commit');
    },
  };
}

/** The name of the backup that was restored into this database; undefined if none was, or none yet. */
export function restoredFrom(settings: ConnectionSettings): Promise<string | undefined> {
  const session = { ...settings, name: 'probeyard-restore' };
  return withConnection('look for the restored backup', session, async (client) => {
    const { rows: tables } = await client.query(`select 1 from pg_class where oid = to_regclass('settings')`);
    if (tables.length === 0) return undefined;
    const { rows } = await client.query<{ name: string }>(sql`
      select value ->> 'name' as name from settings where key = ${RESTORED}`);
    return rows[0]?.name;
  });
}
