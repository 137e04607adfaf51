/**
 * Encoders and muxers of Debian, unpacked into the cache and run with their own libraries, without installing anything.
 */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { downloadClosure, openSuite } from '../../images/fetch/apt.ts';
import { reportCache } from './tools.ts';

const exec = promisify(execFile);
const PACKAGES = [
  { name: 'ffmpeg', version: '*' },
  { name: 'mkvtoolnix', version: '*' },
  { name: 'gstreamer1.0-tools', version: '*' },
  { name: 'gstreamer1.0-plugins-good', version: '*' },
  { name: 'gstreamer1.0-plugins-bad', version: '*' },
];
const LIBRARIES = 'usr/lib/x86_64-linux-gnu';

export interface DebianPrograms {
  /** Returns what the program prints. */
  run(program: string, args: string[], timeout?: number): Promise<string>;
}
let opened: Promise<DebianPrograms> | undefined;
export const debianPrograms = (): Promise<DebianPrograms> => (opened ??= open());

async function open(): Promise<DebianPrograms> {
  const root = join(reportCache, 'debian');
  if (!existsSync(root)) {
    const packages = `${root}.packages`;
    mkdirSync(packages, { recursive: true });
    const archives = await downloadClosure(await openSuite('bookworm'), PACKAGES, packages);
    rmSync(`${root}.new`, { recursive: true, force: true });
    mkdirSync(`${root}.new`);
    for (const archive of archives) execFileSync('dpkg-deb', ['-x', archive, `${root}.new`]);
    rmSync(packages, { recursive: true });
    renameSync(`${root}.new`, root);
  }
  const libraries = [
    LIBRARIES,
    'lib/x86_64-linux-gnu',
    `${LIBRARIES}/pulseaudio`,
    `${LIBRARIES}/blas`,
    `${LIBRARIES}/lapack`,
  ]
    .map((path) => join(root, path))
    .join(':');
  const loader =
    [join(root, 'lib/x86_64-linux-gnu/ld-linux-x86-64.so.2'), join(root, 'lib64/ld-linux-x86-64.so.2')].find((path) =>
      existsSync(path),
    ) ?? '/lib64/ld-linux-x86-64.so.2';
  const env = {
    HOME: '/tmp',
    LC_ALL: 'C.UTF-8',
    GST_PLUGIN_SYSTEM_PATH_1_0: join(root, LIBRARIES, 'gstreamer-1.0'),
    GST_REGISTRY_1_0: join(root, 'registry.bin'),
    GST_REGISTRY_FORK: 'no',
  };
  return {
    async run(program, args, timeout = 60_000) {
      const { stdout } = await exec(loader, ['--library-path', libraries, join(root, 'usr/bin', program), ...args], {
        env,
        timeout,
        maxBuffer: 256 << 20,
      });
      return stdout;
    },
  };
}
