/** Builds a tool from a WebAssembly module of an npm package: translated to C, compiled with a driver of our own. */
import { copyFile, cp } from 'node:fs/promises';
import { join } from 'node:path';
import { ARCHITECTURES, type Architecture, USUAL } from './architecture.ts';
import { importBase } from './base_image.ts';
import { buildImage } from './buildah.ts';
import { withScratch } from './cache.ts';
import type { Entry, SourceOf } from './catalog.ts';
import { run } from './command.ts';
import { fetchNpm } from './fetch.ts';

const BUILD_TIMEOUT_MS = 3_600_000;
/** Debian's, with its wasm2c and the runtime of what that makes. */
export const WABT = '1.0.32';

export const wasmRecipe = join(import.meta.dirname, 'tools', 'mediainfo-wasm');

export async function buildFromWasm(
  source: SourceOf<'wasm'>,
  { exact }: Pick<Entry, 'exact'>,
  ref: string,
  arch: Architecture,
): Promise<void> {
  const archive = await fetchNpm(source);
  await withScratch(async (context) => {
    await cp(wasmRecipe, context, { recursive: true });
    await run('tar', ['-xzf', archive, '-C', context, source.module]);
    await copyFile(join(context, source.module), join(context, 'module.wasm'));
    await buildImage({
      ref,
      arch,
      context,
      dockerfile: join(context, 'Dockerfile'),
      args: {
        BASE: await importBase(),
        CROSS: arch === USUAL ? '' : `${ARCHITECTURES[arch].triple}-`,
        WABT: `${WABT}-1`,
        VERSION: exact,
      },
      timeoutMs: BUILD_TIMEOUT_MS,
    });
  });
}
