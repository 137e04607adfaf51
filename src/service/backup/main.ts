/**
 * The role `backup`, two CronJobs and a Job of the chart: makes a backup, writes the list of erasures alone, or checks
 * that the place can be used.
 */
import { createGzip } from 'node:zlib';
import { type Config, directPostgresOf, loadConfig } from '../../base/config.ts';
import { type Logger, makeLog } from '../../base/log.ts';
import { recordBackup } from '../../platform/store/backups.ts';
import type { ConnectionSettings } from '../../platform/store/connection.ts';
import { openDump } from '../../platform/store/dump.ts';
import { checkRecipients, encrypted } from './age.ts';
import { archived, membersOf } from './content.ts';
import { ByteReader, of, through } from './bytes.ts';
import type { Destination } from './destination.ts';
import { writeErasures } from './erasures.ts';
import { boxBytes, checkKeys, readKeys, type Keys } from './keys.ts';
import { destinationOf } from './settings.ts';

const CHECK = 'probeyard-check';

export async function run(): Promise<void> {
  const config = loadConfig('backup');
  const log = makeLog('backup', config);
  const database = directPostgresOf(config);
  using destination = destinationOf(config);
  if (config.backupWhat === 'check') await check(config, destination, log);
  else if (config.backupWhat === 'erasures') await erasures(config, database, destination);
  else await everything(config, database, destination, log);
}

/** Said at the install rather than in the first night. A claim that binds at first use is bound by it. */
async function check(config: Config<'backup'>, destination: Destination, log: Logger): Promise<void> {
  checkRecipients(config.backupRecipients);
  checkKeys(readKeys(config.keysFolder), 'the Secrets of this installation');
  await destination.write(CHECK, of('written to see whether it can be\n'));
  {
    await using written = new ByteReader(destination.read(CHECK));
    await written.upTo(1);
  }
  await destination.list();
  await destination.remove(CHECK);
  log.info('backups can be written, read, listed and removed');
}

const boxKeyOf = (config: Config<'backup'>): Buffer => boxBytes(readKeys(config.keysFolder))[0]!;

/** Those since the oldest backup that is kept: an older one cannot be restored. */
async function erasures(config: Config<'backup'>, database: ConnectionSettings, destination: Destination) {
  const { oldest } = await prune(destination, 0);
  await writeErasures({ database, destination, boxKey: boxKeyOf(config) }, oldest);
}

async function everything(
  config: Config<'backup'>,
  database: ConnectionSettings,
  destination: Destination,
  log: Logger,
): Promise<void> {
  const started = performance.now();
  try {
    checkRecipients(config.backupRecipients);
    const keys = readKeys(config.keysFolder);
    const made = await makeBackup({ database, recipients: config.backupRecipients, keys, destination });
    const seconds = Math.round(performance.now() - started) / 1000;
    await recordBackup(database, { done: { ...made, seconds } });
    log.info({ ...made, seconds }, 'backup made');
    const { removed, oldest } = await prune(destination, config.backupKeep);
    if (removed.length > 0) log.info({ removed }, 'removed old backups');
    await writeErasures({ database, destination, boxKey: boxKeyOf(config) }, oldest);
  } catch (error) {
    const { code = 'unknown' } = error as { code?: string };
    await recordBackup(database, { failed: { code } }).catch((second: unknown) =>
      log.warn({ err: second }, 'cannot record that the backup failed'),
    );
    throw error;
  }
}

interface MakeBackup {
  database: ConnectionSettings;
  /** Public keys of age; any of their identities opens the backup. */
  recipients: string[];
  keys: Keys;
  destination: Destination;
}

const BACKUP = /^probeyard-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.age$/;
const nameAt = (time: string): string => `probeyard-${time.replace(/\.\d+Z$/, 'Z').replace(/[-:]/g, '')}.age`;

/** Fast: the rows are short, and results are compressed already. */
const LEVEL = 3;

/** Makes a backup: a dump of the record and the keys, compressed, encrypted, and stored under the time of the dump. */
export async function makeBackup({ database, recipients, keys, destination }: MakeBackup) {
  checkKeys(keys, 'the Secrets of this installation');
  await using dump = await openDump(database);
  const name = nameAt(dump.content.takenAt);
  const packed = through(archived(membersOf(dump, keys)), createGzip({ level: LEVEL }));
  return { name, bytes: await destination.write(name, encrypted(packed, recipients)) };
}

/** The time in the name of a backup; undefined if the file is none. */
function timeOf(name: string): Date | undefined {
  const match = BACKUP.exec(name);
  if (!match) return undefined;
  const [year = 0, month = 0, ...rest] = match.slice(1).map(Number);
  return new Date(Date.UTC(year, month - 1, ...rest));
}

/** Removes all but the newest; 0 keeps all. Returns the time of the oldest that stays. */
export async function prune(destination: Destination, keep: number): Promise<{ removed: string[]; oldest?: Date }> {
  const backups = (await destination.list()).filter((name) => timeOf(name) !== undefined);
  const removed = keep === 0 ? [] : backups.slice(0, -keep);
  for (const name of removed) await destination.remove(name);
  const oldest = timeOf(backups[removed.length] ?? '');
  return { removed, ...(oldest ? { oldest } : {}) };
}
