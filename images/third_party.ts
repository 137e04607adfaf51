/**
 * Lists the packages in the images with their licences in docs/third-party.md: `node images/third_party.ts`. Needs
 * cargo and the crates, which building the C2PA tool fetches.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { run } from './command.ts';

const root = join(import.meta.dirname, '..');
export const THIRD_PARTY_PAGE = join(root, 'docs/third-party.md');

export interface Package {
  name: string;
  version: string;
}

interface Licensed extends Package {
  licence: string;
}

/** Go modules declare no licence in a machine-readable form. These were read from their LICENSE files. */
const GO_LICENCES: Record<string, string> = {
  'github.com/antithesishq/antithesis-sdk-go': 'MIT',
  'github.com/google/go-tpm': 'Apache-2.0',
  'github.com/klauspost/compress': 'BSD-3-Clause (with parts under Apache-2.0 and MIT)',
  'github.com/minio/highwayhash': 'Apache-2.0',
  'github.com/nats-io/jwt/v2': 'Apache-2.0',
  'github.com/nats-io/nats-server/v2': 'Apache-2.0',
  'github.com/nats-io/nkeys': 'Apache-2.0',
  'github.com/nats-io/nuid': 'Apache-2.0',
  'golang.org/x/crypto': 'BSD-3-Clause',
  'golang.org/x/sys': 'BSD-3-Clause',
  'golang.org/x/time': 'BSD-3-Clause',
};

const read = (path: string): Promise<string> => readFile(join(root, path), 'utf8');

/** Production packages, as installed in the product's image. */
export async function npmPackages(): Promise<Licensed[]> {
  interface Entry {
    version: string;
    license?: string;
    dev?: boolean;
  }
  const { packages } = JSON.parse(await read('package-lock.json')) as { packages: Record<string, Entry> };
  return Object.entries(packages)
    .filter(([path, entry]) => path !== '' && !entry.dev)
    .map(([path, { version, license }]) => ({
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      licence: license ?? 'not declared',
    }));
}

/** Crates of the C2PA tool, without our own. */
export async function crates(): Promise<Package[]> {
  const lock = await read('images/tools/c2pa/Cargo.lock');
  return [...lock.matchAll(/^name = "(.+)"\nversion = "(.+)"\nsource = /gm)].map(([, name, version]) => ({
    name: name!,
    version: version!,
  }));
}

/** Modules of the NATS server. */
export async function goModules(): Promise<Licensed[]> {
  const file = await read('test/node/parts/nats-server/go.mod');
  return [...file.matchAll(/^(?:require )?\s*(\S+\.\S+\/\S+) (v\S+)/gm)].map(([, name, version]) => ({
    name: name!,
    version: version!,
    licence: GO_LICENCES[name!] ?? 'not declared',
  }));
}

async function licensedCrates(): Promise<Licensed[]> {
  const manifest = join(root, 'images/tools/c2pa/Cargo.toml');
  const args = ['metadata', '--locked', '--offline', '--format-version', '1', '--manifest-path', manifest];
  const { packages } = JSON.parse(await run('cargo', args)) as { packages: (Package & { license: string | null })[] };
  const licences = new Map(packages.map(({ name, version, license }) => [`${name} ${version}`, license]));
  return (await crates()).map(({ name, version }) => ({
    name,
    version,
    // The older spelling of "or".
    licence: licences.get(`${name} ${version}`)?.replaceAll('/', ' OR ') ?? 'not declared',
  }));
}

function section(title: string, packages: readonly Licensed[]): string {
  const byLicence = Map.groupBy(packages, ({ licence }) => licence);
  const lines = [...byLicence]
    .toSorted(([a, one], [b, two]) => two.length - one.length || a.localeCompare(b))
    .map(([licence, members]) => {
      const named = new Set(members.map(({ name, version }) => `\`${name}\` ${version}`));
      return `- **${licence}** (${named.size}): ${[...named].toSorted().join(', ')}`;
    });
  return `## ${title}\n\n${lines.join('\n')}\n`;
}

export async function thirdParty(): Promise<string> {
  const page = [
    '# Third-party packages\n',
    '<!-- Made by images/third_party.ts. Do not edit. -->\n',
    'Every package that the images contain, with the licence that it declares.',
    '[licences.md](licences.md) explains what follows from them, and ' +
      'lists the tools and libraries that come as binaries.\n',
    section('npm packages in the product image', await npmPackages()),
    section('Go modules in the NATS image', await goModules()),
    section('Rust crates of the C2PA tool', await licensedCrates()),
  ].join('\n');
  const options = await resolveConfig(THIRD_PARTY_PAGE);
  return format(page, { ...options, filepath: THIRD_PARTY_PAGE });
}

if (import.meta.main) await writeFile(THIRD_PARTY_PAGE, await thirdParty());
