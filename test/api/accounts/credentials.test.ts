/** Credentials: tokens, JWTs and the cookie. A bad one never falls back to another, and an ended one works nowhere. */
import assert from 'node:assert/strict';
import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto';
import { base64url, exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWK } from 'jose';
import { until } from '../../until.ts';
import { PASSWORD, startManagement, type Answer, type Management, type Person } from './fixture.ts';

describe('management: credentials', function () {
  this.timeout(60_000);
  let m: Management;
  let ann: Person;
  let jwt: string;
  before(async () => {
    m = await startManagement();
    ann = await m.person('ann');
    jwt = await signIn();
  });
  after(() => m.stop());

  const signIn = async (more: object = {}): Promise<string> =>
    (await m.call('POST', 'auth/sign-in', { body: { email: ann.email, password: PASSWORD, ...more } })).json[
      'jwt-token'
    ].token as string;
  const refused = ({ status, json, headers }: Answer, code = 40101) =>
    assert.deepEqual(
      [status, json['code'], json['status'], headers.get('www-authenticate')],
      [401, code, 'Unauthorized', 'Bearer'],
    );

  it('all five ways to send a credential work', async () => {
    for (const [what, call, query] of [
      ['token in the header', { token: ann.token }, ''],
      ['token in the query', {}, `?token=${ann.token}`],
      ['JWT in the header', { jwt }, ''],
      ['JWT in the query', {}, `?jwt=${jwt}`],
      ['JWT in the cookie', { cookie: jwt }, ''],
    ] as const) {
      const answer = await m.call('GET', `user/current${query}`, call);
      assert.deepEqual([answer.status, answer.json['id']], [200, ann.id], what);
      assert.match(answer.headers.get('x-request-id')!, /^[0-9a-f-]{36}$/);
    }
  });

  it('the first credential present decides, and a bad one does not fall back to the next', async () => {
    const other = await m.person('other');
    const first = await m.call('GET', `user/current?token=${other.token}&jwt=${jwt}`, {
      token: ann.token,
      cookie: jwt,
    });
    assert.equal(first.json['id'], ann.id);
    assert.equal(
      (await m.call('GET', `user/current?token=${other.token}&jwt=${jwt}`, { cookie: jwt })).json['id'],
      other.id,
    );
    for (const [headers, query] of [
      [{ Authorization: 'Bearer bad' }, `?token=${ann.token}`],
      [{ Authorization: `Basic ${ann.token}` }, `?jwt=${jwt}`],
      [{ Authorization: 'Bearer ' }, `?jwt=${jwt}`],
      [{}, `?token=bad&jwt=${jwt}`],
      [{}, `?token=&jwt=${jwt}`],
      [{}, `?token=${ann.token}&token=${ann.token}`],
      [{}, `?token=${jwt}`],
      [{}, `?jwt=${ann.token}`],
      [{}, '?jwt=x.y.z'],
      [{}, '?jwt'],
    ] as [Record<string, string>, string][])
      refused(await m.call('GET', `user/current${query}`, { headers, cookie: jwt }));
    refused(await m.call('GET', 'user/current', { cookie: 'bad' }));
    refused(await m.call('GET', 'user/current', {}), 40100);
  });

  it('probe endpoints accept no JWT', async () => {
    for (const answer of [
      await m.call('GET', '/v1/probe/file?url=x', { jwt }),
      await m.call('GET', `/v1/probe/file?url=x&jwt=${jwt}`),
      await m.call('GET', `/v1/probe/file?url=x&token=${jwt}`),
      await m.call('GET', '/v1/probe/file?url=x', { cookie: jwt }),
      await m.call('GET', `/v1/probe/${randomUUID()}`, { cookie: jwt }),
    ])
      assert.equal(answer.status, 401, answer.text);
  });

  describe('foreign and altered JWTs', () => {
    const payload = () =>
      JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;
    const header = () =>
      JSON.parse(Buffer.from(jwt.split('.')[0]!, 'base64url').toString()) as { alg: string; kid: string };
    const text = (value: unknown) => base64url.encode(JSON.stringify(value));
    const ownKey = async (): Promise<JWK> => {
      const [row] = await m.stored.sql<{ sealed: Buffer }>('select sealed from signing_keys where kid = $1', [
        header().kid,
      ]);
      return JSON.parse(await m.replicas[0].deps.accounts.box.open(row!.sealed, 'signing-key', header().kid)) as JWK;
    };
    const bySameKey = async (change: Record<string, unknown>, head: object = {}) =>
      new SignJWT({ ...payload(), ...change }).setProtectedHeader({ ...header(), ...head }).sign(await ownKey());
    const byOther = async (head: object = {}) => {
      const { privateKey } = await generateKeyPair('ES256');
      return new SignJWT(payload()).setProtectedHeader({ ...header(), ...head }).sign(privateKey);
    };
    const flip = (part: string) => `${part.slice(0, -2)}${part.at(-2) === 'A' ? 'B' : 'A'}${part.at(-1)}`;
    const parts = () => jwt.split('.') as [string, string, string];

    const cases: [string, () => string | Promise<string>][] = [
      ['none-algorithm', () => new UnsecuredJWT(payload()).encode()],
      [
        'none-algorithm with a signature',
        () => `${text({ alg: 'none', kid: header().kid })}.${parts()[1]}.${parts()[2]}`,
      ],
      [
        'signed with the public key as a secret (HS256)',
        async () =>
          new SignJWT(payload())
            .setProtectedHeader({ alg: 'HS256', kid: header().kid })
            .sign(
              new TextEncoder().encode(
                JSON.stringify((await m.stored.sql<{ public: object }>('select public from signing_keys'))[0]!.public),
              ),
            ),
      ],
      ['signed by another key under our key id', () => byOther()],
      ['signed by another key under its own id', () => byOther({ kid: 'theirs' })],
      ['without a key id', () => byOther({ kid: undefined })],
      [
        'with its own key in the header',
        async () => {
          const { publicKey, privateKey } = await generateKeyPair('ES256');
          return new SignJWT(payload())
            .setProtectedHeader({ alg: 'ES256', jwk: await exportJWK(publicKey) })
            .sign(privateKey);
        },
      ],
      ['with a key id that is a path or SQL', () => byOther({ kid: "../../x' or 1=1 --" })],
      [
        'RS256',
        () => {
          const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
          const signed = `${text({ alg: 'RS256', kid: header().kid })}.${parts()[1]}`;
          return `${signed}.${createSign('sha256').update(signed).sign(privateKey).toString('base64url')}`;
        },
      ],
      ['a changed payload', () => `${parts()[0]}.${text({ ...payload(), sub: String(m.root.id) })}.${parts()[2]}`],
      ['a changed signature', () => `${parts()[0]}.${parts()[1]}.${flip(parts()[2])}`],
      ['an empty signature of zeros', () => `${parts()[0]}.${parts()[1]}.${base64url.encode(new Uint8Array(64))}`],
      ['of another issuer, signed with our key', () => bySameKey({ iss: 'probeyard:another' })],
      ['without an issuer', () => bySameKey({ iss: undefined })],
      ['for another audience', () => bySameKey({ aud: 'reset' })],
      ['expired, signed with our key', () => bySameKey({ exp: Math.floor(Date.now() / 1000) - 5 })],
      ['without an expiry', () => bySameKey({ exp: undefined })],
      ['without a session', () => bySameKey({ jti: undefined })],
      ['of a session that never existed', () => bySameKey({ jti: randomUUID() })],
      ['of another user in one of our sessions', () => bySameKey({ sub: String(m.root.id) })],
      ['of no user', () => bySameKey({ sub: '0' })],
      [
        'unknown critical headers',
        () =>
          bySameKey({}, { crit: ['x'], x: 1 }).catch(
            () => `${text({ ...header(), crit: ['x'], x: 1 })}.${parts()[1]}.${parts()[2]}`,
          ),
      ],
    ];
    for (const [what, make] of cases) {
      it(what, async () => {
        const bad = await make();
        refused(await m.call('GET', 'user/current', { jwt: bad }));
        refused(await m.call('GET', 'user/current', { cookie: bad }));
      });
    }

    it('the same JWT, unaltered and signed with our key, is accepted', async () => {
      assert.equal((await m.call('GET', 'user/current', { jwt: await bySameKey({}) })).status, 200);
    });
  });

  it('a new signing key is known to the other replica at once, and JWTs of the old key stay valid', async () => {
    await m.stored.sql('update signing_keys set signs_until = now()');
    const fresh = await m.call('POST', 'auth/sign-in', {
      at: m.replicas[1],
      body: { email: ann.email, password: PASSWORD },
    });
    const signed = fresh.json['jwt-token'].token as string;
    await until(
      'the first replica signs with it, too',
      async () => {
        // The first key is in memory until it ends; a replica looks again when it meets an unknown key.
        const answer = await m.call('GET', 'user/current', { jwt: signed, at: m.replicas[0] });
        return answer.status === 200;
      },
      5_000,
    );
    assert.equal((await m.stored.sql('select 1 from signing_keys')).length, 2);
    assert.equal((await m.call('GET', 'user/current', { jwt })).status, 200);
  });

  it('sessions: listed, ended one by one and all at once, on every replica', async () => {
    await m.call('DELETE', 'auth/session', { token: ann.token });
    const [one, two, three] = [await signIn(), await signIn({ 'long-term-token': false }), await signIn()];
    const list = await m.call('GET', 'auth/session', { jwt: one, headers: { 'User-Agent': 'x' } });
    const sessions = list.json['sessions'] as {
      id: string;
      created: string;
      expire: string;
      'remote-ip': string;
      'ua-type': string;
      'user-agent': string;
    }[];
    assert.equal(sessions.length, 3);
    assert.deepEqual(
      sessions.map((session) => Math.round((Date.parse(session.expire) - Date.parse(session.created)) / 3_600_000)),
      [336, 3, 336],
    );
    assert.deepEqual([sessions[0]!['remote-ip'], sessions[0]!['ua-type']], ['127.0.0.1', 'cli']);
    assert.equal((await m.call('DELETE', `auth/session/${sessions[1]!.id}`, { jwt: one })).status, 204);
    assert.equal((await m.call('DELETE', `auth/session/${sessions[1]!.id}`, { jwt: one })).status, 404);
    for (const at of m.replicas) refused(await m.call('GET', 'user/current', { jwt: two, at }));
    const four = await signIn({ 'logout-other': true });
    for (const ended of [one, three]) refused(await m.call('GET', 'user/current', { jwt: ended, at: m.replicas[1] }));
    assert.equal((await m.call('GET', 'user/current', { jwt: four })).status, 200);
    const out = await m.call('DELETE', 'auth/sign-out?ret-url=//evil.test', { cookie: four });
    assert.deepEqual([out.status, out.json], [200, { success: true }]);
    assert.match(out.headers.get('set-cookie')!, /^jwt=; Path=\/; Expires=Thu, 01 Jan 1970/);
    refused(await m.call('GET', 'user/current', { jwt: four }));
    assert.equal(
      (await m.call('GET', 'auth/session?include-expired=true', { token: ann.token })).json['sessions'].length >= 4,
      true,
    );
    jwt = await signIn();
    await m.call('DELETE', 'auth/sign-out?logout-all=true', { token: ann.token });
    refused(await m.call('GET', 'user/current', { jwt }));
    jwt = await signIn();
  });

  it('changing a password needs the old one, and signs out everywhere on request', async () => {
    const change = (body: object) => m.call('PUT', 'auth/current/password', { jwt, body });
    assert.deepEqual(
      await change({ 'old-password': 'wrong', 'new-password': 'next one' }).then(({ status, json }) => [
        status,
        json['context'],
      ]),
      [400, { field: 'old-password' }],
    );
    assert.equal((await change({ 'old-password': PASSWORD, 'new-password': PASSWORD })).status, 204);
    assert.equal((await m.call('GET', 'user/current', { jwt })).status, 200);
    assert.equal(
      (await change({ 'old-password': PASSWORD, 'new-password': PASSWORD, 'logout-all': true })).status,
      204,
    );
    refused(await m.call('GET', 'user/current', { jwt }));
    jwt = await signIn();
  });

  it('the cookie: HttpOnly, SameSite=Lax, and Secure behind TLS', async () => {
    const cookie = async (headers: Record<string, string>) =>
      (await m.call('POST', 'auth/sign-in', { headers, body: { email: ann.email, password: PASSWORD } })).headers
        .getSetCookie()
        .find((one) => one.startsWith('jwt='))!;
    assert.match(await cookie({}), /^jwt=[\w.-]+; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/);
    assert.match(await cookie({ 'X-Forwarded-Proto': 'https' }), /; HttpOnly; SameSite=Lax; Secure$/);
  });

  it('the cookie __Host-jwt is set and cleared beside jwt, behind TLS only', async () => {
    const TLS = { 'X-Forwarded-Proto': 'https' };
    const names = (headers: Headers) =>
      headers
        .getSetCookie()
        .map((one) => one.split('=')[0])
        .filter((name) => name?.endsWith('jwt'));
    const body = { email: ann.email, password: PASSWORD };
    const secure = await m.call('POST', 'auth/sign-in', { headers: TLS, body });
    assert.deepEqual(names(secure.headers), ['jwt', '__Host-jwt']);
    const made = secure.json['jwt-token'].token as string;
    const cookie = secure.headers.getSetCookie().find((one) => one.startsWith('__Host-'))!;
    assert.match(cookie, /^__Host-jwt=[\w.-]+; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax; Secure$/);
    assert.ok(cookie.startsWith(`__Host-jwt=${made};`));
    assert.deepEqual(names((await m.call('POST', 'auth/sign-in', { body })).headers), ['jwt']);
    const out = await m.call('DELETE', 'auth/sign-out', { headers: { ...TLS, Cookie: `__Host-jwt=${made}` } });
    assert.deepEqual(
      out.headers.getSetCookie().map((one) => one.replace(/; Expires=Thu, 01 Jan 1970.*/, '')),
      ['jwt=; Path=/', '__Host-jwt=; Path=/'],
    );
    refused(await m.call('GET', 'user/current', { jwt: made }));
  });

  it('a planted cookie jwt does not override __Host-jwt, and two cookies of one name are refused', async () => {
    const ben = await m.person('cookie-ben');
    const planted = (await m.call('POST', 'auth/sign-in', { body: { email: ben.email, password: PASSWORD } })).json[
      'jwt-token'
    ].token as string;
    const by = (cookie: string) => m.call('GET', 'user/current', { headers: { Cookie: cookie } });
    for (const cookie of [
      `jwt=${planted}; __Host-jwt=${jwt}`,
      `__Host-jwt=${jwt}; jwt=${planted}; jwt=${jwt}`,
      `jwt=${jwt}`,
      `a=b; jwt=${jwt}; c=jwt=x`,
    ]) {
      assert.equal((await by(cookie)).json['id'], ann.id, cookie);
    }
    for (const cookie of [
      `jwt=${planted}; jwt=${jwt}`,
      `__Host-jwt=bad; jwt=${jwt}`,
      `__Host-jwt=${planted}; __Host-jwt=${jwt}`,
    ])
      refused(await by(cookie));
    const change = {
      headers: { Cookie: `__Host-jwt=${jwt}`, Origin: 'https://evil.test' },
      body: { 'first-name': 'Ann' },
    };
    assert.equal(
      (await m.call('PUT', 'user/current', change)).status,
      403,
      'another site changes nothing with this cookie, either',
    );
  });

  it('CSRF: changes with the cookie from another site are refused; reads and other credentials are not', async () => {
    const own = new URL(m.replicas[0].url).host;
    const change = (headers: Record<string, string>, credential: object = { cookie: jwt }) =>
      m.call('PUT', 'user/current', { ...credential, headers, body: { 'first-name': 'Ann' } });
    for (const headers of [
      { Origin: 'https://evil.test' },
      { Origin: 'null' },
      { Origin: `http://${own}.evil.test` },
      { Origin: `http://evil.test#${own}` },
      { Origin: 'http://127.0.0.1:1' },
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
    ] as Record<string, string>[])
      assert.deepEqual(
        await change(headers).then(({ status, json }) => [status, json['code']]),
        [403, 40300],
        JSON.stringify(headers),
      );
    for (const headers of [
      {},
      { Origin: `http://${own}` },
      { 'Sec-Fetch-Site': 'same-origin' },
      { 'Sec-Fetch-Site': 'none' },
    ] as Record<string, string>[])
      assert.equal((await change(headers)).status, 200, JSON.stringify(headers));
    assert.equal(
      (await change({ Origin: 'https://evil.test' }, { jwt })).status,
      200,
      'a header is sent by nobody but who knows it',
    );
    assert.equal(
      (await m.call('GET', 'user/current', { cookie: jwt, headers: { Origin: 'https://evil.test' } })).status,
      200,
    );
    const form = await m.call('POST', 'auth/sign-in', {
      headers: { Origin: 'https://evil.test' },
      form: `email=${ann.email}&password=${encodeURIComponent(PASSWORD)}`,
    });
    assert.deepEqual(
      [form.status, form.headers.get('set-cookie')],
      [403, null],
      "nobody is signed in to another's account by a page of his",
    );
    assert.equal(
      (await m.call('GET', 'user/current', { cookie: jwt, headers: { Origin: 'https://evil.test' } })).headers.get(
        'access-control-allow-origin',
      ),
      null,
    );
  });

  it('a JWT of a token has no more permissions and no later end than the token, and ends with it', async () => {
    const narrow = (
      await m.call('POST', 'auth/api-token', {
        token: ann.token,
        body: { permissions: ['read:profile', 'write:user'], ttl: 3_600_000 },
      })
    ).json;
    const made = await m.call('POST', 'auth/jwt', { token: narrow['token'] });
    assert.ok(Date.parse(made.json['expire']) <= Date.parse(narrow['expires']));
    const asked = (path: string) => m.call('GET', path, { jwt: made.json['token'] });
    assert.equal((await asked('user/current')).status, 200);
    assert.equal((await asked('media/log')).status, 403);
    const wider = await m.call('POST', 'auth/api-token', {
      jwt: made.json['token'],
      body: { permissions: ['write:media'] },
    });
    assert.equal(wider.status, 403);
    assert.deepEqual(
      [
        ...(await m.call('POST', 'auth/api-token', { jwt: made.json['token'], body: { ttl: 60_000 } })).json[
          'permissions'
        ],
      ].sort(),
      ['read:profile', 'write:user'],
      'all that there is to give',
    );
    await m.call('DELETE', `auth/api-token/${narrow['id']}`, { token: ann.token });
    refused(await asked('user/current'));
  });
});
