/** Reads what an OCI archive says of itself. */
import { run } from './command.ts';
import { ImageError } from './image_error.ts';

interface Index {
  manifests?: { digest?: string }[];
}

/** The manifest's digest: how Kubernetes names exactly this image. */
export async function archiveDigest(archive: string): Promise<string> {
  const index = JSON.parse(await run('tar', ['-xOf', archive, 'index.json'])) as Index;
  const digest = index.manifests?.[0]?.digest;
  if (digest === undefined || index.manifests?.length !== 1) throw new ImageError('ARCHIVE_INVALID', `${archive} does not hold exactly one image`);
  return digest;
}
