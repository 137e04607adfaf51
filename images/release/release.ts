/**
 * `make release KEY=file`: everything that an installation elsewhere needs, in one folder: an OCI layout with chart and
 * images, a bill of materials, provenance and a signature for each, licences, offers of source, checksums.
 */
import type { KeyObject } from 'node:crypto';
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { unpack } from '../archive.ts';
import { buildAll } from '../build.ts';
import type { BuiltImage } from '../built_image.ts';
import { sha256Of, withScratch } from '../cache.ts';
import { entryName, readCatalog } from '../catalog.ts';
import { run } from '../command.ts';
import { ImageError } from '../image_error.ts';
import { say, timed } from '../progress.ts';
import { packChart } from './chart.ts';
import { contentsOf, entryOf } from './components.ts';
import { filesUnder } from './debian.ts';
import { type Descriptor, Layout } from './layout.ts';
import { MIRROR, imagesList, sourcesPage, writeLicences, type ImagePapers } from './papers.ts';
import { sbomOf } from './sbom.ts';
import { debianVersions, documentOf } from '../vex/vex.ts';
import { attest, publicKeyOf, readKey, signImage } from './sign.ts';

const checkout = join(import.meta.dirname, '..', '..');
/** Where the chart looks for its images under a registry. */
const PLACE = 'probeyard';
const NOT_REDISTRIBUTABLE = /^not redistributable/;

interface Commit {
  id: string;
  /** When it was made, in seconds. */
  seconds: number;
}

interface ReleaseInput {
  folder: string;
  version: string;
  commit: Commit;
  key: KeyObject;
  images: readonly BuiltImage[];
}

/** Names, as in images/build.ts, of what may be passed on. */
export const redistributable = (): string[] =>
  readCatalog()
    .tools.filter(({ license }) => !NOT_REDISTRIBUTABLE.test(license))
    .map(entryName);

const provenance = (image: string, { commit, version }: ReleaseInput): object => ({
  buildDefinition: {
    buildType: 'https://probeyard.dev/build/v1',
    externalParameters: { image, version },
    resolvedDependencies: [{ uri: 'git+https://probeyard.dev/probeyard', digest: { gitCommit: commit.id } }],
  },
  runDetails: { builder: { id: 'https://probeyard.dev/make-release' } },
});

async function writeRelease(input: ReleaseInput): Promise<void> {
  const { folder, version, commit, key, images } = input;
  for (const name of ['sbom', 'vex']) await mkdir(join(folder, name), { recursive: true });
  const layout = new Layout(join(folder, 'oci'));
  const created = new Date(commit.seconds * 1000).toISOString().replace('.000Z', 'Z');
  const papers: ImagePapers[] = [];
  for (const image of images) {
    const name = `${PLACE}/${image.name}:${image.tag}`;
    const taken = await layout.take(name, image.archive);
    const { sbom, paper } = await withScratch(async (files) => {
      await unpack(image.archive, files);
      const { components, debian } = await contentsOf(image, files, version);
      const { digest } = taken;
      const about = { name: image.name, tag: image.tag, digest, created, components, folder: files };
      return { sbom: await sbomOf(about), paper: { name, licence: licenceOf(image), components, debian } };
    });
    papers.push(paper);
    await writeFile(join(folder, 'sbom', `${image.name}-${image.tag}.spdx.json`), `${JSON.stringify(sbom, null, 1)}\n`);
    const vex = vexOf(image, taken.digest);
    if (vex)
      await writeFile(
        join(folder, 'vex', `${image.name}-${image.tag}.openvex.json`),
        `${JSON.stringify(vex, null, 1)}\n`,
      );
    await vouch(layout, key, name, taken, [
      ...(vex ? [{ predicateType: 'https://openvex.dev/ns/v0.2.0', predicate: vex }] : []),
      { predicateType: 'https://spdx.dev/Document', predicate: sbom },
      { predicateType: 'https://slsa.dev/provenance/v1', predicate: provenance(name, input) },
    ]);
    say(`${name}  ${taken.digest}`);
  }
  const chart = `${PLACE}/charts/probeyard:${version}`;
  const file = join(folder, `probeyard-${version}.tgz`);
  const packed = await packChart(layout, { name: chart, images, seconds: commit.seconds, file });
  await vouch(layout, key, chart, packed, [
    { predicateType: 'https://slsa.dev/provenance/v1', predicate: provenance(chart, input) },
  ]);
  await layout.close();
  await writePapers(folder, layout, papers, key);
}

