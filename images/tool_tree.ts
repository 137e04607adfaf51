/** Lays out a prebuilt tool: bin/<tool>, and lib/ with all of its libraries and the loader of the same libc. */
import { chmod, copyFile, mkdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ARCHITECTURES, type Architecture, USUAL } from './architecture.ts';
import { baseRoot } from './base.ts';
import { withScratch } from './cache.ts';
import { buildC2pa } from './cargo_build.ts';
import { type Entry, sourceFor, type SourceOf } from './catalog.ts';
import { run } from './command.ts';
import { closure } from './elf.ts';
import { fetchDebian } from './fetch/debian.ts';
import { fetchMaven, fetchNpm } from './fetch.ts';

const toolsDir = join(import.meta.dirname, 'tools');

/** Fills `tree` with the content of the image. */
export async function layOut(entry: Entry, tree: string, arch: Architecture = USUAL): Promise<void> {
  const { tool } = entry;
  const source = sourceFor(entry, arch);
  if (source.kind === 'maven') await layOutMaven(source, tool, tree, arch);
  else if (source.kind === 'debian') await layOutDebian(source, tool, tree, arch);
  else if (source.kind === 'npm') await layOutNpm(source, tool, tree);
  else if (source.kind === 'cargo') await layOutCargo(tool, tree);
  else if (source.kind === 'c') await layOutC(source, tool, tree);
}

async function layOutC({ recipe }: SourceOf<'c'>, tool: string, tree: string): Promise<void> {
  await mkdir(join(tree, 'bin'), { recursive: true });
  await run('cc', ['-O2', '-static', '-Wall', join(toolsDir, recipe, 'main.c'), '-o', join(tree, 'bin', tool)]);
}

async function layOutCargo(tool: string, tree: string): Promise<void> {
  const { c2pa } = await buildC2pa();
  await mkdir(join(tree, 'bin'), { recursive: true });
  await copyFile(c2pa, join(tree, 'bin', tool));
  await chmod(join(tree, 'bin', tool), 0o755);
}

export async function layOutMaven(
  source: SourceOf<'maven'>,
  tool: string,
  tree: string,
  arch: Architecture = USUAL,
): Promise<void> {
  const archive = await fetchMaven(source);
  const base = await baseRoot(arch);
  await withScratch(async (scratch) => {
    await run('unzip', ['-q', archive, `${source.folder}/*`, '-d', scratch]);
    const folder = join(scratch, source.folder);
    const folders = [folder, ...libraryFolders(base.folder, arch)];
    await layOutProgram(join(folder, source.program ?? tool), tool, tree, folders, arch);
  });
}

async function layOutDebian(source: SourceOf<'debian'>, tool: string, tree: string, arch: Architecture): Promise<void> {
  const root = await fetchDebian(source, arch);
  await layOutProgram(join(root, source.program), tool, tree, libraryFolders(root, arch), arch);
}

async function layOutNpm(source: SourceOf<'npm'>, tool: string, tree: string): Promise<void> {
  const archive = await fetchNpm(source);
  await withScratch(async (scratch) => {
    await run('tar', ['-xzf', archive, '-C', scratch]);
    for (const [target, from] of Object.entries(source.files)) {
      await mkdir(dirname(join(tree, target)), { recursive: true });
      await copyFile(join(scratch, from), join(tree, target));
      await chmod(join(tree, target), target === `bin/${tool}` ? 0o755 : 0o644);
    }
  });
}

async function layOutProgram(
  program: string,
  tool: string,
  tree: string,
  folders: readonly string[],
  arch: Architecture,
): Promise<void> {
  const { loader: name } = ARCHITECTURES[arch];
  const libraries = await closure([program], folders);
  await mkdir(join(tree, 'bin'), { recursive: true });
  await mkdir(join(tree, 'lib'), { recursive: true });
  await copyFile(program, join(tree, 'bin', tool));
  await chmod(join(tree, 'bin', tool), 0o755);
  const loader = await realpath(join(folders.at(-1) ?? '', name));
  for (const [library, file] of [...libraries, [name, loader] as const]) {
    await copyFile(file, join(tree, 'lib', library));
    await chmod(join(tree, 'lib', library), 0o755);
  }
}

/** The library folders of a Debian root. The last one has the loader. */
function libraryFolders(root: string, arch: Architecture): string[] {
  const { triple } = ARCHITECTURES[arch];
  return [
    `usr/lib/${triple}`,
    `lib/${triple}`,
    `usr/lib/${triple}/pulseaudio`,
    `usr/lib/${triple}/blas`,
    `usr/lib/${triple}/lapack`,
    `lib/${triple}`,
  ].map((folder) => join(root, folder));
}
