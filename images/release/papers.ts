/** What lies beside the layout: names of the images, a script that copies them, licences, offers of source. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Component } from './components.ts';
import type { DebianPackage } from './debian.ts';
import type { Layout } from './layout.ts';

export interface ImagePapers {
  /** As `probeyard/tool-ffprobe:9.0`. */
  name: string;
  licence: string;
  components: readonly Component[];
  debian: readonly DebianPackage[];
}

/** Images and chart by name and digest, without their signatures. */
export const imagesList = (layout: Layout): string =>
  layout
    .names()
    .filter(([name]) => !/:sha256-[0-9a-f]{64}\.(?:sig|att)$/.test(name))
    .map(([name, { digest }]) => `${name}@${digest}\n`)
    .join('');

/** Copies everything, signatures included, to a registry. Tags and digests stay. */
export const MIRROR = `#!/bin/sh
# mirror.sh REGISTRY[/PATH]: copies the images, the chart and their signatures to your registry. Needs skopeo.
# Options for skopeo copy: SKOPEO_OPTIONS, for example --dest-tls-verify=false or --dest-authfile=FILE.
set -eu
target=\${1:?usage: mirror.sh REGISTRY[/PATH]}
cd "$(dirname "$0")"
while read -r name; do
  echo "$name"
  # shellcheck disable=SC2086
  skopeo copy --all --quiet --preserve-digests \${SKOPEO_OPTIONS:-} "oci:oci:$name" "docker://\${target%/}/$name"
done < names.txt
`;

/** Every text of a licence that Debian's packages in the images come with, once per package. */
export async function writeLicences(folder: string, images: readonly ImagePapers[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  const packages = new Map(images.flatMap(({ debian }) => debian).map((one) => [`${one.name}_${one.version}`, one]));
  for (const [name, { copyright }] of packages)
    if (copyright !== undefined)
      await writeFile(join(folder, `debian-${name.replaceAll(/[^\w.+-]/g, '_')}.txt`), copyright);
}

/** Where the source of each image's programs is, which their licences ask to be offered. */
export function sourcesPage(images: readonly ImagePapers[]): string {
  const sections = images.map(({ name, licence, components, debian }) => {
    const own = components
      .filter(({ from, purl }) => from !== undefined || purl?.startsWith('pkg:maven/') || purl?.startsWith('pkg:npm/'))
      .filter(() => name.includes('/tool-'))
      .map(({ name: part, version, from, purl, sha256 }) => {
        const sum = sha256 === undefined ? '' : ` (sha256 ${sha256})`;
        return `- ${part} ${version}: ${from ?? purl}${sum}`;
      });
    const ofDebian = debian.map(({ name: part, version, suite }) => `- Debian ${suite}, ${part} ${version}`);
    return [`## ${name}`, '', licence, '', ...own, ...ofDebian, ''].join('\n');
  });
  return [
    '# Where the source is',
    '',
    'Debian keeps the source of every version of its packages. The recipes of what was built from source are in the',
    "repository at this release's tag, under `images/tools`. `docs/licences.md` says what each licence asks for.",
    '',
    ...sections,
  ].join('\n');
}
