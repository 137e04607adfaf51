/** Tool versions as programs of this machine, each unpacked once from its image in the cache. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { BuiltImage } from './built_image.ts';
import { cacheDir } from './cache.ts';
import { cachedTools } from './cached.ts';
import type { Entry } from './catalog.ts';

function unpack(archive: string, into: string): void {
  const read = (path: string) =>
    execFileSync('tar', ['--extract', '--to-stdout', '--file', archive, '--wildcards', '--no-anchored', path], {
      maxBuffer: 1 << 30,
    });
  const blob = (digest: string) => read(`blobs/${digest.replace(':', '/')}`);
  const index = JSON.parse(read('index.json').toString()) as { manifests: { digest: string }[] };
  const manifest = JSON.parse(blob(index.manifests[0]?.digest ?? '').toString()) as { layers: { digest: string }[] };
  const making = `${into}.${process.pid}`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { recursive: true });
  for (const layer of manifest.layers) {
    const bytes = blob(layer.digest);
    execFileSync('tar', ['--extract', ...(bytes[0] === 0x1f ? ['--gzip'] : []), '--directory', making], {
      input: bytes,
    });
  }
  // Another process may have been faster.
  if (existsSync(into)) rmSync(making, { recursive: true, force: true });
  else renameSync(making, into);
}

/** Its command, of which the first is a program. */
export function unpackedCommand({ tool, version, command }: Entry, { archive }: BuiltImage): string[] {
  const digest = readFileSync(join(archive, '..', 'digest'), 'utf8').trim();
  const root = join(cacheDir, 'report', 'tools', `${tool}-${version}-${digest.slice(7, 23)}`);
  if (!existsSync(root)) unpack(archive, root);
  return command.map((part) => part.replaceAll('{root}', root));
}

/** Of the latest version. Undefined: its image is not in the cache. */
export async function latestCommand(tool: Entry['tool']): Promise<string[] | undefined> {
  const found = (await cachedTools()).find(({ entry }) => entry.tool === tool && entry.latest === true);
  return found?.image && unpackedCommand(found.entry, found.image);
}
