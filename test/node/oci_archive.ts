import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { arch, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { run } from './command.ts';

export interface ScratchImage {
  /** Such as `localhost/name:tag`. */
  name: string;
  /** Programs by their path in the image. */
  files: Readonly<Record<string, string>>;
  entrypoint: readonly string[];
  user?: string;
}

/**
 * Writes an image of one layer as an OCI archive. The same files give the same bytes and the same digest, so that an
 * unchanged image is not imported again.
 */
export async function writeScratchImage(image: ScratchImage, archive: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'probeyard-image-'));
  try {
    const root = join(work, 'root');
    for (const [path, source] of Object.entries(image.files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await copyFile(source, join(root, path));
      await run('chmod', ['0755', join(root, path)]);
    }
    const layer = join(work, 'layer.tar');
    await tar(layer, root);
    const layout = join(work, 'layout');
    const blobs = join(layout, 'blobs', 'sha256');
    await mkdir(blobs, { recursive: true });
    const layerDigest = sha256(await readFile(layer));
    const { size } = await stat(layer);
    await rename(layer, join(blobs, layerDigest));
    const config = await blob(blobs, {
      architecture: arch() === 'arm64' ? 'arm64' : 'amd64',
      os: 'linux',
      config: { Entrypoint: image.entrypoint, User: image.user ?? '65532:65532' },
      rootfs: { type: 'layers', diff_ids: [`sha256:${layerDigest}`] },
    });
    const manifest = await blob(blobs, {
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...config },
      layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar', digest: `sha256:${layerDigest}`, size }],
    });
    const annotations = { 'io.containerd.image.name': image.name, 'org.opencontainers.image.ref.name': image.name };
    await writeFile(
      join(layout, 'index.json'),
      JSON.stringify({
        schemaVersion: 2,
        manifests: [{ mediaType: 'application/vnd.oci.image.manifest.v1+json', ...manifest, annotations }],
      }),
    );
    await writeFile(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
    await mkdir(dirname(archive), { recursive: true });
    await tar(`${archive}.half`, layout);
    await rename(`${archive}.half`, archive);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function blob(folder: string, content: unknown): Promise<{ digest: string; size: number }> {
  const bytes = Buffer.from(JSON.stringify(content));
  const hex = sha256(bytes);
  await writeFile(join(folder, hex), bytes);
  return { digest: `sha256:${hex}`, size: bytes.length };
}

async function tar(archive: string, folder: string): Promise<void> {
  await run('tar', [
    '--create',
    '--file',
    archive,
    '--directory',
    folder,
    '--sort=name',
    '--mtime=@0',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '.',
  ]);
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
