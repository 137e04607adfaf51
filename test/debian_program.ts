/**
 * A program of Debian with the libraries that this machine lacks, fetched with apt and unpacked in the cache without
 * installing anything.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDir } from '../images/cache.ts';
import { run } from '../images/command.ts';

export interface DebianProgram {
  /** Of the package, and of its folder in the cache. */
  name: string;
  /** Its path in the package. */
  program: string;
  /** It needs no other package. */
  isAlone?: boolean;
}

/** The folder that it was unpacked in: the newest version. Undefined if it was not fetched. */
export async function fetchedProgram({ name, program }: DebianProgram): Promise<string | undefined> {
  const folder = join(cacheDir, name);
  const versions = existsSync(folder) ? await readdir(folder) : [];
  return versions
    .filter((version) => !version.startsWith('.'))
    .sort()
    .map((version) => join(folder, version, 'root'))
    .findLast((root) => existsSync(join(root, program)));
}

/**
 * The packages to fetch for a program: everything that it depends on, as if nothing were installed, without what this
 * machine has. Other packages of its own source are always fetched: a program looks for its files beside itself, so a
 * part of it that is installed in /usr is of no use to it.
 */
export const packagesToFetch = (
  needed: readonly string[],
  /** Each with its source package. */
  installed: ReadonlyMap<string, string>,
  source: string,
): string[] => needed.filter((name) => (installed.get(name) ?? source) === source);

async function installedPackages(): Promise<Map<string, string>> {
  const lines = await run('dpkg-query', ['-W', '-f', '${db:Status-Status} ${Package} ${source:Package}\n']);
  return new Map(
    lines
      .split('\n')
      .map((line) => line.split(' '))
      .filter(([status]) => status === 'installed')
      .map(([, name, source]) => [name!, source!]),
  );
}

async function packagesOf({ name, source, making }: { name: string; source: string; making: string }) {
  const status = join(making, 'status');
  await writeFile(status, '');
  const asIfEmpty = ['-q', `-oDir::State::status=${status}`];
  const shown = await run('apt-get', [
    ...asIfEmpty,
    'install',
    '--yes',
    '--no-install-recommends',
    '--print-uris',
    name,
  ]);
  const needed = [...shown.matchAll(/^'[^']*' ([^_ ]+)_/gm)].map(([, one]) => one!);
  return packagesToFetch(needed, await installedPackages(), source);
}

/** Fetches it if missing. Needs apt and its package lists. */
export async function fetchProgram(wanted: DebianProgram): Promise<string> {
  const there = await fetchedProgram(wanted);
  if (there !== undefined) return there;
  const { name, isAlone = false } = wanted;
  const shown = await run('apt-cache', ['show', '--no-all-versions', name]);
  const version = /^Version: (.+)$/m.exec(shown)?.[1];
  if (version === undefined) throw new Error(`apt knows no ${name}: apt-get update`);
  const folder = join(cacheDir, name);
  // Without the epoch: a colon cannot stand in PATH.
  const short = version.replace(/^\d+:/, '');
  const making = join(folder, `.${short}.${process.pid}`);
  try {
    await mkdir(making, { recursive: true });
    const source = /^Source: (\S+)/m.exec(shown)?.[1] ?? name;
    const names = isAlone ? [name] : await packagesOf({ name, source, making });
    await run('apt-get', ['-q', '-oAPT::Sandbox::User=root', 'download', ...names], {
      cwd: making,
      timeoutMs: 600_000,
    });
    for (const archive of (await readdir(making)).filter((one) => one.endsWith('.deb'))) {
      await run('dpkg-deb', ['-x', join(making, archive), join(making, 'root')]);
      await rm(join(making, archive));
    }
    await rename(making, join(folder, short)).catch((error: NodeJS.ErrnoException) => {
      // Another process was faster.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  return join(folder, short, 'root');
}
