/** An image that stands ready as an OCI archive in the cache. */
import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { archiveDigest } from './archive.ts';
import { saveImage } from './buildah.ts';
import { cacheDir, once } from './cache.ts';
import { timed } from './progress.ts';

export type ImageKind = 'product' | 'tool' | 'nats' | 'postgres' | 'bundled';

export interface BuiltImage {
  name: string;
  tag: string;
  /** `localhost/probeyard/tool-ffprobe:9.0` */
  ref: string;
  /** Absolute path of an OCI archive. */
  archive: string;
  /** Of the manifest: `sha256:…` */
  digest: string;
  kind: ImageKind;
  tool?: string;
  version?: string;
}

export interface ImagePlan {
  name: string;
  tag: string;
  kind: ImageKind;
  tool?: string;
  version?: string;
  /** Changes exactly when the image's content would. */
  key: string;
  /** Makes the image `ref` in buildah's storage. */
  make: (ref: string) => Promise<void>;
}

export const PREFIX = 'localhost/probeyard';

/** The image from the cache, or made now. */
export async function realise(plan: ImagePlan): Promise<BuiltImage> {
  const ref = `${PREFIX}/${plan.name}:${plan.tag}`;
  const folder = folderOf(plan);
  const archive = join(folder, 'image.tar');
  if (!existsSync(archive)) {
    await timed(`image ${plan.name}:${plan.tag}`, () =>
      once(folder, async (out) => {
        await plan.make(ref);
        await saveImage(ref, join(out, 'image.tar'));
      }),
    );
  }
  const { name, tag, kind } = plan;
  const about = { ...(plan.tool === undefined ? {} : { tool: plan.tool }), ...(plan.version === undefined ? {} : { version: plan.version }) };
  return { name, tag, ref, archive, digest: await digestOf(folder, archive), kind, ...about };
}

export function folderOf({ name, tag, key }: ImagePlan): string {
  return join(cacheDir, 'images', `${name}-${tag}-${key}`);
}

/** Read from the archive once: opening a 60 MB tar for 22 images at each start would be felt. */
async function digestOf(folder: string, archive: string): Promise<string> {
  const file = join(folder, 'digest');
  if (existsSync(file)) return readFile(file, 'utf8');
  const digest = await archiveDigest(archive);
  await writeFile(`${file}.${process.pid}`, digest);
  await rename(`${file}.${process.pid}`, file);
  return digest;
}
