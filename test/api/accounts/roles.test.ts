/** Every endpoint as every role, from the one access table; and every path with an id of another account. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { DEFAULT_LIMITS } from '../../../src/base/limits.ts';
import { PERMISSIONS } from '../../../src/platform/store/permissions.ts';
import { USER_PERMISSIONS } from '../../../src/service/accounts/caller.ts';
import { ACCESS, PROBE_ACCESS, type Access } from '../../../src/service/api/http/endpoint_access.ts';
import { MANAGEMENT } from '../../../src/service/api/endpoints.ts';
import { SUBJECT } from '../../../src/platform/bus/messages.ts';
import { buildSnapshot } from '../../../src/service/controller/snapshot/build.ts';
import { aView } from '../../controller/snapshot_view.ts';
import { aCloseInput, anOpenInput } from '../../store/fixture.ts';
import { startManagement, type Management, type Person } from './fixture.ts';

describe('the access table', () => {
  it('lists every management endpoint, and no other', () => {
    assert.deepEqual(MANAGEMENT.map(({ name }) => name).sort(), Object.keys(ACCESS).sort());
  });
});

describe('management: roles', function () {
  this.timeout(60_000);
  let m: Management;
  let people: Record<'root' | 'admin' | 'alice' | 'sam' | 'kim' | 'bob' | 'narrow' | 'limited', Person>;
  /** Alice's objects: everything that a path can name. */
  let alices: { user: string; token: string; tokenText: string; session: string; request: string; webhook: string };

  before(async () => {
    m = await startManagement();
    m.bus.serve(SUBJECT.cluster, () => buildSnapshot(aView()));
    const alice = await m.person('alice');
    const sam = await m.person('sam', { parent: alice });
    people = {
      root: m.root,
      admin: await m.person('admin2', { role: 'admin' }),
      alice,
      sam,
      kim: await m.person('kim', { parent: sam }),
      bob: await m.person('bob'),
      narrow: {
        ...alice,
        token: (
          await m.call('POST', 'auth/api-token', {
            token: alice.token,
            body: { name: 'narrow', permissions: ['read:media'] },
          })
        ).json['token'] as string,
      },
      limited: await m.person('limited', { permissions: ['read:profile'] }),
    };
    const { store } = m.replicas[0].deps;
    const open = anOpenInput(store, {
      tokenId: alice.tokenId,
      userId: alice.id,
      display: 'https://alice.test/secret-place.mp4',
      webhookUrl: 'https://alice.test/hook',
    });
    await store.openRequest(open);
    await store.closeRequest(aCloseInput(open, { body: null }));
    await m.call('POST', 'auth/jwt', { token: alice.token });
    const [session] = await m.stored.sql<{ id: string }>('select id from sessions where user_id = $1', [alice.id]);
    const [webhook] = await m.stored.sql<{ id: string }>('select id from webhook_outbox where request_id = $1', [
      open.id,
    ]);
    alices = {
      user: String(alice.id),
      token: String(alice.tokenId),
      tokenText: alice.token,
      session: session!.id,
      request: open.id,
      webhook: webhook!.id,
    };
  });
  after(() => m.stop());

  const NONE = { user: '999999', token: '999999', session: randomUUID(), request: randomUUID(), webhook: randomUUID() };
  const named = (name: string): keyof typeof NONE =>
    name.includes('api-token')
      ? 'token'
      : name.includes('session')
        ? 'session'
        : name.includes('log')
          ? 'request'
          : name.includes('webhook')
            ? 'webhook'
            : 'user';
  const BODIES: Record<string, object> = {
    'POST auth/api-token': { name: 'x' },
    'PUT auth/:id/password': { 'old-password': 'wrong', 'new-password': 'another one' },
    'PUT auth/current/password': { 'old-password': 'wrong', 'new-password': 'another one' },
    'PUT user/:id/status': { status: 'suspended' },
    'PUT user/:id': { 'first-name': 'Mallory' },
    'PUT user/current': { 'first-name': 'Own' },
    'PUT user/:id/limits': { concurrency: 1 },
    'PUT auth/api-token/:id': { name: 'mine now' },
  };
  const ask = (name: string, token: string | undefined, id: string) => {
    const [method, path] = name.split(' ') as [string, string];
    const makes = name === 'POST user/current' || name === 'POST user/:id';
    return m.call(method, path.replace(':id', id), {
      token,
      ...(method === 'POST' || method === 'PUT'
        ? { body: BODIES[name] ?? (makes ? { email: `x-${randomUUID()}@example.org` } : {}) }
        : {}),
    });
  };

  const ROLES: Record<string, { who: keyof typeof people; admin: boolean; permissions: readonly string[] }> = {
    'the root user': { who: 'root', admin: true, permissions: PERMISSIONS },
    'an administrator': { who: 'admin', admin: true, permissions: PERMISSIONS },
    'a user': { who: 'bob', admin: false, permissions: USER_PERMISSIONS },
    'a sub-user': { who: 'sam', admin: false, permissions: USER_PERMISSIONS },
    'a user with one permission': { who: 'limited', admin: false, permissions: ['read:profile'] },
    'a narrowed token': { who: 'narrow', admin: false, permissions: ['read:media'] },
  };
  for (const [title, { who, admin, permissions }] of Object.entries(ROLES)) {
    it(`${title} may call exactly what the access table allows`, async () => {
      for (const [name, access] of Object.entries(ACCESS as Record<string, Access>)) {
        if (access.who === 'anyone') continue;
        const allowed =
          (access.who !== 'admin' || admin) &&
          (access.permission === undefined || permissions.includes(access.permission));
        const answer = await ask(name, people[who].token, NONE[named(name)]);
        if (allowed)
          assert.ok(
            ![401, 403, 405].includes(answer.status) && answer.status < 500,
            `${name}: ${answer.status} ${answer.text}`,
          );
        else assert.deepEqual([answer.status, answer.json['code']], [403, 40300], `${name}: ${answer.text}`);
      }
    });
  }

  it('each permission alone opens exactly the endpoints that require it', async () => {
    const required = Object.entries({ ...ACCESS, ...PROBE_ACCESS } as Record<string, Access>).filter(
      ([, { who, permission }]) => who === 'caller' && permission !== undefined,
    );
    for (const permission of PERMISSIONS) {
      const name = permission.replace(':', '-');
      const { token: only } = await m.person(`only-${name}`, { permissions: [permission] });
      const others = PERMISSIONS.filter((one) => one !== permission);
      const { token: without } = await m.person(`without-${name}`, { permissions: others });
      for (const [endpoint] of required.filter(([, access]) => access.permission === permission)) {
        const opened = await ask(endpoint, only, NONE[named(endpoint)]);
        assert.ok(![401, 403, 405].includes(opened.status), `${endpoint}: ${opened.status} ${opened.text}`);
        // None of them opens it, so no other one does alone.
        const { status, text } = await ask(endpoint, without, NONE[named(endpoint)]);
        assert.deepEqual(
          [status, text.includes(`missing permission: ${permission}`)],
          [403, true],
          `${endpoint}: ${text}`,
        );
      }
    }
  });

  it('unauthenticated calls are refused everywhere', async () => {
    for (const [name, access] of Object.entries(ACCESS as Record<string, Access>)) {
      const answer = await ask(name, undefined, alices[named(name)]);
      // The ways to sign in are for everybody, and no issuer has this name.
      const open = name === 'GET auth/sso' ? 200 : /sso\/:name(?!\/token)/.test(name) ? 404 : 400;
      if (access.who === 'anyone') assert.equal(answer.status, open, name);
      else
        assert.deepEqual(
          [answer.status, answer.json['code'], answer.headers.get('www-authenticate')],
          [401, 40100, 'Bearer'],
          name,
        );
    }
  });

  it('suspended and pending accounts, and those below a suspended one, are refused everywhere', async () => {
    const [sue, pete] = [await m.person('sue', { status: 'suspended' }), await m.person('pete', { status: 'pending' })];
    const below = await m.person('below', { parent: await m.person('between', { parent: sue }) });
    for (const person of [sue, pete, below]) {
      for (const [name, access] of Object.entries(ACCESS as Record<string, Access>)) {
        if (access.who === 'anyone') continue;
        const answer = await ask(name, person.token, NONE[named(name)]);
        assert.deepEqual([answer.status, answer.json['code']], [403, 40301], `${person.email} ${name}`);
      }
    }
  });

  /** Everything of Alice's that could be changed. */
  const state = () =>
    m.stored.sql(
      `select (select json_agg(u order by id) from (select id, email, first_name, role, status, password_hash,
      permissions, restrictions, concurrency from users where id = any($1)) u) users,
       (select json_agg(t order by id) from (select id, name, sha256, revoked_at, permissions from tokens where user_id
       = any($1)) t) tokens,
       (select json_agg(s order by id) from (select id, ended_at from sessions where user_id = any($1)) s) sessions,
       (select json_agg(w order by id) from (select id, state, attempts from webhook_outbox where user_id = any($1)) w)
       webhooks`,
      [[people.alice.id]],
    );

  it('objects of another account are 404 for a stranger, a sub-user and its sub-user, and unchanged', async () => {
    const before = await state();
    // Issuers are nobody's.
    const ofOne = MANAGEMENT.filter(({ operation: { path } }) => path.includes(':') && !path.includes('/sso/'));
    for (const who of ['bob', 'sam', 'kim'] as const) {
      for (const { name } of ofOne) {
        for (const id of named(name) === 'token' ? [alices.token, alices.tokenText] : [alices[named(name)]]) {
          const answer = await ask(name, people[who].token, id);
          const forAdmins = (ACCESS as Record<string, Access>)[name]!.who === 'admin';
          assert.equal(answer.status, forAdmins ? 403 : 404, `${who} ${name}: ${answer.text}`);
          assert.ok(!answer.text.includes('alice') && !answer.text.includes(people.alice.token), `${who} ${name}`);
        }
      }
    }
    assert.deepEqual(await state(), before);
  });

  it('lists and figures contain nothing of another account, and filters by its ids answer 404', async () => {
    for (const who of ['bob', 'sam', 'kim', 'limited', 'narrow'] as const) {
      for (const { name } of MANAGEMENT.filter(
        ({ operation }) => operation.method === 'get' && !operation.path.includes(':'),
      )) {
        const answer = await ask(name, people[who].token, '');
        if (answer.status === 403) continue;
        assert.equal(answer.status, 200, name);
        if (
          who !== 'narrow' &&
          !(who === 'sam' && name === 'GET user/current') &&
          !(who === 'kim' && name === 'GET user/current')
        ) {
          assert.ok(
            !answer.text.includes('alice') &&
              !answer.text.includes(`"user-id":${people.alice.id},`) &&
              !answer.text.includes(alices.request),
            `${who} ${name}: ${answer.text}`,
          );
        }
      }
    }
    for (const path of [
      'media/log',
      'statistics/usage',
      'statistics/queue',
      'statistics/requests',
      'statistics/sources',
      'auth/api-token',
    ]) {
      for (const who of ['bob', 'sam'] as const) {
        assert.equal(
          (await m.call('GET', `${path}?user-id=${people.alice.id}`, { token: people[who].token })).status,
          404,
          `${who} ${path}`,
        );
        if (path !== 'auth/api-token')
          assert.equal(
            (await m.call('GET', `${path}?token-id=${people.alice.tokenId}`, { token: people[who].token })).status,
            404,
            `${who} ${path}`,
          );
      }
    }
  });

  it('a user sees all users below, at any depth; an administrator sees everyone', async () => {
    const seen = async (who: keyof typeof people) =>
      (
        (await m.call('GET', 'user?pagination[limit]=1000', { token: people[who].token })).json['users'] as {
          id: number;
        }[]
      ).map(({ id }) => id);
    const under = await seen('alice');
    assert.ok(
      under.includes(people.sam.id) &&
        under.includes(people.kim.id) &&
        !under.includes(people.alice.id) &&
        !under.includes(people.bob.id),
    );
    assert.ok(!(await seen('sam')).includes(people.alice.id));
    const all = await seen('admin');
    for (const { id } of Object.values(people)) assert.ok(all.includes(id));
    const kim = await m.call('GET', `user/${people.kim.id}`, { token: people.alice.token });
    assert.deepEqual(
      [kim.json['parent-user-ids'], kim.json['root-user-id'], kim.json['parent'].id],
      [[people.alice.id, people.sam.id], people.alice.id, people.sam.id],
    );
    for (const path of [
      `user/${people.alice.id}`,
      `user/${people.alice.id}/limits`,
      `auth/api-token/${alices.token}`,
      `media/log/${alices.request}`,
    ]) {
      assert.equal((await m.call('GET', path, { token: people.admin.token })).status, 200, path);
    }
    const token = await m.call('GET', `auth/api-token/${alices.token}`, { token: people.root.token });
    assert.deepEqual(
      [token.json['token'], token.json['webhook-secret']],
      [undefined, undefined],
      "the token itself is its owner's",
    );
  });

  it('users by id: those that were asked for, of those that the caller sees', async () => {
    const found = async (who: keyof typeof people, query: string) =>
      ((await m.call('GET', `user?${query}`, { token: people[who].token })).json['users'] as { id: number }[])
        .map(({ id }) => id)
        .toSorted((a, b) => a - b);
    const both = `id=${people.sam.id}&id=${people.bob.id}`;
    assert.deepEqual(await found('alice', both), [people.sam.id]);
    assert.deepEqual(
      await found('admin', both),
      [people.sam.id, people.bob.id].toSorted((a, b) => a - b),
    );
    for (const nobody of ['id=999999999', 'id=0']) assert.deepEqual(await found('admin', nobody), []);
    for (const wrong of ['id=-1', 'id=x', 'id=1.5', 'id=9007199254740992'])
      assert.equal((await m.call('GET', `user?${wrong}`, { token: people.admin.token })).status, 400, wrong);
  });

  it('an administrator with a token without admin permissions is treated as a user', async () => {
    const made = await m.call('POST', 'auth/api-token', {
      token: people.admin.token,
      body: { permissions: [...USER_PERMISSIONS] },
    });
    const token = made.json['token'] as string;
    assert.equal((await m.call('GET', `user/${people.alice.id}`, { token })).status, 404);
    const seen = (await m.call('GET', 'user?pagination[limit]=1000', { token })).json['users'] as { role: string }[];
    assert.ok(
      seen.every(({ role }) => role === 'sub'),
      'his own sub-users',
    );
    assert.equal(
      (await m.call('PUT', `user/${people.alice.id}/status`, { token, body: { status: 'suspended' } })).status,
      403,
    );
  });

  it('limits: administrators set those of users below them, the root user those of everyone', async () => {
    const other = await m.person('admin4', { role: 'admin' });
    const RULES: [by: keyof typeof people, of: { id: number }, status: number][] = [
      ['admin', people.root, 403],
      ['admin', other, 403],
      ['admin', people.admin, 403],
      ['admin', people.bob, 200],
      ['admin', people.sam, 200],
      ['root', people.root, 200],
      ['root', other, 200],
      ['root', people.bob, 200],
      ['root', people.kim, 200],
      ['bob', people.bob, 403],
      ['bob', people.alice, 403],
      ['alice', people.sam, 403],
      ['sam', people.alice, 403],
    ];
    for (const [by, of, status] of RULES) {
      const before = await m.replicas[0].deps.store.userLimits(of.id);
      const answer = await m.call('PUT', `user/${of.id}/limits`, { token: people[by].token, body: { concurrency: 7 } });
      assert.equal(answer.status, status, `${by} of ${of.id}: ${answer.text}`);
      const after = await m.replicas[0].deps.store.userLimits(of.id);
      assert.deepEqual(after, status === 200 ? { ...before, concurrency: 7 } : before, `${by} of ${of.id}`);
      await m.stored.sql('update users set concurrency = null where id = $1', [of.id]);
    }
  });

  it("limits: the root user's account-concurrency applies to every token below, and is shown as in force", async () => {
    const { token } = people.root;
    const limits = (of: { id: number }) => `user/${of.id}/limits`;
    const inForce = async (of: { id: number }) =>
      (await m.call('GET', limits(of), { token })).json['in-force'] as Record<string, number | null>;
    const ofToken = async (id: number) =>
      (await m.call('GET', `auth/api-token/${id}`, { token })).json as {
        limits: Record<string, unknown>;
        'limits-in-force': Record<string, unknown>;
      };
    const put = (of: { id: number }, body: object) => m.call('PUT', limits(of), { token, body });
    assert.deepEqual(
      [(await inForce(people.alice))['account-concurrency'], (await inForce(people.kim))['account-concurrency']],
      [4 * DEFAULT_LIMITS.concurrency, 4 * DEFAULT_LIMITS.concurrency],
    );
    const set = await put(people.alice, { 'account-concurrency': 6, concurrency: 20 });
    assert.deepEqual(
      [set.status, set.json['account-concurrency'], set.json['concurrency'], set.json['in-force']],
      [
        200,
        6,
        20,
        {
          'requests-per-minute': DEFAULT_LIMITS.requestsPerMinute,
          concurrency: 6,
          'queue-timeout': DEFAULT_LIMITS.queueTimeoutMs,
          'file-size': DEFAULT_LIMITS.fileBytes,
          'cache-max-age': 0,
          'account-concurrency': 6,
        },
      ],
    );
    assert.deepEqual(
      [(await inForce(people.kim)).concurrency, (await inForce(people.kim))['account-concurrency']],
      [6, 6],
    );
    await m.call('PUT', `auth/api-token/${people.kim.tokenId}`, {
      token: people.kim.token,
      body: { limits: { concurrency: 9 } },
    });
    const shown = await ofToken(people.kim.tokenId);
    assert.deepEqual(
      [shown.limits['concurrency'], shown['limits-in-force']['concurrency']],
      [9, 6],
      'given, and in force',
    );
    const list = (await m.call('GET', 'auth/api-token', { token: people.kim.token })).json['api-tokens'] as {
      'limits-in-force': Record<string, unknown>;
    }[];
    assert.equal(list[0]?.['limits-in-force']['concurrency'], 6);
    assert.equal((await put(people.alice, { 'account-concurrency': 0 })).json['account-concurrency'], 0);
    assert.deepEqual(
      [(await inForce(people.kim)).concurrency, (await inForce(people.kim))['account-concurrency']],
      [20, undefined],
      'no bound',
    );
    const back = await put(people.alice, { 'account-concurrency': null, concurrency: null });
    assert.deepEqual(
      [back.json['account-concurrency'], (back.json['in-force'] as Record<string, unknown>)['account-concurrency']],
      [undefined, 4 * DEFAULT_LIMITS.concurrency],
      'the default again',
    );
    const refused = await put(people.kim, { 'account-concurrency': 5 });
    assert.deepEqual(
      [refused.status, refused.json['error']],
      [400, `account-concurrency: can only be set on the root user of the account, user ${people.alice.id}`],
    );
    for (const wrong of [-1, 1.5, 'many', 1_000_001])
      assert.equal((await put(people.alice, { 'account-concurrency': wrong })).status, 400, String(wrong));
    const onToken = await m.call('PUT', `auth/api-token/${people.kim.tokenId}`, {
      token: people.kim.token,
      body: { limits: { 'account-concurrency': 1 } },
    });
    assert.equal(onToken.status, 400, 'a token has none');
  });

  it('roles: only the root user changes administrators and roles, and no user their own permissions', async () => {
    const [admin, other] = [people.admin, await m.person('admin3', { role: 'admin' })];
    const refused = async (token: string, method: string, path: string, body: object) =>
      assert.equal(
        (await m.call(method, path, { token, body })).status,
        403,
        `${method} ${path} ${JSON.stringify(body)}`,
      );
    for (const target of [people.root, other]) {
      await refused(admin.token, 'PUT', `user/${target.id}`, { 'first-name': 'x' });
      await refused(admin.token, 'PUT', `user/${target.id}/status`, { status: 'suspended' });
      await refused(admin.token, 'PUT', `auth/${target.id}/password`, {
        'old-password': 'correct horse',
        'new-password': 'mine now',
      });
      await refused(admin.token, 'DELETE', `user/${target.id}`, {});
      await refused(admin.token, 'DELETE', `auth/api-token/${target.tokenId}`, {});
    }
    await refused(admin.token, 'PUT', `user/${people.bob.id}`, { role: 'admin' });
    await refused(people.root.token, 'PUT', `user/${people.sam.id}`, { role: 'admin' });
    await refused(people.bob.token, 'PUT', `user/${people.bob.id}`, { permissions: ['read:admin'] });
    await refused(people.root.token, 'PUT', `user/${people.root.id}/status`, { status: 'suspended' });
    await refused(people.root.token, 'DELETE', `user/${people.root.id}`, {});
    const promoted = await m.call('PUT', `user/${other.id}`, { token: people.root.token, body: { role: 'user' } });
    assert.deepEqual(
      [promoted.status, promoted.json['role'], 'admin' in (promoted.json['permissions'] as object)],
      [200, 'user', false],
    );
    assert.equal((await m.call('GET', `user/${people.alice.id}`, { token: other.token })).status, 404);
  });
});
