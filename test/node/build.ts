import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { buildKey, type SourceFile, type Toolchain } from './build_key.ts';
import { ClusterError, codeOf, explain } from './cluster_error.ts';
import { attempt, run } from './command.ts';
import { checkGo } from './packages.ts';
import { GO_NEEDED, PARTS, type Part, type PartName } from './parts.ts';
import { type Expected, say, timed } from '../../images/progress.ts';

/** The folder of each built part, by name. */
export type Built = ReadonlyMap<PartName, string>;

export const cacheDir = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'probeyard');

const partsDir = join(import.meta.dirname, 'parts');

/** For every build in Go: where its caches are, and that it takes what is pinned. */
export const goEnv = {
  GOMODCACHE: join(cacheDir, 'go', 'mod'),
  GOCACHE: join(cacheDir, 'go', 'build'),
  // The versions are pinned in go.mod and go.sum; a build that would change them fails.
  GOFLAGS: '-mod=readonly -buildvcs=false',
  GOWORK: 'off',
  // The compilers' own garbage collection is a fifth of their CPU time; the limit keeps a large link from using it all.
  GOGC: '400',
  GOMEMLIMIT: '3GiB',
};

/** Builds the parts that are not in the cache yet. Returns the folder of each part. */
export async function buildParts(names: readonly PartName[]): Promise<Built> {
  const built = await foldersOf(names);
  const missing = [...built]
    .filter(([, target]) => !existsSync(target))
    .map(([name, target]) => ({ part: PARTS[name] as Part, target }));
  if (missing.length === 0) return built;
  const guess = missing.reduce((sum, { part }) => sum + part.coldSeconds, 0);
  say(
    `building ${missing.map(({ part }) => part.name).join(', ')} (with cold ` +
      `caches about ${Math.ceil(guess / 60)} min on two cores)`,
  );
  await dropHalfBuilds();
  const left = [...missing];
  // While one is linked, which needs one core, the next is compiled.
  const lane = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { part, target } = next;
      await timed(stepOf(part), () => build(part, target));
    }
  };
  await Promise.all([lane(), lane()]);
  return built;
}

const stepOf = ({ name, version }: Part): string => `built ${name} ${version}`;

/** The parts that are not in the cache, as steps to come. */
export async function missingParts(names: readonly PartName[]): Promise<Expected[]> {
  return [...(await foldersOf(names))]
    .filter(([, folder]) => !existsSync(folder))
    .map(([name]): Expected => [stepOf(PARTS[name]), PARTS[name].coldSeconds]);
}

/** Whether everything is in the cache. */
export async function isBuilt(names: readonly PartName[]): Promise<boolean> {
  return [...(await foldersOf(names)).values()].every((folder) => existsSync(folder));
}

async function foldersOf(names: readonly PartName[]): Promise<Built> {
  const toolchain = await readToolchain();
  const folders = new Map<PartName, string>();
  for (const name of names)
    folders.set(name, join(cacheDir, 'bin', `${name}-${buildKey(PARTS[name], toolchain, await sources(PARTS[name]))}`));
  return folders;
}

