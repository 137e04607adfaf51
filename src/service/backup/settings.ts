/** The destination and the way in that the settings of a role name. */
import { readFileSync } from 'node:fs';
import type { BackupsConfig } from '../../base/config.ts';
import { readOpener, type Opener } from './age.ts';
import { folder, type Destination } from './destination.ts';
import { BackupError } from './errors.ts';
import { s3 } from './s3.ts';

const read = (file: string): string => readFileSync(file, 'utf8').trim();

export function destinationOf(config: BackupsConfig): Destination {
  if (config.backupFolder !== '') return folder(config.backupFolder);
  if (config.backupS3Bucket === '')
    throw new BackupError('destination', 'set PY_BACKUP_FOLDER or PY_BACKUP_S3_BUCKET: there is no place for backups');
  const prefix = config.backupS3Prefix.replace(/\/*$/, '/');
  return s3({
    endpoint: config.backupS3Endpoint,
    bucket: config.backupS3Bucket,
    prefix: prefix === '/' ? '' : prefix,
    region: config.backupS3Region,
    keys: { accessKey: read(config.backupS3KeyFile), secret: read(config.backupS3SecretFile) },
    ca: config.backupS3CaFile === '' ? '' : read(config.backupS3CaFile),
  });
}

export const openerOf = ({ restoreKeyFile }: { restoreKeyFile: string }): Opener => readOpener(read(restoreKeyFile));
