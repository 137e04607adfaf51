/** Finds the Debian packages that the files of an image come from, by their content. */
import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { sha256Of } from '../cache.ts';

export interface DebianPackage {
  /** Of the binary package. */
  name: string;
  version: string;
  suite: string;
  /** The text of its licences, where the package has one. */
  copyright: string | undefined;
}

export interface DebianRoot {
  folder: string;
  suite: string;
}

export const filesUnder = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { withFileTypes: true, recursive: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

/**
 * The packages of the root that own a file with the same name and bytes as one of the image. A root that was unpacked
 * without dpkg's lists has nothing but packages that the image needs: then it is all of them.
 */
export async function debianPackages(image: string, root: DebianRoot): Promise<DebianPackage[]> {
  const info = join(root.folder, 'var/lib/dpkg/info');
  const names = existsSync(info) ? await owners(image, root.folder, info) : await documented(root.folder);
  const found = await Promise.all(names.map((name) => about(name, root)));
  return found.filter((one) => one !== undefined).sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function owners(image: string, root: string, info: string): Promise<string[]> {
  const wanted = new Map<string, Set<string>>();
  for (const file of await filesUnder(image)) {
    const sums = wanted.get(basename(file)) ?? new Set();
    wanted.set(basename(file), sums.add(await sha256Of(file)));
  }
  const lists = (await readdir(info)).filter((name) => name.endsWith('.list'));
  const names = await Promise.all(
    lists.map(async (list) => {
      const paths = (await readFile(join(info, list), 'utf8')).split('\n');
      for (const path of paths) {
        const sums = wanted.get(basename(path));
        const sum = sums && (await sha256Of(join(root, path)).catch(() => undefined));
        if (sum !== undefined && sums?.has(sum)) return [list.replace(/(?::\w+)?\.list$/, '')];
      }
      return [];
    }),
  );
  return names.flat();
}

async function documented(root: string): Promise<string[]> {
  const folder = join(root, 'usr/share/doc');
  return existsSync(folder) ? readdir(folder) : [];
}

/** Version and licences as the package's own documentation states them. Packages can share that of another one. */
async function about(name: string, { folder, suite }: DebianRoot): Promise<DebianPackage | undefined> {
  const version = (await installed(folder, name)) ?? (await changed(join(folder, 'usr/share/doc', name)));
  if (version === undefined) return undefined;
  const copyright = await readFile(join(folder, 'usr/share/doc', name, 'copyright'), 'utf8').catch(() => undefined);
  return { name, version, suite, copyright };
}

async function installed(folder: string, name: string): Promise<string | undefined> {
  const status = await readFile(join(folder, 'var/lib/dpkg/status'), 'utf8').catch(() => '');
  const own = status.split('\n\n').find((text) => text.startsWith(`Package: ${name}\n`));
  return /^Version: (.+)$/m.exec(own ?? '')?.[1];
}

async function changed(folder: string): Promise<string | undefined> {
  for (const file of ['changelog.Debian.gz', 'changelog.Debian.amd64.gz', 'changelog.gz']) {
    const packed = await readFile(join(folder, file)).catch(() => undefined);
    const version = packed && /^\S+ \(([^)]+)\)/.exec(gunzipSync(packed).toString())?.[1];
    if (version !== undefined) return version;
  }
  return undefined;
}
