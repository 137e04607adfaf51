/** What each image consists of: programs and libraries with version, licence, and where the bytes came from. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { baseRoot } from '../base.ts';
import type { BuiltImage } from '../built_image.ts';
import { type Entry, readCatalog, sourceFor } from '../catalog.ts';
import { fetchDebian } from '../fetch/debian.ts';
import { crates, goModules, npmPackages } from '../third_party.ts';
import { WABT } from '../wasm_build.ts';
import { debianPackages, type DebianPackage, type DebianRoot } from './debian.ts';

export interface Component {
  name: string;
  version: string;
  /** As the origin states it; not always an SPDX expression. */
  licence: string;
  /** Package URL. */
  purl?: string;
  /** Where its bytes or its source can be had. */
  from?: string;
  sha256?: string;
}

const checkout = join(import.meta.dirname, '..', '..');
const NATS = 'github.com/nats-io/nats-server/v2';

export interface Contents {
  components: Component[];
  debian: DebianPackage[];
}

/** `folder`: the unpacked files of the image. */
export async function contentsOf(image: BuiltImage, folder: string, version: string): Promise<Contents> {
  const debian = (await Promise.all((await rootsOf(image)).map((root) => debianPackages(folder, root)))).flat();
  return { components: [...(await ownComponents(image, version)), ...debian.map(ofDebian)], debian };
}

export const entryOf = ({ tool, version }: BuiltImage): Entry | undefined =>
  readCatalog().tools.find((entry) => entry.tool === tool && entry.version === version);

async function rootsOf(image: BuiltImage): Promise<DebianRoot[]> {
  const entry = entryOf(image);
  const source = entry && sourceFor(entry, image.arch);
  if (source?.kind === 'debian') return [{ folder: await fetchDebian(source, image.arch), suite: source.suite }];
  return [{ folder: (await baseRoot(image.arch)).folder, suite: 'bookworm' }];
}

const ofDebian = ({ name, version, suite }: DebianPackage): Component => ({
  name,
  version,
  licence: '',
  purl: `pkg:deb/debian/${name}@${encodeURIComponent(version)}?distro=${suite}`,
});

async function ownComponents(image: BuiltImage, version: string): Promise<Component[]> {
  const product = { name: 'probeyard', version, licence: 'Apache-2.0' };
  switch (image.kind) {
    case 'product': {
      const { devDependencies } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as {
        devDependencies: Record<string, string>;
      };
      const npm = (await npmPackages()).map((one) => ({ ...one, purl: `pkg:npm/${one.name}@${one.version}` }));
      return [product, { name: 'node', version: devDependencies['node'] ?? '', licence: 'MIT' }, ...npm];
    }
    case 'nats': {
      const modules = (await goModules()).map((one) => ({ ...one, purl: `pkg:golang/${one.name}@${one.version}` }));
      return modules.toSorted((a, b) => Number(b.name === NATS) - Number(a.name === NATS));
    }
    case 'postgres':
      return [{ name: 'postgresql', version: image.tag, licence: 'PostgreSQL' }];
    default:
      return toolComponents(image, product);
  }
}

async function toolComponents(image: BuiltImage, product: Component): Promise<Component[]> {
  const entry = entryOf(image);
  if (!entry) return [];
  const { tool, exact, license } = entry;
  const source = sourceFor(entry, image.arch);
  const main = { name: tool, version: exact, licence: license };
  switch (source.kind) {
    case 'maven': {
      const [group, artifact] = source.package.split(':');
      const purl = `pkg:maven/${group}/${artifact}@${source.version}?classifier=${source.classifier}`;
      return [{ ...main, purl, sha256: source.sha256 }];
    }
    case 'npm':
      return [{ ...main, purl: `pkg:npm/${source.package}@${source.version}` }];
    case 'wasm': {
      const module = { ...main, purl: `pkg:npm/${source.package}@${source.version}` };
      return [module, { name: 'wabt', version: WABT, licence: 'Apache-2.0' }];
    }
    case 'debian':
      return [main];
    case 'upstream-source':
      return source.tarballs.map(({ name, url, sha256 }, index) => ({
        name: index === 0 ? tool : name.replace(/[-_]\d.*$/, ''),
        version: index === 0 ? exact : (/[-_](\d[\d.]*\d)/.exec(name)?.[1] ?? ''),
        licence: license,
        from: url,
        ...(sha256 === 'unknown' ? {} : { sha256 }),
      }));
    case 'cargo': {
      const ours = (await crates()).map(({ name, version }) => ({
        name,
        version,
        licence: '',
        purl: `pkg:cargo/${name}@${version}`,
      }));
      return [{ ...main, licence: product.licence }, ...ours];
    }
    case 'c':
      return [main];
  }
}
