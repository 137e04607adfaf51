import assert from 'node:assert/strict';
import { compactDecrypt, CompactEncrypt, exportJWK, generateKeyPair, type JSONWebKeySet, type JWK } from 'jose';
import { openSealed, sealSource } from '../../src/platform/seal/seal.ts';

const binding = { requestId: '0190a5c1-0000-7000-8000-000000000001', tokenId: 17 };
const source = 's3://KEY:SE/CRET@bucket/päth?q=1';

async function pair(kid: string, crv: 'P-256' | 'X25519') {
  const { publicKey, privateKey } = await generateKeyPair('ECDH-ES', { crv, extractable: true });
  return { open: { ...(await exportJWK(publicKey)), kid }, secret: { ...(await exportJWK(privateKey)), kid } };
}

const byJose = (key: JWK): Promise<string> =>
  new CompactEncrypt(new TextEncoder().encode(source))
    .setProtectedHeader({
      alg: 'ECDH-ES',
      enc: 'A256GCM',
      kid: key.kid!,
      rid: binding.requestId,
      tid: binding.tokenId,
    })
    .encrypt(key);

describe('a sealed source', () => {
  let publicKeys: JSONWebKeySet;
  let privateKeys: JSONWebKeySet;

  before(async () => {
    const [old, fresh] = [await pair('old', 'P-256'), await pair('fresh', 'X25519')];
    publicKeys = { keys: [old.open, fresh.open] };
    privateKeys = { keys: [old.secret, fresh.secret] };
  });

  it('opens for the request and the token that it was sealed for', async () => {
    assert.equal(openSealed(sealSource(source, binding, publicKeys), binding, privateKeys), source);
  });

  it('is sealed with the newest key, and opens if sealed with an older one', async () => {
    const newest = sealSource(source, binding, publicKeys);
    assert.equal(JSON.parse(Buffer.from(newest.split('.')[0]!, 'base64url').toString()).kid, 'fresh');
    const older = sealSource(source, binding, { keys: [publicKeys.keys[0]!] });
    assert.equal(openSealed(older, binding, privateKeys), source);
  });

  it('reveals nothing of the source, and differs each time', async () => {
    const [one, two] = [sealSource(source, binding, publicKeys), sealSource(source, binding, publicKeys)];
    assert.notEqual(one, two);
    const shown = one
      .split('.')
      .map((part) => Buffer.from(part, 'base64url').toString('latin1'))
      .join('');
    assert.ok(!shown.includes('CRET') && !shown.includes('bucket'));
  });

  it('fits a ProbeJob at the maximum length of a source', async () => {
    assert.ok(sealSource('é'.repeat(8192), binding, publicKeys).length <= 24576);
  });

  it('does not open in another job or for another token', async () => {
    const sealed = sealSource(source, binding, publicKeys);
    for (const other of [
      { ...binding, requestId: '0190a5c1-0000-7000-8000-000000000002' },
      { ...binding, tokenId: 18 },
    ]) {
      assert.throws(() => openSealed(sealed, other, privateKeys), {
        code: 'seal-other-request',
        message: 'the sealed source belongs to another request',
      });
    }
  });

  it('does not open if a byte of any part was changed', async () => {
    const parts = sealSource(source, binding, publicKeys).split('.');
    for (const index of [2, 3, 4]) {
      const changed = parts.with(index, (parts[index]!.startsWith('A') ? 'B' : 'A') + parts[index]!.slice(1));
      assert.throws(() => openSealed(changed.join('.'), binding, privateKeys), {
        code: 'seal-unreadable',
        message: 'the sealed source cannot be opened',
      });
    }
  });

  it('leaves later errors their stacks, whether it opens or not', () => {
    const { stackTraceLimit } = Error;
    const sealed = sealSource(source, binding, publicKeys);
    openSealed(sealed, binding, privateKeys);
    assert.throws(() => openSealed(`${sealed}A`, binding, privateKeys));
    assert.equal(Error.stackTraceLimit, stackTraceLimit);
  });

  it('does not open with the header of another request', async () => {
    const parts = sealSource(source, { ...binding, tokenId: 99 }, publicKeys).split('.');
    const header = JSON.parse(Buffer.from(parts[0]!, 'base64url').toString());
    parts[0] = Buffer.from(JSON.stringify({ ...header, tid: 17 })).toString('base64url');
    assert.throws(() => openSealed(parts.join('.'), binding, privateKeys), { code: 'seal-unreadable' });
  });

  it('is refused if sealed with another algorithm or an unknown key, or not sealed at all', async () => {
    const wrapped = await new CompactEncrypt(new TextEncoder().encode(source))
      .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A128CBC-HS256', kid: 'old', rid: binding.requestId, tid: 17 })
      .encrypt(publicKeys.keys[0]!);
    assert.throws(() => openSealed(wrapped, binding, privateKeys), { code: 'seal-unreadable' });
    const sealed = sealSource(source, binding, publicKeys);
    assert.throws(() => openSealed(sealed, binding, { keys: [privateKeys.keys[0]!] }), { code: 'seal-unknown-key' });
    for (const none of ['', 'a.b.c.d.e', source, sealed.slice(0, -30)]) {
      assert.throws(() => openSealed(none, binding, privateKeys), { code: 'seal-unreadable' });
    }
  });

  for (const [title, key] of [
    ['without a key', undefined],
    ['for a key without an id', { kty: 'OKP', crv: 'X25519' }],
    ['for a key that asks for another algorithm', { kty: 'OKP', crv: 'X25519', kid: 'k', alg: 'ECDH-ES+A256KW' }],
    ['for a key to sign with', { kty: 'OKP', crv: 'Ed25519', kid: 'k', alg: 'EdDSA' }],
  ] as const)
    it(`cannot be made ${title}`, () =>
      assert.throws(() => sealSource(source, binding, { keys: key ? [key] : [] }), { code: 'seal-no-key' }));

  for (const crv of ['P-256', 'X25519'] as const) {
    it(`is what jose opens, and the other way round: ${crv}`, async () => {
      const { open, secret } = await pair('of jose', crv);
      const sealed = sealSource(source, binding, { keys: [open] });
      const { plaintext, protectedHeader } = await compactDecrypt(sealed, secret, {
        keyManagementAlgorithms: ['ECDH-ES'],
        contentEncryptionAlgorithms: ['A256GCM'],
      });
      assert.equal(new TextDecoder().decode(plaintext), source);
      assert.deepEqual([protectedHeader['rid'], protectedHeader['tid']], [binding.requestId, binding.tokenId]);
      assert.equal(openSealed(await byJose(open), binding, { keys: [secret] }), source);
    });
  }

  for (const [title, change] of [
    ['parties in the header', { apu: 'QWxpY2U' }],
    ['an extension that must be understood', { crit: ['exp'] }],
    ['compression', { zip: 'DEF' }],
    ['no algorithm', { alg: 'none' }],
    ['a direct key', { alg: 'dir' }],
    ['no ephemeral key', { epk: undefined }],
    ['an ephemeral key that is none', { epk: { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' } }],
    ['an ephemeral key of another curve', { epk: { kty: 'OKP', crv: 'X25519', x: 'A'.repeat(42) + 'E' } }],
    ['a point that is not on the curve', { epk: { kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'A'.repeat(43) } }],
  ] as const)
    it(`is not opened with ${title}`, () => {
      const [head, ...parts] = sealSource(source, binding, { keys: [publicKeys.keys[0]!] }).split('.');
      const header = { ...JSON.parse(Buffer.from(head!, 'base64url').toString()), ...change };
      const changed = [Buffer.from(JSON.stringify(header)).toString('base64url'), ...parts].join('.');
      assert.throws(() => openSealed(changed, binding, privateKeys), { code: 'seal-unreadable' });
    });

  it('is not opened with a short tag, with a wrapped key, or with parts that are missing or too many', () => {
    const sealed = sealSource(source, binding, publicKeys);
    const parts = sealed.split('.');
    for (const changed of [
      parts.with(4, parts[4]!.slice(0, 6)),
      parts.with(4, ''),
      parts.with(2, ''),
      parts.with(1, 'AAAA'),
      parts.slice(0, 4),
      [...parts, 'AAAA'],
    ])
      assert.throws(() => openSealed(changed.join('.'), binding, privateKeys), { code: 'seal-unreadable' });
  });
});
