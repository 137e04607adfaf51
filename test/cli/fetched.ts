/** Packages for tests alone, pinned, each in a folder of its own in the cache. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheDir } from '../../images/cache.ts';
import { goEnv } from '../node/build.ts';

const STEP_MS = 240_000;
/** Go keeps what it fetches and compiles where the rest of the cache is. */
const { GOMODCACHE, GOCACHE } = goEnv;

export interface Wanted {
  /** The folder in the cache. */
  name: string;
  files?: Readonly<Record<string, string>>;
  steps: readonly (readonly string[])[];
  /** A file that is there when all steps are done. */
  proof: string;
}

export const npmInstall = (...packages: string[]): string[] => [
  'npm',
  'install',
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--silent',
  ...packages,
];

/** The folder; null if it cannot be had, with the reason printed. */
export function fetched({ name, files = {}, steps, proof }: Wanted): string | null {
  const folder = join(cacheDir, name);
  if (existsSync(join(folder, proof))) return folder;
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of Object.entries({ 'package.json': '{ "private": true }\n', ...files })) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  for (const [command = '', ...args] of steps) {
    const { status, error, stderr } = spawnSync(command, args, {
      cwd: folder,
      encoding: 'utf8',
      timeout: STEP_MS,
      env: { ...process.env, GOMODCACHE, GOCACHE },
    });
    if (status === 0) continue;
    console.log(`        ${name} cannot be had: ${error?.message ?? stderr.trim().split('\n').at(-1)}`);
    return null;
  }
  return folder;
}
