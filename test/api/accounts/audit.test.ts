/** What leaves an entry in the audit log, and what it says. */
import assert from 'node:assert/strict';
import { ENDPOINTS } from '../../../src/service/api/endpoints.ts';
import { changesOf } from '../../../src/service/api/http/audit.ts';
import { UNAUDITED } from '../../../src/service/api/http/endpoint_access.ts';
import { until } from '../../until.ts';
import { aCloseInput, anOpenInput } from '../../store/fixture.ts';
import { type Answer, PASSWORD, startManagement, type Management, type Person } from './fixture.ts';

describe('audit: what changed', () => {
  const table: [string, ...Parameters<typeof changesOf>, ReturnType<typeof changesOf>][] = [
    ['nothing', { a: 1, b: ['x'] }, { a: 1, b: ['x'] }, []],
    ['a value', { a: 1 }, { a: 2 }, [{ field: 'a', before: 1, after: 2 }]],
    ['a list', { a: ['x'] }, { a: ['x', 'y'] }, [{ field: 'a', before: ['x'], after: ['x', 'y'] }]],
    ['a value that was none', { a: null }, { a: 2 }, [{ field: 'a', after: 2 }]],
    ['a value that is none', { a: 2 }, {}, [{ field: 'a', before: 2 }]],
    ['what is new', null, { a: 1, b: null }, [{ field: 'a', after: 1 }]],
    ['an empty text', null, { a: '' }, []],
    ['what is gone', { a: 1 }, null, [{ field: 'a', before: 1 }]],
    ['a name', { 'first-name': 'Ada' }, { 'first-name': 'Grace' }, [{ field: 'first-name', redacted: 'changed' }]],
  ];
  for (const [what, before, after, expected] of table)
    it(what, () => assert.deepEqual(changesOf(before, after), expected));
});

