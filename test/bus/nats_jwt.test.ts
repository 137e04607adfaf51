import assert from 'node:assert/strict';
import { createAccount, decode, encodeGeneric } from '@nats-io/jwt';
import { signerOf, verifiedClaims } from '../../src/platform/bus/nats_jwt.ts';

const seedOf = (key: ReturnType<typeof createAccount>) => new TextDecoder().decode(key.getSeed());

describe('bus: JWTs of NATS', () => {
  it("NATS' own library reads what we sign", () => {
    const account = createAccount();
    const signer = signerOf(seedOf(account));
    assert.equal(signer.publicKey, account.getPublicKey());
    const claims = decode<{ type: string }>(signer.sign({ sub: 'someone', aud: 'A', exp: 5, nats: { type: 'user' } }));
    assert.deepEqual(
      [claims.iss, claims.sub, claims.aud, claims.exp, claims.nats.type],
      [account.getPublicKey(), 'someone', 'A', 5, 'user'],
    );
  });

  it("we read what NATS' own library signs", async () => {
    const account = createAccount();
    const claims = verifiedClaims<{ answer: number }>(
      await encodeGeneric('name', account, 'kind', { answer: 42 }, { aud: 'A' }),
    );
    assert.deepEqual([claims.iss, claims.aud, claims.nats.answer], [account.getPublicKey(), 'A', 42]);
  });

  const good = signerOf(seedOf(createAccount())).sign({ sub: 'x', nats: {} });
  const [header = '', body = '', signature = ''] = good.split('.');
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as object;
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const bad: [string, string, RegExp][] = [
    ['a changed body', `${header}.${encode({ ...claims, sub: 'y' })}.${signature}`, /invalid signature/],
    [
      'another issuer',
      `${header}.${encode({ ...claims, iss: createAccount().getPublicKey() })}.${signature}`,
      /invalid signature/,
    ],
    ['no signature', `${header}.${body}.`, /invalid signature/],
    ['another algorithm', `${encode({ typ: 'JWT', alg: 'none' })}.${body}.`, /not a JWT of NATS/],
    ['no issuer', `${header}.${encode({ nats: {} })}.${signature}`, /has no issuer/],
    ['an issuer that is not a key', `${header}.${encode({ iss: 'N0', nats: {} })}.${signature}`, /not an nkey/],
    ['not a JWT', 'hello', /./],
  ];
  for (const [what, jwt, message] of bad)
    it(`refuses ${what}`, () => assert.throws(() => verifiedClaims(jwt), message));

  it('refuses an invalid seed', () => assert.throws(() => signerOf('SAAA')));
});
