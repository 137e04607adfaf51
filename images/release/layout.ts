/**
 * Writes an OCI image layout: a folder that every tool of the field reads, copies to a registry, and checks by digest.
 * Equal content gives equal bytes.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256Of, withScratch } from '../cache.ts';
import { run } from '../command.ts';
import { ImageError } from '../image_error.ts';

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const EMPTY = 'application/vnd.oci.empty.v1+json';
const INDEX = 'application/vnd.oci.image.index.v1+json';
const REF_NAME = 'org.opencontainers.image.ref.name';

export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  annotations?: Record<string, string>;
  artifactType?: string;
  platform?: Platform;
}

interface Platform {
  os: string;
  architecture: string;
}

export interface Manifest {
  artifactType?: string;
  config: Descriptor;
  layers: readonly Descriptor[];
  subject?: Descriptor;
  annotations?: Record<string, string>;
}

interface StoredIndex {
  manifests?: Descriptor[];
}

export const sha256 = (bytes: string | Uint8Array): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

export class Layout {
  readonly folder: string;
  readonly #named = new Map<string, Descriptor>();

  constructor(folder: string) {
    this.folder = folder;
  }

  #file(digest: string): string {
    return join(this.folder, 'blobs', digest.replace(':', '/'));
  }

  async blob(content: string | Uint8Array, mediaType: string): Promise<Descriptor> {
    const bytes = Buffer.from(content);
    const digest = sha256(bytes);
    await mkdir(join(this.folder, 'blobs', 'sha256'), { recursive: true });
    if (!existsSync(this.#file(digest))) await writeFile(this.#file(digest), bytes);
    return { mediaType, digest, size: bytes.length };
  }

  /** The empty object that stands for the configuration of what is no image. */
  empty(): Promise<Descriptor> {
    return this.blob('{}', EMPTY);
  }

  /** `name`: what the index calls it, as `probeyard/tool-ffprobe:9.0`. */
  async manifest(name: string, manifest: Manifest): Promise<Descriptor> {
    const stored = await this.blob(JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, ...manifest }), MANIFEST);
    this.#named.set(name, stored);
    return stored;
  }

  /** What `name` stands for: an image, or an index of the same image for several architectures. */
  async name(name: string, images: readonly Descriptor[]): Promise<Descriptor> {
    const [only, ...others] = images;
    const stored =
      only && others.length === 0
        ? { mediaType: only.mediaType, digest: only.digest, size: only.size }
        : await this.blob(JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: images }), INDEX);
    this.#named.set(name, stored);
    return stored;
  }

  /** Takes over the one image of an OCI archive, every blob checked against its digest. It is not named yet. */
  async take(archive: string): Promise<Descriptor> {
    return withScratch(async (scratch) => {
      await run('tar', ['-xf', archive, '-C', scratch]);
      const { manifests } = JSON.parse(await readFile(join(scratch, 'index.json'), 'utf8')) as StoredIndex;
      const [found, ...others] = manifests ?? [];
      if (!found || others.length > 0)
        throw new ImageError('ARCHIVE_INVALID', `${archive} does not hold exactly one image`);
      const from = (digest: string): string => join(scratch, 'blobs', digest.replace(':', '/'));
      const { config, layers } = JSON.parse(await readFile(from(found.digest), 'utf8')) as Manifest;
      const { os, architecture } = JSON.parse(await readFile(from(config.digest), 'utf8')) as Platform;
      await mkdir(join(this.folder, 'blobs', 'sha256'), { recursive: true });
      for (const { digest } of [found, config, ...layers]) {
        if (`sha256:${await sha256Of(from(digest))}` !== digest)
          throw new ImageError('ARCHIVE_INVALID', `${archive}: ${digest} has other bytes`);
        if (existsSync(this.#file(digest))) continue;
        await copyFile(from(digest), `${this.#file(digest)}.part`);
        await rename(`${this.#file(digest)}.part`, this.#file(digest));
      }
      const { mediaType, digest, size } = found;
      return { mediaType, digest, size, platform: { os, architecture } };
    });
  }

  async read<T>({ digest }: Pick<Descriptor, 'digest'>): Promise<T> {
    return JSON.parse(await readFile(this.#file(digest), 'utf8')) as T;
  }

  path({ digest }: Pick<Descriptor, 'digest'>): string {
    return this.#file(digest);
  }

  /** The names in the index with what they stand for, sorted. */
  names(): [name: string, descriptor: Descriptor][] {
    return [...this.#named].toSorted(([a], [b]) => (a < b ? -1 : 1));
  }

  async close(): Promise<void> {
    const manifests = this.names().map(([name, descriptor]) => ({ ...descriptor, annotations: { [REF_NAME]: name } }));
    const index = { schemaVersion: 2, mediaType: INDEX, manifests };
    await writeFile(join(this.folder, 'index.json'), `${JSON.stringify(index, null, 2)}\n`);
    await writeFile(join(this.folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}\n');
  }
}
