/**
 * A folder with the named Debian packages and their dependencies, unpacked as on a Debian of that suite, without
 * installing anything.
 */
import { existsSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Architecture, suffixOf } from '../architecture.ts';
import { cacheDir, contentKey, once, sha256Of, withScratch } from '../cache.ts';
import type { SourceOf } from '../catalog.ts';
import { run } from '../command.ts';
import { available } from '../fetch.ts';
import { ImageError } from '../image_error.ts';
import { downloadClosure, openSuite } from './apt.ts';

export async function fetchDebian(source: SourceOf<'debian'>, arch: Architecture): Promise<string> {
  const key = contentKey(JSON.stringify(source));
  const target = join(cacheDir, 'sources', `debian-${source.suite}-${key}${suffixOf(arch)}`);
  return once(target, (root) =>
    withScratch(async (scratch) => {
      const names = source.packages.map(({ name, version }) => `${name} ${version}`).join(', ');
      const debs = await available(`Debian ${source.suite}: ${names}`, async () =>
        downloadClosure(await openSuite(source.suite, arch), source.packages, scratch),
      );
      for (const { name, version, sha256 } of source.packages) await checkPackage(debs, name, version, sha256);
      for (const deb of debs) await run('dpkg-deb', ['-x', deb, root]);
      // Packages of suites with a merged /usr leave these links to base-files.
      for (const name of ['bin', 'sbin', 'lib', 'lib64'])
        if (!existsSync(join(root, name))) await symlink(`usr/${name}`, join(root, name));
    }),
  );
}

async function checkPackage(debs: readonly string[], name: string, version: string, expected: string): Promise<void> {
  const file = debs.find((deb) => basename(deb).startsWith(`${name}_`));
  if (file === undefined)
    throw new ImageError('SOURCE_UNAVAILABLE', `${name} ${version} was not among the downloaded packages`);
  const actual = await sha256Of(file);
  if (actual !== expected)
    throw new ImageError('CHECKSUM_MISMATCH', `${name} ${version}: sha256 is ${actual}, the catalog says ${expected}`);
}
