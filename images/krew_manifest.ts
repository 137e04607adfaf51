/**
 * The manifest of the plugin for a custom index of krew: `node images/krew_manifest.ts <cli.tgz> <its address>`. Its
 * digest is that of the archive.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { KUBECTL_PROGRAM } from '../src/cli/programs.ts';

export async function krewManifest(archive: string, uri: string): Promise<string> {
  const path = join(import.meta.dirname, '../src/cli/package.json');
  const { version, bin } = JSON.parse(await readFile(path, 'utf8')) as { version: string; bin: Record<string, string> };
  const sha256 = createHash('sha256')
    .update(await readFile(archive))
    .digest('hex');
  return stringify(
    {
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: 'probeyard' },
      spec: {
        version: `v${version}`,
        shortDescription: 'Look into a Probeyard on this cluster',
        description: `${KUBECTL_PROGRAM.commands.map(({ name, summary }) => `${name}: ${summary}.`).join('\n')}\n`,
        caveats: 'The plugin is a program for Node 20 or later, which has to be in PATH as "node".\n',
        platforms: [
          {
            selector: { matchExpressions: [{ key: 'os', operator: 'In', values: ['darwin', 'linux'] }] },
            uri,
            sha256,
            bin: bin['kubectl-probeyard'],
            files: [{ from: 'package/*', to: '.' }],
          },
        ],
      },
    },
    { lineWidth: 0 },
  );
}

if (import.meta.main) {
  const [archive, uri] = process.argv.slice(2);
  if (archive === undefined || uri === undefined) throw new Error('usage: krew_manifest.ts <archive> <address>');
  process.stdout.write(await krewManifest(archive, uri));
}
