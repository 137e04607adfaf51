/**
 * The command line as an installation serves it: `node images/cli_bundle.ts <folder>`. `probeyard.mjs` is all of it for
 * Node alone, and `cli.tgz` the same file as a package for npm, with a start for each of its names. The same sources
 * and packages give the same bytes.
 */
import { execFileSync } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild-wasm';
import { writePacked } from './packed.ts';

const root = join(import.meta.dirname, '..');
const source = join(root, 'src/cli');
const FILE = 'probeyard.mjs';

/** Packages that are in the bundle. Their licences go with it. */
const BUNDLED = ['yaml'] as const;

interface Manifest {
  version: string;
  bin: Record<string, string>;
}

/** npm links each name to such a file. Compiled code that is kept makes a start 8 ms shorter. */
const START = `#!/usr/bin/env node
const { HOME, XDG_CACHE_HOME } = process.env;
const cache = XDG_CACHE_HOME || (HOME && HOME + '/.cache');
if (cache) process.getBuiltinModule('node:module').enableCompileCache?.(cache + '/probeyard-cli');
await import('../${FILE}');
`;

/**
 * As CommonJS inside, with modules of Node that are loaded where they are needed: by `import`, each is loaded at the
 * start, with all that it exports.
 */
async function bundled(version: string): Promise<string> {
  const { outputFiles, warnings, metafile } = await build({
    entryPoints: [join(source, 'main.ts')],
    absWorkingDir: root,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    // For Node it names modules that require others as they run, which are not beside this file.
    alias: { yaml: join(root, 'node_modules/yaml/browser/index.js') },
    minify: true,
    metafile: true,
    banner: { js: 'const require=process.getBuiltinModule;' },
    define: { PACKAGE_VERSION: JSON.stringify(version) },
    legalComments: 'none',
    logLevel: 'silent',
    write: false,
  });
  if (warnings.length > 0) throw new Error(warnings.map(({ text }) => text).join('; '));
  const packages = new Set(
    Object.keys(metafile.inputs).flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []),
  );
  const unknown = [...packages].filter((name) => !(BUNDLED as readonly string[]).includes(name));
  if (unknown.length > 0) throw new Error(`the bundle has packages without their licence: ${unknown.join(', ')}`);
  const licences = await Promise.all(
    BUNDLED.map(async (name) => `${name}: ${await readFile(join(root, 'node_modules', name, 'LICENSE'), 'utf8')}`),
  );
  return `${outputFiles[0]!.text}/*\nProbeyard: Apache-2.0\n\n${licences.join('\n').trimEnd()}\n*/\n`;
}

export async function bundleCli(folder: string): Promise<void> {
  const manifest = JSON.parse(await readFile(join(source, 'package.json'), 'utf8')) as Manifest;
  const text = await bundled(manifest.version);
  await rm(folder, { recursive: true, force: true });
  const inside = join(folder, 'package');
  await writePacked(folder, FILE, text);
  for (const name of [FILE, ...Object.values(manifest.bin)]) {
    await mkdir(dirname(join(inside, name)), { recursive: true });
    await writeFile(join(inside, name), name === FILE ? text : START, { mode: 0o755 });
  }
  for (const path of [join(source, 'package.json'), join(source, 'README.md'), join(root, 'LICENSE')])
    await cp(path, join(inside, basename(path)));
  // Owner, order, modes and times are fixed, and the time of gzip is left out.
  const fixed = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX'];
  const packed = execFileSync('tar', [...fixed, '-cf', '-', '-C', folder, 'package'], { maxBuffer: 1 << 24 });
  await writeFile(join(folder, 'cli.tgz'), gzipSync(packed, { level: 9 }));
  await rm(inside, { recursive: true });
}

if (import.meta.main) {
  const folder = process.argv[2];
  if (folder === undefined) throw new Error('usage: cli_bundle.ts <folder>');
  await bundleCli(resolve(folder));
}
