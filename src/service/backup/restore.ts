/**
 * The role `restore`, a job of the chart: restores a backup into an empty database once, and erases again what was
 * erased after it. A later start finds it done.
 */
import { createGunzip } from 'node:zlib';
import { type Config, directPostgresOf, loadConfig } from '../../base/config.ts';
import { makeLog } from '../../base/log.ts';
import { retry } from '../../base/retry.ts';
import type { ConnectionSettings } from '../../platform/store/connection.ts';
import type { Erased } from '../../platform/store/backups.ts';
import { isStoreError } from '../../platform/store/errors.ts';
import { type Load, openLoad, restoredFrom } from '../../platform/store/load.ts';
import { decrypted, type Opener } from './age.ts';
import { unarchived, openMembers } from './content.ts';
import { type Bytes, through } from './bytes.ts';
import type { Destination } from './destination.ts';
import { ERASURES, readErasures } from './erasures.ts';
import { BackupError, isBackupError } from './errors.ts';
import { boxBytes, checkBox, checkKeys, type Keys, readKeys } from './keys.ts';
import { destinationOf, openerOf } from './settings.ts';

/** Opens a backup up to its keys, which come before the rows. */
async function openBackup(bytes: Bytes, opener: Opener) {
  const members = unarchived(through(decrypted(bytes, opener), createGunzip()));
  try {
    const opened = await openMembers(members);
    checkKeys(opened.keys, 'the keys of the backup');
    return opened;
  } catch (error) {
    await members.return(undefined).catch(() => {});
    throw readable(error);
  }
}

/** The keys of the backup that is to be restored. Reads no more than its beginning. */
export async function keysOfBackup(config: Config<'setup'>): Promise<Keys> {
  using destination = destinationOf(config);
  await using backup = await openBackup(destination.read(config.restoreName), openerOf(config));
  return backup.keys;
}

/** Errors of the decompression name no file. */
function readable(error: unknown): unknown {
  const { code = '' } = error as { code?: string };
  return code.startsWith('Z_')
    ? new BackupError('damaged', 'the content of the backup cannot be decompressed', { cause: error })
    : error;
}

export interface RestoreBackup {
  database: ConnectionSettings;
  destination: Destination;
  name: string;
  opener: Opener;
  /** Of the installation that is restored. */
  installed: Keys;
}

/** `erased`: what the backup still had of what was erased or revoked after it; undefined: there is no list. */
export async function restoreBackup(options: RestoreBackup) {
  const { database, destination, name, opener, installed } = options;
  await using backup = await openBackup(destination.read(name), opener);
  try {
    const { manifest } = backup;
    checkBox(installed, backup.keys);
    await using load = await openLoad(database, manifest);
    let tables = 0;
    await backup.tables(async (table, rows) => {
      await load.rows(table, rows);
      tables++;
    });
    const erased = await eraseAgain(load, options, manifest.installId);
    await load.commit(name);
    return { takenAt: manifest.takenAt, tables, erased };
  } catch (error) {
    throw readable(error);
  }
}

/** A list that is not there was never written; one that is damaged ends the restore, before anything is visible. */
async function eraseAgain(load: Load, { destination, installed }: RestoreBackup, installId: string) {
  const erased = { user: 0, request: 0, token: 0 };
  try {
    for await (const batch of readErasures(destination.read(ERASURES), boxBytes(installed), installId))
      for (const [kind, ofKind] of Object.entries(Object.groupBy(batch, (one) => one.kind)))
        erased[kind as Erased['kind']] += await load.erase(
          kind as Erased['kind'],
          ofKind.map(({ id }) => id),
        );
    return erased;
  } catch (error) {
    if (isBackupError(error, 'not-found')) return undefined;
    throw error;
  }
}

const PAUSES = { first: 500, longest: 2_000 };

export async function run(): Promise<void> {
  const config = loadConfig('restore');
  const log = makeLog('restore', config);
  const name = config.restoreName;
  const database = directPostgresOf(config);
  const before = await retry(() => restoredFrom(database), {
    ...PAUSES,
    until: performance.now() + config.waitMs,
    when: (error) => isStoreError(error, 'unreachable', 'not-ready'),
  });
  if (before === name) return log.info({ name }, 'this backup is restored already');
  using destination = destinationOf(config);
  const installed = readKeys(config.keysFolder);
  const restored = await restoreBackup({ database, destination, name, opener: openerOf(config), installed });
  log.info({ name, ...restored }, 'backup restored');
  if (!restored.erased)
    log.warn({ name }, 'there is no list of erasures: what was erased after the backup is here again');
}
