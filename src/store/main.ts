/** Role `migrate`: waits for Postgres, migrates the schema to this version, creates the first administrator. */
import { readFileSync } from 'node:fs';
import { loadConfig } from '../config.ts';
import { makeLog } from '../log.ts';
import { retry } from '../retry.ts';
import { bootstrapAdmin } from './admin.ts';
import { type ConnectionSettings, userOf } from './connection.ts';
import { isStoreError, type StoreError } from './errors.ts';
import { migrate } from './migrate.ts';

const PAUSES = { first: 500, longest: 500 };

export async function run(): Promise<void> {
  const config = loadConfig('migrate');
  const log = makeLog('migrate', config);
  const connection: ConnectionSettings = {
    url: config.postgresDirectUrl || config.postgresUrl,
    caFile: config.postgresCaFile || undefined,
  };
  // Without separate addresses every role signs in as the owner.
  const roles = {
    api: userOf(config.postgresApiUrl || connection.url),
    controller: userOf(config.postgresControllerUrl || connection.url),
  };
  const applied = await retry(() => migrate({ ...connection, roles }), {
    ...PAUSES,
    until: performance.now() + config.waitMs,
    // Postgres may start later or restart meanwhile, and an old instance may shut down before it creates the roles.
    when: (error) => isStoreError(error, 'unreachable', 'not-ready'),
    onRetry: (error) => {
      const { code, message } = error as StoreError;
      log.info({ err: { code, message } }, 'waiting for Postgres');
    },
  });
  log.info({ applied }, 'the schema is up to date');
  if (!config.adminTokenFile) return;
  const read = (file: string) => readFileSync(file, 'utf8').trim();
  const admin = await bootstrapAdmin(connection, {
    email: read(config.adminEmailFile),
    password: config.adminPasswordFile ? read(config.adminPasswordFile) : undefined,
    token: read(config.adminTokenFile),
  });
  log.info(admin, 'administrator ready');
}
