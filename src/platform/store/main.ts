/** Role `migrate`: waits for Postgres, migrates the schema to this version, creates the first administrator. */
import { existsSync, readFileSync } from 'node:fs';
import { directPostgresOf, loadConfig } from '../../base/config.ts';
import { makeLog } from '../../base/log.ts';
import { retry } from '../../base/retry.ts';
import { bootstrapAdmin } from './admin.ts';
import { type ConnectionSettings, userOf } from './connection.ts';
import { isStoreError, StoreError } from './errors.ts';
import { restoredFrom } from './load.ts';
import { migrate, readMigrations } from './migrate.ts';
import { addresses } from './sign_in.ts';

const PAUSES = { first: 500, longest: 2_000 };

export async function run(): Promise<void> {
  const config = loadConfig('migrate');
  const log = makeLog('migrate', config);
  const connection: ConnectionSettings = directPostgresOf(config);
  if (config.restoreName) await waitForRestore(connection, config.restoreName, config.waitMs);
  // Without separate addresses every role signs in as the owner.
  const [owner] = addresses(connection);
  const roles = {
    api: userOf(config.postgresApiUrl || owner),
    controller: userOf(config.postgresControllerUrl || owner),
  };
  const applied = await retry(
    () => migrate({ ...connection, roles }, readMigrations(), (fields, message) => log.info(fields, message)),
    {
      ...PAUSES,
      until: performance.now() + config.waitMs,
      // Postgres may start later or restart meanwhile, and an old instance may shut down before it creates the roles.
      when: (error) => isStoreError(error, 'unreachable', 'not-ready'),
      onRetry: (error) => {
        const { code, message } = error as StoreError;
        log.info({ err: { code, message } }, 'waiting for Postgres');
      },
    },
  );
  log.info({ applied }, 'the schema is up to date');
  // Whoever removed the Secret keeps the administrator.
  if (!existsSync(config.adminTokenFile)) return;
  const read = (file: string) => readFileSync(file, 'utf8').trim();
  const admin = await bootstrapAdmin(connection, {
    email: read(config.adminEmailFile),
    password: config.adminPasswordFile ? read(config.adminPasswordFile) : undefined,
    token: read(config.adminTokenFile),
  });
  log.info(admin, 'administrator ready');
}

/** A schema and an administrator of its own would keep the database from being restored into. */
async function waitForRestore(connection: ConnectionSettings, name: string, waitMs: number): Promise<void> {
  const restored = async (): Promise<void> => {
    const found = await restoredFrom(connection);
    if (found !== name)
      throw new StoreError('not-ready', `the backup ${name} is not restored yet: see the restore job`);
  };
  await retry(restored, {
    ...PAUSES,
    until: performance.now() + waitMs,
    when: (error) => isStoreError(error, 'unreachable', 'not-ready'),
  });
}
