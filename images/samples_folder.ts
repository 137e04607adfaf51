/** The samples, made once for each recipe and version of ffmpeg. */
import { join } from 'node:path';
import { baseRoot } from './base.ts';
import { cacheDir, contentKey, contents, once, withScratch } from './cache.ts';
import type { SourceOf } from './catalog.ts';
import { timed } from './progress.ts';
import { makeSamples } from './samples/make.ts';
import { layOutMaven } from './tool_tree.ts';

/** A build with encoders for H.264, HEVC and WebP, which those of ffprobe lack. */
const FFMPEG: SourceOf<'maven'> = {
  kind: 'maven',
  package: 'org.bytedeco:ffmpeg',
  version: '7.1.1-1.5.12',
  classifier: 'linux-x86_64-gpl',
  folder: 'org/bytedeco/ffmpeg/linux-x86_64-gpl',
  sha256: 'd9bdab42a939752496caecba7dd3a4743776999c13531f2a9598aa721a31e435',
};
const recipe = join(import.meta.dirname, 'samples');

/** The command, of which the first is a program, for as long as `use` takes. */
export const withFfmpeg = <T>(use: (command: readonly string[]) => Promise<T>): Promise<T> =>
  withScratch(async (tree) => {
    await layOutMaven(FFMPEG, 'ffmpeg', tree);
    const lib = join(tree, 'lib');
    return use([join(lib, 'ld-linux-x86-64.so.2'), '--library-path', lib, join(tree, 'bin/ffmpeg')]);
  });

export async function samplesFolder(): Promise<string> {
  const { key: base } = await baseRoot();
  const key = contentKey(await contents(recipe), JSON.stringify(FFMPEG), base);
  return timed('samples', () =>
    once(join(cacheDir, 'samples', key), (folder) => withFfmpeg((command) => makeSamples(folder, command))),
  );
}
