import assert from 'node:assert/strict';
import { PERMISSIONS } from '../../src/platform/store/permissions.ts';
import { bootstrapAdmin, renewAdmin } from '../../src/platform/store/admin.ts';
import type { TokenChange } from '../../src/platform/store/listen.ts';
import {
  effectiveLimits,
  effectivePermissions,
  effectiveStatus,
  type GivenLimits,
  type GivenToAccount,
} from '../../src/platform/store/limits.ts';
import { hashPassword, verifyPassword } from '../../src/platform/store/password.ts';
import { DEFAULT_LIMITS } from '../../src/base/limits.ts';
import { until } from '../until.ts';
import { ADMIN, sha256, type StoreFixture, startStore } from './fixture.ts';

const none: GivenToAccount = {
  requestsPerMinute: null,
  concurrency: null,
  queueTimeoutMs: null,
  fileBytes: null,
  cacheMaxAgeS: null,
  accountConcurrency: null,
};

const { concurrency: DEFAULT } = DEFAULT_LIMITS;

describe('store: limits of a token', () => {
  const cases: [string, Partial<GivenLimits>, Partial<GivenLimits>, Partial<GivenLimits>[], number][] = [
    ['nothing set: the default', {}, {}, [], DEFAULT],
    ['a user may have more than the default', {}, { concurrency: 50 }, [], 50],
    ['a sub-user has the limit of the root user', {}, {}, [{ concurrency: 20 }], 20],
    ['a sub-user may have less than the root user', {}, { concurrency: 5 }, [{ concurrency: 20 }], 5],
    [
      'a sub-user who was given more has the limit of the root user',
      {},
      { concurrency: 30 },
      [{ concurrency: 20 }],
      20,
    ],
    ['the smallest limit of the accounts above applies', {}, {}, [{ concurrency: 20 }, { concurrency: 3 }, {}], 3],
    ['a token lowers the limit', { concurrency: 2 }, { concurrency: 50 }, [], 2],
    ['a token does not raise the limit', { concurrency: 99 }, { concurrency: 50 }, [], 50],
  ];
  for (const [name, token, user, above, expected] of cases) {
    it(name, () =>
      assert.deepEqual(
        effectiveLimits(
          { ...none, ...token },
          { ...none, ...user },
          above.map((one) => ({ ...none, ...one })),
          { ...DEFAULT_LIMITS, accountConcurrency: 0 },
        ),
        {
          ...DEFAULT_LIMITS,
          accountConcurrency: null,
          concurrency: expected,
          accountRequestsPerMinute: 4 * DEFAULT_LIMITS.requestsPerMinute,
          cacheMaxAgeS: 0,
        },
      ),
    );
  }

  const ofAccount: [
    string,
    Partial<GivenToAccount>,
    Partial<GivenToAccount>[],
    number | null,
    [account: number | null, token: number],
  ][] = [
    ["by default four times the limit of the root user's tokens", {}, [], null, [4 * DEFAULT, DEFAULT]],
    [
      'four times what the root user was given, for a sub-user, too',
      { concurrency: 3 },
      [{ concurrency: 50 }],
      null,
      [200, 3],
    ],
    ['that of the installation', {}, [{}], 50, [50, DEFAULT]],
    ['no limit in the installation', {}, [{}], 0, [null, DEFAULT]],
    ['that of the root user', {}, [{ accountConcurrency: 8 }], 15, [8, 8]],
    ['no limit for the root user', {}, [{ accountConcurrency: 0 }], 15, [null, DEFAULT]],
    [
      'that of a sub-user is ignored',
      { accountConcurrency: 99 },
      [{ accountConcurrency: 60 }, { accountConcurrency: 77 }],
      null,
      [60, DEFAULT],
    ],
    [
      "a token's limit above that of its account is cut to it",
      { concurrency: 30, accountConcurrency: 5 },
      [],
      null,
      [5, 5],
    ],
  ];
  for (const [name, user, above, installation, [account, token]] of ofAccount) {
    it(`account concurrency: ${name}`, () => {
      const limits = effectiveLimits(
        none,
        { ...none, ...user },
        above.map((one) => ({ ...none, ...one })),
        { ...DEFAULT_LIMITS, accountConcurrency: installation },
      );
      assert.deepEqual([limits.accountConcurrency, limits.concurrency], [account, token]);
    });
  }

  const ofCache: [string, number | null, number | null, (number | null)[], number][] = [
    ['none by default', null, null, [null, null], 0],
    ['that of the root user', null, null, [60, null], 60],
    ['the nearest account that has one', null, null, [60, 600], 600],
    ['that of the user before those above', null, 5, [60, 600], 5],
    ['a token may have a longer one', 6_000, 5, [60], 6_000],
    ['a token may have none', 0, 5, [60], 0],
  ];
  for (const [name, ofToken, ofUser, above, expected] of ofCache)
    it(`age of cached results: ${name}`, () => {
      const given = (cacheMaxAgeS: number | null): GivenToAccount => ({ ...none, cacheMaxAgeS });
      const limits = effectiveLimits(given(ofToken), given(ofUser), above.map(given), DEFAULT_LIMITS);
      assert.equal(limits.cacheMaxAgeS, expected);
    });

  const ofRate: [string, Partial<GivenToAccount>, Partial<GivenToAccount>[], number][] = [
    ["four times the default limit of the root user's tokens", {}, [], 4 * DEFAULT_LIMITS.requestsPerMinute],
    [
      'four times what the root user was given, for a sub-user, too',
      { requestsPerMinute: 5 },
      [{ requestsPerMinute: 50 }],
      200,
    ],
    [
      'what a sub-user was given is ignored',
      { requestsPerMinute: 5_000 },
      [{}, { requestsPerMinute: 5_000 }],
      4 * DEFAULT_LIMITS.requestsPerMinute,
    ],
  ];
  for (const [name, user, above, perMinute] of ofRate) {
    it(`requests a minute of the account: ${name}`, () => {
      const limits = effectiveLimits(
        none,
        { ...none, ...user },
        above.map((one) => ({ ...none, ...one })),
        DEFAULT_LIMITS,
      );
      assert.equal(limits.accountRequestsPerMinute, perMinute);
    });
  }

  it("permissions: the user's minus their restrictions, narrowed by the token", () => {
    assert.deepEqual(effectivePermissions(null, ['a', 'b'], []), ['a', 'b']);
    assert.deepEqual(effectivePermissions(['b', 'c'], ['a', 'b'], []), ['b']);
    assert.deepEqual(effectivePermissions(null, ['a', 'b'], ['b']), ['a']);
    assert.deepEqual(effectivePermissions(null, ['a', 'b'], [], [['b', 'c']]), ['b']);
    assert.deepEqual(effectivePermissions(null, ['a', 'b'], [], [['a', 'b'], ['a']]), ['a']);
  });

  it('a suspended account above suspends the token', () => {
    assert.equal(effectiveStatus('active', [{ suspended: false }, { suspended: true }]), 'suspended');
    assert.equal(effectiveStatus('pending', [{ suspended: false }]), 'pending');
  });
});