async function vouch(
  layout: Layout,
  key: KeyObject,
  name: string,
  descriptor: Descriptor,
  statements: Parameters<typeof attest>[4],
): Promise<void> {
  await signImage(layout, key, name, descriptor);
  await attest(layout, key, name, descriptor, statements);
}

const licenceOf = (image: BuiltImage): string =>
  image.kind === 'tool' ? (entryOf(image)?.license ?? '') : 'See licences/licences.md.';

/** What is known of the vulnerabilities of a tool. */
function vexOf(image: BuiltImage, digest: string): object | undefined {
  const entry = entryOf(image);
  return (
    entry &&
    documentOf({
      tool: entry.tool,
      version: entry.version,
      exact: entry.exact,
      purl: `pkg:oci/${image.name}@${encodeURIComponent(digest)}?tag=${image.tag}`,
      debian: debianVersions(entry),
    })
  );
}

async function writePapers(
  folder: string,
  layout: Layout,
  papers: readonly ImagePapers[],
  key: KeyObject,
): Promise<void> {
  await writeFile(join(folder, 'images.txt'), imagesList(layout));
  await writeFile(
    join(folder, 'names.txt'),
    layout
      .names()
      .map(([name]) => `${name}\n`)
      .join(''),
  );
  await writeFile(join(folder, 'mirror.sh'), MIRROR, { mode: 0o755 });
  await writeFile(join(folder, 'cosign.pub'), publicKeyOf(key));
  await writeLicences(join(folder, 'licences'), papers);
  for (const name of ['LICENSE', 'NOTICE', 'docs/licences.md', 'docs/third-party.md'])
    await cp(join(checkout, name), join(folder, 'licences', name.replace('docs/', '')));
  await writeFile(join(folder, 'licences', 'sources.md'), sourcesPage(papers));
  const files = (await filesUnder(folder)).filter((path) => !path.startsWith(join(folder, 'oci', 'blobs')));
  const sums = await Promise.all(files.map(async (path) => `${await sha256Of(path)}  ${relative(folder, path)}\n`));
  await writeFile(join(folder, 'SHA256SUMS'), sums.join(''));
}

async function commitOf(): Promise<Commit> {
  const [id = '', seconds = ''] = (await run('git', ['-C', checkout, 'log', '-1', '--format=%H %ct']))
    .trim()
    .split(' ');
  const changed = await run('git', ['-C', checkout, 'status', '--porcelain', '--untracked-files=no']);
  if (changed.trim() !== '') throw new ImageError('NOT_COMMITTED', 'there are changes that are not committed');
  return { id, seconds: Number(seconds) };
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { key: { type: 'string' }, out: { type: 'string', default: 'dist' } } });
  try {
    if (values.key === undefined) throw new ImageError('KEY_INVALID', 'give KEY=FILE: a release is signed');
    const key = readKey(await readFile(values.key));
    const { version } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as { version: string };
    const commit = await commitOf();
    const images = await buildAll({ only: ['product', 'nats', 'postgres', ...redistributable()] });
    const target = join(values.out, `probeyard-${version}`);
    const folder = `${target}.part`;
    await rm(folder, { recursive: true, force: true });
    await timed('the release', () => writeRelease({ folder, version, commit, key, images }));
    await rm(target, { recursive: true, force: true });
    await rename(folder, target);
    say(`${target}: ${images.length} images and the chart`);
  } catch (error) {
    console.error(error instanceof ImageError ? `${error.code}: ${error.message}` : error);
    process.exit(1);
  }
}
