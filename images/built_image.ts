/** An image in the cache as an OCI archive. */
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Architecture, suffixOf } from './architecture.ts';
import { archiveDigest } from './archive.ts';
import { saveImage } from './buildah.ts';
import { cacheDir, once } from './cache.ts';
import { timed } from './progress.ts';

export type ImageKind = 'product' | 'tool' | 'nats' | 'postgres' | 'bundled';

export interface BuiltImage {
  name: string;
  tag: string;
  /** Such as `localhost/probeyard/tool-ffprobe:9.0`. */
  ref: string;
  /** Absolute path of an OCI archive. */
  archive: string;
  /** Digest of the manifest, as `sha256:…`. */
  digest: string;
  kind: ImageKind;
  arch: Architecture;
  tool?: string;
  version?: string;
}

export interface ImagePlan {
  name: string;
  tag: string;
  kind: ImageKind;
  arch: Architecture;
  tool?: string;
  version?: string;
  /** Changes exactly when the content of the image would. */
  key: string;
  /** Builds the image `ref` in buildah's storage. */
  make: (ref: string) => Promise<void>;
}

export const PREFIX = 'localhost/probeyard';
const KEPT = 4;

/** The image from the cache, or built now. */
export async function realise(plan: ImagePlan): Promise<BuiltImage> {
  const ref = `${PREFIX}/${plan.name}:${plan.tag}${suffixOf(plan.arch)}`;
  const folder = folderOf(plan);
  const archive = join(folder, 'image.tar');
  if (!isCached(plan)) {
    await timed(stepOf(plan), () =>
      once(folder, async (out) => {
        await plan.make(ref);
        await saveImage(ref, join(out, 'image.tar'));
      }),
    );
    await dropOlder(plan);
  }
  const { name, tag, kind, arch } = plan;
  const about = {
    ...(plan.tool === undefined ? {} : { tool: plan.tool }),
    ...(plan.version === undefined ? {} : { version: plan.version }),
  };
  return { name, tag, ref, archive, digest: await digestOf(folder, archive), kind, arch, ...about };
}

/** What the build of an image is called in lines of progress. */
export const stepOf = ({ name, tag, arch }: Pick<ImagePlan, 'name' | 'tag' | 'arch'>): string =>
  `image ${name}:${tag}${suffixOf(arch)}`;

export const isCached = (plan: ImagePlan): boolean => existsSync(join(folderOf(plan), 'image.tar'));

/** Each change of the sources leaves an archive behind. The last few are kept to go back to. */
async function dropOlder(plan: ImagePlan): Promise<void> {
  const images = join(cacheDir, 'images');
  const own = `${plan.name}-${plan.tag}${suffixOf(plan.arch)}-`;
  const folders = (await readdir(images))
    .filter((name) => name.startsWith(own) && name.length === own.length + plan.key.length)
    .map((name) => join(images, name));
  const aged = await Promise.all(folders.map(async (folder) => ({ folder, made: (await stat(folder)).mtimeMs })));
  for (const { folder } of aged.sort((a, b) => b.made - a.made).slice(KEPT))
    await rm(folder, { recursive: true, force: true });
}

function folderOf({ name, tag, arch, key }: ImagePlan): string {
  return join(cacheDir, 'images', `${name}-${tag}${suffixOf(arch)}-${key}`);
}

/** Read from the archive only once, because opening a 60 MB tar for each of 22 images would slow every start. */
async function digestOf(folder: string, archive: string): Promise<string> {
  const file = join(folder, 'digest');
  if (existsSync(file)) return readFile(file, 'utf8');
  const digest = await archiveDigest(archive);
  await writeFile(`${file}.${process.pid}`, digest);
  await rename(`${file}.${process.pid}`, file);
  return digest;
}
