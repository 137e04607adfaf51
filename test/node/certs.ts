// Required by the dependency injection of the certificate library.
import 'reflect-metadata';
import { webcrypto, X509Certificate as Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import { writeWhole } from './daemon.ts';

export interface Leaf {
  /** The file name without its extension. */
  name: string;
  ca: string;
  commonName: string;
  organization?: string;
  /** Names and addresses of a server. A leaf without any is for a client. */
  hosts?: readonly string[];
}

const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY = 86_400_000;
const CA_DAYS = 3650;
const LEAF_DAYS = 365;
/** A leaf with less time left is reissued by the next `make up`; the servers reload it on their own. */
const RENEW_DAYS = 30;

x509.cryptoProvider.set(webcrypto);

/** Makes missing certificate authorities, and leaves that are missing, changed or about to expire. */
export async function ensureCertificates(
  folder: string,
  authorities: readonly string[],
  leaves: readonly Leaf[],
): Promise<void> {
  for (const name of authorities) await ensureAuthority(folder, name);
  for (const leaf of leaves) await ensureLeaf(folder, leaf);
}

/** The key that signs service account tokens, and its public half. */
export async function ensureServiceAccountKey(folder: string): Promise<void> {
  if (existsSync(join(folder, 'service-account.pub'))) return;
  const algorithm = {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
  };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  await writeWhole(
    join(folder, 'service-account.key'),
    pem('PRIVATE KEY', await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)),
  );
  await writeWhole(
    join(folder, 'service-account.pub'),
    pem('PUBLIC KEY', await webcrypto.subtle.exportKey('spki', keys.publicKey)),
  );
}

async function ensureAuthority(folder: string, name: string): Promise<void> {
  // The certificate is written last, so the key exists if it does.
  if (existsSync(join(folder, `${name}.crt`))) return;
  const keys = await webcrypto.subtle.generateKey(EC, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [name] }],
    notBefore: new Date(Date.now() - DAY),
    notAfter: new Date(Date.now() + CA_DAYS * DAY),
    signingAlgorithm: EC,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  await writeKeyAndCertificate(folder, name, keys, certificate);
}

async function ensureLeaf(folder: string, leaf: Leaf): Promise<void> {
  const plan = JSON.stringify(leaf);
  const planFile = join(folder, `${leaf.name}.plan`);
  if (
    (await readFile(planFile, 'utf8').catch(() => '')) === plan &&
    (await daysLeft(join(folder, `${leaf.name}.crt`))) > RENEW_DAYS
  )
    return;
  const issuer = new x509.X509Certificate(await readFile(join(folder, `${leaf.ca}.crt`), 'utf8'));
  const signingKey = await importKey(await readFile(join(folder, `${leaf.ca}.key`), 'utf8'));
  const keys = await webcrypto.subtle.generateKey(EC, true, ['sign', 'verify']);
  const { clientAuth, serverAuth } = x509.ExtendedKeyUsage;
  const hosts = leaf.hosts ?? [];
  const certificate = await x509.X509CertificateGenerator.create({
    subject: [...(leaf.organization === undefined ? [] : [{ O: [leaf.organization] }]), { CN: [leaf.commonName] }],
    issuer: issuer.subject,
    notBefore: new Date(Date.now() - DAY),
    notAfter: new Date(Date.now() + LEAF_DAYS * DAY),
    signingAlgorithm: EC,
    publicKey: keys.publicKey,
    signingKey: signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      // The etcd server connects to itself to check its health.
      new x509.ExtendedKeyUsageExtension(hosts.length > 0 ? [serverAuth, clientAuth] : [clientAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      ...(hosts.length > 0
        ? [
            new x509.SubjectAlternativeNameExtension(
              hosts.map((value) => ({ type: /^[\d.]+$|:/.test(value) ? ('ip' as const) : ('dns' as const), value })),
            ),
          ]
        : []),
    ],
  });
  await writeKeyAndCertificate(folder, leaf.name, keys, certificate);
  await writeWhole(planFile, plan);
}

async function writeKeyAndCertificate(
  folder: string,
  name: string,
  keys: webcrypto.CryptoKeyPair,
  certificate: x509.X509Certificate,
): Promise<void> {
  await writeWhole(
    join(folder, `${name}.key`),
    pem('PRIVATE KEY', await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)),
  );
  await writeWhole(join(folder, `${name}.crt`), `${certificate.toString('pem')}\n`);
}

async function daysLeft(file: string): Promise<number> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text === undefined ? 0 : (new Certificate(text).validToDate.getTime() - Date.now()) / DAY;
}

async function importKey(text: string): Promise<webcrypto.CryptoKey> {
  const base64 = text.replace(/-----[^-]+-----|\s/g, '');
  return webcrypto.subtle.importKey('pkcs8', Buffer.from(base64, 'base64'), EC, false, ['sign']);
}

function pem(label: string, bytes: ArrayBuffer): string {
  const lines = Buffer.from(bytes).toString('base64').replace(/.{64}/g, '$&\n');
  return `-----BEGIN ${label}-----\n${lines.trimEnd()}\n-----END ${label}-----\n`;
}
