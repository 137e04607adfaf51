/**
 * The image of the product. A change of the sources rebuilds one layer. Packages, Node and the launcher come from
 * cached layers.
 */
import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleAgent } from './agent_bundle.ts';
import { ARCHITECTURES, type Architecture, suffixOf, USUAL } from './architecture.ts';
import { baseKeyOf } from './base.ts';
import { importBase } from './base_image.ts';
import { buildImage, hasImage } from './buildah.ts';
import { type ImagePlan, PREFIX } from './built_image.ts';
import { cacheDir, contentKey, contents, once, withScratch } from './cache.ts';
import { run } from './command.ts';
import { buildSite } from '../docs/site/build.ts';
import { PAGES } from '../docs/site/pages.ts';
import { bundleCli } from './cli_bundle.ts';
import { bundleConsole } from './console_bundle.ts';
import { timed } from './progress.ts';
import { samplesFolder } from './samples_folder.ts';

const checkout = join(import.meta.dirname, '..');
const dockerfile = join(checkout, 'images/probeyard/Dockerfile');
/** What the console, the documentation and the samples are made from, with the packages. */
export const pageSources = [
  'src/console',
  'src/api_calls.ts',
  'src/api_types.ts',
  'src/base',
  'src/media',
  'docs/site',
  'docs/pictures',
  ...PAGES.map(({ file }) => `docs/${file}`),
  'images/console_bundle.ts',
  'images/packed.ts',
  'images/samples',
  'images/samples_folder.ts',
  'tsconfig.json',
];
const manifests = ['package.json', 'package-lock.json', '.npmrc'];
/** What the agent, what it starts, and the command line are bundled from, with the packages. */
const bundleSources = [
  'src',
  'images/agent_bundle.ts',
  'images/cli_bundle.ts',
  'images/packed.ts',
  'LICENSE',
  'tsconfig.json',
];

export async function productPlan(arch: Architecture = USUAL): Promise<ImagePlan> {
  const { version } = await manifest();
  const inputs = ['images/probeyard', 'images/collect.sh', ...pageSources, ...bundleSources, ...manifests].map((path) =>
    join(checkout, path),
  );
  return {
    name: 'probeyard',
    tag: version,
    kind: 'product',
    arch,
    key: contentKey(await contents(...inputs), baseKeyOf(arch), await nodeVersion()),
    make: (ref) => make(ref, arch),
  };
}

async function make(ref: string, arch: Architecture): Promise<void> {
  const args = {
    RUNTIME: await importRuntime(arch),
    PAGES: await importPages(arch),
    BUNDLES: await importBundles(arch),
  };
  await withScratch(async (context) => {
    await cp(join(checkout, 'src'), join(context, 'src'), { recursive: true });
    await mkdir(join(context, 'images/probeyard'), { recursive: true });
    await copyFile(join(checkout, 'images/probeyard/warm.mjs'), join(context, 'images/probeyard/warm.mjs'));
    await buildImage({ ref, arch, context, dockerfile, args });
  });
}

/**
 * Everything in the image except the sources. It is rebuilt only when packages, Node, the launcher or the base change.
 */
async function importRuntime(arch: Architecture): Promise<string> {
  const inputs = [
    'images/probeyard/launcher',
    'images/probeyard/listener',
    'images/probeyard/packages',
    'images/collect.sh',
    'images/probeyard/Dockerfile',
    ...manifests,
  ];
  const files = await contents(...inputs.map((path) => join(checkout, path)));
  const key = contentKey(files, baseKeyOf(arch), await nodeVersion());
  const ref = `${PREFIX}/runtime:${key}`;
  if (await hasImage(ref)) return ref;
  const [BASE, NODE] = [await importBase(arch), await importNode(arch)];
  const packages = await preparedPackages();
  await withScratch(async (context) => {
    for (const name of manifests) await copyFile(join(checkout, name), join(context, name));
    await mkdir(join(context, 'images'));
    await copyFile(join(checkout, 'images/collect.sh'), join(context, 'images/collect.sh'));
    for (const name of ['launcher', 'listener', 'packages'])
      await cp(join(checkout, 'images/probeyard', name), join(context, 'images/probeyard', name), { recursive: true });
    await copyFile(packages, join(context, 'images/probeyard/packages/prepared.tar'));
    await buildImage({ ref, arch, context, dockerfile, args: { BASE, NODE }, target: 'runtime-built' });
  });
  return ref;
}

