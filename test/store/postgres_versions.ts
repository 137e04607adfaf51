/**
 * Runs the tests of the store against PostgreSQL of other versions: `node test/store/postgres_versions.ts [17 18]`.
 * Each is fetched from the newest Debian suite that has it, and unpacked without installing anything.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync } from 'node:fs';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../images/command.ts';
import { downloadClosure, openSuite } from '../../images/fetch/apt.ts';

/** The machine's own is 15. No suite of Debian has 16 any more. */
const SUITES: Readonly<Record<string, string>> = { 17: 'trixie', 18: 'sid' };
const PROGRAMS = ['postgres', 'initdb', 'pg_basebackup', 'pg_ctl', 'psql'];

/**
 * Its programs need a newer libc than the machine's. So each becomes a script that starts it with the linker and the
 * libraries of its suite. A program finds its folders by its own name, so the name stays.
 */
async function startedBySuite(root: string, making: string, path: string): Promise<void> {
  const program = join(making, path);
  if (!existsSync(program)) return;
  await rename(program, `${program}.program`);
  const lib = join(root, 'usr', 'lib', 'x86_64-linux-gnu');
  const script = [
    '#!/bin/sh',
    `exec ${join(lib, 'ld-linux-x86-64.so.2')} --library-path ${lib} --argv0 "$0" ${join(root, path)}.program "$@"`,
  ];
  await writeFile(program, `${script.join('\n')}\n`);
  await chmod(program, 0o755);
}

const binOf = (major: string): string => join('usr', 'lib', 'postgresql', major, 'bin');

/** The folder of its programs. Not in root's cache, because the server does not run as root. */
async function fetchPostgres(major: string): Promise<string> {
  const suite = await openSuite(SUITES[major]!);
  const name = `postgresql-${major}`;
  const shown = await run('apt-cache', [...suite.options, 'show', '--no-all-versions', name]);
  const version = /^Version: (.+)$/m.exec(shown)?.[1];
  if (version === undefined) throw new Error(`${SUITES[major]} has no ${name}`);
  const root = join(tmpdir(), `probeyard-${name}-${version}`);
  const folder = join(root, binOf(major));
  if (existsSync(root)) return folder;
  const making = `${root}.${process.pid}`;
  const debs = join(making, 'debs');
  await mkdir(debs, { recursive: true });
  await chmod(making, 0o755);
  try {
    for (const deb of await downloadClosure(suite, [{ name, version }], debs))
      await run('dpkg-deb', ['-x', deb, making]);
    await rm(debs, { recursive: true });
    for (const program of PROGRAMS) await startedBySuite(root, making, join(binOf(major), program));
    await rename(making, root);
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  return folder;
}

async function tested(major: string): Promise<boolean> {
  const folder = await fetchPostgres(major);
  console.log(`\n== ${(await run(join(folder, 'postgres'), ['--version'])).trim()}`);
  const files = globSync(join(import.meta.dirname, '*.test.ts'));
  const child = fork(join(import.meta.dirname, '..', 'part.ts'), files.sort(), {
    cwd: join(import.meta.dirname, '..', '..'),
    env: { ...process.env, PROBEYARD_POSTGRES: folder },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((major) => SUITES[major] === undefined);
if (unknown.length > 0) {
  console.error(`no version ${unknown.join(', ')}: there are ${Object.keys(SUITES).join(', ')}`);
  process.exit(2);
}
for (const major of wanted.length > 0 ? wanted : Object.keys(SUITES)) if (!(await tested(major))) process.exitCode = 1;
