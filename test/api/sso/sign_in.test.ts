/** Single sign-on against oidc-provider: a test acts as the browser, between two issuers and two replicas. */
import assert from 'node:assert/strict';
import { decodeJwt } from 'jose';
import type { AuditChange } from '../../../src/platform/store/audit.ts';
import { until } from '../../until.ts';
import { type Answer, PASSWORD, startManagement, type Management, type Replica } from '../accounts/fixture.ts';
import { newKey, PUBLIC, SECRET, startIssuer, toIssuers, type Claims, type TestIssuer } from './issuer.ts';

const HOUR_MS = 3_600_000;

describe('single sign-on in a browser', function () {
  this.timeout(60_000);
  let m: Management;
  let one: TestIssuer;
  let two: TestIssuer;
  let team: number;
  before(async () => {
    [one, two] = await Promise.all([startIssuer('one'), startIssuer('two', { linkByEmail: true })]);
    const issuers = [one.settings, two.settings];
    const change = { issuers, issuerSecret: () => SECRET, publicUrl: PUBLIC };
    m = await startManagement(change, {}, await toIssuers());
    team = (await m.person('team')).id;
    one.settings.groups['north'] = team;
  });
  after(async () => {
    await m.stop();
    await Promise.all([one.stop(), two.stop()]);
  });
  afterEach(() => {
    for (const issuer of [one, two]) Object.assign(issuer, { change: {}, denies: false, away: null });
  });

  const path = (issuer: TestIssuer, rest = '') => `auth/sso/${issuer.settings.name}${rest}`;
  const cookieOf = ({ headers }: Answer, name: string): string | undefined =>
    headers
      .getSetCookie()
      .map((text) => text.split(';')[0]!)
      .findLast((text) => text.startsWith(`${name}=`));

  interface Begun {
    url: string;
    cookie: string;
  }
  async function begin(issuer: TestIssuer, query = ''): Promise<Begun> {
    const begun = await m.call('GET', path(issuer, query));
    assert.equal(begun.status, 303, begun.text);
    return { url: begun.headers.get('Location')!, cookie: cookieOf(begun, '__Host-sso')! };
  }
  /** On the other replica, as behind a load balancer. */
  const come = (back: URL, cookie: string, at: Replica = m.replicas[1]) =>
    m.call('GET', `${back.pathname}${back.search}`, { headers: { Cookie: cookie }, at });
  async function signIn(issuer: TestIssuer, subject: string, claims?: Claims): Promise<Answer> {
    if (claims) issuer.people.set(subject, claims);
    const { url, cookie } = await begin(issuer);
    return come(await issuer.visit(url, subject), cookie);
  }
  /** Signed in, or an error with what the page says. */
  async function signedIn(issuer: TestIssuer, subject: string, claims?: Claims) {
    const answer = await signIn(issuer, subject, claims);
    assert.equal(answer.status, 303, answer.text);
    const jwt = cookieOf(answer, '__Host-jwt')!.slice('__Host-jwt='.length);
    return { jwt, user: (await m.call('GET', 'user/current', { jwt })).json, answer };
  }
  function assertRefused({ status, headers, text }: Answer, wanted: number, said: RegExp): void {
    assert.deepEqual([status, headers.get('Content-Type')], [wanted, 'text/html; charset=utf-8'], text);
    assert.match(text, said);
    assert.ok(!headers.getSetCookie().some((cookie) => /jwt=/.test(cookie)), 'no session');
    assert.match(text, /\/frontend\/api\/v1\/auth\/sso\/(?:one|two)"/);
  }
  const usersNamed = (email: string) => m.stored.sql('select id from users where email = $1', [email]);
  const ada = { email: 'ada@example.org', email_verified: true, groups: ['staff'] };

  it('the ways to sign in', async () => {
    const { json } = await m.call('GET', 'auth/sso');
    assert.deepEqual(json['issuers'], [
      { name: 'one', path: '/frontend/api/v1/auth/sso/one' },
      { name: 'two', path: '/frontend/api/v1/auth/sso/two' },
    ]);
    for (const name of ['three', 'ONE', '%2e%2e']) assert.equal((await m.call('GET', `auth/sso/${name}`)).status, 404);
  });

  it('the way there: PKCE, state and nonce, new each time, and a cookie of this host alone', async () => {
    const begun = await m.call('GET', path(one, '?choose-account=true'));
    const query = new URL(begun.headers.get('Location')!).searchParams;
    assert.deepEqual(
      ['redirect_uri', 'response_type', 'scope', 'code_challenge_method', 'prompt', 'client_id'].map((name) =>
        query.get(name),
      ),
      [`${PUBLIC}/frontend/api/v1/auth/sso/one/callback`, 'code', 'openid', 'S256', 'select_account', 'probeyard'],
    );
    const [cookie] = begun.headers.getSetCookie();
    assert.match(cookie!, /^__Host-sso=[\w.-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/);
    const other = new URL((await begin(one)).url).searchParams;
    for (const name of ['state', 'nonce', 'code_challenge']) {
      assert.ok(query.get(name)!.length >= 43, name);
      assert.notEqual(query.get(name), other.get(name), name);
      assert.ok(!cookie!.includes(query.get(name)!), name);
    }
  });

  it('first sign-in: an account by group, for an hour; the second one is the same account', async () => {
    const { jwt, user, answer } = await signedIn(one, 'ada', { ...ada, given_name: 'Ada', family_name: 'Lovelace' });
    assert.deepEqual(
      [user['email'], user['first-name'], user['last-name'], user['role'], user['status']],
      ['ada@example.org', 'Ada', 'Lovelace', 'user', 'active'],
    );
    assert.equal(answer.headers.get('Location'), '/app/');
    assert.ok(answer.headers.getSetCookie().some((text) => /^__Host-sso=; .*Max-Age=0/.test(text)));
    const { exp, iat } = decodeJwt(jwt);
    assert.ok((exp! - iat!) * 1_000 <= HOUR_MS + 1_000 && exp! - iat! > 3_500, `${exp! - iat!}`);
    const again = await signedIn(one, 'ada', { ...ada, email: 'renamed@example.org' });
    assert.deepEqual([again.user['id'], again.user['email']], [user['id'], 'ada@example.org']);
  });

  it('groups decide: administration, a place below an account, or nothing', async () => {
    const boss = await signedIn(one, 'boss', { email: 'boss@example.org', groups: ['staff', 'admins'] });
    assert.equal(boss.user['role'], 'admin');
    const member = await signedIn(one, 'member', { email: 'member@example.org', groups: ['north', 'staff'] });
    assert.deepEqual([member.user['role'], member.user['root-user-id']], ['sub', team]);
    assertRefused(await signIn(one, 'none', { email: 'none@example.org', groups: ['x'] }), 403, /None of your groups/);
    assertRefused(await signIn(one, 'none', { email: 'none@example.org' }), 403, /gave no groups of you/);
    assert.deepEqual(await usersNamed('none@example.org'), []);
    const less = await signedIn(one, 'boss', { email: 'boss@example.org', groups: ['staff'] });
    assert.deepEqual([less.user['id'], less.user['role']], [boss.user['id'], 'user']);
    assert.equal((await m.call('GET', 'cluster', { jwt: boss.jwt })).status, 403, 'of the earlier session, too');
  });

  it('a removed group: sessions and API tokens stop, and come back with the group', async () => {
    const { jwt, user } = await signedIn(one, 'leaver', { email: 'leaver@example.org', groups: ['staff'] });
    const made = await m.call('POST', 'auth/api-token', { jwt, body: { name: 'forever' } });
    const token = made.json['token'] as string;
    const mayCall = (status: number) =>
      until(`${status} for its token`, async () => (await m.call('GET', 'user/current', { token })).status === status);
    await mayCall(200);
    assertRefused(await signIn(one, 'leaver', { email: 'leaver@example.org', groups: [] }), 403, /any more/);
    assert.equal((await m.call('GET', 'user/current', { jwt })).status, 401);
    await mayCall(403);
    const back = await signedIn(one, 'leaver', { email: 'leaver@example.org', groups: ['staff'] });
    assert.equal(back.user['id'], user['id']);
    await mayCall(200);
    await m.call('PUT', `user/${user['id']}/status`, { token: m.root.token, body: { status: 'suspended' } });
    assertRefused(await signIn(one, 'leaver'), 403, /The account is suspended/);
  });

  it('the audit log: who is made, let in, suspended, and let in again', async () => {
    const claims = { email: 'audited@example.org', email_verified: true, groups: ['staff'] };
    const entryOf = async (answer: Answer) => {
      const [left, ...more] = await m.stored.sql<Record<string, unknown> & { changes: AuditChange[] }>(
        'select actor_id::integer, action, subject, outcome, code, changes from audit where id = $1',
        [answer.headers.get('X-Request-Id')],
      );
      assert.ok(left && more.length === 0, answer.text);
      const { changes, ...said } = left;
      return {
        said: Object.values(said),
        changes: changes.map(({ field, before, after, redacted }) =>
          [field, redacted ?? `${before} ${after}`].join(' '),
        ),
      };
    };
    const first = await signedIn(one, 'audited', claims);
    const user = first.user['id'] as number;
    const made = await entryOf(first.answer);
    assert.deepEqual(made.said, [user, 'endSignIn', `user/${user}`, 'done', null]);
    assert.deepEqual(
      made.changes.map((text) => text.split(' ')[0]),
      ['jwt-token', 'email', 'role', 'status', 'permissions', 'restrictions', 'issuer'],
    );
    const second = await entryOf(await signIn(one, 'audited'));
    assert.match(String(second.said[2]), /^session\//);
    assert.deepEqual(second.changes, ['jwt-token shown']);
    const left = await entryOf(await signIn(one, 'audited', { ...claims, groups: [] }));
    assert.deepEqual(left, {
      said: [user, 'endSignIn', `user/${user}`, 'denied', 'sso-refused'],
      changes: ['status active suspended', 'sessions changed'],
    });
    const back = await entryOf(await signIn(one, 'audited', claims));
    assert.deepEqual(back.changes, ['jwt-token shown', 'status suspended active']);
    const linked = await entryOf(await signIn(two, 'audited', claims));
    assert.deepEqual(linked.changes, ['jwt-token shown', 'issuer undefined two']);
  });

  it('groups of another account: nobody is moved', async () => {
    const email = 'mover@example.org';
    const { user } = await signedIn(one, 'mover', { email, groups: ['staff'] });
    assertRefused(await signIn(one, 'mover', { email, groups: ['north'] }), 403, /another account than yours/);
    assert.equal((await m.replicas[0].deps.store.findUser(user['id'] as number))?.rootId, user['id']);
  });

  it('identity is issuer and subject: nobody else with the address gets the account', async () => {
    const claims = { email: 'same@example.org', email_verified: true, groups: ['staff'] };
    const { user } = await signedIn(one, 'first', claims);
    const taken = /Your e-mail address has an account already/;
    assertRefused(await signIn(one, 'second', claims), 403, taken);
    // The other issuer may link, if it has confirmed the address.
    assertRefused(await signIn(two, 'first', { ...claims, email_verified: false }), 403, /has not confirmed/);
    const { email_verified: _, ...unsure } = claims;
    assertRefused(await signIn(two, 'first', unsure), 403, taken);
    assert.equal((await signedIn(two, 'first', claims)).user['id'], user['id']);
    assertRefused(await signIn(two, 'later owner', claims), 403, taken);
  });

  it('an account with a password is linked where the operator says so, and its password is gone', async () => {
    const grace = await m.person('grace');
    const claims = { email: grace.email, email_verified: true, groups: ['staff'] };
    assertRefused(await signIn(one, 'grace', claims), 403, /has an account already/);
    assertRefused(await signIn(two, 'grace', { ...claims, groups: [] }), 403, /do not give you the account/);
    const byPassword = () => m.call('POST', 'auth/sign-in', { body: { email: grace.email, password: PASSWORD } });
    assert.equal((await byPassword()).status, 200);
    assert.equal((await signedIn(two, 'grace', claims)).user['id'], grace.id);
    assert.equal((await byPassword()).status, 401);
    assert.equal((await m.call('GET', 'user/current', { token: grace.token })).status, 200, 'its tokens stay');
  });

  describe('an ID token that is not right', () => {
    const now = () => Math.floor(Date.now() / 1_000);
    const claims: Record<string, [(before: Record<string, unknown>) => object, boolean]> = {
      'for another client': [() => ({ aud: 'other' }), false],
      'for two clients, and not on behalf of this one': [() => ({ aud: ['probeyard', 'other'] }), false],
      'of another issuer': [() => ({ iss: 'https://evil.example' }), false],
      'of another sign-in': [() => ({ nonce: 'other' }), false],
      'without a nonce': [() => ({ nonce: undefined }), false],
      'without a subject': [() => ({ sub: undefined }), false],
      'that has expired': [() => ({ exp: now() - 90 }), false],
      'of the future': [() => ({ nbf: now() + 90 }), false],
      'that has expired within the skew of clocks': [() => ({ exp: now() - 30 }), true],
      'of the future within the skew of clocks': [() => ({ nbf: now() + 30 }), true],
    };
    for (const [title, [change, isAccepted]] of Object.entries(claims))
      it(`${title}: ${isAccepted ? 'accepted' : 'refused'}`, async () => {
        one.change.claims = change;
        const answer = await signIn(one, 'ada', ada);
        if (isAccepted) assert.equal(answer.status, 303, answer.text);
        else assertRefused(answer, 400, /cannot be accepted/);
      });

    const none = (token: string): string => {
      const header = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
      return `${header}.${token.split('.')[1]}.`;
    };
    const tokens: Record<string, (token: string) => Promise<string>> = {
      'signed by another key': async (token) => one.sign(decodeJwt(token), {}, await newKey()),
      'signed by another key under the name of the right one': async (token) => {
        const { kid } = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as { kid: string };
        return one.sign(decodeJwt(token), {}, { ...(await newKey()), kid });
      },
      'without a signature': async (token) => none(token),
      'cut short': async (token) => token.slice(0, -10),
    };
    for (const [title, change] of Object.entries(tokens))
      it(`${title}: refused`, async () => {
        one.change.token = change;
        assertRefused(await signIn(one, 'ada', ada), 400, /cannot be accepted/);
      });
  });

  it('claims that the ID token lacks are read at the issuer', async () => {
    one.change.claims = () => ({ groups: undefined, email: undefined });
    const { user } = await signedIn(one, 'short', { email: 'short@example.org', groups: ['staff'] });
    assert.deepEqual([user['email'], user['role']], ['short@example.org', 'user']);
  });

  it('a new key of the issuer is known at once, and the former one is not accepted any more', async () => {
    await signedIn(one, 'ada', ada);
    const former = await one.sign({});
    const { kid } = JSON.parse(Buffer.from(former.split('.')[0]!, 'base64url').toString()) as { kid: string };
    await one.rotate();
    await signedIn(one, 'ada');
    one.change.token = async (token) => one.sign(decodeJwt(token), {}, { ...(await newKey()), kid });
    assertRefused(await signIn(one, 'ada'), 400, /cannot be accepted/);
  });

  it('replay: what a person came back with works once, and in their browser alone', async () => {
    const { url, cookie } = await begin(one);
    one.people.set('ada', ada);
    const back = await one.visit(url, 'ada');
    const begun = /begun in another browser/;
    assertRefused(await come(back, ''), 400, begun);
    assertRefused(await come(back, (await begin(one)).cookie), 400, /cannot be accepted/);
    assert.equal((await come(back, cookie)).status, 303);
    for (const at of m.replicas) assertRefused(await come(back, cookie, at), 400, /used before, or has expired/);
  });

  it('mixed-up issuers: one cannot answer for another', async () => {
    const { url, cookie } = await begin(one);
    one.people.set('ada', ada);
    const back = await one.visit(url, 'ada');
    const elsewhere = new URL(back.href.replace('/sso/one/', '/sso/two/'));
    assertRefused(await come(elsewhere, cookie), 400, /begun in another browser/);
    for (const iss of [two.url, 'https://evil.example', '']) {
      const changed = new URL(back);
      changed.searchParams.set('iss', iss);
      assertRefused(await come(changed, cookie), 400, /cannot be accepted/);
    }
    const without = new URL(back);
    without.searchParams.delete('iss');
    assertRefused(await come(without, cookie), 400, /cannot be accepted/);
    for (const state of ['', 'other']) {
      const changed = new URL(back);
      changed.searchParams.set('state', state);
      assertRefused(await come(changed, cookie), 400, /cannot be accepted/);
    }
    assert.equal((await come(back, cookie)).status, 303, 'none of these used the code up');
  });

  it('afterwards people go to a path of this site, and nowhere else', async () => {
    one.people.set('ada', ada);
    for (const [asked, wanted] of [
      ['/app/usage?from=1', '/app/usage?from=1'],
      ['//evil.example', '/app/'],
      ['/\\evil.example', '/app/'],
      ['https://evil.example', '/app/'],
      ['javascript:alert(1)', '/app/'],
    ]) {
      const { url, cookie } = await begin(one, `?ret-url=${encodeURIComponent(asked!)}`);
      const answer = await come(await one.visit(url, 'ada'), cookie);
      assert.equal(answer.headers.get('Location'), wanted);
    }
  });

  it('what an issuer refuses is told; what a stranger made up is not shown', async () => {
    one.denies = true;
    assertRefused(await signIn(one, 'ada', ada), 400, /one: access was denied there/);
    const asked = await begin(one, `?ret-url=${encodeURIComponent('/app/usage?from=1')}`);
    const { text } = await come(await one.visit(asked.url, 'ada'), asked.cookie);
    assert.match(text, /href="[^"]+\/sso\/one\?ret-url=%2Fapp%2Fusage%3Ffrom%3D1"/);
    assert.match(text, /href="\/app\/sign-in\?to=%2Fusage%3Ffrom%3D1"/);
    for (const error of ['<script>alert(1)</script>', 'constructor', 'x'.repeat(500)]) {
      const { url, cookie } = await begin(one);
      const { searchParams } = new URL(url);
      const back = new URL(`${PUBLIC}/frontend/api/v1/auth/sso/one/callback`);
      for (const [name, value] of [
        ['error', error],
        ['error_description', '<b>x</b>'],
        ['state', searchParams.get('state')!],
        ['iss', one.url],
      ] as const)
        back.searchParams.set(name, value);
      const answer = await come(back, cookie);
      assertRefused(answer, 400, /refused the sign-in/);
      assert.ok(!/<script>|<b>x|function|x{50}/.test(answer.text), answer.text);
    }
  });

  it('an issuer that is away, or has a fault: 503, and later it works', async () => {
    one.people.set('ada', ada);
    const { url, cookie } = await begin(one);
    const back = await one.visit(url, 'ada');
    one.away = 502;
    const refused = await come(back, cookie);
    assertRefused(refused, 503, /one cannot be reached/);
    assert.equal(refused.headers.get('Retry-After'), '5');
    one.away = null;
    assert.equal((await come(back, cookie)).status, 303);
  });

  it('HEAD uses nothing up, and other sites begin nothing with a POST', async () => {
    one.people.set('ada', ada);
    const { url, cookie } = await begin(one);
    const back = await one.visit(url, 'ada');
    const head = await m.call('HEAD', `${back.pathname}${back.search}`, { headers: { Cookie: cookie } });
    assert.equal(head.status, 405);
    assert.equal((await come(back, cookie)).status, 303);
    assert.equal((await m.call('POST', path(one, '/callback'))).status, 405);
  });

  it('secrets, codes and tokens are in no log', async () => {
    const { url, cookie } = await begin(one);
    const back = await one.visit(url, 'ada');
    await come(back, cookie);
    one.change.claims = () => ({ aud: 'other' });
    await signIn(one, 'ada');
    const lines = m.replicas.flatMap(({ log }) => log).join('\n');
    const secrets = [SECRET, back.searchParams.get('code')!, back.searchParams.get('state')!, cookie.split('=')[1]!];
    for (const secret of [...secrets, 'eyJ', 'ada@example.org']) assert.ok(!lines.includes(secret), secret);
    assert.match(lines, /"issuer":"one"/);
  });
});
