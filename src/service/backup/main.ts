/**
 * The role `backup`, two CronJobs and a Job of the chart: makes a backup, writes the list of erasures alone, or checks
 * that the place can be used.
 */
import { type Config, directPostgresOf, loadConfig } from '../../base/config.ts';
import { type Logger, makeLog } from '../../base/log.ts';
import { recordBackup } from '../../platform/store/backups.ts';
import type { ConnectionSettings } from '../../platform/store/connection.ts';
import { checkRecipients } from './age.ts';
import { ByteReader, of } from './bytes.ts';
import type { Destination } from './destination.ts';
import { writeErasures } from './erasures.ts';
import { boxBytes, checkKeys, readKeys } from './keys.ts';
import { makeBackup, prune } from './make.ts';
import { destinationOf } from './settings.ts';

const CHECK = 'probeyard-check';

export async function run(): Promise<void> {
  const config = loadConfig('backup');
  const log = makeLog('backup', config);
  const database = directPostgresOf(config);
  const destination = destinationOf(config);
  try {
    if (config.backupWhat === 'check') await check(config, destination, log);
    else if (config.backupWhat === 'erasures') await erasures(config, database, destination);
    else await everything(config, database, destination, log);
  } finally {
    destination.close();
  }
}

/** Said at the install rather than in the first night. A claim that binds at first use is bound by it. */
async function check(config: Config<'backup'>, destination: Destination, log: Logger): Promise<void> {
  checkRecipients(config.backupRecipients);
  checkKeys(readKeys(config.keysFolder), 'the Secrets of this installation');
  await destination.write(CHECK, of('written to see whether it can be\n'));
  const written = new ByteReader(destination.read(CHECK));
  await written.upTo(1);
  await written.close();
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
