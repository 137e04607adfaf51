/** Accounts by mail: sign-up, verification, forgotten passwords and invitations. */
import assert from 'node:assert/strict';
import { natsTls } from '../../../src/service/setup/certificates.ts';
import { PASSWORD, startManagement, startMailBox, startReplica, NO_LIMITS, type Management } from './fixture.ts';
import { accountSettings } from '../fixture.ts';

describe('management: accounts by mail', function () {
  this.timeout(60_000);
  let m: Management;
  before(async () => {
    m = await startManagement();
  });
  after(() => m.stop());
  const signUp = (email: string, password = PASSWORD, more: object = {}) =>
    m.call('POST', 'auth/sign-up', { body: { email, password, 'first-name': 'Ada', 'last-name': 'L', ...more } });
  const signIn = (email: string, password = PASSWORD, more: object = {}) =>
    m.call('POST', 'auth/sign-in', { body: { email, password, ...more } });
  const verify = (code: string) =>
    m.call('POST', 'auth/verify', { body: { 'verify-token': code }, headers: { 'X-Recaptcha-Token': 'ignored' } });

  it('from sign-up through the mail to the first token; 403 before verification', async () => {
    const made = await signUp('ada@example.org');
    assert.deepEqual([made.status, made.json], [201, { email: 'ada@example.org', status: 'pending' }]);
    const early = await signIn('ada@example.org');
    assert.deepEqual([early.status, early.json['code'], early.json['error']], [403, 40301, 'the account is pending']);
    const mail = await m.box.next('ada@example.org');
    assert.match(mail.raw, /^Subject: Please confirm your address\r$/m);
    assert.deepEqual(await verify(mail.code).then(({ status, json }) => [status, json]), [
      200,
      { success: true, email: 'ada@example.org', status: 'active' },
    ]);
    const signedIn = await signIn('ada@example.org', PASSWORD, { 'current-user': true, 'ret-url': '/log' });
    assert.deepEqual(
      [
        signedIn.status,
        signedIn.json['email'],
        signedIn.json['status'],
        signedIn.json['oauth-provider-tokens'],
        signedIn.json['ret-url'],
      ],
      [200, 'ada@example.org', 'active', [], '/log'],
    );
    assert.deepEqual(
      [signedIn.json['current-user']['first-name'], signedIn.json['current-user'].role],
      ['Ada', 'user'],
    );
    assert.match(signedIn.json['api-token'], /^[A-Za-z0-9]{64}$/);
    assert.equal(
      (await m.call('GET', 'user/current', { token: signedIn.json['api-token'] })).json['id'],
      signedIn.json['user-id'],
    );
    const twice = await verify(mail.code);
    assert.deepEqual(
      [twice.status, twice.json['code'], twice.json['context']],
      [400, 40000, { field: 'verify-token' }],
    );
    assert.equal((await m.stored.sql('select 1 from mails')).length, 0, 'what is sent is gone');
  });

  it('sign-up: a known address gets the same response; its owner gets a mail, and nothing changes', async () => {
    const before = await m.stored.sql(`select * from users where email = 'ada@example.org'`);
    const again = await signUp('ADA@example.org', 'another password');
    assert.deepEqual([again.status, again.json], [201, { email: 'ADA@example.org', status: 'pending' }]);
    const mail = await m.box.next('ADA@example.org');
    assert.match(mail.raw, /^Subject: You already have an account\r$/m);
    assert.equal(mail.code, '');
    assert.deepEqual(await m.stored.sql(`select * from users where email = 'ada@example.org'`), before);
    assert.equal((await signIn('ada@example.org', 'another password')).status, 401);
  });

  it("sign-up: each mail confirms its own password, so an intruder's earlier sign-up gains nothing", async () => {
    await signUp('grace@example.org', 'of the intruder');
    await m.box.next('grace@example.org');
    await signUp('grace@example.org', 'of the owner');
    await verify((await m.box.next('grace@example.org')).code);
    assert.equal((await signIn('grace@example.org', 'of the intruder')).status, 401);
    assert.equal((await signIn('grace@example.org', 'of the owner')).status, 200);
  });

  it('verify: a new password replaces that of the sign-up, and earlier sessions end', async () => {
    for (const password of ['of the owner', undefined]) {
      const email = `hopper-${password === undefined}@example.org`;
      await signUp(email, 'of the intruder');
      const { code } = await m.box.next(email);
      const [user] = await m.stored.sql<{ id: string }>('select id from users where email = $1', [email]);
      // An account that is pending again after it was active has sessions.
      const { accounts } = m.replicas[0].deps;
      const session = await accounts.openSession({
        userId: Number(user!.id),
        life: 'long',
        remoteIp: '',
        userAgent: '',
      });
      assert.ok(typeof session === 'object');
      const jwt = await accounts.sessionJwt(session);
      const verified = await m.call('POST', 'auth/verify', {
        body: { 'verify-token': code, ...(password === undefined ? {} : { password }) },
      });
      assert.deepEqual([verified.status, verified.json['status']], [200, 'active']);
      assert.equal((await m.call('GET', 'user/current', { jwt })).status, 401);
      assert.deepEqual(
        [(await signIn(email, 'of the intruder')).status, (await signIn(email, 'of the owner')).status],
        password === undefined ? [200, 401] : [401, 200],
      );
    }
  });

  it('verify: a password that is too short is refused, and the code stays valid', async () => {
    await signUp('noether@example.org', 'of the intruder');
    const { code } = await m.box.next('noether@example.org');
    const short = await m.call('POST', 'auth/verify', { body: { 'verify-token': code, password: 'short' } });
    assert.deepEqual([short.status, short.json['context']], [400, { field: 'password' }]);
    assert.equal((await verify(code)).status, 200);
  });

  it('a reset by mail ends every session, including JWTs of sessions and of API tokens', async () => {
    const person = await m.person('mirzakhani');
    const { json } = await signIn(person.email);
    const jwts = [json['jwt-token'].token as string];
    for (const by of [{ jwt: jwts[0]! }, { token: person.token }])
      jwts.push((await m.call('POST', 'auth/jwt', { ...by, body: {} })).json['token'] as string);
    for (const jwt of jwts) assert.equal((await m.call('GET', 'user/current', { jwt })).status, 200);
    await m.call('POST', 'auth/reset', { body: { email: person.email } });
    const { code } = await m.box.next(person.email);
    assert.equal(
      (await m.call('POST', 'auth/reset/confirm', { body: { 'reset-token': code, 'new-password': 'brand new' } }))
        .status,
      200,
    );
    for (const jwt of jwts) assert.equal((await m.call('GET', 'user/current', { jwt })).status, 401);
  });

  it('reset: sends a mail, sets the password and ends every session; the code works once only', async () => {
    const { json } = await signIn('ada@example.org');
    const jwt = json['jwt-token'].token as string;
    assert.deepEqual(
      await m
        .call('POST', 'auth/reset', { body: { email: 'ada@example.org' } })
        .then((answer) => [answer.status, answer.json]),
      [200, { success: true }],
    );
    const { code } = await m.box.next('ada@example.org');
    assert.equal((await verify(code)).status, 400);
    assert.equal((await m.call('GET', 'user/current', { jwt: code })).status, 401, 'a code is no session');
    assert.equal(
      (await m.call('POST', 'auth/reset/confirm', { body: { 'reset-token': jwt, 'new-password': 'stolen' } })).status,
      400,
      'a session is no code',
    );
    const confirm = (password: string) =>
      m.call('POST', 'auth/reset/confirm', { body: { 'reset-token': code, 'new-password': password } });
    assert.deepEqual(await confirm('brand new').then((answer) => [answer.status, answer.json]), [
      200,
      { success: true, email: 'ada@example.org', status: 'active' },
    ]);
    assert.equal((await m.call('GET', 'user/current', { jwt })).status, 401);
    assert.equal((await confirm('once more')).status, 400);
    assert.deepEqual(
      [(await signIn('ada@example.org', PASSWORD)).status, (await signIn('ada@example.org', 'brand new')).status],
      [401, 200],
    );
  });

  it('reset: an unknown address gets the same response, and no mail is sent', async () => {
    const sent = m.box.mails.length;
    const nobody = await m.call('POST', 'auth/reset', { body: { email: 'nobody@example.org' } });
    assert.deepEqual([nobody.status, nobody.json], [200, { success: true }]);
    await m.call('POST', 'auth/reset', { body: { email: 'grace@example.org' } });
    await m.box.next('grace@example.org');
    assert.equal(m.box.mails.length, sent + 1);
  });

  it('an invited sub-user chooses a password by mail and is then active', async () => {
    const owner = await m.person('owner');
    const made = await m.call('POST', 'user/current', {
      token: owner.token,
      body: { email: 'invited@example.org', 'first-name': 'In', permissions: ['read:media', 'write:media'] },
    });
    assert.deepEqual(
      [made.status, made.json['user'].status, made.json['user'].role, made.json['user'].parent.id],
      [201, 'pending', 'sub', owner.id],
    );
    assert.deepEqual(made.json['user'].permissions, {
      'read:media': { name: 'read:media', scopes: ['read'] },
      'write:media': { name: 'write:media', scopes: ['write'] },
    });
    const mail = await m.box.next('invited@example.org');
    assert.ok(mail.text.includes('owner@example.org made an account'));
    assert.equal(
      (
        await m.call('POST', 'auth/reset/confirm', {
          body: { 'reset-token': mail.code, 'new-password': 'invited too' },
        })
      ).json['status'],
      'active',
    );
    assert.equal((await signIn('invited@example.org', 'invited too')).status, 200);
    assert.deepEqual(
      await m
        .call('POST', 'user/current', { token: owner.token, body: { email: 'Invited@example.org' } })
        .then(({ status, json }) => [status, json['code'], json['context']]),
      [409, 40900, { field: 'email' }],
    );
    for (const permissions of [['read:admin'], ['write:admin', 'read:media']]) {
      assert.equal(
        (await m.call('POST', 'user/current', { token: owner.token, body: { email: 'x@example.org', permissions } }))
          .status,
        403,
      );
    }
  });

  it('a mail that the server refuses temporarily is sent later, once', async () => {
    m.box.refuse(1);
    await signUp('later@example.org');
    await m.stored.sql(`update mails set next_at = now() where recipient = 'later@example.org'`);
    const nudge = setInterval(() => {
      void m.stored.sql('update mails set next_at = now() where attempts > 0').then(
        () => m.replicas[0].deps.accounts.mailsWait(),
        () => {},
      );
    }, 100);
    try {
      await m.box.next('later@example.org');
    } finally {
      clearInterval(nudge);
    }
    assert.equal(m.box.mails.filter(({ to }) => to === 'later@example.org').length, 1);
  });

  it('addresses and names with line breaks or control characters reach neither mail nor record', async () => {
    for (const body of [
      { email: 'a@example.org\r\nBcc: b@example.org' },
      { email: 'a@example.org, b@example.org' },
      { email: '"<x>" a@example.org' },
      { email: 'a@b' },
      { email: `${'a'.repeat(250)}@example.org` },
      { email: 'a@example.org\0' },
      { 'first-name': 'x\r\nBcc: y' },
      { 'last-name': 'a\0' },
      { password: 'short' },
      { password: 'x'.repeat(73) },
      { role: 'root' },
      { status: 'active' },
      { 'first-name': '\ud800' },
    ]) {
      const answer = await signUp('fine@example.org', PASSWORD, body);
      assert.deepEqual(
        [answer.status, answer.json['code'], Object.keys(body)[0]],
        [400, 40000, answer.json['context'].field],
        JSON.stringify(body),
      );
    }
    assert.deepEqual(await m.stored.sql(`select 1 from users where email = 'fine@example.org'`), []);
  });
});

