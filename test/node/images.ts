import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Type from 'typebox';
import Value from 'typebox/value';
import type { Built } from './build.ts';
import { ClusterError } from './cluster_error.ts';
import { run } from './command.ts';
import type { Layout } from './layout.ts';
import { containerdSocket } from './runtime.ts';

export interface ImageArchive {
  name: string;
  /** An OCI archive, by absolute path. */
  archive: string;
  /** Digest of the manifest, if known without opening the archive. */
  digest?: string;
}

const Index = Type.Object({ manifests: Type.Array(Type.Object({ digest: Type.String() })) });

/** The containerd of a node. */
export interface Runtime {
  ctr(args: readonly string[]): Promise<string>;
  load(archive: string): Promise<string>;
}

/** Imports the images that are missing or have another digest on the local node. Returns their names. */
export function importImages(layout: Layout, built: Built, images: readonly ImageArchive[]): Promise<string[]> {
  const ctr = (args: readonly string[]) =>
    run(join(built.get('containerd')!, 'ctr'), ['-a', containerdSocket(layout), '-n', 'k8s.io', ...args]);
  return importInto({ ctr, load: (archive) => ctr(['images', 'import', archive]) }, images);
}

/** Imports the images that are missing or have another digest. Returns their names. */
export async function importInto({ ctr, load }: Runtime, images: readonly ImageArchive[]): Promise<string[]> {
  const list = async () => listedImages(await ctr(['images', 'ls']));
  const there = await list();
  const imported: string[] = [];
  for (const { name, archive, digest } of images) {
    if (!existsSync(archive)) throw new ClusterError('NO_ARCHIVE', `${name}: there is no archive ${archive}`);
    const wanted = digest ?? (await archiveDigest(archive));
    if (there.get(name) === wanted && there.has(pinned(name, wanted))) continue;
    const old = outdated(there, name);
    if (old.length > 0) await ctr(['images', 'rm', ...old]);
    await load(archive);
    // Pods may refer to an image by its digest, as with one from a registry.
    await ctr(['images', 'tag', '--force', name, pinned(name, wanted)]);
    imported.push(name);
  }
  if (imported.length > 0) {
    const now = await list();
    const lost = imported.filter((name) => !now.has(name));
    if (lost.length > 0)
      throw new ClusterError('IMPORT_FAILED', `imported, but not under its name: ${lost.join(', ')}`);
  }
  return imported;
}

/** `localhost/name:tag` with a digest: `localhost/name@sha256:…` */
export function pinned(name: string, digest: string): string {
  return `${name.replace(/:[^/:]*$/, '')}@${digest}`;
}

/**
 * Earlier images of this name, except the current one, from which pods of the running release may still start. Includes
 * Kubernetes' own name for an image, the digest of its configuration.
 */
export function outdated(there: ReadonlyMap<string, string>, name: string): string[] {
  const all = [...there];
  const tagged = new Set(
    all.filter(([other]) => !other.includes('@') && !other.startsWith('sha256:')).map(([, digest]) => digest),
  );
  const old = new Set(
    all
      .filter(([other, digest]) => other.startsWith(pinned(name, '')) && !tagged.has(digest))
      .map(([, digest]) => digest),
  );
  return all.filter(([, digest]) => old.has(digest)).map(([other]) => other);
}

/** Parses name and digest from `ctr images ls`. */
export function listedImages(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split('\n').slice(1)) {
    const [name, , digest] = line.split(/\s+/);
    if (name !== undefined && digest !== undefined) found.set(name, digest);
  }
  return found;
}

async function archiveDigest(archive: string): Promise<string> {
  // Archives may have a leading dot in their paths or not.
  const text = await run('tar', [
    '--extract',
    '--to-stdout',
    '--file',
    archive,
    '--wildcards',
    '--no-anchored',
    'index.json',
  ]);
  const { manifests } = Value.Parse(Index, JSON.parse(text));
  if (manifests.length !== 1) throw new ClusterError('BAD_ARCHIVE', `${archive} does not hold exactly one image`);
  return manifests[0]!.digest;
}
