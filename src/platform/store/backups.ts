/** What the record knows of its backups: what was erased and when the last one was made. */
import { type ConnectionSettings, type Database, withConnection, holdConnection } from './connection.ts';
import { query } from './query.ts';
import { jsonb, parameters } from './storable.ts';

export interface Erased {
  kind: 'user' | 'request' | 'token';
  id: string;
}

const BATCH = 1_000;
const ERASED = `select kind, id from erased where at >= coalesce($1::timestamptz, '-infinity')
  union all select 'token', id::text from tokens where revoked_at >= coalesce($1::timestamptz, '-infinity')`;

const session = (settings: ConnectionSettings): ConnectionSettings => ({
  ...settings,
  statementTimeoutMs: 0,
  name: 'probeyard-backup',
});

export const erasedSince = (settings: ConnectionSettings, since: Date | undefined) =>
  holdConnection('list of erasures', session(settings), async (client) => {
    await client.query('begin transaction isolation level repeatable read, read only');
    const { rows } = await client.query<{ installId: string; at: string }>(
      `select value #>> '{}' as "installId", to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at
        from settings where key = 'install.id'`,
    );
    await client.query(`declare erased_cursor no scroll cursor for ${ERASED}`, [since ?? null]);
    async function* erased(): AsyncGenerator<Erased> {
      for (;;) {
        const { rows: some } = await client.query<Erased>(`fetch ${BATCH} from erased_cursor`);
        yield* some;
        if (some.length < BATCH) return;
      }
    }
    return { installId: rows[0]?.installId ?? '', at: rows[0]?.at ?? '', erased: erased() };
  });

export type BackupOutcome = { done: { name: string; bytes: number; seconds: number } } | { failed: { code: string } };

/** Kept in the record, from which the controllers make metrics: a job that ends cannot be scraped. */
export async function recordBackup(settings: ConnectionSettings, outcome: BackupOutcome): Promise<void> {
  const [[key, value]] = Object.entries(outcome) as [[string, object]];
  await withConnection('outcome of the backup', session(settings), (client) =>
    client.query(
      `insert into settings (key, value) values ($1, $2::jsonb || jsonb_build_object('at', extract(epoch from now())))
        on conflict (key) do update set value = excluded.value`,
      parameters([`backup.${key}`, jsonb(value)]),
    ),
  );
}

/** Times in seconds since 1970; undefined: never. */
export async function backupState(database: Database) {
  const rows = await database.rows<{ key: string; value: { at: number; bytes?: number; seconds?: number } }>(query(
    'backup_state',
  )`
    select key, value from settings where key in ('backup.done', 'backup.failed')`);
  const of = (key: string) => rows.find((row) => row.key === key)?.value;
  const done = of('backup.done');
  return { doneAt: done?.at, bytes: done?.bytes, seconds: done?.seconds, failedAt: of('backup.failed')?.at };
}
