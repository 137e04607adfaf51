/** Reads an OCI archive: its metadata and its files. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withScratch } from './cache.ts';
import { run } from './command.ts';
import { ImageError } from './image_error.ts';

interface Descriptor {
  digest: string;
}

/** The digest of the manifest, by which Kubernetes identifies this exact image. */
export async function archiveDigest(archive: string): Promise<string> {
  const index = JSON.parse(await run('tar', ['-xOf', archive, 'index.json'])) as { manifests?: Descriptor[] };
  const digest = index.manifests?.[0]?.digest;
  if (digest === undefined || index.manifests?.length !== 1)
    throw new ImageError('ARCHIVE_INVALID', `${archive} does not hold exactly one image`);
  return digest;
}

/**
 * Unpacks the files of the image into a folder. The images built here delete nothing in later layers, so there are no
 * whiteouts to apply.
 */
export async function unpack(archive: string, folder: string): Promise<void> {
  await withScratch(async (scratch) => {
    await run('tar', ['-xf', archive, '-C', scratch]);
    const blob = ({ digest }: Descriptor) => join(scratch, 'blobs', digest.replace(':', '/'));
    const manifest = JSON.parse(await readFile(blob({ digest: await archiveDigest(archive) }), 'utf8')) as {
      layers: Descriptor[];
    };
    for (const layer of manifest.layers) await run('tar', ['-xf', blob(layer), '-C', folder]);
  });
}
