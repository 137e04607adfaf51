/**
 * The files of the console, bundled from src/console: `node images/console_bundle.ts <folder>`. The same sources and
 * packages give the same bytes. Names contain a hash of the content, so that browsers may cache them for ever.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild-wasm';
import { assetAddress, writePacked, type Asset, type WritePage } from './packed.ts';

const root = join(import.meta.dirname, '..');
const source = join(root, 'src/console');

export const ENTRIES = { main: 'main.tsx', worker: 'worker/worker.ts', chart: 'parts/uplot.ts', style: 'style.css' };

/** A script or a style sheet, and what it was read from. `values`: replacements for names that the script declares. */
export async function bundled(name: keyof typeof ENTRIES, values: Record<string, string> = {}) {
  const entry = ENTRIES[name];
  const { outputFiles, warnings, metafile } = await build({
    entryPoints: [join(source, entry)],
    absWorkingDir: root,
    metafile: true,
    tsconfig: join(source, 'tsconfig.json'),
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    define: Object.fromEntries(Object.entries(values).map(([declared, value]) => [declared, JSON.stringify(value)])),
    // The licences of bundled packages are in the image beside them.
    legalComments: 'none',
    // What the page loads when it is shown.
    external: ['/app/*'],
    logLevel: 'silent',
    write: false,
  });
  if (warnings.length > 0) throw new Error(`${entry}: ${warnings.map(({ text }) => text).join('; ')}`);
  return { content: outputFiles[0]!.text, inputs: Object.keys(metafile.inputs) };
}

export async function bundleConsole(folder: string, writePage: WritePage = writePacked): Promise<void> {
  const worker: Asset = { name: 'worker', extension: 'js', content: (await bundled('worker')).content };
  const chart: Asset = { name: 'chart', extension: 'js', content: (await bundled('chart')).content };
  const main = await bundled('main', {
    WORKER_ADDRESS: `/app/${assetAddress(worker)}`,
    CHART_ADDRESS: `/app/${assetAddress(chart)}`,
  });
  const assets: Asset[] = [
    worker,
    chart,
    { name: 'main', extension: 'js', content: main.content },
    { name: 'style', extension: 'css', content: (await bundled('style')).content },
    { name: 'icon', extension: 'svg', content: await readFile(join(source, 'icon.svg'), 'utf8') },
  ];
  const page = await readFile(join(source, 'index.html'), 'utf8');
  const addresses = new Map(assets.map((asset) => [`${asset.name}.${asset.extension}`, assetAddress(asset)]));
  const html = page.replaceAll(/\{\{([\w.]+)\}\}/g, (_, name: string) => {
    const address = addresses.get(name);
    if (address === undefined) throw new Error(`index.html: there is no asset ${name}`);
    return `/app/${address}`;
  });
  await rm(folder, { recursive: true, force: true });
  for (const asset of assets) await writePage(folder, assetAddress(asset), String(asset.content));
  await writePage(folder, 'index.html', html);
}

if (import.meta.main) {
  const folder = process.argv[2];
  if (folder === undefined) throw new Error('usage: console_bundle.ts <folder>');
  await bundleConsole(folder);
}
