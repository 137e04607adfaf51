/** The installation's own certificate authority, and NATS' server certificate issued by it. */
import 'reflect-metadata';
import { webcrypto, X509Certificate as NodeCertificate } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import type { SecretData } from './secrets.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;
const CA_DAYS = 3_650;
const SERVER_DAYS = 365;
/** Renewed when less than this share of its lifetime remains, as cert-manager does. */
const RENEW_FROM = 1 / 3;

x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]);

const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
const serial = (): string => `01${Buffer.from(webcrypto.getRandomValues(new Uint8Array(15))).toString('hex')}`;
const pemOf = async (key: webcrypto.CryptoKey): Promise<string> =>
  x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');

const importKey = (pem: string): Promise<webcrypto.CryptoKey> =>
  webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(pem), ALGORITHM, false, ['sign']);

/** A certificate of the server by this authority; of several in `caPem`, by the first. */
export async function issuedBy(caPem: string, caKey: string, hosts: string[], now = new Date()): Promise<SecretData> {
  const ca = new x509.X509Certificate(x509.PemConverter.decodeFirst(caPem));
  // Clients reject a certificate whose CA has expired, whatever its own expiry.
  const end = Math.min(now.getTime() + SERVER_DAYS * DAY_MS, ca.notAfter.getTime());
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: `CN=${hosts[0] ?? 'nats'}`,
    issuer: ca.subject,
    notBefore: new Date(now.getTime() - 3_600_000),
    notAfter: new Date(end),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: await importKey(caKey),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      // Servers of a cluster are clients of one another.
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
      new x509.SubjectAlternativeNameExtension(hosts.map((value) => ({ type: 'dns' as const, value }))),
      await x509.AuthorityKeyIdentifierExtension.create(ca),
    ],
  });
  return { 'tls.crt': certificate.toString('pem'), 'tls.key': await pemOf(keys.privateKey) };
}

export async function newAuthority(now = new Date()): Promise<{ crt: string; key: string }> {
  const keys = await newKeys();
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: 'CN=Probeyard NATS CA',
    notBefore: new Date(now.getTime() - 3_600_000),
    notAfter: new Date(now.getTime() + CA_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { crt: ca.toString('pem'), key: await pemOf(keys.privateKey) };
}

export async function natsTls(hosts: string[], now = new Date()): Promise<SecretData> {
  const { crt, key } = await newAuthority(now);
  return { 'ca.crt': crt, 'ca.key': key, ...(await issuedBy(crt, key, hosts, now)) };
}

/**
 * The renewed parts; undefined if the certificate is valid for long enough, for all hosts and as a client, or if the CA
 * key is not here (a given Secret).
 */
export async function renewed(data: SecretData, hosts: string[], now = new Date()): Promise<SecretData | undefined> {
  const { 'tls.crt': current, 'ca.crt': caPem, 'ca.key': caKey } = data;
  if (!current || !caPem || !caKey) return undefined;
  const certificate = new NodeCertificate(current);
  const end = Date.parse(certificate.validTo);
  const left = end - now.getTime();
  if (
    left > (end - Date.parse(certificate.validFrom)) * RENEW_FROM &&
    hosts.every((host) => certificate.checkHost(host) !== undefined) &&
    (certificate.keyUsage ?? []).includes(x509.ExtendedKeyUsage.clientAuth)
  )
    return undefined;
  return issuedBy(caPem, caKey, hosts, now);
}
