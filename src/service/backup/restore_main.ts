/** The role `restore`, a job of the chart: restores a backup once; a later start finds it done. */
import { directPostgresOf, loadConfig } from '../../base/config.ts';
import { makeLog } from '../../base/log.ts';
import { retry } from '../../base/retry.ts';
import { isStoreError } from '../../platform/store/errors.ts';
import { restoredFrom } from '../../platform/store/load.ts';
import { readKeys } from './keys.ts';
import { restoreBackup } from './restore.ts';
import { destinationOf, openerOf } from './settings.ts';

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
  const destination = destinationOf(config);
  try {
    const installed = readKeys(config.keysFolder);
    const restored = await restoreBackup({ database, destination, name, opener: openerOf(config), installed });
    log.info({ name, ...restored }, 'backup restored');
    if (!restored.erased)
      log.warn({ name }, 'there is no list of erasures: what was erased after the backup is here again');
  } finally {
    destination.close();
  }
}
