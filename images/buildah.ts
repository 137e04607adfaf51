/**
 * Builds images with buildah as root, in a separate storage under the cache, without a daemon or registry, and
 * independent of other container tools.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Architecture, USUAL } from './architecture.ts';
import { cacheDir } from './cache.ts';
import { attempt, run } from './command.ts';

const storage = ['--root', join(cacheDir, 'buildah', 'storage'), '--runroot', join(cacheDir, 'buildah', 'run')];
let driver: Promise<string[]> | undefined;

/** Overlay if the kernel and the file system support it, otherwise vfs, which copies. */
function globalOptions(): Promise<string[]> {
  driver ??= (async () => {
    await mkdir(join(cacheDir, 'buildah'), { recursive: true });
    const overlay = [...storage, '--storage-driver', 'overlay'];
    const { code } = await attempt('buildah', [...overlay, 'images', '-q']);
    return code === 0 ? overlay : [...storage, '--storage-driver', 'vfs'];
  })();
  return driver;
}

export interface ImageBuild {
  ref: string;
  context: string;
  dockerfile: string;
  args?: Record<string, string>;
  target?: string;
  arch?: Architecture;
  timeoutMs?: number;
  /**
   * Without layers of earlier builds. Buildah finds them by their files and instructions alone: an image of nothing but
   * data would be that of the architecture which was built first.
   */
  anew?: boolean;
}

/** Layers are cached between builds and have no timestamps, so that equal content gives an equal digest. */
export async function buildImage(build: ImageBuild): Promise<void> {
  const args = Object.entries(build.args ?? {}).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
  const target = build.target === undefined ? [] : ['--target', build.target];
  const arch = ['--arch', build.arch ?? USUAL];
  await run(
    'buildah',
    [
      ...(await globalOptions()),
      'bud',
      '--isolation',
      'chroot',
      `--layers=${build.anew !== true}`,
      '--force-rm',
      '--timestamp',
      '0',
      '--format',
      'oci',
      ...args,
      ...target,
      ...arch,
      '-t',
      build.ref,
      '-f',
      build.dockerfile,
      build.context,
    ],
    { timeoutMs: build.timeoutMs ?? 1_800_000, env: { BUILDAH_ISOLATION: 'chroot' } },
  );
}

export async function hasImage(ref: string): Promise<boolean> {
  return (await attempt('buildah', [...(await globalOptions()), 'inspect', '--type', 'image', ref])).code === 0;
}

/** What the image says that it is for. */
export async function architectureOf(ref: string): Promise<string> {
  const options = [
    ...(await globalOptions()),
    'inspect',
    '--type',
    'image',
    '--format',
    '{{.OCIv1.Architecture}}',
    ref,
  ];
  return (await run('buildah', options)).trim();
}

export async function removeImage(ref: string): Promise<void> {
  await run('buildah', [...(await globalOptions()), 'rmi', ref]);
}

/** Imports a folder as an image with one layer. */
export async function importFolder(folder: string, ref: string, arch: Architecture): Promise<void> {
  const options = await globalOptions();
  const container = (await run('buildah', [...options, 'from', 'scratch'])).trim();
  try {
    await run('buildah', [...options, 'add', '-q', container, folder, '/']);
    await run('buildah', [...options, 'config', '--arch', arch, container]);
    await run('buildah', [...options, 'commit', '-q', '--timestamp', '0', container, ref]);
  } finally {
    await attempt('buildah', [...options, 'rm', container]);
  }
}

export async function saveImage(ref: string, archive: string): Promise<void> {
  await run('buildah', [...(await globalOptions()), 'push', '-q', ref, `oci-archive:${archive}:${ref}`]);
}

/** Loads an image from its archive, if buildah's storage was cleared but the cache was not. */
export async function loadImage(ref: string, archive: string): Promise<void> {
  if (await hasImage(ref)) return;
  const id = (await run('buildah', [...(await globalOptions()), 'pull', '-q', `oci-archive:${archive}`])).trim();
  await run('buildah', [...(await globalOptions()), 'tag', id, ref]);
}
