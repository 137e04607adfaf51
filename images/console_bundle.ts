/**
 * The files of the console, bundled from src/console: `node images/console_bundle.ts <folder>`. The same sources and
 * packages give the same bytes. Names contain a hash of the content, so that browsers may cache them for ever.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild-wasm';

const source = join(import.meta.dirname, '../src/console');

/** `values`: replacements for names that the script declares. */
async function scriptOf(entry: string, values: Record<string, string> = {}): Promise<string> {
  const { outputFiles, warnings } = await build({
    entryPoints: [join(source, entry)],
    tsconfig: join(source, 'tsconfig.json'),
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    define: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, JSON.stringify(value)])),
    // The licences of bundled packages are in the image beside them.
    legalComments: 'none',
    logLevel: 'silent',
    write: false,
  });
  if (warnings.length > 0) throw new Error(`${entry}: ${warnings.map(({ text }) => text).join('; ')}`);
  return outputFiles[0]!.text;
}

interface Asset {
  name: string;
  extension: string;
  content: string;
}

const addressOf = ({ name, extension, content }: Asset): string => {
  const hash = createHash('sha256').update(content).digest('base64url').slice(0, 12);
  return `assets/${name}-${hash}.${extension}`;
};

async function write(folder: string, path: string, content: string): Promise<void> {
  const body = Buffer.from(content);
  await Promise.all([
    writeFile(join(folder, path), body),
    writeFile(join(folder, `${path}.gz`), gzipSync(body, { level: 9 })),
    writeFile(
      join(folder, `${path}.br`),
      brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }),
    ),
  ]);
}

export async function bundleConsole(folder: string): Promise<void> {
  const worker: Asset = { name: 'worker', extension: 'js', content: await scriptOf('worker/worker.ts') };
  const main = await scriptOf('main.tsx', { WORKER_ADDRESS: `/app/${addressOf(worker)}` });
  const assets: Asset[] = [
    worker,
    { name: 'main', extension: 'js', content: main },
    { name: 'style', extension: 'css', content: await readFile(join(source, 'style.css'), 'utf8') },
    { name: 'icon', extension: 'svg', content: await readFile(join(source, 'icon.svg'), 'utf8') },
  ];
  const page = await readFile(join(source, 'index.html'), 'utf8');
  const addresses = new Map(assets.map((asset) => [`${asset.name}.${asset.extension}`, addressOf(asset)]));
  const html = page.replaceAll(/\{\{([\w.]+)\}\}/g, (_, name: string) => {
    const address = addresses.get(name);
    if (address === undefined) throw new Error(`index.html: there is no asset ${name}`);
    return `/app/${address}`;
  });
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, 'assets'), { recursive: true });
  for (const asset of assets) await write(folder, addressOf(asset), asset.content);
  await write(folder, 'index.html', html);
}

if (import.meta.main) {
  const folder = process.argv[2];
  if (folder === undefined) throw new Error('usage: console_bundle.ts <folder>');
  await bundleConsole(folder);
}
