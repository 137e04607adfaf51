import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { JSONWebKeySet } from 'jose';
import { boxKey, openBox, sealInBox } from '../../src/platform/seal/box.ts';
import { SealError } from '../../src/platform/seal/seal.ts';
import { boxKeys } from '../../src/service/setup/secrets.ts';

const made = (): JSONWebKeySet => JSON.parse(boxKeys()['box.jwks']!) as JSONWebKeySet;
const code = (expected: string) => (error: unknown) => error instanceof SealError && error.code === expected;

describe('seal: stored secrets', () => {
  it('open with a key of the setup, whatever algorithm it declares', async () => {
    const keys = made();
    for (const alg of [keys.keys[0]!.alg, 'dir', 'A256GCM', undefined]) {
      const those = { keys: [{ ...keys.keys[0]!, ...(alg === undefined ? {} : { alg }) }] };
      assert.equal(await openBox(await sealInBox('a secret', 'token:17', those), 'token:17', keys), 'a secret');
    }
  });

  it('do not open for another purpose, with another key, or altered', async () => {
    const keys = made();
    const sealed = await sealInBox('a secret', 'token:17', keys);
    assert.ok(!sealed.includes('a secret'));
    await assert.rejects(openBox(sealed, 'token:18', keys), code('seal-other-request'));
    await assert.rejects(openBox(sealed, 'token:17', made()), code('seal-unknown-key'));
    const sameName = { keys: [{ ...made().keys[0]!, kid: keys.keys[0]!.kid! }] };
    await assert.rejects(openBox(sealed, 'token:17', sameName), code('seal-unreadable'));
    const changed = Buffer.from(sealed);
    changed[changed.length - 30] = changed[changed.length - 30] === 65 ? 66 : 65;
    await assert.rejects(openBox(changed, 'token:17', keys), code('seal-unreadable'));
    await assert.rejects(openBox(Buffer.from('rubbish'), 'token:17', keys), code('seal-unreadable'));
  });

  it('are sealed with a newly added key, and earlier ones still open', async () => {
    const old = made();
    const both = { keys: [...old.keys, ...made().keys] };
    const before = await sealInBox('x', 'mail:1', old);
    assert.equal(await openBox(before, 'mail:1', both), 'x');
    await assert.rejects(openBox(await sealInBox('x', 'mail:1', both), 'mail:1', old), code('seal-unknown-key'));
  });

  it('are refused with a key set without a 256-bit key', () => {
    for (const keys of [
      [],
      [{ kty: 'oct', kid: 'a', k: randomBytes(16).toString('base64url') }],
      [{ kty: 'oct', k: randomBytes(32).toString('base64url') }],
      [{ kty: 'EC', kid: 'a' }],
    ]) {
      assert.throws(() => boxKey({ keys }), code('seal-no-key'));
    }
  });
});
