/**
 * Debian packages and source files of any suite, with apt's own configuration and separate lists. Nothing under
 * /etc/apt changes.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Architecture, suffixOf, USUAL } from '../architecture.ts';
import { cacheDir } from '../cache.ts';
import { attempt, run } from '../command.ts';
import { ImageError } from '../image_error.ts';

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const LISTS_FRESH_MS = 24 * 3600_000;

export interface Suite {
  name: string;
  folder: string;
  options: string[];
}

/**
 * The lists of a suite, updated once a day. `bullseye-security` comes from the security archive beside the main one.
 */
export async function openSuite(name: string, arch: Architecture = USUAL): Promise<Suite> {
  const folder = join(cacheDir, 'apt', `${name}${suffixOf(arch)}`);
  const options = [
    `-oDir::Etc::sourcelist=${folder}/sources.list`,
    '-oDir::Etc::sourceparts=/dev/null',
    `-oDir::State::lists=${folder}/lists`,
    `-oDir::Cache=${folder}/cache`,
    `-oDir::State::status=${folder}/status`,
    '-oAPT::Sandbox::User=root',
    `-oAPT::Architecture=${arch}`,
    // Of the machine's own, if not told otherwise.
    `-oAPT::Architectures=${arch}`,
  ];
  const mirror = await configuredMirror(name.endsWith('-security'));
  await mkdir(join(folder, 'lists', 'partial'), { recursive: true });
  await mkdir(join(folder, 'cache', 'archives', 'partial'), { recursive: true });
  // An empty status file makes apt assume that nothing is installed, so that it fetches the whole closure.
  await writeFile(join(folder, 'status'), '');
  await writeFile(
    join(folder, 'sources.list'),
    ['deb', 'deb-src'].map((type) => `${type} [signed-by=${KEYRING}] ${mirror} ${name} main\n`).join(''),
  );
  const stamp = join(folder, 'read');
  const read = existsSync(stamp) ? Number(await readFile(stamp, 'utf8')) : 0;
  if (Date.now() - read > LISTS_FRESH_MS) {
    await run('apt-get', ['-q', ...options, 'update']);
    await writeFile(stamp, String(Date.now()));
  }
  return { name, folder, options };
}

/**
 * Downloads the named packages and all of their dependencies into an empty folder. Returns the paths of all .deb files.
 */
export async function downloadClosure(
  suite: Suite,
  packages: readonly { name: string; version: string }[],
  folder: string,
): Promise<string[]> {
  await mkdir(join(folder, 'partial'), { recursive: true });
  const names = packages.map(({ name, version }) => `${name}=${version}`);
  await run('apt-get', [
    ...suite.options,
    `-oDir::Cache::archives=${folder}`,
    '-q',
    '-y',
    '--no-install-recommends',
    '--download-only',
    'install',
    ...names,
  ]);
  return (await readdir(folder)).filter((name) => name.endsWith('.deb')).map((name) => join(folder, name));
}

/**
 * Fetches one file of a source package. apt verifies its checksum against the signed lists. Returns false if the
 * archive does not have it.
 */
export async function downloadSourceFile(
  suite: Suite,
  sourcePackage: string,
  file: string,
  target: string,
): Promise<boolean> {
  const plan = await attempt('apt-get', [...suite.options, '-q', '--print-uris', 'source', sourcePackage]);
  const line = plan.stdout.split('\n').find((text) => text.split(' ')[1] === file);
  const [, uri, checksum] = /^'([^']+)' \S+ \d+ (\S+)/.exec(line ?? '') ?? [];
  if (uri === undefined || checksum === undefined) return false;
  const { code } = await attempt('/usr/lib/apt/apt-helper', [...suite.options, 'download-file', uri, target, checksum]);
  return code === 0;
}

/** The Debian mirror of this machine, in any form of its configuration. */
export async function configuredMirror(security: boolean): Promise<string> {
  const plan = await attempt('apt-get', [
    'indextargets',
    '--format',
    '$(REPO_URI) $(ORIGIN) $(LABEL)',
    'Created-By: Packages',
  ]);
  const lines = plan.stdout.split('\n').filter((line) => line.includes(' Debian'));
  const wanted = lines.find((line) => line.includes('Debian-Security') === security);
  const uri = wanted?.split(' ')[0]?.replace(/\/$/, '');
  if (uri !== undefined && uri !== '') return uri;
  if (security) return `${await configuredMirror(false)}-security`;
  throw new ImageError('SOURCE_UNAVAILABLE', 'no Debian mirror in the configuration of apt (run apt-get update once)');
}