/** A build ends with a rename, so that a folder with the final name is always complete. */
async function build(part: Part, target: string): Promise<void> {
  await mkdir(join(cacheDir, 'bin'), { recursive: true });
  const folder = await mkdtemp(join(cacheDir, 'bin', `.half-${process.pid}-`));
  try {
    await compile(part, folder);
    for (const { name, links = [] } of part.programs) for (const link of links) await symlink(name, join(folder, link));
    await rename(folder, target).catch((error: unknown) => {
      // Another process has built the same content meanwhile.
      if (codeOf(error) !== 'ENOTEMPTY' && codeOf(error) !== 'EEXIST') throw error;
    });
  } catch (error) {
    throw new ClusterError('BUILD_FAILED', `building ${part.name} failed: ${explain(error)}`, { cause: error });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function compile(part: Part, folder: string): Promise<void> {
  const own = join(partsDir, part.sourceOf ?? part.name);
  const [program] = part.programs;
  if (program?.source.endsWith('.c')) {
    await run('gcc', ['-Os', '-static', '-s', '-Wall', '-o', join(folder, program.name), program.source], { cwd: own });
    return;
  }
  const copy = join(folder, 'src');
  const cwd = part.completed === undefined ? own : await completedModule(part.completed, own, copy);
  const flags = ['-trimpath', '-ldflags', `-s -w ${part.ldflags ?? ''}`.trim()];
  if (part.tags !== undefined) flags.push('-tags', part.tags);
  if (part.sourceOf !== undefined) flags.push(`-modfile=${join(partsDir, part.name, 'go.mod')}`);
  const env = { ...goEnv, CGO_ENABLED: part.cgo === true ? '1' : '0' };
  // Programs that are named like their packages are built by one command, which compiles one while it links another.
  const alike = part.programs.length > 1;
  const output = alike ? `${folder}/` : join(folder, program?.name ?? '');
  const packages = part.programs.map(({ source }) => source);
  await run('go', ['build', ...flags, '-o', output, ...packages], { cwd, env, timeoutMs: 3_600_000 });
  await rm(copy, { recursive: true, force: true });
  const lost = part.programs.filter(({ name }) => !existsSync(join(folder, name))).map(({ name }) => name);
  if (lost.length > 0) throw new Error(`go build made no ${lost.join(', ')}`);
}

/** A copy, because Go's module cache is read-only. */
async function completedModule(
  { module, files }: NonNullable<Part['completed']>,
  from: string,
  copy: string,
): Promise<string> {
  // Before it is in the module cache, `go list` knows no folder of it.
  await run('go', ['mod', 'download', module], { cwd: from, env: goEnv, timeoutMs: 600_000 });
  const folder = (await run('go', ['list', '-m', '-f', '{{.Dir}}', module], { cwd: from, env: goEnv })).trim();
  await run('cp', ['-r', '--no-preserve=mode', folder, copy]);
  for (const [place, name] of Object.entries(files)) await copyFile(join(from, name), join(copy, place));
  return copy;
}

async function sources({ name, sourceOf }: Part): Promise<SourceFile[]> {
  const own = await sourcesIn(name, /\.(go|mod|sum|c)$/);
  return sourceOf === undefined ? own : [...own, ...(await sourcesIn(sourceOf, /\.go$/))];
}

async function sourcesIn(name: string, pattern: RegExp): Promise<SourceFile[]> {
  const folder = join(partsDir, name);
  const names = (await readdir(folder)).filter((file) => pattern.test(file));
  return Promise.all(names.map(async (path) => ({ path, content: await readFile(join(folder, path)) })));
}

async function readToolchain(): Promise<Toolchain> {
  // Run inside a part, because its go.mod may name a newer toolchain than the installed one, which Go then uses.
  const go = await run('go', ['env', 'GOVERSION', 'GOARCH'], { cwd: join(partsDir, 'kubernetes'), env: goEnv });
  const [version = '', arch = ''] = go.trim().split('\n');
  // Not needed for parts in Go alone.
  const cc = await attempt('gcc', ['-dumpfullversion']).catch(() => undefined);
  return { go: version, arch, cc: cc?.stdout.trim() ?? 'none' };
}

/** Incomplete builds of processes that were killed. */
async function dropHalfBuilds(): Promise<void> {
  const folder = join(cacheDir, 'bin');
  const names = existsSync(folder) ? await readdir(folder) : [];
  for (const name of names) {
    const pid = /^\.half-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`))
      await rm(join(folder, name), { recursive: true, force: true });
  }
}

/** `build.ts PART...`: builds what tests need without a node, once. */
if (import.meta.main) {
  const wanted = process.argv.slice(2);
  const unknown = wanted.filter((name) => !(name in PARTS));
  try {
    if (unknown.length > 0)
      throw new ClusterError(
        'NO_SUCH_PART',
        `there is no part ${unknown.join(', ')}: there are ${Object.keys(PARTS).join(', ')}`,
      );
    await checkGo(GO_NEEDED);
    await buildParts(wanted as PartName[]);
  } catch (error) {
    console.error(`build: ${explain(error)}`);
    process.exitCode = 1;
  }
}
