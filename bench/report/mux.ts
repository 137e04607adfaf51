/** The same streams, written by another muxer or with other tags. */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { debianPrograms } from './debian.ts';
import type { Recipe } from './recipe.ts';

export async function muxAgain(
  recipe: Recipe,
  whole: string,
  folder: string,
  ffmpeg: (args: string[]) => Promise<unknown>,
): Promise<void> {
  const next = join(folder, `next.${recipe.container.extension}`);
  if (recipe.relabel) {
    const { primaries, transfer, matrix } = recipe.relabel;
    await ffmpeg([
      '-i',
      whole,
      '-map',
      '0',
      '-c',
      'copy',
      '-color_primaries',
      primaries,
      '-color_trc',
      transfer,
      '-colorspace',
      matrix,
      ...recipe.way,
      '-strict',
      '-2',
      '-f',
      recipe.container.muxer,
      next,
    ]);
    renameSync(next, whole);
  }
  if (recipe.rotation) {
    await ffmpeg([
      '-i',
      whole,
      '-map',
      '0',
      '-c',
      'copy',
      '-metadata:s:v:0',
      `rotate=${recipe.rotation}`,
      ...recipe.way,
      '-strict',
      '-2',
      '-f',
      recipe.container.muxer,
      next,
    ]);
    renameSync(next, whole);
  }
  if (recipe.remux === undefined) return;
  const debian = await debianPrograms();
  if (recipe.remux === 'mkvmerge') {
    await debian.run('mkvmerge', ['--quiet', '-o', next, whole]).catch((error: { code?: number }) => {
      if (error.code !== 1) throw error;
    });
  } else {
    const source = join(folder, 'source.mkv');
    await ffmpeg(['-i', whole, '-map', '0:v', '-map', '0:a?', '-c', 'copy', source]);
    const mux = { 'gst-mp4': 'mp4mux', 'gst-mov': 'qtmux', 'gst-mkv': 'matroskamux', 'gst-ts': 'mpegtsmux' }[
      recipe.remux
    ];
    await debian.run('gst-launch-1.0', [
      '-q',
      'filesrc',
      `location=${source}`,
      '!',
      'matroskademux',
      'name=d',
      'd.video_0',
      '!',
      'queue',
      '!',
      'h264parse',
      '!',
      'm.',
      ...(recipe.audio.length > 0 ? ['d.audio_0', '!', 'queue', '!', 'aacparse', '!', 'm.'] : []),
      mux,
      'name=m',
      '!',
      'filesink',
      `location=${next}`,
    ]);
  }
  renameSync(next, whole);
}
