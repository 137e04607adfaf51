/**
 * Builds the program around the C2PA library from crates.io, static, with the machine's own Rust. Kept by the content
 * of its sources.
 */
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, contentKey, contents, once } from './cache.ts';
import { attempt, run } from './command.ts';
import { ImageError } from './image_error.ts';
import { timed } from './progress.ts';

const recipeFolder = join(import.meta.dirname, 'tools', 'c2pa');
const BUILD_MS = 3_600_000;
/** The image's program, and the one that signs files for tests. */
const PROGRAMS = ['c2pa', 'c2pa-sign'] as const;

export type Programs = Record<(typeof PROGRAMS)[number], string>;

/**
 * The library reads what it hashes in pieces of 256 MB, two at once. With pieces of 4 MB the memory is bounded whatever
 * the size of the file, and hashing begins while the source is still read.
 */
const SMALLER_PIECES = {
  crate: 'c2pa-0.90.22',
  file: 'src/utils/hash_utils.rs',
  from: 'const MAX_HASH_BUF: usize = 256 * 1024 * 1024;',
  to: 'const MAX_HASH_BUF: usize = 4 * 1024 * 1024;',
};

/** What the image's program is made of: the one for tests changes nothing in it. */
export const imageSources: readonly string[] = [
  ...['src', 'Cargo.toml', 'Cargo.lock'].map((name) => join(recipeFolder, name)),
  import.meta.filename,
];

async function c2paKey(): Promise<string> {
  return contentKey(await contents(recipeFolder, import.meta.filename), process.arch);
}

const c2paFolder = async (): Promise<string> => join(cacheDir, 'programs', `c2pa-${await c2paKey()}`);

/** Where the programs are, if they were built. */
export async function builtC2pa(): Promise<Programs | undefined> {
  const folder = await c2paFolder();
  return existsSync(folder) ? programsIn(folder) : undefined;
}

const programsIn = (folder: string): Programs =>
  Object.fromEntries(PROGRAMS.map((name) => [name, join(folder, name)])) as Programs;

export async function buildC2pa(): Promise<Programs> {
  const target = await c2paFolder();
  if (existsSync(target)) return programsIn(target);
  const host = await hostTriple();
  await timed('C2PA check (Rust)', () =>
    once(target, async (folder) => {
      const place = join(cacheDir, 'cargo', 'c2pa');
      const crates = await vendored(join(place, 'crates'));
      const config = (text: string) => ['--config', text];
      const args = [
        'build',
        '--release',
        '--frozen',
        '--target',
        host,
        '--target-dir',
        join(place, 'target'),
        '--manifest-path',
        join(recipeFolder, 'Cargo.toml'),
        ...config('source.crates-io.replace-with="vendored"'),
        ...config(`source.vendored.directory=${JSON.stringify(crates)}`),
      ];
      await run('cargo', args, {
        cwd: recipeFolder,
        timeoutMs: BUILD_MS,
        env: { RUSTFLAGS: '-C target-feature=+crt-static' },
      });
      for (const name of PROGRAMS) await copyFile(join(place, 'target', host, 'release', name), join(folder, name));
    }),
  );
  return programsIn(target);
}

async function hostTriple(): Promise<string> {
  const { code, stdout } = await attempt('rustc', ['-vV']).catch(() => ({ code: 1, stdout: '' }));
  const host = /^host: (\S+)$/m.exec(stdout)?.[1];
  if (code !== 0 || host === undefined)
    throw new ImageError(
      'SOURCE_UNAVAILABLE',
      'the C2PA check is built with Rust 1.88 or later, and there is no rustc on this machine',
    );
  return host;
}

/**
 * The crates of Cargo.lock, checked by cargo against its checksums, with the one change. At a place that stays, so that
 * a change of ours alone is built in seconds.
 */
async function vendored(folder: string): Promise<string> {
  const key = contentKey(await readFile(join(recipeFolder, 'Cargo.lock')), JSON.stringify(SMALLER_PIECES));
  const mark = join(folder, '.key');
  if (existsSync(mark) && (await readFile(mark, 'utf8')) === key) return folder;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await run(
    'cargo',
    ['vendor', '--locked', '--versioned-dirs', '--manifest-path', join(recipeFolder, 'Cargo.toml'), folder],
    { cwd: recipeFolder, timeoutMs: BUILD_MS },
  );
  await change(join(folder, SMALLER_PIECES.crate));
  await writeFile(mark, key);
  return folder;
}

async function change(crate: string): Promise<void> {
  const { file, from, to } = SMALLER_PIECES;
  if (!existsSync(crate))
    throw new ImageError(
      'SOURCE_UNAVAILABLE',
      `Cargo.lock names another version of the library than ${SMALLER_PIECES.crate}: ` +
        `${(await readdir(join(crate, '..'))).filter((name) => name.startsWith('c2pa-')).join(', ')}`,
    );
  const text = await readFile(join(crate, file), 'utf8');
  if (text.split(from).length !== 2)
    throw new ImageError('CHECKSUM_MISMATCH', `${file} of the library does not hold what is to be changed in it`);
  await writeFile(join(crate, file), text.replace(from, to));
  // Cargo checks every vendored file: this one by what it holds now, that is, not at all.
  const sums = join(crate, '.cargo-checksum.json');
  const checksums = JSON.parse(await readFile(sums, 'utf8')) as { files: Record<string, string> };
  delete checksums.files[file];
  await writeFile(sums, JSON.stringify(checksums));
}

if (import.meta.main) console.log(await buildC2pa());
