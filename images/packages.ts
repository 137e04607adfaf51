/** The programs that building images needs. With apt they are installed, otherwise the error names them. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { attempt, run } from './command.ts';
import { ImageError } from './image_error.ts';
import { say } from './progress.ts';

const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'].filter(
  (folder) => folder !== '',
);
const onPath = (program: string): boolean => folders.some((folder) => existsSync(join(folder, program)));

interface Need {
  debian: string;
  there: () => boolean;
}

const NEEDS: readonly Need[] = [
  { debian: 'buildah', there: () => onPath('buildah') },
  // The policy file without which buildah refuses every image. Its package only recommends it.
  {
    debian: 'golang-github-containers-common',
    there: () => existsSync('/etc/containers/policy.json') || existsSync('/usr/share/containers/policy.json'),
  },
  { debian: 'debootstrap', there: () => onPath('debootstrap') },
  { debian: 'debian-archive-keyring', there: () => existsSync('/usr/share/keyrings/debian-archive-keyring.gpg') },
  { debian: 'maven', there: () => onPath('mvn') },
  { debian: 'unzip', there: () => onPath('unzip') },
  { debian: 'binutils', there: () => onPath('readelf') },
  { debian: 'xz-utils', there: () => onPath('xz') },
  { debian: 'gpgv', there: () => onPath('gpgv') },
];

export async function ensurePackages(): Promise<void> {
  const missing = NEEDS.filter(({ there }) => !there()).map(({ debian }) => debian);
  if (missing.length === 0) return;
  if (!onPath('apt-get'))
    throw new ImageError('COMMAND_NOT_FOUND', `please install (as Debian calls them): ${missing.join(', ')}`);
  say(`installing the Debian packages ${missing.join(', ')}`);
  const options = { env: { DEBIAN_FRONTEND: 'noninteractive' } };
  const install = ['-q', 'install', '--yes', '--no-install-recommends', ...missing];
  if ((await attempt('apt-get', install, options)).code === 0) return;
  await run('apt-get', ['-q', 'update'], options);
  await run('apt-get', install, options);
}