describe('audit: entries', function () {
  this.timeout(60_000);
  let m: Management;
  let alice: Person;
  let sam: Person;
  before(async () => {
    m = await startManagement();
    alice = await m.person('alice');
    sam = await m.person('sam', { parent: alice });
  });
  after(() => m.stop());

  interface Entry {
    id: string;
    actor_id: number | null;
    account_id: number | null;
    token_id: number | null;
    address: string;
    action: string;
    subject: string | null;
    outcome: string;
    code: string | null;
    changes: { field: string; before?: unknown; after?: unknown; redacted?: string }[];
  }
  /** Of one call, by the id of its answer. */
  const entries = (headers: Headers) =>
    m.stored.sql<Entry>(
      `select id, actor_id::integer, account_id::integer, token_id::integer, address, action, subject, outcome, code,
        changes from audit where id = $1`,
      [headers.get('X-Request-Id')],
    );
  const entry = async ({ headers }: { headers: Headers }): Promise<Entry> =>
    until('an entry', async () => (await entries(headers))[0]);

  it('a change: who, with what, from where, on whom; and the same in the log', async () => {
    const answer = await m.call('PUT', `user/${sam.id}`, { token: alice.token, body: { 'last-name': 'X' } });
    assert.equal(answer.status, 200);
    const { changes: _, id, ...said } = await entry(answer);
    assert.deepEqual(said, {
      actor_id: alice.id,
      account_id: alice.id,
      token_id: alice.tokenId,
      address: '127.0.0.1',
      action: 'changeUser',
      subject: `user/${sam.id}`,
      outcome: 'done',
      code: null,
    });
    const line = m.replicas[0].log.map((text) => JSON.parse(text)).find(({ audit }) => audit === true);
    assert.deepEqual(
      [line.request_id, line.action, line.subject, line.user, line.outcome],
      [id, 'changeUser', `user/${sam.id}`, alice.id, 'done'],
    );
  });

  it('a call that is denied to a known user, with an expired token, too; not one of nobody, or a mistake', async () => {
    const suspend = { body: { status: 'suspended' } };
    const denied = await m.call('PUT', `user/${alice.id}/status`, { token: sam.token, ...suspend });
    const { actor_id: actor, account_id: account, subject, outcome, code, changes } = await entry(denied);
    assert.deepEqual(
      [denied.status, actor, account, subject, outcome, code, changes],
      [403, sam.id, alice.id, `user/${alice.id}`, 'denied', 'no-permission', []],
    );
    const made = await m.call('POST', 'auth/api-token', { token: sam.token, body: { ttl: 1000 } });
    await m.stored.sql(`update tokens set expires_at = now() - interval '1 second' where id = $1`, [made.json['id']]);
    const token = made.json['token'] as string;
    const late = await until('the token is known as expired', async () => {
      const answer = await m.call('GET', 'user/current', { token });
      return answer.status === 401 && answer;
    });
    assert.deepEqual([(await entry(late)).code, (await entry(late)).actor_id], ['bad-credential', sam.id]);
    for (const call of [
      await m.call('PUT', `user/${alice.id}/status`, suspend),
      await m.call('PUT', `user/${alice.id}/status`, { token: 'B'.repeat(64), ...suspend }),
      await m.call('PUT', 'user/999999/status', { token: m.root.token, ...suspend }),
      await m.call('PUT', `user/${alice.id}/status`, { token: m.root.token, body: { status: 'unheard of' } }),
      await m.call('GET', `user/${alice.id}`, { token: m.root.token }),
    ])
      assert.deepEqual(await entries(call.headers), [], `${call.status}`);
  });

  it('denied calls of an account are bounded', async () => {
    const carol = await m.person('carol', { permissions: [] });
    for (let call = 0; call < 40; call++) await m.call('GET', 'user', { token: carol.token });
    const count = () =>
      m.stored.sql<{ n: number }>('select count(*)::integer n from audit where actor_id = $1', [carol.id]);
    await until('the last of them', async () => (await count())[0]!.n >= 30);
    assert.ok((await count())[0]!.n <= 32);
  });

  it('an id that is none is not repeated: it may be a secret', async () => {
    const narrow = await m.person('narrow', { permissions: [] });
    const answer = await m.call('DELETE', `auth/api-token/${alice.token}`, { token: narrow.token });
    assert.equal(answer.status, 403);
    assert.equal((await entry(answer)).subject, null);
  });

  const email = (name: string): string => `${name}@example.org`;
  const signIn = (name: string) => m.call('POST', 'auth/sign-in', { body: { email: email(name), password: PASSWORD } });
  const jwtOf = async (name: string): Promise<string> => (await signIn(name)).json['jwt-token'].token as string;
  const newToken = async (body: object = {}) => m.call('POST', 'auth/api-token', { token: alice.token, body });
  const codeFor = async (name: string): Promise<string> => (await m.box.next(email(name))).code;
  /** An ended request of Alice, with a webhook. */
  async function aRequest(): Promise<string> {
    const { store } = m.replicas[0].deps;
    const open = anOpenInput(store, {
      tokenId: alice.tokenId,
      userId: alice.id,
      display: 'https://alice.test/secret-place.mp4',
      webhookUrl: 'https://alice.test/hook',
    });
    await store.openRequest(open);
    await store.closeRequest(aCloseInput(open, { body: null }));
    return open.id;
  }
  const link = async () => m.call('POST', `media/log/${await aRequest()}/link`, { token: alice.token, body: {} });
  const policy = (name: string) =>
    m.call('PUT', `/v1/policy/${name}`, {
      token: alice.token,
      body: { rules: [{ name: 'video', each: 'video', field: 'codec.name', is: 'h264' }] },
    });

  const WAIVER = /^waiver\/[0-9a-f-]{36}$/;
  const WAIVED = ['check', 'stream', 'from', 'to', 'reason', 'until'];
  const waiver = async () =>
    m.call('POST', '/v1/waivers', {
      token: alice.token,
      body: {
        source: 'https://alice.test/secret-place.mp4?key=secret',
        check: 'black',
        stream: 0,
        from: 0,
        to: 2,
        reason: 'Slate',
        until: new Date(Date.now() + 86_400_000).toISOString(),
      },
    });

  interface Row {
    call: () => Promise<Answer>;
    action: string;
    subject: RegExp;
    /** As `field`, `field changed` and `field shown`. */
    fields: string[];
  }
  const row = (action: string, subject: RegExp, fields: string[], call: Row['call']): Row => ({
    call,
    action,
    subject,
    fields,
  });
  const USER = /^user\/\d+$/;
  const TOKEN = /^api-token\/\d+$/;
  const SESSION = /^session\/[0-9a-f-]{36}$/;
  const REQUEST = /^request\/[0-9a-f-]{36}$/;
  const LINK = /^link\/[0-9a-f-]{36}$/;
  const NEW_USER = ['email changed', 'role', 'status', 'permissions', 'restrictions', 'parent'];
  const GONE_USER = ['email changed', 'first-name changed', 'role', 'status', 'permissions', 'restrictions'];

  /** A call of each endpoint that changes something. */
  const ROWS: Readonly<Record<string, Row>> = {
    'POST auth/verify': row('verify', USER, ['status', 'password changed', 'sessions changed'], async () => {
      await m.call('POST', 'auth/sign-up', { body: { email: email('new'), password: PASSWORD } });
      return m.call('POST', 'auth/verify', { body: { 'verify-token': await codeFor('new') } });
    }),
    'POST auth/sign-in': row('signIn', SESSION, ['jwt-token shown', 'api-token shown'], () => signIn('alice')),
    'POST auth/sign-in/link': row('signInByLink', SESSION, ['jwt-token shown'], async () => {
      const code = 'c'.repeat(32);
      await m.replicas[0].deps.store.addSignInLink(code, 60_000);
      return m.call('POST', 'auth/sign-in/link', { body: { code } });
    }),
    'POST auth/reset/confirm': row('confirmReset', USER, ['password changed', 'sessions changed'], async () => {
      await m.person('forgetful');
      await m.call('POST', 'auth/reset', { body: { email: email('forgetful') } });
      const body = { 'reset-token': await codeFor('forgetful'), 'new-password': 'another one' };
      return m.call('POST', 'auth/reset/confirm', { body });
    }),
    'DELETE auth/sign-out': row('signOut', SESSION, ['sessions changed'], async () =>
      m.call('DELETE', 'auth/sign-out', { jwt: await jwtOf('alice') }),
    ),
    'DELETE auth/session': row('endSessions', USER, ['sessions changed'], () =>
      m.call('DELETE', 'auth/session', { token: alice.token }),
    ),
    'DELETE auth/session/:id': row('endSession', SESSION, ['sessions changed'], async () => {
      const jwt = await jwtOf('alice');
      const { json } = await m.call('GET', 'auth/session', { jwt });
      return m.call('DELETE', `auth/session/${json['sessions'][0].id}`, { jwt });
    }),
    'POST auth/jwt': row('makeJwt', SESSION, ['expires', 'jwt-token shown'], () =>
      m.call('POST', 'auth/jwt', { token: alice.token }),
    ),
    'PUT auth/current/password': row('changeOwnPassword', USER, ['password changed', 'sessions changed'], async () => {
      const { token } = await m.person('careful');
      const body = { 'old-password': PASSWORD, 'new-password': 'another one', 'logout-all': true };
      return m.call('PUT', 'auth/current/password', { token, body });
    }),
    'PUT auth/:id/password': row('changePassword', USER, ['password changed'], () =>
      m.call('PUT', `auth/${sam.id}/password`, {
        token: alice.token,
        body: { 'old-password': PASSWORD, 'new-password': 'another one' },
      }),
    ),
    'POST auth/api-token': row(
      'makeApiToken',
      TOKEN,
      ['name changed', 'permissions', 'concurrency', 'token shown', 'webhook-secret shown'],
      () => newToken({ name: 'ada', permissions: ['read:media'], limits: { concurrency: 2 } }),
    ),
    'PUT auth/api-token/:id': row(
      'changeApiToken',
      TOKEN,
      ['name changed', 'permissions', 'token changed', 'token shown', 'webhook-secret shown'],
      async () =>
        m.call('PUT', `auth/api-token/${(await newToken()).json['id']}`, {
          token: alice.token,
          body: { name: 'grace', rotate: true, permissions: ['read:media'] },
        }),
    ),
    'DELETE auth/api-token/:id': row('revokeApiToken', TOKEN, ['name changed', 'permissions'], async () => {
      const { json } = await newToken({ name: 'gone', permissions: ['read:media'] });
      return m.call('DELETE', `auth/api-token/${json['token']}`, { token: alice.token });
    }),
    'PUT user/current': row('changeCurrentUser', USER, ['first-name changed'], () =>
      m.call('PUT', 'user/current', { token: alice.token, body: { 'first-name': 'Ada' } }),
    ),
    'POST user/current': row('makeSubUser', USER, NEW_USER, () =>
      m.call('POST', 'user/current', { token: alice.token, body: { email: email('sub-one') } }),
    ),
    'PUT user/:id': row('changeUser', USER, ['permissions'], () =>
      m.call('PUT', `user/${sam.id}`, { token: alice.token, body: { permissions: ['read:media'] } }),
    ),
    'POST user/:id': row('makeSubUserOf', USER, NEW_USER, () =>
      m.call('POST', `user/${sam.id}`, { token: alice.token, body: { email: email('sub-two') } }),
    ),
    'DELETE user/:id': row('deleteUser', USER, GONE_USER, async () =>
      m.call('DELETE', `user/${(await m.person('gone')).id}`, { token: m.root.token }),
    ),
    'PUT user/:id/status': row('setUserStatus', USER, ['status'], async () =>
      m.call('PUT', `user/${(await m.person('bad')).id}/status`, {
        token: m.root.token,
        body: { status: 'suspended' },
      }),
    ),
    'PUT user/:id/limits': row('setUserLimits', USER, ['concurrency', 'monthly-quota'], () =>
      m.call('PUT', `user/${sam.id}/limits`, {
        token: m.root.token,
        body: { concurrency: 3, 'monthly-quota': { 'request-count': 7 } },
      }),
    ),
    'PUT user/:id/labels': row('setAccountLabels', USER, ['labels'], () =>
      m.call('PUT', `user/${alice.id}/labels`, { token: m.root.token, body: { labels: { team: 'archive' } } }),
    ),
    'DELETE media/log/:id': row('eraseLog', REQUEST, [], async () =>
      m.call('DELETE', `media/log/${await aRequest()}`, { token: alice.token }),
    ),
    'POST media/log/:id/link': row('makeReportLink', LINK, ['request', 'expires', 'url shown'], link),
    'DELETE media/link/:id': row('endReportLink', LINK, [], async () =>
      m.call('DELETE', `media/link/${(await link()).json['id']}`, { token: alice.token }),
    ),
    'POST media/webhook/:id/retry': row('retryWebhook', /^webhook\/[0-9a-f-]{36}$/, ['state'], async () => {
      await aRequest();
      const { json } = await m.call('GET', 'media/webhook', { token: alice.token });
      return m.call('POST', `media/webhook/${json['webhooks'][0].id}/retry`, { token: alice.token });
    }),
    'PUT /v1/policy/:name': row('savePolicy', /^policy\/house$/, ['revision'], () => policy('house')),
    'POST /v1/waivers': row('makeWaiver', WAIVER, [...WAIVED, 'source changed'], waiver),
    'DELETE /v1/waivers/:id': row('revokeWaiver', WAIVER, WAIVED, async () =>
      m.call('DELETE', `/v1/waivers/${(await waiver()).json['id']}`, { token: alice.token }),
    ),
    'DELETE /v1/policy/:name': row('deletePolicy', /^policy\/old$/, ['revision'], async () => {
      await policy('old');
      return m.call('DELETE', '/v1/policy/old', { token: alice.token });
    }),
  };

  it('each endpoint that changes something is called here, or says why it leaves no entry', () => {
    const changing = ENDPOINTS.filter(
      ({ operation: { method, path } }) => method !== 'get' && /^\/(?:frontend|v1\/policy|v1\/waivers)\b/.test(path),
    );
    assert.deepEqual(
      changing.map(({ name }) => name as string).toSorted(),
      [...Object.keys(ROWS), ...Object.keys(UNAUDITED)].toSorted(),
    );
  });

  for (const [name, { call, action, subject, fields }] of Object.entries(ROWS)) {
    it(`${name}: what it changes, and no secret`, async () => {
      const answer = await call();
      assert.ok(answer.status < 300, `${answer.status} ${answer.text}`);
      const [left, ...more] = await entries(answer.headers);
      assert.ok(left && more.length === 0, 'the entry is there before the answer');
      assert.deepEqual([left.action, left.outcome, left.code], [action, 'done', null]);
      assert.match(left.subject ?? '', subject);
      assert.ok(left.actor_id !== null && left.account_id !== null);
      assert.deepEqual(
        left.changes.map(({ field, redacted }) => (redacted === undefined ? field : `${field} ${redacted}`)),
        fields,
      );
      const text = JSON.stringify(left);
      assert.doesNotMatch(text, /@example|secret-place|alice\.test|eyJ|whsec|Ada|grace|another one/, text);
      const { token, url, ...json } = answer.json;
      for (const secret of [token, url, json['webhook-secret'], json['api-token'], json['jwt-token']?.token])
        if (secret !== undefined) assert.ok(!text.includes(secret as string), text);
    });
  }

  it('a token that is shown again leaves an entry, one of another does not', async () => {
    const shown = await m.call('GET', `auth/api-token/${alice.tokenId}`, { token: alice.token });
    const [left] = await entries(shown.headers);
    assert.deepEqual(
      [left?.action, left?.subject, left?.changes],
      [
        'readApiToken',
        `api-token/${alice.tokenId}`,
        [
          { field: 'token', redacted: 'shown' },
          { field: 'webhook-secret', redacted: 'shown' },
        ],
      ],
    );
    const without = await m.call('GET', `auth/api-token/${alice.tokenId}`, { token: m.root.token });
    assert.equal(without.status, 200);
    assert.deepEqual(await entries(without.headers), []);
  });

  it('a wrong password of a known account', async () => {
    const body = { email: email('alice'), password: 'wrong' };
    const denied = await entry(await m.call('POST', 'auth/sign-in', { body }));
    assert.deepEqual(
      [denied.actor_id, denied.outcome, denied.code, denied.changes],
      [alice.id, 'denied', 'bad-credential', []],
    );
    const unknown = await m.call('POST', 'auth/sign-in', { body: { ...body, email: email('nobody') } });
    assert.deepEqual([unknown.status, await entries(unknown.headers)], [401, []]);
  });

  it('a change whose commit is not answered is not made twice', async () => {
    const { store } = m.replicas[0].deps;
    const { together } = store;
    // As after a lost answer: test/store/restart.test.ts.
    store.together = async (name, work) => {
      await together(name, work);
      return together(name, work);
    };
    try {
      const made = await m.call('POST', 'user/current', { token: alice.token, body: { email: email('once') } });
      assert.equal(made.status, 201, made.text);
      assert.equal((await entries(made.headers)).length, 1);
    } finally {
      store.together = together;
    }
  });

  it('without an entry nothing changes, and nobody is signed in', async () => {
    await m.stored.sql('alter table audit add constraint none check (false) not valid');
    try {
      const renamed = await m.call('PUT', 'user/current', { token: alice.token, body: { 'last-name': 'Nobody' } });
      const signedIn = await signIn('alice');
      assert.deepEqual([renamed.status, signedIn.status], [500, 500]);
      assert.equal(signedIn.headers.get('Set-Cookie'), null);
      assert.ok(!signedIn.text.includes('eyJ'));
    } finally {
      await m.stored.sql('alter table audit drop constraint none');
    }
    const { json } = await m.call('GET', 'user/current', { token: alice.token });
    assert.notEqual(json['last-name'], 'Nobody');
  });
});
