/**
 * A Debian root, made once by debootstrap. Libraries are taken from it, and images that compile something are built in
 * it.
 */
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Architecture, suffixOf, USUAL } from './architecture.ts';
import { cacheDir, contentKey, once } from './cache.ts';
import { run } from './command.ts';
import { configuredMirror } from './fetch/apt.ts';
import { timed } from './progress.ts';

const SUITE = 'bookworm';

/**
 * Libraries besides libc that the tools' prebuilt binaries link: never called while probing, but required by the
 * loader.
 */
const INCLUDE = [
  'ca-certificates',
  'libstdc++6',
  'libgcc-s1',
  'zlib1g',
  'libasound2',
  'libxcb1',
  'libxcb-shape0',
  'libxcb-xfixes0',
  'libxcb-shm0',
  'libva2',
  'libva-drm2',
  'libpulse0',
];

export interface Base {
  folder: string;
  key: string;
}

/** What the root is named after, known before there is one. */
export const baseKeyOf = (arch: Architecture): string => `${contentKey(SUITE, INCLUDE.join(' '))}${suffixOf(arch)}`;

export async function baseRoot(arch: Architecture = USUAL): Promise<Base> {
  const key = baseKeyOf(arch);
  const target = join(cacheDir, 'base', `${SUITE}-${key}`);
  if (existsSync(target)) return { folder: target, key };
  const folder = await timed(`Debian ${SUITE} root${suffixOf(arch)}`, () =>
    once(target, async (root) => {
      const mirror = await configuredMirror(false);
      const options = [`--arch=${arch}`, '--variant=minbase', `--include=${INCLUDE.join(',')}`];
      await run('debootstrap', [...options, SUITE, root, mirror]);
      const security = await configuredMirror(true);
      await writeFile(
        join(root, 'etc/apt/sources.list'),
        `deb ${mirror} ${SUITE} main\ndeb ${security} ${SUITE}-security main\n`,
      );
      await copyProxySettings(root);
      await rm(join(root, 'var/cache/apt/archives'), { recursive: true, force: true });
      await rm(join(root, 'dev'), { recursive: true, force: true });
      await run('mkdir', ['-p', join(root, 'dev'), join(root, 'var/cache/apt/archives/partial')]);
    }),
  );
  return { folder, key };
}

/** If this machine reaches its mirror through a proxy, the root has to as well. */
async function copyProxySettings(root: string): Promise<void> {
  const dump = await run('apt-config', ['dump', '--format', '%f "%v";%n', 'Acquire::http', 'Acquire::https']);
  const lines = dump.split('\n').filter((line) => /Proxy "[^"]+"/.test(line));
  if (lines.length > 0) await writeFile(join(root, 'etc/apt/apt.conf.d/90proxy'), `${lines.join('\n')}\n`);
}
