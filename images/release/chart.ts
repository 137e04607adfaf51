/** The chart as a release has it: every image by digest, without tools that may not be passed on. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, parseDocument, stringify } from 'yaml';
import { gzipSync } from 'node:zlib';
import type { Architecture } from '../architecture.ts';
import type { BuiltImage } from '../built_image.ts';
import { withScratch } from '../cache.ts';
import { run } from '../command.ts';
import type { Descriptor, Layout } from './layout.ts';

const chartDir = join(import.meta.dirname, '..', '..', 'charts', 'probeyard');
const CONFIG = 'application/vnd.cncf.helm.config.v1+json';
const CONTENT = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip';

/** An image of the release. */
export interface Released extends Pick<BuiltImage, 'kind'> {
  tool?: string | undefined;
  version?: string | undefined;
  /** Of the image, or of the index of its images for several architectures. */
  digest: string;
  architectures: readonly Architecture[];
}

interface Entry {
  tool: string;
  version: string;
  optional?: boolean;
  arm64?: object;
  digest?: string;
}

/** Tools without an image in the release are not in its catalog: nobody could pull them. */
export function withDigests(catalog: readonly Entry[], images: readonly Released[]): Entry[] {
  return catalog.flatMap(({ arm64, ...entry }) => {
    const image = images.find(({ tool, version }) => tool === entry.tool && version === entry.version);
    if (image === undefined) return [];
    const there = arm64 && image.architectures.includes('arm64') ? { arm64 } : {};
    return [{ ...entry, ...there, digest: image.digest }];
  });
}

/** Sets the digests in values.yaml, and leaves its comments as they are. */
export function valuesWithDigests(text: string, images: readonly Released[]): string {
  const document = parseDocument(text);
  const paths = { product: ['image'], nats: ['nats', 'image'], postgres: ['postgres', 'image'] } as const;
  for (const [kind, path] of Object.entries(paths)) {
    const image = images.find((one) => one.kind === kind);
    if (image) document.setIn([...path, 'digest'], image.digest);
  }
  return document.toString({ lineWidth: 120 });
}

/** Writes `FILE.tgz` and puts the chart into the layout, as `helm push` would. */
export async function packChart(
  layout: Layout,
  { name, images, seconds, file }: { name: string; images: readonly Released[]; seconds: number; file: string },
): Promise<Descriptor> {
  return withScratch(async (scratch) => {
    const folder = join(scratch, 'probeyard');
    await cp(chartDir, folder, { recursive: true, dereference: true });
    const catalog = join(folder, 'files', 'catalog.yaml');
    const entries = withDigests(parse(await readFile(catalog, 'utf8')) as Entry[], images);
    await writeFile(catalog, stringify(entries));
    const values = join(folder, 'values.yaml');
    await writeFile(values, valuesWithDigests(await readFile(values, 'utf8'), images));
    const fixed = [
      '--sort=name',
      `--mtime=@${seconds}`,
      '--owner=0',
      '--group=0',
      '--numeric-owner',
      '--mode=go=rX,u+rw',
    ];
    await run('tar', [...fixed, '--format=ustar', '-cf', join(scratch, 'chart.tar'), '-C', scratch, 'probeyard']);
    const packed = gzipSync(await readFile(join(scratch, 'chart.tar')), { level: 9 });
    await writeFile(file, packed);
    const about = parse(await readFile(join(folder, 'Chart.yaml'), 'utf8')) as Record<string, unknown>;
    return layout.manifest(name, {
      config: await layout.blob(JSON.stringify(about), CONFIG),
      layers: [await layout.blob(packed, CONTENT)],
    });
  });
}