describe('store: tokens', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  before(async () => {
    fixture = await startStore();
  });
  after(() => fixture.close());

  it("finds the administrator's token by its hash", async () => {
    assert.deepEqual(await fixture.store.findToken(sha256(ADMIN.token)), {
      id: fixture.admin.tokenId,
      userId: fixture.admin.userId,
      rootUserId: fixture.admin.userId,
      name: 'install',
      role: 'root',
      userStatus: 'active',
      quotas: [],
      permissions: [...PERMISSIONS],
      expiresAt: null,
      limits: {
        ...DEFAULT_LIMITS,
        accountConcurrency: 4 * DEFAULT,
        accountRequestsPerMinute: 4 * DEFAULT_LIMITS.requestsPerMinute,
        cacheMaxAgeS: 0,
      },
      allow: [],
    });
    assert.equal(await fixture.store.findToken(sha256('unknown')), null);
  });

  it('no request can authenticate with the default token', async () => {
    const token = await fixture.store.defaultToken();
    assert.equal(token?.name, 'kubectl');
    assert.deepEqual(await fixture.sql('select sha256 from tokens where id = $1', [token?.id]), [{ sha256: null }]);
  });

  it('the token of an account: the given one if it is theirs, else the oldest usable of the root user', async () => {
    const { sql, store } = fixture;
    const user = async (email: string, parent: number | null) =>
      Number(
        (
          await sql<{ id: string }>(
            "insert into users (email, status, role, permissions, parent_id) values ($1, 'active', 'user', '{}', $2) " +
              'returning id',
            [email, parent],
          )
        )[0]?.id,
      );
    const [root, stranger] = [await user('root@example.org', null), await user('stranger@example.org', null)];
    const member = await user('member@example.org', root);
    const token = async (of: number, name: string, expires: string | null = null, revoked: string | null = null) =>
      Number(
        (
          await sql<{ id: string }>(
            'insert into tokens (user_id, name, sha256, expires_at, revoked_at) values ($1, $2, $3, ' +
              'now() + $4::interval, now() + $5::interval) returning id',
            [of, name, sha256(`account ${of} ${name}`), expires, revoked],
          )
        )[0]?.id,
      );
    const found = async (account: number, given: number | null = null) =>
      (await store.tokenOfAccount(account, given))?.id;
    const ofMember = await token(member, 'member');
    assert.equal(await found(root), undefined, 'not one of another user of the account');
    await token(root, 'revoked', null, '-1 minute');
    await token(root, 'expired', '-1 minute');
    const ends = await token(root, 'ends', '1 day');
    assert.equal(await found(root), ends);
    const stays = await token(root, 'stays');
    await token(root, 'newer');
    assert.equal(await found(root), stays);
    assert.equal(await found(root, ofMember), ofMember);
    assert.equal(await found(root, await token(stranger, 'theirs')), undefined);
    assert.equal(await found(member, ofMember), undefined, 'an account is named by its root user');
  });

  it('reads many tokens at once, without revoked ones', async () => {
    const [made] = await fixture.sql<{ id: string }>(
      'insert into tokens (user_id, sha256, concurrency, allow, revoked_at) values ($1, ' +
        `$2, 3, '[{"cidr":"10.0.0.0/8","port":80}]', null) returning id`,
      [fixture.admin.userId, sha256('t1')],
    );
    const id = Number(made?.id);
    const found = await fixture.store.tokenLimits([id, fixture.admin.tokenId, 99_999]);
    assert.deepEqual([...found.keys()].sort(), [fixture.admin.tokenId, id].sort());
    assert.equal(found.get(id)?.limits.concurrency, 3);
    assert.deepEqual(found.get(id)?.allow, [{ cidr: '10.0.0.0/8', port: 80 }]);
    await fixture.sql('update tokens set revoked_at = now() where id = $1', [id]);
    assert.equal((await fixture.store.tokenLimits([id])).size, 0);
    assert.equal(await fixture.store.findToken(sha256('t1')), null);
  });

  it('bootstrap: running again and concurrently changes nothing', async () => {
    const before = await fixture.sql(
      'select (select count(*) from users)::integer users, (select count(*) from tokens)::integer tokens',
    );
    const url = fixture.server.url;
    const answers = await Promise.all([
      bootstrapAdmin({ url }, ADMIN),
      bootstrapAdmin({ url }, ADMIN),
      bootstrapAdmin({ url }, ADMIN),
    ]);
    for (const answer of answers) assert.deepEqual(answer, fixture.admin);
    assert.deepEqual(
      await fixture.sql(
        'select (select count(*) from users)::integer users, (select count(*) from tokens)::integer tokens',
      ),
      before,
    );
  });

  it('bootstrap: replaces the token, renames on another address, and keeps a changed password', async () => {
    const url = fixture.server.url;
    const [row] = await fixture.sql<{ password_hash: string }>('select password_hash from users where id = $1', [
      fixture.admin.userId,
    ]);
    assert.equal(await verifyPassword(ADMIN.password, row?.password_hash ?? ''), true);
    assert.equal(await verifyPassword('another', row?.password_hash ?? ''), false);
    assert.equal(await verifyPassword('another', 'not a hash'), false);
    const answer = await bootstrapAdmin(
      { url },
      { email: 'boss@example.org', password: 'a new one', token: 'B'.repeat(64) },
    );
    assert.equal(answer.userId, fixture.admin.userId);
    assert.equal(await fixture.store.findToken(sha256(ADMIN.token)), null);
    assert.equal((await fixture.store.findToken(sha256('B'.repeat(64))))?.userId, answer.userId);
    const [after] = await fixture.sql<{ email: string; password_hash: string }>(
      'select email, password_hash from users where id = $1',
      [answer.userId],
    );
    assert.deepEqual(after, { email: 'boss@example.org', password_hash: row?.password_hash });
  });

  it('another token of the administrator, and another password as long as theirs is the known one', async () => {
    const settings = { url: fixture.server.url };
    const { userId } = await bootstrapAdmin(settings, ADMIN);
    await fixture.store.setPassword(userId, await hashPassword('first'));
    const hash = async () => (await fixture.store.passwordHash(userId)) ?? '';
    const renew = (token: string, known: string, password: string) =>
      renewAdmin(settings, { email: ADMIN.email, token: token.repeat(64), known, password });
    for (let time = 0; time < 2; time++) {
      await renew('C', 'first', 'second');
      assert.equal((await fixture.store.findToken(sha256('C'.repeat(64))))?.userId, userId);
      assert.equal(await fixture.store.findToken(sha256(ADMIN.token)), null);
      assert.equal(await verifyPassword('second', await hash()), true);
    }
    const chosen = await hashPassword('chosen');
    await fixture.store.setPassword(userId, chosen);
    await renew('D', 'second', 'third');
    assert.equal(await hash(), chosen);
  });

  for (const [what, input] of [
    ['token', { ...ADMIN, token: 'short' }],
    ['e-mail', { ...ADMIN, email: 'nobody' }],
  ] as const) {
    it(`bootstrap: refuses an invalid ${what}`, () =>
      assert.rejects(bootstrapAdmin({ url: fixture.server.url }, input), { name: 'StoreError', code: 'invalid' }));
  }
});

