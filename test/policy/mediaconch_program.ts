/**
 * Debian's mediaconch and mediainfo, and the sample policies in mediaconch's own source: unpacked into the cache and
 * run with their own libraries. Nothing is installed, and nothing of them is in this repository.
 */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheDir } from '../../images/cache.ts';
import { downloadClosure, downloadSourceFile, openSuite } from '../../images/fetch/apt.ts';

const exec = promisify(execFile);
const SUITE = 'trixie';
const VERSION = '25.04';
const PACKAGES = [
  { name: 'mediaconch', version: '*' },
  { name: 'mediainfo', version: '*' },
];
const LIBRARIES = 'usr/lib/x86_64-linux-gnu';

export interface Mediaconch {
  /** By file name: `sample_policy_1.xml`. */
  samples: ReadonlyMap<string, string>;
  /** `pass`, `fail`, `warn` or `info`. */
  verdict(policyFile: string, mediaFile: string): Promise<string>;
  /** mediainfo's JSON, by the same library. */
  mediainfo(mediaFile: string): Promise<{ version: string; output: string }>;
  sampleFile(name: string): string;
}

/** A text says why there is none. */
export async function openMediaconch(): Promise<Mediaconch | string> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return "Debian's mediaconch is fetched for amd64 only";
  const root = join(cacheDir, 'mediaconch', SUITE);
  try {
    if (!existsSync(root)) await fetchInto(root);
  } catch (error) {
    return `Debian's mediaconch cannot be fetched: ${(error as Error).message.split('\n')[0]}`;
  }
  const loader = join(root, LIBRARIES, 'ld-linux-x86-64.so.2');
  const run = (program: string, args: string[]) =>
    exec(loader, ['--library-path', join(root, LIBRARIES), join(root, 'usr/bin', program), ...args], {
      env: { HOME: root, LC_ALL: 'C.UTF-8' },
      timeout: 60_000,
      maxBuffer: 16 << 20,
    });
  const files = globSync(join(root, 'source', '**', 'Tools', 'Policies', '*.xml')).sort();
  return {
    samples: new Map(files.map((file) => [basename(file), readFileSync(file, 'utf8')])),
    sampleFile: (name) => files.find((file) => basename(file) === name)!,
    async verdict(policyFile, mediaFile) {
      const { stdout } = await run('mediaconch', ['-fs', '-p', policyFile, mediaFile]);
      return /^(\w+)!/.exec(stdout)?.[1] ?? `no verdict: ${stdout.slice(0, 200)}`;
    },
    async mediainfo(mediaFile) {
      const { stdout } = await run('mediainfo', ['--Output=JSON', mediaFile]);
      const { creatingLibrary } = JSON.parse(stdout) as { creatingLibrary: { version: string } };
      return { version: creatingLibrary.version, output: stdout };
    },
  };
}

async function fetchInto(root: string): Promise<void> {
  const made = `${root}.new`;
  rmSync(made, { recursive: true, force: true });
  mkdirSync(join(made, 'source'), { recursive: true });
  mkdirSync(join(made, 'packages'));
  const suite = await openSuite(SUITE);
  for (const archive of await downloadClosure(suite, PACKAGES, join(made, 'packages')))
    execFileSync('dpkg-deb', ['-x', archive, made]);
  const tar = join(made, 'source.tar.gz');
  if (!(await downloadSourceFile(suite, 'mediaconch', `mediaconch_${VERSION}.orig.tar.gz`, tar)))
    throw new Error(`the archive does not have the source of ${VERSION}`);
  execFileSync('tar', ['--extract', '--gzip', '--file', tar, '--directory', join(made, 'source')]);
  rmSync(join(made, 'packages'), { recursive: true });
  renameSync(made, root);
}
