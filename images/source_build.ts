/** Builds a tool from its upstream release, by the recipe of its kind. */
import { copyFile, cp } from 'node:fs/promises';
import { join } from 'node:path';
import { ARCHITECTURES, type Architecture, USUAL } from './architecture.ts';
import { importBase } from './base_image.ts';
import { buildImage } from './buildah.ts';
import { withScratch } from './cache.ts';
import type { SourceOf } from './catalog.ts';
import { fetchTarball } from './fetch/upstream.ts';
import { timed } from './progress.ts';

const toolsDir = join(import.meta.dirname, 'tools');
const BUILD_TIMEOUT_MS = 3_600_000;

export async function buildFromSource(
  source: SourceOf<'upstream-source'>,
  ref: string,
  arch: Architecture,
): Promise<void> {
  await withScratch(async (context) => {
    await cp(join(toolsDir, `${source.recipe}-source`), context, { recursive: true });
    // The recipe refers to its tarballs by fixed names, without versions.
    for (const tarball of source.tarballs) {
      const place = source.recipe === 'ffmpeg' ? 'ffmpeg.tar' : tarball.name;
      await copyFile(await timed(`source ${tarball.name}`, () => fetchTarball(tarball)), join(context, place));
    }
    // Compiled on this machine for the other one: QEMU would take ten times as long.
    const base = await importBase();
    await buildImage({
      ref,
      arch,
      context,
      dockerfile: join(context, 'Dockerfile'),
      args: { BASE: base, FOR: arch, CROSS: arch === USUAL ? '' : `${ARCHITECTURES[arch].triple}-` },
      timeoutMs: BUILD_TIMEOUT_MS,
    });
  });
}
