/**
 * Debian's chromium with the libraries that this machine lacks, unpacked in the cache without installing anything.
 * `node test/browser/chromium.ts` fetches it with apt. Tests use it if it is present, and otherwise print that they are
 * skipped.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium, type Browser } from 'playwright-core';

const exec = promisify(execFile);
const FOLDER = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'probeyard', 'chromium');
const PROGRAM = 'root/usr/lib/chromium/chromium';
const LIBRARIES = 'root/usr/lib';

async function fetched(): Promise<string | undefined> {
  const versions = existsSync(FOLDER) ? await readdir(FOLDER) : [];
  return versions
    .filter((name) => existsSync(join(FOLDER, name, PROGRAM)))
    .sort()
    .map((name) => join(FOLDER, name))
    .at(-1);
}

/** Fetches it if missing. Needs apt and its package lists. */
async function fetchChromium(): Promise<string> {
  const there = await fetched();
  if (there !== undefined) return there;
  const { stdout } = await exec('apt-cache', ['show', '--no-all-versions', 'chromium']);
  const version = /^Version: (.+)$/m.exec(stdout)?.[1];
  if (version === undefined) throw new Error('apt knows no chromium: apt-get update');
  const making = join(FOLDER, `.${version}.${process.pid}`);
  try {
    await mkdir(join(making, 'partial'), { recursive: true });
    await exec(
      'apt-get',
      [
        'install',
        '--yes',
        '--no-install-recommends',
        '--download-only',
        '--reinstall',
        '-o',
        `Dir::Cache::archives=${making}`,
        'chromium',
      ],
      { timeout: 600_000, maxBuffer: 16 * 1024 * 1024 },
    );
    for (const name of (await readdir(making)).filter((one) => one.endsWith('.deb'))) {
      await exec('dpkg-deb', ['-x', join(making, name), join(making, 'root')]);
      await rm(join(making, name));
    }
    await rename(making, join(FOLDER, version));
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  return join(FOLDER, version);
}

/** Undefined if it was not fetched. */
export async function openBrowser(): Promise<Browser | undefined> {
  const folder = await fetched();
  if (folder === undefined) return undefined;
  const libraries = (await readdir(join(folder, LIBRARIES)))
    .filter((name) => name.endsWith('-linux-gnu'))
    .flatMap((name) => [join(folder, LIBRARIES, name), join(folder, LIBRARIES, name, 'pulseaudio')]);
  return chromium.launch({
    executablePath: join(folder, PROGRAM),
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    env: { ...(process.env as Record<string, string>), LD_LIBRARY_PATH: libraries.join(':') },
    timeout: 60_000,
  });
}

if (import.meta.filename === process.argv[1]) console.log(await fetchChromium());
