/**
 * Signs the C2PA samples again: `node images/sign_samples.ts`. Needs the built c2pa-sign (images/cargo_build.ts). The
 * keys are made for this one run and kept nowhere; the certificate is valid until 2066, because a signature without a
 * time stamp is judged by the time of the check.
 */
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import { withScratch } from './cache.ts';
import { builtC2pa } from './cargo_build.ts';
import { run } from './command.ts';
import { samplesFolder } from './samples_folder.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const VALID = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2066-01-01T00:00:00Z') };
const EMAIL_PROTECTION = '1.3.6.1.5.5.7.3.4';
const FILES = [
  { from: 'c2pa/unsigned.jpg', to: 'signed.jpg', format: 'image/jpeg' },
  { from: 'h264-aac.mp4', to: 'signed.mp4', format: 'video/mp4' },
];
const signed = join(import.meta.dirname, 'samples/signed');

async function newSigner(): Promise<{ chain: string; key: string; alg: string }> {
  x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]);
  const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const [issuing, keys] = [await newKeys(), await newKeys()];
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...VALID,
    serialNumber: '0101',
    name: 'CN=Samples root,O=Probeyard samples',
    keys: issuing,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 1, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(issuing.publicKey),
    ],
  });
  const leaf = await x509.X509CertificateGenerator.create({
    ...VALID,
    serialNumber: '0102',
    subject: 'CN=Samples signer,O=Probeyard samples',
    issuer: authority.subject,
    publicKey: keys.publicKey,
    signingKey: issuing.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([EMAIL_PROTECTION]),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(authority),
    ],
  });
  const key = x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return { chain: `${leaf.toString('pem')}\n${authority.toString('pem')}\n`, key, alg: 'es256' };
}

const programs = await builtC2pa();
if (programs === undefined) throw new Error('c2pa-sign is not built: npm exec -- node images/cargo_build.ts');
const [samples, signer] = [await samplesFolder(), await newSigner()];
await mkdir(signed, { recursive: true });
await withScratch(async (folder) => {
  const definition = { title: 'A sample', claim_generator_info: [{ name: 'Probeyard samples', version: '1' }] };
  const jobs = FILES.map(({ from, to, format }) => ({
    ...signer,
    input: join(samples, from),
    output: join(signed, to),
    format,
    definition,
  }));
  await writeFile(join(folder, 'jobs.json'), JSON.stringify(jobs), { mode: 0o600 });
  await run(programs['c2pa-sign'], [join(folder, 'jobs.json')]);
});