describe('store: notices of changed tokens', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  before(async () => {
    fixture = await startStore({ alone: true });
  });
  after(() => fixture.close());

  it('reports every change, flushes the cache on reconnect, and reports when it is not listening', async () => {
    const heard: TokenChange[] = [];
    const listener = fixture.store.listenTokens((change) => heard.push(change));
    await until('the listener is connected', () => listener.listening());
    assert.deepEqual(heard.splice(0), [{ all: true }]);

    const [made] = await fixture.sql<{ id: string }>(
      'insert into tokens (user_id, sha256) values ($1, $2) returning id',
      [fixture.admin.userId, sha256('n')],
    );
    await fixture.sql('update tokens set sha256 = $2 where id = $1', [made?.id, sha256('m')]);
    await fixture.sql(`update users set status = 'suspended' where id = $1`, [fixture.admin.userId]);
    await fixture.sql('delete from tokens where id = $1', [made?.id]);
    const token = Number(made?.id);
    const hex = (text: string) => sha256(text).toString('hex');
    await until('five notices', () => heard.length === 5);
    assert.deepEqual(heard.splice(0), [
      { token, sha256: hex('n') },
      { token, sha256: hex('m') },
      { token, sha256: hex('n') },
      { user: fixture.admin.userId, root: fixture.admin.userId },
      { token, sha256: hex('m') },
    ]);

    await fixture.server.down('immediate');
    await until('the listener reports that it is disconnected', () => !listener.listening());
    await fixture.server.restart();
    await until('it listens again', () => listener.listening());
    assert.deepEqual(heard, [{ all: true }]);
    await listener.stop();
    assert.equal(listener.listening(), false);
  });

  it('a notice of a user names the root user, and both root users when the user moves', async () => {
    const insert = async (email: string, parent: number | null): Promise<number> => {
      const text = `insert into users (email, role, status, parent_id) values ($1, $2, 'active', $3) returning id`;
      return Number(
        (await fixture.sql<{ id: string }>(text, [email, parent === null ? 'user' : 'sub', parent]))[0]!.id,
      );
    };
    const [one, other] = [await insert('one@example.org', null), await insert('other@example.org', null)];
    const middle = await insert('middle@example.org', one);
    const low = await insert('low@example.org', middle);
    const heard: TokenChange[] = [];
    const listener = fixture.store.listenTokens((change) => heard.push(change));
    await until('the listener is connected', () => listener.listening());
    heard.length = 0;
    await fixture.sql(`update users set status = 'suspended' where id = $1`, [low]);
    await fixture.sql('update users set parent_id = $2 where id = $1', [low, other]);
    await fixture.sql('delete from users where id = $1', [low]);
    await until('four notices', () => heard.length === 4);
    assert.deepEqual(heard, [
      { user: low, root: one },
      { user: low, root: one },
      { user: low, root: other },
      { user: low, root: other },
    ]);
    await listener.stop();
  });

  it('a terminated backend is replaced', async () => {
    const heard: TokenChange[] = [];
    const listener = fixture.store.listenTokens((change) => heard.push(change));
    await until('the listener is connected', () => heard.length === 1 && listener.listening());
    await fixture.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'probeyard-listen'`,
    );
    await until('it flushed again', () => heard.length === 2 && listener.listening());
    await listener.stop();
  });
});