describe('management: accounts without mail, and sign-in attempts', function () {
  this.timeout(60_000);
  let m: Management;
  before(async () => {
    m = await startManagement({
      mail: null,
      attempts: { ...NO_LIMITS, 'password:network': { burst: 3, everyMs: 60_000 } },
    });
  });
  after(() => m.stop());

  it('sign-up and reset are refused with the reason; sub-users are active at once', async () => {
    assert.deepEqual(
      await m
        .call('POST', 'auth/sign-up', { body: { email: 'a@example.org', password: PASSWORD } })
        .then(({ status, json }) => [status, json['error']]),
      [403, 'sign-up is closed, because no mail is configured; ask an administrator for an account'],
    );
    assert.equal((await m.call('POST', 'auth/reset', { body: { email: 'a@example.org' } })).status, 403);
    const owner = await m.person('owner');
    const { json } = await m.call('POST', 'user/current', { token: owner.token, body: { email: 'sub@example.org' } });
    assert.equal(json['user'].status, 'active');
    const set = (old: string) =>
      m.call('PUT', `auth/${json['user'].id}/password`, {
        token: owner.token,
        body: { 'old-password': old, 'new-password': 'a new one' },
      });
    assert.deepEqual([(await set('wrong')).status, (await set(PASSWORD)).status], [400, 204]);
    assert.equal(
      (await m.call('POST', 'auth/sign-in', { body: { email: 'sub@example.org', password: 'a new one' } })).status,
      200,
    );
  });

  it('sign-in: too many wrong passwords are delayed on every replica, whether the account exists or not', async () => {
    const ann = await m.person('ann');
    for (const email of [ann.email, 'unknown@example.org']) {
      const seen: [number, string][] = [];
      for (let attempt = 0; attempt < 4; attempt++) {
        const { status, json } = await m.call('POST', 'auth/sign-in', {
          body: { email, password: 'wrong' },
          at: m.replicas[attempt % 2]!,
        });
        seen.push([status, json['error']]);
      }
      const WRONG: [number, string] = [401, 'the e-mail address or the password is wrong'];
      assert.deepEqual(seen, [WRONG, WRONG, WRONG, [429, 'too many attempts; try again later']]);
    }
    const right = await m.call('POST', 'auth/sign-in', { body: { email: ann.email, password: PASSWORD } });
    assert.equal(right.status, 429);
    const wait = Number(right.headers.get('retry-after'));
    assert.ok(wait > 50 && wait <= 60, String(wait));
    await m.person('ben');
    for (let attempt = 0; attempt < 6; attempt++)
      assert.equal(
        (await m.call('POST', 'auth/sign-in', { body: { email: 'ben@example.org', password: PASSWORD } })).status,
        200,
        'right ones do not add up',
      );
  });
});

