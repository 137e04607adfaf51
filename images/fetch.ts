/**
 * Fetches the files of a catalog entry with the ordinary client of each registry, as configured on this machine, and
 * verifies them.
 */
import { existsSync } from 'node:fs';
import { copyFile, mkdir, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { cacheDir, digestOf, sha256Of, withScratch } from './cache.ts';
import type { SourceOf } from './catalog.ts';
import { run } from './command.ts';
import { ImageError } from './image_error.ts';

const sourcesDir = join(cacheDir, 'sources');

/** The path of the cached file with this checksum. */
export function keptAt(checksum: string): string {
  return join(sourcesDir, checksum);
}

/**
 * Verifies a file that was just fetched and caches it under its checksum. `expected` may be undefined only after a
 * signature was verified.
 */
export async function keep(file: string, expected: string | undefined): Promise<string> {
  const actual = await sha256Of(file);
  if (expected !== undefined && actual !== expected) {
    throw new ImageError('CHECKSUM_MISMATCH', `${basename(file)}: sha256 is ${actual}, the catalog says ${expected}`);
  }
  const target = keptAt(actual);
  if (existsSync(target)) return target;
  await mkdir(sourcesDir, { recursive: true });
  const half = `${target}.${process.pid}`;
  await copyFile(file, half);
  await rename(half, target);
  return target;
}

export async function fetchMaven(source: SourceOf<'maven'>): Promise<string> {
  const kept = keptAt(source.sha256);
  if (existsSync(kept)) return kept;
  return withScratch(async (folder) => {
    const artifact = `${source.package}:${source.version}:jar:${source.classifier}`;
    const plugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';
    // A separate local repository, because the 25 MB archive would otherwise be stored twice.
    const repository = `-Dmaven.repo.local=${join(cacheDir, 'maven')}`;
    await available(`Maven artifact ${artifact}`, async () => {
      await run('mvn', [
        '-q',
        '-B',
        repository,
        `${plugin}:copy`,
        `-Dartifact=${artifact}`,
        `-DoutputDirectory=${folder}`,
        '-Dmdep.useBaseVersion=true',
      ]);
    });
    const name = `${source.package.split(':')[1]}-${source.version}-${source.classifier}.jar`;
    return keep(join(folder, name), source.sha256);
  });
}

export async function fetchNpm(source: Pick<SourceOf<'npm'>, 'package' | 'version' | 'integrity'>): Promise<string> {
  const expected = source.integrity.slice('sha512-'.length);
  const kept = keptAt(Buffer.from(expected, 'base64').toString('hex'));
  if (existsSync(kept)) return kept;
  return withScratch(async (folder) => {
    const name = `${source.package}@${source.version}`;
    const output = await available(`npm package ${name}`, () =>
      run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder, name]),
    );
    const file = join(folder, output.trim().split('\n').at(-1) ?? '');
    const actual = await digestOf(file, 'sha512', 'base64');
    if (actual !== expected)
      throw new ImageError('CHECKSUM_MISMATCH', `${name}: sha512 is ${actual}, the catalog says ${expected}`);
    await mkdir(sourcesDir, { recursive: true });
    await copyFile(file, `${kept}.${process.pid}`);
    await rename(`${kept}.${process.pid}`, kept);
    return kept;
  });
}

/** Turns a failure of a client into "unavailable here", which skips a version instead of ending the build. */
export async function available<T>(what: string, get: () => Promise<T>): Promise<T> {
  try {
    return await get();
  } catch (error) {
    const said = (error as Error).message
      .split('\n')
      .filter((line) => /\b(E|ERROR|ERR!?|error|404|Could not|Failed)\b/.test(line));
    throw new ImageError(
      'SOURCE_UNAVAILABLE',
      `${what} cannot be had here${said[0] === undefined ? '' : `: ${withoutHosts(said[0]).trim().slice(0, 160)}`}`,
      { cause: error },
    );
  }
}

function withoutHosts(line: string): string {
  return line.replace(/https?:\/\/[^\s]+/g, '(address)');
}
