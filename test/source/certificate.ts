import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { cryptoProvider, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';

/** A self-signed certificate, trusted only where a test configures it. */
export async function makeCertificate(names: {
  dns?: string[];
  ip?: string[];
}): Promise<{ cert: string; key: string }> {
  cryptoProvider.set(webcrypto as never);
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=origin',
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + 86_400_000),
    extensions: [
      new SubjectAlternativeNameExtension([
        ...(names.dns ?? []).map((value) => ({ type: 'dns' as const, value })),
        ...(names.ip ?? []).map((value) => ({ type: 'ip' as const, value })),
      ]),
    ],
  });
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return {
    cert: certificate.toString('pem'),
    key: `-----BEGIN PRIVATE KEY-----\n${key.replace(/.{64}/g, '$&\n')}\n-----END PRIVATE KEY-----\n`,
  };
}
