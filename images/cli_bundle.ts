/**
 * The command line as JavaScript for Node 20 and later, bundled from src/cli: `node images/cli_bundle.ts <folder>`.
 * `npm pack` runs it. Commands are chunks of their own: a start loads what it needs.
 */
import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build } from 'esbuild-wasm';

const root = join(import.meta.dirname, '..');
const source = join(root, 'src/cli');
const ENTRIES = ['main', 'kubectl', 'kubectl_complete'] as const;

/** Packages that are in the bundle. Their licences go with it. */
const BUNDLED = ['yaml'] as const;

async function bundleCli(folder: string): Promise<void> {
  const { version } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8')) as { version: string };
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const { outputFiles, warnings, metafile } = await build({
    entryPoints: ENTRIES.map((name) => join(source, `${name}.ts`)),
    absWorkingDir: root,
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // For Node it names modules that require others as they run, which a module of ours cannot.
    alias: { yaml: join(root, 'node_modules/yaml/browser/index.js') },
    minifyWhitespace: true,
    minifySyntax: true,
    metafile: true,
    chunkNames: 'chunks/[name]-[hash]',
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
  for (const { path, contents } of outputFiles) {
    await mkdir(join(path, '..'), { recursive: true });
    await writeFile(path, contents);
  }
  for (const name of ENTRIES) await chmod(join(folder, `${name}.js`), 0o755);
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  for (const name of packages)
    await cp(join(root, 'node_modules', name, 'LICENSE'), join(folder, `LICENSE.${name.replaceAll('/', '-')}`));
}

if (import.meta.main) {
  const folder = process.argv[2];
  if (folder === undefined) throw new Error('usage: cli_bundle.ts <folder>');
  await bundleCli(resolve(folder));
}
