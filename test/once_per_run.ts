/** What takes long to make, such as a migrated database, and is the same for all processes of a test run. */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from './server_process.ts';
import { until } from './until.ts';

/** The folder of the run, which test/files.ts makes and removes. */
export const RUN_FOLDER = 'PROBEYARD_TEST_RUN';
const MADE_WITHIN_MS = 120_000;

const folders = new Map<string, Promise<string>>();

/** A folder that `make` has filled: the first process that asks fills it, and others wait. Nobody changes it later. */
export function oncePerRun(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  let folder = folders.get(name);
  if (folder === undefined) {
    folder = made(name, make);
    folders.set(name, folder);
  }
  return folder;
}

async function made(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const run = process.env[RUN_FOLDER] ?? makeDirectory('run');
  // PostgreSQL reads in it, as a user of its own.
  chmodSync(run, 0o755);
  const folder = join(run, name);
  const isMade = `${folder}.made`;
  try {
    mkdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    await until(`${name} is made by another process of this run`, () => existsSync(isMade), MADE_WITHIN_MS);
    return folder;
  }
  await make(folder);
  writeFileSync(isMade, '');
  return folder;
}
