/** The version before this one: its chart and its image, from the history of this repository, by its own recipes. */
import { join } from 'node:path';
import Value from 'typebox/value';
import { cacheDir, once } from '../../images/cache.ts';
import { run } from '../node/command.ts';
import { BuiltImage } from '../node/product_images.ts';

export const OLDER = { version: '0.1.0', commit: '0c359186500e7fe43da88cc1aeb3567b759ae4e3' };

const root = join(import.meta.dirname, '..', '..');
const folder = join(cacheDir, 'older', OLDER.commit);
const MINUTES_10 = 600_000;

/** Its sources with its packages. The history of a shallow clone does not have them. */
const checkout = (): Promise<string> =>
  once(join(folder, 'checkout'), async (out) => {
    await run('sh', ['-c', 'git -C "$0" archive "$1" | tar -x -C "$2"', root, OLDER.commit, out]);
    await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: out, timeoutMs: MINUTES_10 });
  });

/** The last line is the image, after those of its progress. */
const BUILD = `import('./images/build.ts').then(async ({ buildAll }) => {
  const [image] = await buildAll({ only: ['product'] });
  console.log(JSON.stringify(image));
});`;

export interface Older {
  /** Folder of its chart. */
  chart: string;
  image: BuiltImage;
}

/** Built once, with a cache of its own: what it keeps there is named as ours is. */
export async function olderVersion(): Promise<Older> {
  const source = await checkout();
  const output = await run(join(source, 'node_modules/.bin/node'), ['-e', BUILD], {
    cwd: source,
    env: { XDG_CACHE_HOME: join(folder, 'cache') },
    timeoutMs: MINUTES_10,
  });
  const image = Value.Parse(BuiltImage, JSON.parse(output.trim().split('\n').at(-1)!));
  return { chart: join(source, 'charts', 'probeyard'), image };
}
