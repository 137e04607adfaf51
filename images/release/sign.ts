/**
 * Signatures and attestations as `cosign verify --key` and `cosign verify-attestation --key` read them, made with a
 * given key and without a transparency log. Both are manifests of their own, named after the digest of what they sign.
 */
import { createPrivateKey, createPublicKey, createSign, type KeyObject } from 'node:crypto';
import { ImageError } from '../image_error.ts';
import type { Descriptor, Layout } from './layout.ts';

const PAYLOAD = 'application/vnd.dev.cosign.simplesigning.v1+json';
const ENVELOPE = 'application/vnd.dsse.envelope.v1+json';
const STATEMENT = 'application/vnd.in-toto+json';
const CONFIG = 'application/vnd.oci.image.config.v1+json';

/** An EC key on the curve P-256 in PEM, as `openssl ecparam -name prime256v1 -genkey -noout` makes it. */
export function readKey(pem: string | Buffer): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw new ImageError('KEY_INVALID', 'the key is no private key in PEM without a password');
  }
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new ImageError('KEY_INVALID', 'the key is not an EC key on the curve P-256');
  return key;
}

export const publicKeyOf = (key: KeyObject): string =>
  createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();

const sign = (key: KeyObject, bytes: string | Buffer): string =>
  createSign('sha256').update(bytes).end().sign(key, 'base64');

/** cosign asks for a configuration that names the layers. */
async function configOf(layout: Layout, layers: readonly Descriptor[]): Promise<Descriptor> {
  const config = {
    architecture: '',
    config: {},
    created: '0001-01-01T00:00:00Z',
    history: layers.map(() => ({ created: '0001-01-01T00:00:00Z' })),
    os: '',
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
  };
  return layout.blob(JSON.stringify(config), CONFIG);
}

const besideName = (repository: string, { digest }: Descriptor, suffix: string): string =>
  `${repository}:${digest.replace(':', '-')}.${suffix}`;

/** Signs an image or chart. `name` is its name in the layout, `repository:tag`. */
export async function signImage(layout: Layout, key: KeyObject, name: string, image: Descriptor): Promise<void> {
  const [repository = ''] = name.split(':');
  const payload = JSON.stringify({
    critical: {
      identity: { 'docker-reference': repository },
      image: { 'docker-manifest-digest': image.digest },
      type: 'cosign container image signature',
    },
    optional: null,
  });
  const layer = await layout.blob(payload, PAYLOAD);
  const layers = [{ ...layer, annotations: { 'dev.cosignproject.cosign/signature': sign(key, payload) } }];
  await layout.manifest(besideName(repository, image, 'sig'), { config: await configOf(layout, layers), layers });
}

export interface Attestation {
  predicateType: string;
  predicate: unknown;
}

/** What DSSE signs. */
export function preAuthentication(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${body.length} `), body]);
}

/** Attaches signed statements about an image: its bill of materials, its provenance. */
export async function attest(
  layout: Layout,
  key: KeyObject,
  name: string,
  image: Descriptor,
  attestations: readonly Attestation[],
): Promise<void> {
  const [repository = ''] = name.split(':');
  const layers: Descriptor[] = [];
  for (const { predicateType, predicate } of attestations) {
    const statement = {
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: repository, digest: { sha256: image.digest.slice('sha256:'.length) } }],
      predicateType,
      predicate,
    };
    const body = Buffer.from(JSON.stringify(statement));
    const envelope = {
      payloadType: STATEMENT,
      payload: body.toString('base64'),
      signatures: [{ keyid: '', sig: sign(key, preAuthentication(STATEMENT, body)) }],
    };
    const layer = await layout.blob(JSON.stringify(envelope), ENVELOPE);
    layers.push({ ...layer, annotations: { 'dev.cosignproject.cosign/signature': '', predicateType } });
  }
  await layout.manifest(besideName(repository, image, 'att'), { config: await configOf(layout, layers), layers });
}
