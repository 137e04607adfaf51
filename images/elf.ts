/**
 * The libraries that a program needs, read from the files themselves, regardless of what is installed on the machine.
 */
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { run } from './command.ts';
import { ImageError } from './image_error.ts';

/** Some builds link these by their development names. */
const RENAMED: Record<string, string> = { 'libva.so': 'libva.so.2', 'libva-drm.so': 'libva-drm.so.2' };

async function needed(file: string): Promise<string[]> {
  const output = await run('readelf', ['-d', file], { env: { LC_ALL: 'C' } });
  return [...output.matchAll(/\(NEEDED\)\s+Shared library: \[([^\]]+)\]/g)].map((match) => match[1] ?? '');
}

/** All direct and indirect library dependencies of `files` by their soname, each from the first folder that has it. */
export async function closure(files: readonly string[], folders: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const queue = [...files];
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    for (const name of await needed(file)) {
      if (found.has(name)) continue;
      const path = find(name, folders);
      if (path === undefined)
        throw new ImageError(
          'LIBRARY_MISSING',
          `${basename(file)} needs ${name}, which is in none of ${folders.join(', ')}`,
        );
      const real = await realpath(path);
      found.set(name, real);
      queue.push(real);
    }
  }
  return found;
}

function find(name: string, folders: readonly string[]): string | undefined {
  for (const folder of folders) {
    for (const candidate of [name, RENAMED[name]]) {
      if (candidate !== undefined && existsSync(join(folder, candidate))) return join(folder, candidate);
    }
  }
  return undefined;
}
