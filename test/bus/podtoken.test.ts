import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JSONWebKeySet, type JWK } from 'jose';
import { podTokenVerifier } from '../../src/platform/bus/podtoken.ts';

const ISSUER = 'https://kubernetes.default.svc';
const SUBJECT = 'system:serviceaccount:runners:probeyard-runner';
const uid = randomUUID();

describe('bus: tokens of pods', () => {
  let key: CryptoKey;
  let jwk: JWK;
  let asked: number;
  before(async () => {
    const pair = await generateKeyPair('RS256', { extractable: true });
    key = pair.privateKey;
    jwk = { ...(await exportJWK(pair.publicKey)), kid: 'cluster', alg: 'RS256', use: 'sig' };
  });
  beforeEach(() => {
    asked = 0;
  });

  const verifier = (keys: () => JSONWebKeySet = () => ({ keys: [jwk] })) =>
    podTokenVerifier({
      jwks: async () => {
        asked++;
        return keys();
      },
      issuer: async () => ISSUER,
      namespace: 'runners',
      serviceAccount: 'probeyard-runner',
    });
  const token = ({ kid = 'cluster', ends = true, account = 'probeyard-runner', subject = SUBJECT } = {}) => {
    const jwt = new SignJWT({
      'kubernetes.io': { namespace: 'runners', serviceaccount: { name: account }, pod: { name: 'runner-1', uid } },
    })
      .setProtectedHeader({ alg: 'RS256', kid })
      .setAudience('probeyard-nats')
      .setIssuer(ISSUER)
      .setSubject(subject);
    return (ends ? jwt.setExpirationTime('10 minutes') : jwt).sign(key);
  };

  it('a valid token names its pod', async () =>
    assert.deepEqual(await verifier()(await token()), { uid, pod: 'runner-1' }));

  it('a token without an expiry is refused', async () =>
    assert.rejects(verifier()(await token({ ends: false })), { code: 'token-malformed' }));

  it('keys that are no key set are unavailable, and asked for again', async () => {
    let keys: unknown = { kind: 'Status' };
    const verify = verifier(() => keys as JSONWebKeySet);
    await assert.rejects(verify(await token()), { code: 'keys-unavailable' });
    keys = { keys: [jwk] };
    await verify(await token());
  });

  it('a token of another service account is refused, by either of its claims', async () => {
    await assert.rejects(verifier()(await token({ account: 'other' })), { code: 'token-account' });
    await assert.rejects(verifier()(await token({ subject: 'system:serviceaccount:runners:other' })), {
      code: 'token-account',
    });
  });

  it('many unknown key ids cause one request to the API server', async () => {
    const verify = verifier();
    await verify(await token());
    for (let count = 0; count < 20; count++)
      await assert.rejects(verify(await token({ kid: `made-up-${count}` })), { code: 'token-signature' });
    assert.equal(asked, 1);
  });
});
