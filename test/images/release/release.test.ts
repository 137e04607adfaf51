import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, verify, type KeyObject } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packChart, valuesWithDigests, withDigests } from '../../../images/release/chart.ts';
import { Layout, sha256, type Descriptor, type Manifest } from '../../../images/release/layout.ts';
import { MIRROR, imagesList } from '../../../images/release/papers.ts';
import { redistributable } from '../../../images/release/release.ts';
import { sbomOf } from '../../../images/release/sbom.ts';
import { attest, preAuthentication, publicKeyOf, readKey, signImage } from '../../../images/release/sign.ts';

const made: string[] = [];
const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'probeyard-release-'));
  made.push(path);
  return path;
};
after(() => {
  for (const path of made) rmSync(path, { recursive: true, force: true });
});

const pem = (curve: string): string =>
  generateKeyPairSync('ec', { namedCurve: curve }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** An image of one layer as an OCI archive. */
async function archive(
  layer: string,
  { architecture = 'amd64', spoil }: { architecture?: string; spoil?: (at: string) => void } = {},
): Promise<string> {
  const at = folder();
  const layout = new Layout(join(at, 'oci'));
  const stored = await layout.blob(layer, 'application/vnd.oci.image.layer.v1.tar');
  const config = await layout.blob(JSON.stringify({ os: 'linux', architecture }), 'application/vnd.oci.image.config');
  await layout.manifest('one:1', { config, layers: [stored] });
  await layout.close();
  spoil?.(layout.path(stored));
  const files = readdirSync(join(at, 'oci'));
  const { status, stderr } = spawnSync('tar', ['-cf', join(at, 'image.tar'), '-C', join(at, 'oci'), ...files]);
  assert.equal(status, 0, String(stderr));
  return join(at, 'image.tar');
}

describe('release: the layout', () => {
  it('is the same for the same content, and every blob has its digest', async () => {
    const [one, other] = await Promise.all(
      [0, 1].map(async () => {
        const layout = new Layout(join(folder(), 'oci'));
        for (const name of ['b', 'a'])
          await layout.name(`probeyard/${name}:1`, [await layout.take(await archive(name))]);
        await layout.close();
        return layout;
      }),
    );
    assert.ok(one && other);
    for (const name of readdirSync(join(one.folder, 'blobs/sha256')))
      assert.equal(sha256(readFileSync(join(one.folder, 'blobs/sha256', name))), `sha256:${name}`);
    assert.equal(
      readFileSync(join(one.folder, 'index.json'), 'utf8'),
      readFileSync(join(other.folder, 'index.json'), 'utf8'),
    );
    assert.match(imagesList(one), /^probeyard\/a:1@sha256:[0-9a-f]{64}\nprobeyard\/b:1@sha256:[0-9a-f]{64}\n$/);
  });

  it('has one name for an image of several architectures, by which each is found', async () => {
    const layout = new Layout(join(folder(), 'oci'));
    const builds = [];
    for (const architecture of ['amd64', 'arm64'])
      builds.push(await layout.take(await archive(architecture, { architecture })));
    const index = await layout.name('probeyard/a:1', builds);
    const { manifests } = await layout.read<{ manifests: Descriptor[] }>(index);
    assert.equal(index.mediaType, 'application/vnd.oci.image.index.v1+json');
    assert.deepEqual(
      manifests.map(({ digest, platform }) => [digest, platform]),
      [
        [builds[0]?.digest, { os: 'linux', architecture: 'amd64' }],
        [builds[1]?.digest, { os: 'linux', architecture: 'arm64' }],
      ],
    );
    assert.equal(imagesList(layout), `probeyard/a:1@${index.digest}\n`);
    const single = await layout.name('probeyard/b:1', builds.slice(0, 1));
    assert.deepEqual([single.digest, 'platform' in single], [builds[0]?.digest, false]);
  });

  it('takes no archive whose bytes are not those of its digests', async () => {
    const spoiled = await archive('layer', { spoil: (path) => writeFileSync(path, 'other') });
    await assert.rejects(new Layout(join(folder(), 'oci')).take(spoiled), {
      code: 'ARCHIVE_INVALID',
      message: /has other bytes/,
    });
  });
});

describe('release: the chart', () => {
  it('has the same bytes when it is packed again', async () => {
    const pack = async (): Promise<{ digest: string; bytes: Buffer }> => {
      const at = folder();
      const file = join(at, 'chart.tgz');
      const digest = `sha256:${'a'.repeat(64)}`;
      const images = [{ kind: 'product' as const, digest, architectures: ['amd64' as const] }];
      const name = 'probeyard/charts/probeyard:1';
      const packed = await packChart(new Layout(join(at, 'oci')), { name, images, seconds: 1_800_000_000, file });
      return { digest: packed.digest, bytes: readFileSync(file) };
    };
    const [one, other] = [await pack(), await pack()];
    assert.equal(one.digest, other.digest);
    assert.deepEqual(one.bytes, other.bytes);
  });
});

describe('release: signatures', () => {
  const signed = async (): Promise<{ layout: Layout; key: KeyObject; image: Descriptor }> => {
    const layout = new Layout(join(folder(), 'oci'));
    const key = readKey(pem('prime256v1'));
    const image = await layout.name('probeyard/a:1', [await layout.take(await archive('a'))]);
    await signImage(layout, key, 'probeyard/a:1', image);
    await attest(layout, key, 'probeyard/a:1', image, [{ predicateType: 'urn:x', predicate: { good: true } }]);
    return { layout, key, image };
  };
  const beside = async (layout: Layout, image: Descriptor, suffix: string): Promise<Manifest> => {
    const wanted = `probeyard/a:${image.digest.replace(':', '-')}.${suffix}`;
    const [, descriptor] = layout.names().find(([name]) => name === wanted) ?? assert.fail(`no ${wanted}`);
    return layout.read(descriptor);
  };

  it('name the digest of the image, and fit the public key alone', async () => {
    const { layout, key, image } = await signed();
    const [layer] = (await beside(layout, image, 'sig')).layers;
    assert.ok(layer);
    const payload = readFileSync(layout.path(layer));
    assert.equal(JSON.parse(payload.toString()).critical.image['docker-manifest-digest'], image.digest);
    const signature = Buffer.from(layer.annotations?.['dev.cosignproject.cosign/signature'] ?? '', 'base64');
    assert.ok(verify('sha256', payload, createPublicKey(publicKeyOf(key)), signature));
    assert.ok(!verify('sha256', payload, createPublicKey(publicKeyOf(readKey(pem('prime256v1')))), signature));
  });

  it('of a statement cover its type and text', async () => {
    const { layout, key, image } = await signed();
    const [layer] = (await beside(layout, image, 'att')).layers;
    assert.ok(layer);
    const { payloadType, payload, signatures } = await layout.read<{
      payloadType: string;
      payload: string;
      signatures: { sig: string }[];
    }>(layer);
    const body = Buffer.from(payload, 'base64');
    const { subject, predicate } = JSON.parse(body.toString()) as {
      subject: { digest: { sha256: string } }[];
      predicate: unknown;
    };
    assert.deepEqual([subject[0]?.digest.sha256, predicate], [image.digest.slice(7), { good: true }]);
    const sig = Buffer.from(signatures[0]?.sig ?? '', 'base64');
    assert.ok(verify('sha256', preAuthentication(payloadType, body), createPublicKey(publicKeyOf(key)), sig));
    assert.ok(!verify('sha256', preAuthentication('other', body), createPublicKey(publicKeyOf(key)), sig));
  });

  for (const [what, key] of [
    ['another curve', pem('secp384r1')],
    ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' })],
    ['no key', 'not a key'],
  ] as const)
    it(`are not made with ${what}`, () => assert.throws(() => readKey(key), { code: 'KEY_INVALID' }));
});

describe('release: chart and lists', () => {
  const images = [
    { kind: 'product', digest: 'sha256:p', architectures: ['amd64'] },
    { kind: 'tool', tool: 'ffprobe', version: '9.0', digest: 'sha256:t', architectures: ['amd64', 'arm64'] },
    { kind: 'tool', tool: 'ffprobe', version: '7.1', digest: 'sha256:s', architectures: ['amd64'] },
  ] as const;
  const arm64 = { command: ['a'] };

  it('the catalog has digests, and only tools of the release, each for the architectures that it has', () =>
    assert.deepEqual(
      withDigests(
        [
          { tool: 'ffprobe', version: '9.0', arm64 },
          { tool: 'ffprobe', version: '7.1', arm64 },
          { tool: 'ffprobe', version: '4.2' },
        ],
        images,
      ),
      [
        { tool: 'ffprobe', version: '9.0', arm64, digest: 'sha256:t' },
        { tool: 'ffprobe', version: '7.1', digest: 'sha256:s' },
      ],
    ));

  it('the values have digests, and keep their comments', () =>
    assert.equal(
      valuesWithDigests("# A\nimage:\n  # B\n  digest: ''\nnats: { image: { digest: '' } }\n", images),
      "# A\nimage:\n  # B\n  digest: 'sha256:p'\nnats: { image: { digest: '' } }\n",
    ));

  it('what may not be passed on is not in it', () => {
    const names = redistributable();
    assert.ok(names.includes('ffprobe-9.0'));
    assert.ok(!names.includes('ffprobe-4.2') && !names.includes('ffprobe-4.1'));
  });

  it('the script that copies it is a script for sh', () => {
    const { status, stderr } = spawnSync('sh', ['-n'], { input: MIRROR, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  });
});

describe('release: the bill of materials', () => {
  it('has each component and each file, with its checksum', async () => {
    const at = folder();
    await mkdir(join(at, 'bin'));
    writeFileSync(join(at, 'bin/tool'), 'bytes');
    const sbom = (await sbomOf({
      name: 'tool',
      tag: '1',
      digest: `sha256:${'a'.repeat(64)}`,
      created: '2026-01-01T00:00:00Z',
      components: [
        { name: 'lib', version: '2', licence: 'GPL-3.0-or-later (with --enable-gpl)', purl: 'pkg:deb/debian/lib@2' },
        { name: 'odd', version: '3', licence: 'MIT, with BSD-2-Clause' },
      ],
      folder: at,
    })) as {
      packages: { name: string; licenseDeclared: string; licenseComments?: string }[];
      files: { fileName: string; checksums: { algorithm: string; checksumValue: string }[] }[];
      relationships: unknown[];
    };
    assert.deepEqual(
      sbom.packages.map(({ name, licenseDeclared, licenseComments }) => [name, licenseDeclared, licenseComments]),
      [
        ['tool', 'NOASSERTION', undefined],
        ['lib', 'GPL-3.0-or-later', 'GPL-3.0-or-later (with --enable-gpl)'],
        ['odd', 'NOASSERTION', 'MIT, with BSD-2-Clause'],
      ],
    );
    assert.deepEqual(
      sbom.files.map(({ fileName, checksums }) => [fileName, `sha256:${checksums[1]?.checksumValue}`]),
      [['./bin/tool', sha256('bytes')]],
    );
    assert.equal(sbom.relationships.length, 4);
  });
});
