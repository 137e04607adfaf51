import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ClusterError } from './cluster_error.ts';
import { attempt, run } from './command.ts';
import { say } from '../../images/progress.ts';
import { cniFolder } from './runtime.ts';

interface Need {
  debian: string;
  what: string;
  there: () => Promise<boolean> | boolean;
}

export function onPath(program: string): boolean {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return folders.some((folder) => folder !== '' && existsSync(join(folder, program)));
}

const NEEDS: readonly Need[] = [
  { debian: 'gcc', what: 'gcc', there: () => onPath('gcc') },
  { debian: 'libc6-dev', what: 'the static C library', there: canLinkStatically },
  { debian: 'pkg-config', what: 'pkg-config', there: () => onPath('pkg-config') },
  {
    debian: 'libseccomp-dev',
    what: "libseccomp's headers",
    there: async () => onPath('pkg-config') && (await attempt('pkg-config', ['--exists', 'libseccomp'])).code === 0,
  },
  { debian: 'iproute2', what: 'ip', there: () => onPath('ip') },
  { debian: 'iptables', what: 'iptables', there: () => onPath('iptables-restore') },
  { debian: 'kmod', what: 'modprobe', there: () => onPath('modprobe') },
  { debian: 'mount', what: 'mount', there: () => onPath('mount') },
  { debian: 'tar', what: 'tar', there: () => onPath('tar') },
  {
    debian: 'containernetworking-plugins',
    what: 'the CNI plugins bridge, host-local and loopback',
    there: () => cniFolder() !== undefined,
  },
  {
    debian: 'ca-certificates',
    what: 'the system certificates',
    there: () =>
      ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt'].some((file) => existsSync(file)),
  },
];

/** Installs missing packages with apt, or names them. */
export async function ensurePackages(): Promise<void> {
  const missing = await findMissing();
  if (missing.length === 0) return;
  const names = missing.map(({ debian }) => debian);
  if (!onPath('apt-get')) {
    throw new ClusterError(
      'PACKAGES_MISSING',
      `please install: ${missing.map(({ what, debian }) => `${what} (Debian: ${debian})`).join(', ')}`,
    );
  }
  say(`installing the Debian packages ${names.join(', ')}`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  const install = ['install', '--yes', '--no-install-recommends', ...names];
  if ((await attempt('apt-get', install, { env })).code !== 0) {
    await run('apt-get', ['update'], { env });
    await run('apt-get', install, { env });
  }
  const still = await findMissing();
  if (still.length > 0)
    throw new ClusterError(
      'PACKAGES_MISSING',
      `installed ${names.join(', ')}, but this is still missing: ${still.map(({ what }) => what).join(', ')}`,
    );
}

/** Go does not come from Debian, whose release is years too old for Kubernetes. */
export async function checkGo(needed: string): Promise<void> {
  const hint = `install Go ${needed} or newer (https://go.dev/dl) and put it on PATH`;
  if (!onPath('go')) throw new ClusterError('GO_MISSING', `there is no Go: ${hint}`);
  const version = (await run('go', ['env', 'GOVERSION'], { env: { GOTOOLCHAIN: 'local' }, cwd: '/' })).trim();
  if (compareVersions(version, '1.21') < 0) throw new ClusterError('GO_TOO_OLD', `${version} is too old: ${hint}`);
  const toolchain = (await run('go', ['env', 'GOTOOLCHAIN'], { cwd: '/' })).trim();
  if (compareVersions(version, needed) < 0 && toolchain === 'local') {
    throw new ClusterError(
      'GO_TOO_OLD',
      `${version} is too old and may not fetch a newer one (GOTOOLCHAIN=local): ${hint}, or set GOTOOLCHAIN=auto`,
    );
  }
}

/** Negative, 0 or positive. Accepts `go1.26.8` and `1.26`. */
export function compareVersions(one: string, other: string): number {
  const numbers = (text: string) => (/[\d.]+/.exec(text)?.[0] ?? '').split('.').map(Number);
  const [a, b] = [numbers(one), numbers(other)];
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

async function findMissing(): Promise<Need[]> {
  const missing: Need[] = [];
  for (const need of NEEDS) if (!(await need.there())) missing.push(need);
  return missing;
}

async function canLinkStatically(): Promise<boolean> {
  if (!onPath('gcc')) return false;
  const file = (await attempt('gcc', ['-print-file-name=libc.a'])).stdout.trim();
  return file.includes('/') && existsSync(file);
}
