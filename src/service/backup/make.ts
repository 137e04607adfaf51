/** Makes a backup: a dump of the record and the keys, compressed, encrypted, and stored under the time of the dump. */
import { createGzip } from 'node:zlib';
import type { ConnectionSettings } from '../../platform/store/connection.ts';
import { openDump } from '../../platform/store/dump.ts';
import { encrypted } from './age.ts';
import { archived } from './archive.ts';
import { through } from './bytes.ts';
import { membersOf } from './content.ts';
import type { Destination } from './destination.ts';
import { checkKeys, type Keys } from './keys.ts';

export interface MakeBackup {
  database: ConnectionSettings;
  /** Public keys of age; any of their identities opens the backup. */
  recipients: string[];
  keys: Keys;
  destination: Destination;
}

export interface Made {
  name: string;
  bytes: number;
}

const BACKUP = /^probeyard-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.age$/;
const nameAt = (time: string): string => `probeyard-${time.replace(/\.\d+Z$/, 'Z').replace(/[-:]/g, '')}.age`;

/** Fast: the rows are short, and results are compressed already. */
const LEVEL = 3;

export async function makeBackup({ database, recipients, keys, destination }: MakeBackup): Promise<Made> {
  checkKeys(keys, 'the Secrets of this installation');
  const dump = await openDump(database);
  try {
    const name = nameAt(dump.content.takenAt);
    const packed = through(archived(membersOf(dump, keys)), createGzip({ level: LEVEL }));
    return { name, bytes: await destination.write(name, encrypted(packed, recipients)) };
  } finally {
    await dump.close();
  }
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
  const backups = (await destination.list()).map(({ name }) => name).filter((name) => timeOf(name) !== undefined);
  const removed = keep === 0 ? [] : backups.slice(0, -keep);
  for (const name of removed) await destination.remove(name);
  const oldest = timeOf(backups[removed.length] ?? '');
  return { removed, ...(oldest ? { oldest } : {}) };
}

/** Its newest backup. */
export async function newest(destination: Destination): Promise<string | undefined> {
  return (await destination.list()).map(({ name }) => name).findLast((name) => timeOf(name) !== undefined);
}
