/**
 * The agent as one file of JavaScript, and beside it each program that it starts: `node images/agent_bundle.ts
 * <folder>`. A renewed runner waits for the start of its agent, and some 200 modules take longer to find than to run.
 * The same sources and packages give the same bytes.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild-wasm';
import { PROGRAMS } from '../src/base/program_file.ts';

const root = join(import.meta.dirname, '..');
const source = join(root, 'src');
export const AGENT_FILE = 'main.cjs';

/**
 * A module finds by `import.meta` what lies beside it, as the weights do. In the image that is where the sources are,
 * and not in the bundle.
 */
const placedIn = (sources: string): Plugin => ({
  name: 'placed',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const place = join(sources, relative(source, path));
      const contents = (await readFile(path, 'utf8'))
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(place)))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(place).href));
      return { contents, loader: 'ts' };
    }),
});

/**
 * Returns the modules that are in each file, relative to the checkout. `sources`: where src is when the agent runs.
 */
export async function bundleAgent(folder: string, sources = '/app/src'): Promise<Map<string, string[]>> {
  const { outputFiles, warnings, metafile } = await build({
    entryPoints: Object.entries({ main: 'service/runner/program.ts', ...PROGRAMS }).map(([out, module]) => ({
      in: join(source, module),
      out,
    })),
    outdir: folder,
    outExtension: { '.js': '.cjs' },
    absWorkingDir: root,
    bundle: true,
    // As an ES module each module of Node would be imported with all that it exports, fetch and WebCrypto among them:
    // 14 ms of CPU and 3 MB more.
    format: 'cjs',
    platform: 'node',
    target: 'node24',
    plugins: [placedIn(sources)],
    metafile: true,
    // The licences of bundled packages are in the image beside them.
    legalComments: 'none',
    logLevel: 'silent',
    write: false,
  });
  if (warnings.length > 0) throw new Error(warnings.map(({ text }) => text).join('; '));
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const { path, contents } of outputFiles) await writeFile(path, contents);
  return new Map(Object.entries(metafile.outputs).map(([path, { inputs }]) => [basename(path), Object.keys(inputs)]));
}

if (import.meta.main) {
  const folder = process.argv[2];
  if (folder === undefined) throw new Error('usage: agent_bundle.ts <folder>');
  await bundleAgent(resolve(folder));
}
