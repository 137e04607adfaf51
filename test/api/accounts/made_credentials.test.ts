/** What a credential creates ends with it: JWTs of tokens and of JWTs, tokens of tokens, in any order of calls. */
import assert from 'node:assert/strict';
import { until } from '../../until.ts';
import { PASSWORD, startManagement, type Management, type Person } from './fixture.ts';

type Credential = { token: string } | { jwt: string };

describe('management: credentials created by a credential', function () {
  this.timeout(60_000);
  let m: Management;
  let ann: Person;
  before(async () => {
    m = await startManagement();
    ann = await m.person('ann');
  });
  after(() => m.stop());

  const tokenBy = async (by: Credential, body: object = {}) => {
    const made = await m.call('POST', 'auth/api-token', { ...by, body });
    assert.equal(made.status, 201, made.text);
    return {
      id: made.json['id'] as number,
      token: made.json['token'] as string,
      expires: made.json['expires'] as string | undefined,
    };
  };
  const jwtBy = async (by: Credential, body: object = {}) => {
    const made = await m.call('POST', 'auth/jwt', { ...by, body });
    assert.equal(made.status, 200, made.text);
    return { jwt: made.json['token'] as string, expire: made.json['expire'] as string };
  };
  const signIn = async () => ({
    jwt: (await m.call('POST', 'auth/sign-in', { body: { email: ann.email, password: PASSWORD } })).json['jwt-token']
      .token as string,
  });
  const status = async (by: Credential, at = m.replicas[0]) =>
    (await m.call('GET', 'user/current', { ...by, at })).status;
  const endsEverywhere = async (what: string, by: Credential) => {
    for (const at of m.replicas)
      await until(`${what} is refused on ${at.url}`, async () => (await status(by, at)) === 401, 2_000);
  };
  const sessionOf = (jwt: string) =>
    (JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString()) as { jti: string }).jti;

  /** Token A creates J1, J1 creates J2, J2 creates token B, B creates J3, A creates token C. */
  async function family(ttl: number | null = 3_600_000) {
    const a = await tokenBy({ token: ann.token }, { ttl });
    const j1 = await jwtBy(a);
    const j2 = await jwtBy(j1);
    const b = await tokenBy(j2, { ttl: 60_000 });
    const j3 = await jwtBy({ token: b.token });
    const c = await tokenBy({ token: a.token }, { ttl: 120_000 });
    const all: [string, Credential][] = [
      ['J1', j1],
      ['J2', j2],
      ['B', { token: b.token }],
      ['J3', j3],
      ['C', { token: c.token }],
    ];
    for (const [what, one] of all) for (const at of m.replicas) assert.equal(await status(one, at), 200, what);
    return { a, j1, j2, b, j3, c, all };
  }

  it('a JWT of a JWT expires no later than the API token that both derive from', async () => {
    const { a, j1, j2, b, j3 } = await family();
    for (const { expire } of [j1, j2]) assert.ok(Date.parse(expire) <= Date.parse(a.expires!));
    assert.ok(Date.parse(j3.expire) <= Date.parse(b.expires!));
  });

  const ends: [string, (a: { id: number; token: string }) => Promise<unknown>][] = [
    ['revoked', (a) => m.call('DELETE', `auth/api-token/${a.id}`, { token: ann.token })],
    ['rotated', (a) => m.call('PUT', `auth/api-token/${a.id}`, { token: ann.token, body: { rotate: true } })],
    ['about to expire', (a) => m.call('PUT', `auth/api-token/${a.id}`, { token: ann.token, body: { ttl: 1_000 } })],
  ];
  for (const [how, end] of ends) {
    for (const ttl of [3_600_000, null]) {
      const token = `an API token ${ttl === null ? 'without' : 'with'} an end`;
      it(`${token} that is ${how}: credentials created with it are refused`, async () => {
        const { a, all } = await family(ttl);
        const { status: done } = await end(a).then((answer) => answer as { status: number });
        assert.ok(done < 300, String(done));
        for (const [what, one] of all) await endsEverywhere(what, one);
      });
    }
  }

  it('an API token that expires ends its JWTs and tokens', async () => {
    const a = await tokenBy({ token: ann.token }, { ttl: 2_000 });
    const j1 = await jwtBy(a);
    const j2 = await jwtBy(j1);
    for (const [what, one] of [
      ['J1', j1],
      ['J2', j2],
    ] as const)
      await until(`${what} has ended`, async () => (await status(one)) === 401, 5_000);
  });

  it('ending a session ends what its JWT created, and not the session that created it', async () => {
    const s = await signIn();
    const [j1, other] = [await jwtBy(s), await jwtBy(s)];
    const [j2, b] = [await jwtBy(j1), await tokenBy(j1, { ttl: 60_000 })];
    assert.equal((await m.call('DELETE', `auth/session/${sessionOf(j1.jwt)}`, s)).status, 204);
    for (const [what, one] of [
      ['J1', j1],
      ['J2', j2],
      ['B', { token: b.token }],
    ] as [string, Credential][])
      await endsEverywhere(what, one);
    assert.deepEqual([await status(s), await status(other)], [200, 200]);
    const { json } = await m.call('GET', 'auth/session', s);
    const listed = (json['sessions'] as { id: string }[]).map(({ id }) => id);
    assert.deepEqual(
      [sessionOf(j1.jwt), sessionOf(j2.jwt), sessionOf(other.jwt)].map((id) => listed.includes(id)),
      [false, false, true],
    );
  });

  it('a sign-out ends the JWTs of its session, and keeps API tokens', async () => {
    const s = await signIn();
    const [own, j1] = [await tokenBy(s), await jwtBy(s)];
    const b = await tokenBy(j1, { ttl: 60_000 });
    assert.equal(own.expires, undefined);
    assert.equal((await m.call('DELETE', 'auth/sign-out', s)).status, 200);
    for (const [what, one] of [
      ['J1', j1],
      ['B', { token: b.token }],
    ] as [string, Credential][])
      await endsEverywhere(what, one);
    for (const at of m.replicas) assert.equal(await status({ token: own.token }, at), 200);
  });

  it('a credential that expires cannot create a token that expires later', async () => {
    const a = await tokenBy({ token: ann.token }, { ttl: 3_600_000 });
    const j1 = await jwtBy(a);
    const ofSignIn = await jwtBy(await signIn());
    for (const [what, by] of [
      ['a token', a],
      ['its JWT', j1],
      ['the JWT of the JWT', await jwtBy(j1)],
      ['the JWT of a permanent token', await jwtBy({ token: ann.token })],
      ['the JWT of a session', ofSignIn],
    ] as [string, Credential][]) {
      for (const ttl of [null, 15 * 86_400_000]) {
        const answer = await m.call('POST', 'auth/api-token', { ...by, body: { ttl } });
        assert.deepEqual([answer.status, answer.json['context']], [400, { field: 'ttl' }], `${what}: ${answer.text}`);
      }
    }
    const made = await m.call('PUT', `auth/api-token/${a.id}`, { ...a, body: { ttl: null } });
    assert.deepEqual([made.status, made.json['context']], [400, { field: 'ttl' }], 'nor gives itself a later end');
  });

  it('a credential that expires neither sees nor rotates a token that expires later', async () => {
    const a = await tokenBy({ token: ann.token }, { ttl: 3_600_000 });
    for (const [what, by] of [
      ['a token', a],
      ['its JWT', await jwtBy(a)],
      ['the JWT of a permanent token', await jwtBy({ token: ann.token })],
    ] as [string, Credential][]) {
      const seen = await m.call('GET', `auth/api-token/${ann.tokenId}`, by);
      const { token, 'webhook-secret': secret } = seen.json;
      assert.deepEqual([seen.status, token, secret], [200, undefined, undefined], what);
      for (const body of [{ rotate: true }, { 'rotate-webhook-secret': true }, { permissions: null }]) {
        assert.equal(
          (await m.call('PUT', `auth/api-token/${ann.tokenId}`, { ...by, body })).status,
          403,
          `${what} ${JSON.stringify(body)}`,
        );
      }
    }
    assert.equal(await status({ token: ann.token }), 200);
    assert.equal((await m.call('GET', `auth/api-token/${a.id}`, a)).json['token'], a.token, 'itself is shown to it');
    assert.equal(
      (await m.call('GET', `auth/api-token/${ann.tokenId}`, await signIn())).json['token'],
      ann.token,
      'a person who signed in sees their own',
    );
  });

  it('a token and a JWT created while their creator is being revoked end with it', async () => {
    for (let round = 0; round < 10; round++) {
      const a = await tokenBy({ token: ann.token }, { ttl: 3_600_000 });
      const j1 = await jwtBy(a);
      const making = [0, 1, 2, 3].map((n) =>
        n % 2 === 0
          ? m.call('POST', 'auth/api-token', { token: a.token, at: m.replicas[1], body: { ttl: 60_000 } })
          : m.call('POST', 'auth/jwt', { jwt: j1.jwt, at: m.replicas[0], body: {} }),
      );
      const revoked = m.call('DELETE', `auth/api-token/${a.id}`, { token: ann.token });
      const made = await Promise.all(making);
      assert.equal((await revoked).status, 204);
      for (const answer of made) {
        assert.ok([200, 201, 401].includes(answer.status), answer.text);
        const token = answer.json['token'] as string | undefined;
        if (token !== undefined)
          await endsEverywhere('what was made meanwhile', token.includes('.') ? { jwt: token } : { token });
      }
    }
  });

  it('a chain of JWTs is limited in length, so that its first one can always be ended', async () => {
    const s = await signIn();
    const chain = [s];
    for (let link = 0; link < 10; link++) chain.push(await jwtBy(chain.at(-1)!));
    const over = await m.call('POST', 'auth/jwt', { ...chain.at(-1)!, body: {} });
    assert.deepEqual([over.status, over.json['code']], [403, 40300], over.text);
    assert.equal((await m.call('DELETE', `auth/session/${sessionOf(chain[1]!.jwt)}`, s)).status, 204);
    for (const link of chain.slice(1)) await endsEverywhere('a link', link);
    assert.equal(await status(s), 200);
  });

  it('ten thousand JWTs of a session end in one call', async () => {
    const s = await signIn();
    await m.stored.sql(
      'insert into sessions (id, user_id, parent_id, depth, permissions, expires_at) select ' +
        `gen_random_uuid(), $2, $1, 1, '{}', now() + interval '1 hour' from generate_series(1, 10000)`,
      [sessionOf(s.jwt), ann.id],
    );
    assert.equal((await m.call('DELETE', 'auth/sign-out', s)).status, 200);
    assert.deepEqual(
      await m.stored.sql('select 1 from sessions where parent_id = $1 and ended_at is null', [sessionOf(s.jwt)]),
      [],
    );
  });
});
