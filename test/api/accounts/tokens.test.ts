/** API tokens: created, listed, rotated, narrowed and ended. Their secrets appear in no log. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { DEFAULT_LIMITS } from '../../../src/base/limits.ts';
import { USER_PERMISSIONS } from '../../../src/service/accounts/caller.ts';
import { until } from '../../until.ts';
import { NO_LIMITS, PASSWORD, startManagement, startReplica, type Management, type Person } from './fixture.ts';
import { accountSettings } from '../fixture.ts';

describe('management: API tokens', function () {
  this.timeout(60_000);
  let m: Management;
  let ann: Person;
  before(async () => {
    m = await startManagement();
    ann = await m.person('ann');
  });
  after(() => m.stop());
  const make = async (body: object = {}, token = ann.token) =>
    (await m.call('POST', 'auth/api-token', { token, body })).json;
  const works = async (token: string, at = m.replicas[0]) =>
    (await m.call('GET', 'user/current', { token, at })).status;

  it('created with name, expiry, permissions and limits; listed without the text; read by id and itself', async () => {
    const made = await m.call('POST', 'auth/api-token', {
      token: ann.token,
      body: {
        name: 'ci',
        ttl: 60_000,
        permissions: ['read:profile'],
        limits: { concurrency: 2, 'queue-timeout': 90_000, 'monthly-quota': { 'request-count': 10 } },
      },
    });
    assert.equal(made.status, 201);
    const token = made.json;
    assert.match(token['token'], /^[A-Za-z0-9]{64}$/);
    assert.match(token['webhook-secret'], /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.deepEqual(token['limits'], {
      concurrency: 2,
      'queue-timeout': 60_000,
      'monthly-quota': { 'request-count': 10 },
    });
    assert.ok(Math.abs(Date.parse(token['expires']) - Date.parse(token['created']) - 60_000) < 5_000);
    for (const id of [token['id'], token['token']])
      assert.deepEqual((await m.call('GET', `auth/api-token/${id}`, { token: ann.token })).json, token);
    const list = await m.call('GET', 'auth/api-token?sort[field]=created&sort[order]=desc&pagination[limit]=1', {
      token: ann.token,
    });
    assert.deepEqual(
      [list.json['api-tokens'].length, list.json['api-tokens'][0].id, list.json['pagination'], list.json['sort']],
      [1, token['id'], { count: 1, limit: 1, page: 1, total: 2 }, { field: 'created', order: 'desc' }],
    );
    assert.ok(!list.text.includes(token['token']) && !list.text.includes('whsec_'));
    const { webhookSecret } = (await m.replicas[1].deps.store.readToken({ id: token['id'] as number }))!;
    assert.deepEqual(
      (await m.replicas[1].deps.accounts.openWebhookSecret(webhookSecret!, token['id'] as number)).toString('base64'),
      token['webhook-secret'].slice(6),
    );
    assert.ok(
      !(
        await m.stored.sql<{ text: string }>('select t::text text from tokens t where id = $1', [token['id']])
      )[0]!.text.includes(token['token']),
      'kept sealed',
    );
  });

  it('a change keeps the fields that it leaves out, as JSON and as a form', async () => {
    const { id } = await make({ name: 'before', limits: { concurrency: 2 } });
    const changed = await m.call('PUT', `auth/api-token/${id}`, {
      token: ann.token,
      form: 'permissions[]=read:media&permissions[]=write:media',
    });
    assert.deepEqual(
      [changed.json['name'], changed.json['permissions'], changed.json['limits'].concurrency],
      ['before', ['read:media', 'write:media'], 2],
    );
    const again = await m.call('PUT', `auth/api-token/${id}`, {
      token: ann.token,
      body: { permissions: null, limits: { concurrency: null } },
    });
    assert.deepEqual([again.json['permissions'], again.json['limits'].concurrency], [undefined, undefined]);
  });

  it('a revoked, rotated, expired or suspended token works on no replica a second later', async () => {
    const ways: [string, (id: number) => Promise<unknown>, number][] = [
      ['revoked', (id) => m.call('DELETE', `auth/api-token/${id}`, { token: ann.token }), 401],
      ['rotated', (id) => m.call('PUT', `auth/api-token/${id}`, { token: ann.token, body: { rotate: true } }), 401],
      [
        'left without its permission',
        (id) => m.call('PUT', `auth/api-token/${id}`, { token: ann.token, body: { permissions: ['read:media'] } }),
        403,
      ],
      ['given an end', (id) => m.call('PUT', `auth/api-token/${id}`, { token: ann.token, body: { ttl: 1_000 } }), 401],
    ];
    for (const [what, end, status] of ways) {
      const { id, token } = await make();
      for (const at of m.replicas) assert.equal(await works(token, at), 200);
      await end(id as number);
      const ended = performance.now();
      for (const at of m.replicas)
        await until(
          `${what} on ${at.url}`,
          async () => (await works(token, at)) === status,
          what === 'given an end' ? 2_500 : 1_000,
        );
      assert.ok(performance.now() - ended < 10_000);
    }
    const { json } = await m.call('PUT', `auth/api-token/${(await make())['id']}`, {
      token: ann.token,
      body: { rotate: true, 'rotate-webhook-secret': true },
    });
    for (const at of m.replicas) assert.equal(await works(json['token'], at), 200, 'the new one works at once');
    const dan = await m.person('dan');
    for (const at of m.replicas) assert.equal(await works(dan.token, at), 200);
    await m.call('PUT', `user/${dan.id}/status`, { token: m.root.token, body: { status: 'suspended' } });
    for (const at of m.replicas) await until('suspended', async () => (await works(dan.token, at)) === 403, 1_000);
    await m.call('DELETE', `user/${dan.id}`, { token: m.root.token });
    for (const at of m.replicas) await until('deleted', async () => (await works(dan.token, at)) === 401, 1_000);
  });

  it('a new token has write:policy only if it is named, or all permissions are asked for', async () => {
    const all = USER_PERMISSIONS.filter((name) => name !== 'write:policy');
    const CASES: [permissions: string[] | null | undefined, kept: string[] | undefined][] = [
      [undefined, all],
      [null, undefined],
      [['write:policy'], ['write:policy']],
    ];
    for (const [permissions, kept] of CASES)
      assert.deepEqual((await make(permissions === undefined ? {} : { permissions }))['permissions'], kept);
  });

  it('a token without write:policy neither gets it nor reaches a token that has it', async () => {
    const { token: ci, id } = await make();
    const { id: wider } = await make({ permissions: null });
    const calls: [method: string, path: string, body: object, status: number][] = [
      ['PUT', `auth/api-token/${id}`, { permissions: null }, 403],
      ['PUT', `auth/api-token/${id}`, { permissions: ['write:policy'] }, 403],
      ['POST', 'auth/api-token', { permissions: ['write:policy'] }, 403],
      ['PUT', `auth/api-token/${wider}`, { rotate: true }, 403],
      ['POST', 'user/current', { email: 'policies@example.org', permissions: ['write:policy'] }, 403],
    ];
    for (const [method, path, body, status] of calls)
      assert.equal((await m.call(method, path, { token: ci, body })).status, status, `${method} ${path}`);
    const made = await m.call('POST', 'auth/api-token', { token: ci, body: { permissions: null } });
    assert.ok(!made.json['permissions'].includes('write:policy'), 'null means those of the credential');
    const saved = await m.call('PUT', '/v1/policy/mine', { token: ci, body: { rules: [] } });
    assert.deepEqual(
      [saved.status, saved.json['error']],
      [403, 'missing permission: write:policy, which a new token has only if its permissions name it'],
    );
  });

  it('a narrowed token neither sees, creates nor widens a wider one', async () => {
    const { token: narrow, id } = await make({ permissions: ['read:profile', 'write:user'] });
    const seen = await m.call('GET', `auth/api-token/${ann.tokenId}`, { token: narrow });
    assert.deepEqual([seen.status, seen.json['token'], seen.json['webhook-secret']], [200, undefined, undefined]);
    assert.equal(
      (await m.call('PUT', `auth/api-token/${ann.tokenId}`, { token: narrow, body: { rotate: true } })).status,
      403,
    );
    for (const body of [{ permissions: null }, { permissions: ['write:media'] }])
      assert.equal((await m.call('PUT', `auth/api-token/${id}`, { token: narrow, body })).status, 403);
    assert.equal(
      (await m.call('POST', 'auth/api-token', { token: narrow, body: { permissions: ['write:media'] } })).status,
      403,
    );
    const { token: short } = await make({ ttl: 60_000 });
    assert.equal(
      (await m.call('POST', 'auth/api-token', { token: short, body: {} })).status,
      400,
      'nor one that lasts longer',
    );
  });

  it('the number of tokens of a user is limited, and the default token cannot be revoked', async () => {
    const eve = await m.person('eve');
    await m.stored.sql(
      `insert into tokens (user_id, name, sha256) select $1, 'x', ` +
        `decode(md5(n::text) || md5(n::text), 'hex') from generate_series(1, 99) n`,
      [eve.id],
    );
    const over = await m.call('POST', 'auth/api-token', { token: eve.token, body: {} });
    assert.deepEqual([over.status, over.json['code']], [409, 40900]);
    const [byKubectl] = await m.stored.sql<{ id: string }>('select id from tokens where is_default');
    assert.equal((await m.call('DELETE', `auth/api-token/${byKubectl!.id}`, { token: m.root.token })).status, 409);
  });

  it("a narrowed token narrows a sub-user's, and grants neither it nor the sub-user what it lacks itself", async () => {
    const sub = await m.person('ann-sub', { parent: ann });
    const { token: narrow } = await make({ permissions: ['read:profile', 'write:user'] });
    const change = (path: string, body: object, token = narrow) => m.call('PUT', path, { token, body });
    const own = `auth/api-token/${sub.tokenId}`;
    assert.equal((await change(own, { permissions: ['read:media', 'read:profile'] })).status, 200);
    for (const permissions of [['read:media', 'write:media'], null])
      assert.equal((await change(own, { permissions })).status, 403);
    assert.equal((await change(own, { permissions: ['read:media'] })).status, 200);
    const user = `user/${sub.id}`;
    assert.equal((await change(user, { restrictions: ['read:media', 'write:media'] })).status, 200);
    assert.equal((await change(user, { restrictions: ['read:media'] })).status, 403);
    assert.equal((await change(user, { restrictions: ['write:media'] }, ann.token)).status, 200);
  });

  it('limits: an administrator sets some, null resets one, and a token narrows them', async () => {
    const set = (body: object) => m.call('PUT', `user/${ann.id}/limits`, { token: m.root.token, body });
    const defaults = {
      'requests-per-minute': DEFAULT_LIMITS.requestsPerMinute,
      concurrency: DEFAULT_LIMITS.concurrency,
      'queue-timeout': DEFAULT_LIMITS.queueTimeoutMs,
      'file-size': DEFAULT_LIMITS.fileBytes,
      'cache-max-age': 0,
      'account-concurrency': 4 * DEFAULT_LIMITS.concurrency,
    };
    assert.deepEqual((await set({ concurrency: 4, 'monthly-quota': { 'request-count': 3 } })).json, {
      concurrency: 4,
      'monthly-quota': { 'request-count': 3 },
      'in-force': { ...defaults, concurrency: 4, 'account-concurrency': 16 },
    });
    assert.equal((await set({ 'requests-per-minute': 7 })).json['concurrency'], 4);
    assert.deepEqual(
      (await m.call('GET', `user/${ann.id}/limits`, { token: m.root.token })).json['requests-per-minute'],
      7,
    );
    const [wide, narrow] = [await make({ limits: { concurrency: 99 } }), await make({ limits: { concurrency: 2 } })];
    const found = await m.replicas[0].deps.store.tokenLimits([wide['id'], narrow['id']] as number[]);
    assert.deepEqual([...found.values()].map(({ limits }) => [limits.concurrency, limits.requestsPerMinute]).sort(), [
      [2, 7],
      [4, 7],
    ]);
    assert.deepEqual((await set({ concurrency: null, 'requests-per-minute': null, 'monthly-quota': null })).json, {
      'in-force': defaults,
    });
    const cached = (await set({ 'cache-max-age': 60 })).json;
    assert.deepEqual([cached['cache-max-age'], cached['in-force']['cache-max-age']], [60, 60]);
    const { id } = await make({ limits: { 'cache-max-age': 0 } });
    const own = (await m.call('GET', `auth/api-token/${String(id)}`, { token: ann.token })).json;
    assert.deepEqual([own['limits']['cache-max-age'], own['limits-in-force']['cache-max-age']], [0, 0]);
    for (const body of [
      { 'cache-max-age': 30 * 86_400 + 1 },
      { concurrency: 0 },
      { concurrency: -1 },
      { concurrency: 1.5 },
      { concurrency: '3' },
      { concurrenzy: 3 },
      { 'monthly-quota': { requests: 3 } },
      { 'file-size': 1e300 },
    ]) {
      const answer = await set(body);
      assert.deepEqual([answer.status, answer.json['code']], [400, 40000], JSON.stringify(body));
      assert.ok(answer.json['context'].field.startsWith(Object.keys(body)[0]), answer.text);
    }
  });

  it('a lost key of stored secrets: what it sealed is not shown, and its owner signs in', async () => {
    const ina = await m.person('ina');
    const { id } = await make({}, ina.token);
    // As unreadable as with a lost key: sealed for another token.
    await m.stored.sql(
      `update tokens t set sealed = o.sealed, webhook_secret = o.webhook_secret
         from tokens o where o.id = $1 and t.id <> o.id and t.user_id = o.user_id`,
      [id],
    );
    const [first] = await m.stored.sql<{ id: string }>(
      'select min(id) as id from tokens where user_id = (select user_id from tokens where id = $1)',
      [id],
    );
    const shown = await m.call('GET', `auth/api-token/${first!.id}`, { token: ina.token });
    assert.deepEqual([shown.status, shown.json['token'], shown.json['webhook-secret']], [200, undefined, undefined]);
    const signedIn = await m.call('POST', 'auth/sign-in', { body: { email: ina.email, password: PASSWORD } });
    assert.deepEqual([signedIn.status, signedIn.json['api-token']], [200, undefined]);
  });

  it('a token is shown only once if the operator configures that', async () => {
    const replica = await startReplica(
      m.stored,
      accountSettings({ boxKeys: m.settings.boxKeys, tokensViewable: false, attempts: NO_LIMITS }),
      m.bus,
    );
    try {
      const made = await m.call('POST', 'auth/api-token', { at: replica, token: ann.token, body: {} });
      assert.match(made.json['token'], /^[A-Za-z0-9]{64}$/);
      assert.equal(
        (await m.call('GET', `auth/api-token/${made.json['id']}`, { at: replica, token: ann.token })).json['token'],
        undefined,
      );
      assert.equal(
        (await m.call('GET', `auth/api-token/${made.json['id']}`, { token: ann.token })).json['token'],
        undefined,
        'no copy was kept',
      );
      assert.equal(
        (await m.call('POST', 'auth/sign-in', { at: replica, body: { email: ann.email, password: PASSWORD } })).json[
          'api-token'
        ],
        undefined,
      );
    } finally {
      await replica.stop();
    }
  });

  it('existing tokens without a webhook secret get one, that of the first administrator too', async () => {
    await until(
      'a secret for each',
      async () =>
        (await m.stored.sql('select 1 from tokens where webhook_secret is null and user_id = $1', [m.root.id]))
          .length === 0,
    );
  });

  it('an account is limited to 600 calls a minute over all of its users, tokens and replicas', async () => {
    const fay = await m.person('fay');
    const sub = await m.person('fay-sub', { parent: fay });
    const below = await m.person('fay-sub-sub', { parent: sub });
    await m.stored.sql(
      `insert into rate_limits (scope, id, tat) values ('user', $1, clock_timestamp() + interval '59.95 seconds')`,
      [fay.id],
    );
    const other = (await make({}, fay.token))['token'] as string | undefined;
    // At once: one after the other they may take longer than the limit.
    const calls = Array.from({ length: 30 }, (_, call) =>
      m.call('GET', 'user/current', { token: fay.token, at: m.replicas[call % 2]! }),
    );
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    assert.ok(statuses.includes(429), `${statuses.join()} ${other}`);
    for (const { token } of [sub, below])
      await until('a call of a sub-user exceeds the limit', async () => {
        await m.call('GET', 'user/current', { token: fay.token });
        return (await m.call('GET', 'user/current', { token })).status === 429;
      });
    const gil = await m.person('gil');
    assert.equal((await m.call('GET', 'user/current', { token: gil.token })).status, 200);
    const over = await until('one call exceeds the limit', async () => {
      const answer = await m.call('GET', 'user/current', { token: fay.token });
      return answer.status === 429 ? answer : undefined;
    });
    assert.deepEqual([over.json['code'], Number(over.headers.get('retry-after')) >= 1], [42900, true]);
    assert.equal(over.headers.get('ratelimit-policy'), '"default";q=600;w=60');
  });
});

describe('management: hostile input', function () {
  this.timeout(60_000);
  let m: Management;
  let ann: Person;
  before(async () => {
    m = await startManagement();
    ann = await m.person('ann');
  });
  after(() => m.stop());

  const SQL = [
    "' or 1=1 --",
    '1; drop table users',
    "x'); delete from users; --",
    '1 union select password_hash from users',
    '\\',
    '-1',
    '９',
    '$1',
    '../..',
    '%00',
    'a'.repeat(5_000),
  ];
  it('SQL in any id or name changes and reveals nothing', async () => {
    const before = await m.stored.sql('select count(*) from users');
    for (const text of SQL) {
      const encoded = encodeURIComponent(text);
      for (const path of ['user/ID', 'user/ID/limits', 'auth/api-token/ID', 'auth/session/ID', 'media/log/ID'].map(
        (one) => one.replace('ID', encoded),
      )) {
        for (const method of ['GET', 'DELETE', 'PUT']) {
          const answer = await m.call(method, path, { token: m.root.token, ...(method === 'PUT' ? { body: {} } : {}) });
          assert.ok([400, 404, 405].includes(answer.status), `${method} ${path}: ${answer.status} ${answer.text}`);
        }
      }
      for (const query of [
        `user?sort[field]=${encoded}`,
        `user?status=${encoded}`,
        `user?pagination[page]=${encoded}`,
        `user?${encoded}=1`,
        `auth/api-token?sort[order]=${encoded}`,
        `auth/session?include-expired=${encoded}`,
        `auth/api-token?user-id=${encoded}`,
      ]) {
        const answer = await m.call('GET', query, { token: m.root.token });
        assert.ok(
          answer.status === 400 || (answer.status === 404 && query.includes('user-id')),
          `${query}: ${answer.status} ${answer.text}`,
        );
      }
      if (text.length < 20) {
        const signIn = await m.call('POST', 'auth/sign-in', { body: { email: text, password: text } });
        assert.equal(signIn.status, 401, signIn.text);
      }
      const named = await m.call('PUT', 'user/current', {
        token: ann.token,
        body: { 'first-name': text.slice(0, 100) },
      });
      assert.deepEqual([named.status, named.json['first-name']], [200, text.slice(0, 100)], 'a name is a text');
    }
    assert.deepEqual(await m.stored.sql('select count(*) from users'), before);
  });

  it('response headers set from input contain no second header', async () => {
    const answer = await m.call('POST', 'auth/sign-in', {
      body: { email: ann.email, password: PASSWORD, 'ret-url': '/x\r\nSet-Cookie: a=b' },
    });
    assert.equal(answer.status, 400);
    for (const url of ['https://evil.test/', '//evil.test', '/\\evil.test', 'javascript:alert(1)', '\\\\evil.test']) {
      assert.equal(
        (await m.call('POST', 'auth/sign-in', { body: { email: ann.email, password: PASSWORD, 'ret-url': url } })).json[
          'ret-url'
        ],
        undefined,
        url,
      );
    }
  });

  it('bodies that are missing, too long, of another type or with a prototype are refused', async () => {
    const post = (body: string | undefined, type?: string) =>
      m.call('POST', 'auth/sign-in', {
        headers: type === undefined ? {} : { 'Content-Type': type },
        ...(body === undefined ? {} : { form: body }),
      });
    for (const [body, type] of [
      [undefined, undefined],
      ['{', 'application/json'],
      ['[]', 'application/json'],
      ['"x"', 'application/json'],
      ['x', 'text/plain'],
      ['x'.repeat(1_100_000), 'application/json'],
      ['{"__proto__":{"role":"root"}}', 'application/json'],
      ['{"constructor":1}', 'application/json'],
      ['a[b][c]=1', undefined],
      ['%', undefined],
      ['__proto__[x]=1', undefined],
      [`{"email":{"$ne":1},"password":{"$ne":1}}`, 'application/json'],
    ] as const) {
      const answer = await post(body, type);
      assert.deepEqual([answer.status, answer.json['code']], [400, 40000], `${body?.slice(0, 50)}: ${answer.text}`);
    }
  });

  it('HEAD is answered as GET, without a body, where GET only reads', async () => {
    const api = m.replicas[0].url;
    const url = `${api}/frontend/api/v1`;
    const headers = { Authorization: `Bearer ${ann.token}` };
    for (const path of [`${url}/user/current`, `${url}/auth/api-token?pagination[limit]=1`, `${api}/v1/policy`]) {
      const [got, head] = [await fetch(path, { headers }), await fetch(path, { method: 'HEAD', headers })];
      const body = await got.text();
      assert.deepEqual([got.status, head.status, await head.text()], [200, 200, '']);
      assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(body)));
      for (const name of ['content-type', 'cache-control', 'ratelimit-policy'])
        assert.equal(head.headers.get(name), got.headers.get(name), name);
    }
    assert.equal((await fetch(`${url}/user/current`, { method: 'HEAD' })).status, 401);
    assert.equal((await fetch(`${url}/user/current?x=1`, { method: 'HEAD', headers })).status, 400);
    const probe = await fetch(`${api}/v1/probe/file?url=https://a.test/`, { method: 'HEAD', headers });
    assert.deepEqual([probe.status, probe.headers.get('allow')], [405, 'GET, POST']);
  });

  it('other methods are 405 with Allow, other paths 404, in the error format of these endpoints', async () => {
    const patch = await m.call('PATCH', 'user/current', { token: ann.token });
    assert.deepEqual([patch.status, patch.json['code']], [405, 40500]);
    assert.equal(patch.headers.get('allow'), 'GET, HEAD, PUT, POST');
    const options = await fetch(`${m.replicas[0].url}/frontend/api/v1/user/current`, { method: 'OPTIONS' });
    assert.equal(options.status, 405);
    for (const path of ['nothing', 'auth/oauth-sign-in', 'billing', 'auth', ''])
      assert.deepEqual((await m.call('GET', path, { token: ann.token })).json, {
        code: 40400,
        context: {},
        error: 'not found',
        status: 'Not Found',
      });
  });

  it('no log line contains a secret of a path, query, header, cookie or body', async () => {
    const { json } = await m.call('POST', 'auth/sign-in', { body: { email: ann.email, password: PASSWORD } });
    const jwt = json['jwt-token'].token as string;
    const unknown = 'Z'.repeat(64);
    const secrets = [ann.token, jwt, unknown, PASSWORD, 'another secret', json['api-token']];
    for (const token of [ann.token, unknown]) {
      for (const method of ['GET', 'PUT', 'DELETE', 'PATCH'])
        await m.call(method, `auth/api-token/${token === ann.token && method === 'DELETE' ? unknown : token}`, {
          token: ann.token,
          ...(method === 'PUT' ? { body: {} } : {}),
        });
      for (const path of ['user/current', 'nothing', 'user/%', '/v1/probe/file', `/v1/probe/${randomUUID()}`]) {
        await m.call('GET', `${path}?token=${token}`);
        await m.call('GET', `${path}?jwt=${jwt}&token=${token}&%=1`);
        await m.call('GET', path, { cookie: jwt, headers: { 'X-Secret': 'another secret' } });
      }
      await m.call('GET', `/${token}`);
      await m.call('GET', `${token}`);
    }
    await m.call('POST', 'auth/sign-in', { body: { email: ann.email, password: 'another secret', jwt } });
    await m.call('POST', 'auth/verify', { body: { 'verify-token': jwt } });
    await m.call('PUT', 'auth/current/password', {
      jwt,
      body: { 'old-password': 'another secret', 'new-password': PASSWORD },
    });
    // Internal errors, too.
    await m.stored.sql('alter table sessions rename to sessions_away');
    try {
      const broken = await m.call('GET', 'user/current', { jwt });
      assert.deepEqual(
        [broken.status, broken.json['code'], broken.json['error'], broken.json['context']['request-id']],
        [500, 50000, 'internal error', broken.headers.get('x-request-id')],
      );
      await m.call('POST', 'auth/sign-in', { body: { email: ann.email, password: PASSWORD } });
    } finally {
      await m.stored.sql('alter table sessions_away rename to sessions');
    }
    const log = m.replicas.flatMap((replica) => replica.log).join('');
    assert.ok(log.includes('/frontend/api/v1/auth/api-token/:id') && log.includes('"user":'), 'there is a log');
    for (const secret of secrets) assert.ok(!log.includes(secret), `${secret.slice(0, 12)}… is in the log`);
    assert.ok(!/[A-Za-z0-9]{64}/.test(log) && !/ey[\w-]+\.[\w-]+\.[\w-]{20,}/.test(log));
  });
});