/** The console and the documentation, and the samples. */
const importPages = (arch: Architecture): Promise<string> =>
  importBuilt('pages', pageSources, arch, async (context) => {
    await bundleConsole(join(context, 'console'));
    await buildSite(join(context, 'site'));
    await cp(await samplesFolder(), join(context, 'samples'), { recursive: true });
  });

/** The agent as one file, and beside it the programs that it starts; and the command line that the API serves. */
const importBundles = (arch: Architecture): Promise<string> =>
  importBuilt('bundles', bundleSources, arch, async (context) => {
    await bundleAgent(join(context, 'agent'));
    await bundleCli(join(context, 'client'));
  });

/** What this checkout's own packages build of these sources, as an image by NAME.Dockerfile. */
async function importBuilt(
  name: 'pages' | 'bundles',
  sources: readonly string[],
  arch: Architecture,
  build: (context: string) => Promise<unknown>,
): Promise<string> {
  const file = `images/probeyard/${name}.Dockerfile`;
  const inputs = [...sources, file, ...manifests];
  const key = contentKey(await contents(...inputs.map((path) => join(checkout, path))), await nodeVersion());
  const ref = `${PREFIX}/${name}:${key}${suffixOf(arch)}`;
  if (await hasImage(ref)) return ref;
  await withScratch(async (context) => {
    await build(context);
    await buildImage({ ref, arch, context, dockerfile: join(checkout, file), anew: true });
  });
  return ref;
}

/** The base with the Node version that the checkout pins, which is the tested one. */
async function importNode(arch: Architecture): Promise<string> {
  const ref = `${PREFIX}/node:${await nodeVersion()}-${baseKeyOf(arch)}`;
  if (await hasImage(ref)) return ref;
  await withScratch(async (context) => {
    await copyFile(await nodeProgram(arch), join(context, 'node'));
    await timed(`node image${suffixOf(arch)}`, async () => {
      await buildImage({
        ref,
        arch,
        context,
        dockerfile: join(import.meta.dirname, 'probeyard', 'node.Dockerfile'),
        args: { BASE: await importBase(arch) },
      });
    });
  });
  return ref;
}

/** Node itself: the one that this checkout runs on, or the same version for another architecture. */
async function nodeProgram(arch: Architecture): Promise<string> {
  if (arch === USUAL) return join(checkout, 'node_modules/node/bin/node');
  const name = `node-linux-${ARCHITECTURES[arch].node}@${await nodeVersion()}`;
  const folder = await once(join(cacheDir, 'node', name), async (out) => {
    const packed = await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', out, name]);
    await run('tar', ['-xzf', join(out, packed.trim()), '-C', out, 'package/bin/node']);
    await rm(join(out, packed.trim()));
  });
  return join(folder, 'package/bin/node');
}

/** Production packages as a tar, fetched by this machine's own npm and its settings, once per lock file. */
async function preparedPackages(): Promise<string> {
  const key = contentKey(...(await Promise.all(manifests.map((name) => readFile(join(checkout, name))))));
  const folder = join(cacheDir, 'packages', key);
  if (!existsSync(folder)) {
    await timed('production packages', () =>
      once(folder, (out) =>
        withScratch(async (scratch) => {
          for (const name of manifests) await copyFile(join(checkout, name), join(scratch, name));
          await run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: scratch });
          // Owner, order and times are fixed, so that the resulting layer keeps its digest.
          const fixed = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
          await run('tar', [...fixed, '-cf', join(out, 'node_modules.tar'), '-C', scratch, 'node_modules']);
        }),
      ),
    );
  }
  return join(folder, 'node_modules.tar');
}

async function manifest(): Promise<{ version: string; devDependencies: Record<string, string> }> {
  return JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as {
    version: string;
    devDependencies: Record<string, string>;
  };
}

async function nodeVersion(): Promise<string> {
  return (await manifest()).devDependencies['node'] ?? 'unknown';
}
