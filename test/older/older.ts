/** Versions of the history of this repository: their charts and images, each by its own recipes. */
import { join } from 'node:path';
import Value from 'typebox/value';
import { cacheDir, once } from '../../images/cache.ts';
import { attempt, run } from '../node/command.ts';
import { BuiltImage } from '../node/product_images.ts';

export interface OlderVersion {
  version: string;
  commit: string;
}

/** What `make bench NAMES=before` measures beside this version: main before it was taken apart. Never released. */
export const MEASURED: OlderVersion = { version: '767a3091', commit: '767a30914e1afdaf5dafadb68671ddb726caf311' };

const ROOT = join(import.meta.dirname, '..', '..');
const MINUTES_10 = 600_000;

/** The newest release before this commit, by its tag. Undefined before the first one, and in a shallow clone. */
export async function releaseBefore(repository = ROOT): Promise<OlderVersion | undefined> {
  const git = ['-C', repository];
  const found = await attempt('git', [...git, 'describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD^']);
  if (found.code !== 0) return undefined;
  const tag = found.stdout.trim();
  return { version: tag.slice(1), commit: (await run('git', [...git, 'rev-list', '-n', '1', tag])).trim() };
}

const folderOf = ({ commit }: OlderVersion): string => join(cacheDir, 'older', commit);

/** Its sources with its packages. The history of a shallow clone does not have them. */
const checkout = (older: OlderVersion): Promise<string> =>
  once(join(folderOf(older), 'checkout'), async (out) => {
    await run('sh', ['-c', 'git -C "$0" archive "$1" | tar -x -C "$2"', ROOT, older.commit, out]);
    await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: out, timeoutMs: MINUTES_10 });
  });

/** The last line is the image, after those of its progress. */
const BUILD = `import('./images/build.ts').then(async ({ buildAll }) => {
  const [image] = await buildAll({ only: ['product'] });
  console.log(JSON.stringify(image));
});`;

export interface Built {
  /** Folder of its chart. */
  chart: string;
  image: BuiltImage;
}

/** Built once, with a cache of its own: what it keeps there is named as ours is. */
export async function built(older: OlderVersion): Promise<Built> {
  const source = await checkout(older);
  const output = await run(join(source, 'node_modules/.bin/node'), ['-e', BUILD], {
    cwd: source,
    env: { XDG_CACHE_HOME: join(folderOf(older), 'cache') },
    timeoutMs: MINUTES_10,
  });
  const image = Value.Parse(BuiltImage, JSON.parse(output.trim().split('\n').at(-1)!));
  return { chart: join(source, 'charts', 'probeyard'), image };
}
