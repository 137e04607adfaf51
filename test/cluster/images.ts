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
  /** OCI archive, absolute path. */
  archive: string;
  /** Of the manifest, where it is known without opening the archive. */
  digest?: string;
}

const Index = Type.Object({ manifests: Type.Array(Type.Object({ digest: Type.String() })) });

/** Imports the images that are not there with the same digest; the names of those it imported. */
export async function importImages(layout: Layout, built: Built, images: readonly ImageArchive[]): Promise<string[]> {
  const ctr = (args: readonly string[]) => run(join(built.get('containerd')!, 'ctr'), ['-a', containerdSocket(layout), '-n', 'k8s.io', ...args]);
  const there = listedImages(await ctr(['images', 'ls']));
  const imported: string[] = [];
  for (const { name, archive, digest } of images) {
    if (!existsSync(archive)) throw new ClusterError('NO_ARCHIVE', `${name}: there is no archive ${archive}`);
    if (there.get(name) === (digest ?? (await archiveDigest(archive)))) continue;
    await ctr(['images', 'import', archive]);
    imported.push(name);
  }
  if (imported.length > 0) {
    const now = listedImages(await ctr(['images', 'ls']));
    const lost = imported.filter((name) => !now.has(name));
    if (lost.length > 0) throw new ClusterError('IMPORT_FAILED', `imported, but not under its name: ${lost.join(', ')}`);
  }
  return imported;
}

/** `ctr images ls`: name and digest. */
export function listedImages(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split('\n').slice(1)) {
    const [name, , digest] = line.split(/\s+/);
    if (name !== undefined && digest !== undefined) found.set(name, digest);
  }
  return found;
}

async function archiveDigest(archive: string): Promise<string | undefined> {
  // Archives are written with and without the leading dot.
  const text = await run('tar', ['--extract', '--to-stdout', '--file', archive, '--wildcards', '--no-anchored', 'index.json']);
  const { manifests } = Value.Parse(Index, JSON.parse(text));
  return manifests.length === 1 ? manifests[0]!.digest : undefined;
}
