/**
 * A logical dump of the record: the rows of every table as COPY writes them, of one moment. Of the schema it keeps the
 * list of migrations alone, which make it again.
 */
import type pg from 'pg';
import { type ConnectionSettings, holdConnection } from './connection.ts';
import { copyOut } from './copy.ts';
import { asStoreError } from './errors.ts';

export interface DumpedTable {
  name: string;
  columns: string[];
}

/** What a dump holds, beside its rows. */
export interface DumpContent {
  installId: string;
  takenAt: string;
  server: string;
  migrations: { version: number; name: string; sha256: string }[];
  tables: DumpedTable[];
  /** Months (YYYYMM) and days (YYYYMMDD) that tables are divided into, in order. */
  months: { table: string; month: string }[];
  sequences: { name: string; value: number }[];
}

/** Without unlogged tables, which a crash may empty too, and without generated columns. */
const TABLES = `
  select c.relname::text as name, array_agg(a.attname::text order by a.attnum) as columns
  from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and c.relpersistence = 'p' and c.relname <> 'schema_migrations'
  group by c.relname order by c.relname`;
const MONTHS = `
  select p.relname::text as "table", substring(c.relname from '_([0-9]+)$') as month
  from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
  where p.relnamespace = current_schema()::regnamespace and p.relkind = 'p' and c.relname ~ '_[0-9]{6}([0-9]{2})?$'
  order by 1, 2`;
const SEQUENCES = `
  select sequencename::text as name, last_value as value from pg_sequences
  where schemaname = current_schema() and last_value is not null order by 1`;

export const tablesOf = async (client: pg.Client): Promise<DumpedTable[]> =>
  (await client.query<DumpedTable>(TABLES)).rows;

async function contentOf(client: pg.Client): Promise<DumpContent> {
  const rows = async <T extends object>(text: string): Promise<T[]> => (await client.query<T>(text)).rows;
  const one = async <T extends object>(text: string): Promise<T> => (await rows<T>(text))[0]!;
  const { installId } = await one<{ installId: string }>(
    `select value #>> '{}' as "installId" from settings where key = 'install.id'`,
  );
  // The first statement, above, took the snapshot: a sequence that is read now is ahead of every row in it.
  return {
    installId,
    ...(await one<{ takenAt: string; server: string }>(
      `select to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "takenAt",
        current_setting('server_version') as server`,
    )),
    migrations: await rows('select version, name, sha256 from schema_migrations order by version'),
    tables: await tablesOf(client),
    months: await rows(MONTHS),
    sequences: await rows(SEQUENCES),
  };
}

export const columnList = (client: pg.Client, { columns }: DumpedTable): string =>
  columns.map((column) => client.escapeIdentifier(column)).join(', ');

export const openDump = (settings: ConnectionSettings) =>
  holdConnection('dump', { ...settings, statementTimeoutMs: 0, name: 'probeyard-backup' }, async (client) => {
    await client.query('begin transaction isolation level repeatable read, read only');
    return {
      content: await contentOf(client),
      async *rows(table: DumpedTable): AsyncGenerator<Buffer> {
        const from = `select ${columnList(client, table)} from ${client.escapeIdentifier(table.name)}`;
        try {
          yield* copyOut(client, `copy (${from}) to stdout`);
        } catch (error) {
          throw asStoreError(error, `dump of the table ${table.name}`);
        }
      },
    };
  });
