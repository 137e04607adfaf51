/**
 * `make release KEY=file`: everything that an installation elsewhere needs, in one folder: an OCI layout with chart and
 * images, a bill of materials, provenance and a signature for each, licences, offers of source, checksums.
 */
import type { KeyObject } from 'node:crypto';
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { unpack } from '../archive.ts';
import { suffixOf } from '../architecture.ts';
import { buildAll } from '../build.ts';
import type { BuiltImage } from '../built_image.ts';
import { sha256Of, withScratch } from '../cache.ts';
import { entryName, readCatalog } from '../catalog.ts';
import { run } from '../command.ts';
import { ImageError } from '../image_error.ts';
import { say, timed } from '../progress.ts';
import { packChart, type Released } from './chart.ts';
import { contentsOf, entryOf } from './components.ts';
import { filesUnder } from './debian.ts';
import { type Descriptor, Layout } from './layout.ts';
import { MIRROR, imagesList, sourcesPage, writeLicences, type ImagePapers } from './papers.ts';
import { sbomOf } from './sbom.ts';
import { debianVersions, documentOf } from '../vex/vex.ts';
import { attest, type Attestation, publicKeyOf, readKey, signImage } from './sign.ts';

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

interface Added {
  descriptor: Descriptor;
  sbom: object;
  paper: ImagePapers;
}

/** The builds of each image for the architectures that there are, by the name of the image. */
function byName(images: readonly BuiltImage[]): [name: string, builds: [BuiltImage, ...BuiltImage[]]][] {
  const named = new Map<string, [BuiltImage, ...BuiltImage[]]>();
  for (const image of images) {
    const name = `${PLACE}/${image.name}:${image.tag}`;
    const builds = named.get(name);
    if (builds) builds.push(image);
    else named.set(name, [image]);
  }
  return [...named];
}

async function addBuild(layout: Layout, image: BuiltImage, version: string, created: string): Promise<Added> {
  const descriptor = await layout.take(image.archive);
  return withScratch(async (files) => {
    await unpack(image.archive, files);
    const { components, debian } = await contentsOf(image, files, version);
    const tag = `${image.tag}${suffixOf(image.arch)}`;
    const about = { name: image.name, tag, digest: descriptor.digest, created, components, folder: files };
    const paper = { name: `${PLACE}/${image.name}:${tag}`, licence: licenceOf(image), components, debian };
    return { descriptor, sbom: await sbomOf(about), paper };
  });
}

async function writeRelease(input: ReleaseInput): Promise<void> {
  const { folder, version, commit, key, images } = input;
  for (const name of ['sbom', 'vex']) await mkdir(join(folder, name), { recursive: true });
  const layout = new Layout(join(folder, 'oci'));
  const created = new Date(commit.seconds * 1000).toISOString().replace('.000Z', 'Z');
  const papers: ImagePapers[] = [];
  const released: Released[] = [];
  for (const [name, builds] of byName(images)) {
    const added: Added[] = [];
    for (const image of builds) added.push(await addBuild(layout, image, version, created));
    for (const { paper, sbom } of added) {
      papers.push(paper);
      await writeFile(join(folder, 'sbom', `${fileName(paper.name)}.spdx.json`), `${JSON.stringify(sbom, null, 1)}\n`);
    }
    const named = await layout.name(
      name,
      added.map(({ descriptor }) => descriptor),
    );
    const vex = vexOf(builds[0], named.digest);
    if (vex)
      await writeFile(join(folder, 'vex', `${fileName(name)}.openvex.json`), `${JSON.stringify(vex, null, 1)}\n`);
    const statements = (sboms: readonly object[]): Attestation[] => [
      ...(vex ? [{ predicateType: 'https://openvex.dev/ns/v0.2.0', predicate: vex }] : []),
      ...sboms.map((sbom) => ({ predicateType: 'https://spdx.dev/Document', predicate: sbom })),
      { predicateType: 'https://slsa.dev/provenance/v1', predicate: provenance(name, input) },
    ];
    const sboms = added.map(({ sbom }) => sbom);
    await vouch(layout, key, name, named, statements(sboms));
    // For those who look at the image of one architecture.
    if (added.length > 1)
      for (const { descriptor, sbom } of added) await vouch(layout, key, name, descriptor, statements([sbom]));
    const [{ kind, tool, version: toolVersion }] = builds;
    const architectures = builds.map(({ arch }) => arch);
    released.push({ kind, tool, version: toolVersion, digest: named.digest, architectures });
    say(`${name}  ${named.digest}  ${architectures.join(', ')}`);
  }
  const chart = `${PLACE}/charts/probeyard:${version}`;
  const file = join(folder, `probeyard-${version}.tgz`);
  const packed = await packChart(layout, { name: chart, images: released, seconds: commit.seconds, file });
  await vouch(layout, key, chart, packed, [
    { predicateType: 'https://slsa.dev/provenance/v1', predicate: provenance(chart, input) },
  ]);
  await layout.close();
  await writePapers(folder, layout, papers, key);
}

/** `probeyard/tool-ffprobe:9.0` as a name of files. */
const fileName = (name: string): string => name.slice(PLACE.length + 1).replace(':', '-');

async function vouch(
  layout: Layout,
  key: KeyObject,
  name: string,
  descriptor: Descriptor,
  statements: readonly Attestation[],
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
    const only = ['product', 'nats', 'postgres', ...redistributable()];
    const images: BuiltImage[] = [];
    for (const arch of ['amd64', 'arm64'] as const) images.push(...(await buildAll({ only, arch })));
    const target = join(values.out, `probeyard-${version}`);
    const folder = `${target}.part`;
    await rm(folder, { recursive: true, force: true });
    await timed('the release', () => writeRelease({ folder, version, commit, key, images }));
    await rm(target, { recursive: true, force: true });
    await rename(folder, target);
    say(`${target}: ${images.length} images, and the chart`);
  } catch (error) {
    console.error(error instanceof ImageError ? `${error.code}: ${error.message}` : error);
    process.exit(1);
  }
}
