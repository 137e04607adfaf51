/**
 * Every fetched or built file is cached by its content outside the checkout. It appears there by a rename, and is
 * therefore always complete.
 */
import { createHash, type BinaryLike } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

export const cacheDir = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'probeyard');
const scratchDir = join(cacheDir, 'scratch');
/** The longest build takes an hour at most. */
const ABANDONED_MS = 6 * 3600_000;

export function contentKey(...parts: readonly BinaryLike[]): string {
  const hash = createHash('sha256');
  for (const part of parts)
    hash.update(`\0${typeof part === 'string' ? Buffer.byteLength(part) : part.byteLength}\0`).update(part);
  return hash.digest('hex').slice(0, 16);
}

/** Contents of the named files and folders (recursively), in a stable order, for a content key. */
export async function contents(...paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const path of paths) {
    for (const file of await filesUnder(path))
      hash.update(`\0${file.slice(path.length)}\0`).update(await readFile(file));
  }
  return hash.digest('hex');
}

async function filesUnder(path: string): Promise<string[]> {
  if (!existsSync(path)) return [];
  const entries = await readdir(path, { withFileTypes: true, recursive: true }).catch(() => undefined);
  if (entries === undefined) return [path];
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

export async function sha256Of(file: string): Promise<string> {
  return digestOf(file, 'sha256', 'hex');
}

export async function digestOf(
  file: string,
  algorithm: 'sha256' | 'sha512',
  encoding: 'hex' | 'base64',
): Promise<string> {
  const hash = createHash(algorithm);
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest(encoding);
}

/** The folder `target`, filled by `fill` if it does not exist yet. */
export async function once(target: string, fill: (folder: string) => Promise<void>): Promise<string> {
  if (existsSync(target)) return target;
  return withScratch(async (scratch) => {
    const folder = join(scratch, 'out');
    await mkdir(folder);
    await fill(folder);
    await mkdir(dirname(target), { recursive: true });
    await rename(folder, target).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
    return target;
  });
}

/** A temporary folder on the file system of the cache, so that a rename is sufficient. */
export async function withScratch<T>(work: (folder: string) => Promise<T>): Promise<T> {
  await mkdir(scratchDir, { recursive: true });
  const folder = await mkdtemp(join(scratchDir, `${process.pid}-`));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Deletes the remains of killed builds by age. A process id does not help, because the process may be in another PID
 * namespace.
 */
export async function dropOldScratch(): Promise<void> {
  if (!existsSync(scratchDir)) return;
  for (const name of await readdir(scratchDir)) {
    const folder = join(scratchDir, name);
    const made = await stat(folder).then(
      ({ birthtimeMs }) => birthtimeMs,
      () => Date.now(),
    );
    if (Date.now() - made > ABANDONED_MS) await rm(folder, { recursive: true, force: true });
  }
}
