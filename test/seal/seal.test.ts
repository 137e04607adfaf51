import assert from 'node:assert/strict';
import { CompactEncrypt, exportJWK, generateKeyPair, type JSONWebKeySet } from 'jose';
import { openSealed, sealSource } from '../../src/platform/seal/seal.ts';

const binding = { requestId: '0190a5c1-0000-7000-8000-000000000001', tokenId: 17 };
const source = 's3://KEY:SE/CRET@bucket/päth?q=1';

async function pair(kid: string, crv: 'P-256' | 'X25519') {
  const { publicKey, privateKey } = await generateKeyPair('ECDH-ES', { crv, extractable: true });
  return { open: { ...(await exportJWK(publicKey)), kid }, secret: { ...(await exportJWK(privateKey)), kid } };
}

describe('a sealed source', () => {
  let publicKeys: JSONWebKeySet;
  let privateKeys: JSONWebKeySet;

  before(async () => {
    const [old, fresh] = [await pair('old', 'P-256'), await pair('fresh', 'X25519')];
    publicKeys = { keys: [old.open, fresh.open] };
    privateKeys = { keys: [old.secret, fresh.secret] };
  });

  it('opens for the request and the token that it was sealed for', async () => {
    assert.equal(await openSealed(await sealSource(source, binding, publicKeys), binding, privateKeys), source);
  });

  it('is sealed with the newest key, and opens if sealed with an older one', async () => {
    const newest = await sealSource(source, binding, publicKeys);
    assert.equal(JSON.parse(Buffer.from(newest.split('.')[0]!, 'base64url').toString()).kid, 'fresh');
    const older = await sealSource(source, binding, { keys: [publicKeys.keys[0]!] });
    assert.equal(await openSealed(older, binding, privateKeys), source);
  });

  it('reveals nothing of the source, and differs each time', async () => {
    const [one, two] = [await sealSource(source, binding, publicKeys), await sealSource(source, binding, publicKeys)];
    assert.notEqual(one, two);
    const shown = one
      .split('.')
      .map((part) => Buffer.from(part, 'base64url').toString('latin1'))
      .join('');
    assert.ok(!shown.includes('CRET') && !shown.includes('bucket'));
  });

  it('fits a ProbeJob at the maximum length of a source', async () => {
    assert.ok((await sealSource('é'.repeat(8192), binding, publicKeys)).length <= 24576);
  });

  it('does not open in another job or for another token', async () => {
    const sealed = await sealSource(source, binding, publicKeys);
    for (const other of [
      { ...binding, requestId: '0190a5c1-0000-7000-8000-000000000002' },
      { ...binding, tokenId: 18 },
    ]) {
      await assert.rejects(openSealed(sealed, other, privateKeys), {
        code: 'seal-other-request',
        message: 'the sealed source belongs to another request',
      });
    }
  });

  it('does not open if a byte of any part was changed', async () => {
    const parts = (await sealSource(source, binding, publicKeys)).split('.');
    for (const index of [2, 3, 4]) {
      const changed = parts.with(index, (parts[index]!.startsWith('A') ? 'B' : 'A') + parts[index]!.slice(1));
      await assert.rejects(openSealed(changed.join('.'), binding, privateKeys), {
        code: 'seal-unreadable',
        message: 'the sealed source cannot be opened',
      });
    }
  });

  it('does not open with the header of another request', async () => {
    const parts = (await sealSource(source, { ...binding, tokenId: 99 }, publicKeys)).split('.');
    const header = JSON.parse(Buffer.from(parts[0]!, 'base64url').toString());
    parts[0] = Buffer.from(JSON.stringify({ ...header, tid: 17 })).toString('base64url');
    await assert.rejects(openSealed(parts.join('.'), binding, privateKeys), { code: 'seal-unreadable' });
  });

  it('is refused if sealed with another algorithm or an unknown key, or not sealed at all', async () => {
    const wrapped = await new CompactEncrypt(new TextEncoder().encode(source))
      .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A128CBC-HS256', kid: 'old', rid: binding.requestId, tid: 17 })
      .encrypt(publicKeys.keys[0]!);
    await assert.rejects(openSealed(wrapped, binding, privateKeys), { code: 'seal-unreadable' });
    const sealed = await sealSource(source, binding, publicKeys);
    await assert.rejects(openSealed(sealed, binding, { keys: [privateKeys.keys[0]!] }), { code: 'seal-unknown-key' });
    for (const none of ['', 'a.b.c.d.e', source, sealed.slice(0, -30)]) {
      await assert.rejects(openSealed(none, binding, privateKeys), { code: 'seal-unreadable' });
    }
  });

  it('uses the key wrapping that the key declares', async () => {
    const wrapping = (set: JSONWebKeySet): JSONWebKeySet => ({
      keys: [{ ...set.keys[0]!, alg: 'ECDH-ES+A256KW', use: 'enc' }],
    });
    assert.equal(
      await openSealed(await sealSource(source, binding, wrapping(publicKeys)), binding, wrapping(privateKeys)),
      source,
    );
  });

  it('cannot be made without a key', async () => {
    await assert.rejects(sealSource(source, binding, { keys: [] }), { code: 'seal-no-key' });
  });
});
