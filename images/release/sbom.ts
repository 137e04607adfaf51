/** The bill of materials of an image, as SPDX 2.3 in JSON. */
import { relative } from 'node:path';
import { createReadStream } from 'node:fs';
import { createHash } from 'node:crypto';
import type { Component } from './components.ts';
import { filesUnder } from './debian.ts';

export interface SbomInput {
  name: string;
  tag: string;
  digest: string;
  /** When the source was committed, so that the same source gives the same document. */
  created: string;
  components: readonly Component[];
  /** The unpacked files of the image. */
  folder: string;
}

const EXPRESSION = /^[A-Za-z0-9.+-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+-]+)*$/;
/** The expression that a licence begins with: what follows in brackets explains it. */
function licenceOf(text: string): string {
  const plain = text.replace(/ \(.*\)$/, '').replace(/^\((.*)\)$/, '$1');
  return EXPRESSION.test(plain) ? plain : 'NOASSERTION';
}

interface Checksum {
  algorithm: 'SHA1' | 'SHA256';
  checksumValue: string;
}

async function checksums(file: string): Promise<Checksum[]> {
  const sums = [createHash('sha1'), createHash('sha256')] as const;
  for await (const chunk of createReadStream(file)) for (const sum of sums) sum.update(chunk as Buffer);
  const [sha1, sha256] = sums;
  return [
    { algorithm: 'SHA1', checksumValue: sha1.digest('hex') },
    { algorithm: 'SHA256', checksumValue: sha256.digest('hex') },
  ];
}

export async function sbomOf({ name, tag, digest, created, components, folder }: SbomInput): Promise<object> {
  const hex = digest.slice('sha256:'.length);
  const base = { filesAnalyzed: false, licenseConcluded: 'NOASSERTION', copyrightText: 'NOASSERTION' };
  const packages = components.map((component, index) => ({
    ...base,
    SPDXID: `SPDXRef-Package-${index}`,
    name: component.name,
    versionInfo: component.version,
    downloadLocation: component.from ?? 'NOASSERTION',
    licenseDeclared: licenceOf(component.licence),
    ...(component.licence !== '' && licenceOf(component.licence) !== component.licence
      ? { licenseComments: component.licence }
      : {}),
    ...(component.sha256 === undefined
      ? {}
      : { checksums: [{ algorithm: 'SHA256', checksumValue: component.sha256 }] }),
    ...(component.purl === undefined
      ? {}
      : {
          externalRefs: [
            { referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: component.purl },
          ],
        }),
  }));
  const files: { SPDXID: string; checksums: Checksum[]; [member: string]: unknown }[] = [];
  // One after the other: the product has thousands.
  for (const file of await filesUnder(folder))
    files.push({
      SPDXID: `SPDXRef-File-${files.length}`,
      checksums: await checksums(file),
      fileName: `./${relative(folder, file)}`,
      licenseConcluded: 'NOASSERTION',
      copyrightText: 'NOASSERTION',
    });
  // As the specification defines it: over the sorted SHA-1 sums of all files.
  const sums = files.flatMap(({ checksums: own }) => own.filter(({ algorithm }) => algorithm === 'SHA1'));
  const code = createHash('sha1').update(
    sums
      .map(({ checksumValue }) => checksumValue)
      .sort()
      .join(''),
  );
  const image = {
    ...base,
    filesAnalyzed: true,
    packageVerificationCode: { packageVerificationCodeValue: code.digest('hex') },
    SPDXID: 'SPDXRef-Image',
    name,
    versionInfo: tag,
    downloadLocation: 'NOASSERTION',
    licenseDeclared: 'NOASSERTION',
    checksums: [{ algorithm: 'SHA256', checksumValue: hex }],
    primaryPackagePurpose: 'CONTAINER',
  };
  const contains = [...packages, ...files].map(({ SPDXID }) => ({
    spdxElementId: 'SPDXRef-Image',
    relationshipType: 'CONTAINS',
    relatedSpdxElement: SPDXID,
  }));
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `${name}-${tag}`,
    documentNamespace: `https://probeyard.dev/spdx/${name}-${tag}-${hex}`,
    creationInfo: { created, creators: ['Tool: probeyard-release'] },
    packages: [image, ...packages],
    files,
    relationships: [
      { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: 'SPDXRef-Image' },
      ...contains,
    ],
  };
}