describe('accounts: mail', function () {
  this.timeout(60_000);

  it('refuses to send without TLS where TLS is required', async () => {
    const [plain, m] = [await startMailBox({}, { tls: 'starttls' }), await startManagement()];
    const replica = await startReplica(
      m.stored,
      accountSettings({ boxKeys: m.settings.boxKeys, mail: plain.settings }),
      m.bus,
    );
    try {
      await m.replicas[0].deps.accounts.stop();
      await m.replicas[1].deps.accounts.stop();
      await m.call('POST', 'auth/sign-up', { at: replica, body: { email: 'tls@example.org', password: PASSWORD } });
      const { until } = await import('../../until.ts');
      await until('the failure to send the mail was logged', () =>
        replica.log.some((line) => line.includes('cannot send a mail')),
      );
      assert.deepEqual(plain.mails, []);
      assert.equal((await m.stored.sql('select 1 from mails')).length, 1, 'it waits');
      assert.ok(!replica.log.join('').includes('tls@example.org'), 'addresses are not logged');
    } finally {
      await replica.stop();
      await plain.stop();
      await m.stop();
    }
  });

  it("trusts the certificate authority of the operator's mail server, and no other", async () => {
    const tls = await natsTls(['localhost']);
    const server = { secure: true, key: tls['tls.key'] ?? '', cert: tls['tls.crt'] ?? '' };
    const box1 = await startMailBox(server, { tls: 'implicit' }, { host: 'localhost', port: 0 });
    const m = await startManagement();
    await m.replicas[0].deps.accounts.stop();
    await m.replicas[1].deps.accounts.stop();
    try {
      for (const [ca, email] of [
        ['', 'untrusted@example.org'],
        [tls['ca.crt'] ?? '', 'trusted@example.org'],
      ] as const) {
        const settings = accountSettings({ boxKeys: m.settings.boxKeys, mail: { ...box1.settings, ca } });
        const replica = await startReplica(m.stored, settings, m.bus);
        await m.call('POST', 'auth/sign-up', { at: replica, body: { email, password: PASSWORD } });
        if (ca === '') {
          const { until } = await import('../../until.ts');
          await until('it was tried', () => replica.log.some((line) => line.includes('cannot send a mail')));
          assert.deepEqual(box1.mails, []);
        } else await box1.next(email);
        await replica.stop();
      }
    } finally {
      await box1.stop();
      await m.stop();
    }
  });
});
