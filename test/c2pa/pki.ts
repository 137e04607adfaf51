/** Keys and certificates of signers, created for each run, both valid ones and every kind that must not be trusted. */
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]);

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;
const USAGE = { emailProtection: '1.3.6.1.5.5.7.3.4', serverAuth: '1.3.6.1.5.5.7.3.1' } as const;

type KeyPair = Awaited<ReturnType<typeof newKeys>>;
const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
const serial = (): string => `01${Buffer.from(webcrypto.getRandomValues(new Uint8Array(15))).toString('hex')}`;
const pemOf = async (key: webcrypto.CryptoKey): Promise<string> =>
  x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');

export interface Authority {
  certificate: x509.X509Certificate;
  keys: KeyPair;
  pem: string;
}
export interface Signer {
  chain: string;
  key: string;
  alg: 'es256';
}

export async function newAuthority(name: string): Promise<Authority> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: `CN=${name},O=Probeyard tests,C=CH`,
    keys,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(Date.now() - 400 * DAY_MS),
    notAfter: new Date(Date.now() + 400 * DAY_MS),
    extensions: [
      new x509.BasicConstraintsExtension(true, 1, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate, keys, pem: certificate.toString('pem') };
}

export interface Leaf {
  from?: number;
  to?: number;
  usage?: string;
  isAuthority?: boolean;
}

/** `from` and `to` are in days from now. */
export async function newSigner(
  { certificate, keys: issuing, pem }: Authority,
  { from = -30, to = 300, usage = USAGE.emailProtection, isAuthority = false }: Leaf = {},
): Promise<Signer> {
  const keys = await newKeys();
  const leaf = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: 'CN=Signer,O=Probeyard tests,C=CH',
    issuer: certificate.subject,
    publicKey: keys.publicKey,
    signingKey: issuing.privateKey,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(Date.now() + from * DAY_MS),
    notAfter: new Date(Date.now() + to * DAY_MS),
    extensions: [
      new x509.BasicConstraintsExtension(isAuthority, undefined, true),
      new x509.KeyUsagesExtension(
        isAuthority ? x509.KeyUsageFlags.keyCertSign : x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      new x509.ExtendedKeyUsageExtension([usage]),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(certificate),
    ],
  });
  return { chain: `${leaf.toString('pem')}\n${pem}\n`, key: await pemOf(keys.privateKey), alg: 'es256' };
}

export const SERVER_AUTH = USAGE.serverAuth;
