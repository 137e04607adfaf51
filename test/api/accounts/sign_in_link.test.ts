/** Sign-in links: made by the role as a process that signs in to Postgres as the API, used on two replicas. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { randomText } from '../../../src/service/accounts/token_text.ts';
import { PASSWORD, startManagement, type Call, type Management } from './fixture.ts';
import { MAIN } from '../role_process.ts';

const LINK = /^http:\/\/127\.0\.0\.1:1\/app\/sign-in-link#([A-Za-z0-9]{32})\n$/;

describe('management: sign-in links', function () {
  this.timeout(60_000);
  let m: Management;
  before(async () => {
    m = await startManagement();
  });
  after(() => m.stop());

  const program = (args: readonly string[], env: Record<string, string> = {}) =>
    promisify(execFile)(process.execPath, [MAIN, 'sign-in-link', ...args], {
      env: {
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        PY_POSTGRES_URL: m.stored.urls.api,
        // Required of the API, and not read for a link.
        PY_NATS_URL: 'nats://127.0.0.1:1',
        PY_NATS_NKEY_FILE: '/nowhere',
        PY_SEAL_PUBLIC_FILE: '/nowhere',
        PY_BOX_FILE: '/nowhere',
        ...env,
      },
    });
  async function printedCode(): Promise<string> {
    const { stdout, stderr } = await program(['http://127.0.0.1:1/app/?x#y']);
    assert.equal(stderr, '');
    return LINK.exec(stdout)![1]!;
  }
  /** As the role does it. A process for each takes 0.5 s of CPU. */
  async function newCode(): Promise<string> {
    const code = randomText(32);
    await m.stored.store.addSignInLink(code, 3_600_000);
    return code;
  }
  const use = (code: string, call: Call = {}) => m.call('POST', 'auth/sign-in/link', { body: { code }, ...call });
  const refusal = async (code: string, call: Call = {}) => {
    const { status, headers, json } = await use(code, call);
    assert.equal(headers.get('Set-Cookie'), null);
    return [status, json['error']];
  };
  const again = '/docs/accounts#sign-in-links says how to make another one';

  it('once: a session of the first administrator, by cookie and JWT; its code is in no log and no table', async () => {
    const code = await printedCode();
    const { status, headers, json } = await use(code);
    assert.deepEqual(
      [status, json['email'], json['user-id'], json['status']],
      [200, m.root.email, m.root.id, 'active'],
    );
    assert.match(headers.get('Set-Cookie') ?? '', /^jwt=[\w.-]+; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/);
    const jwt = json['jwt-token'].token as string;
    for (const way of [{ jwt }, { cookie: jwt }])
      assert.equal((await m.call('GET', 'user/current', way)).json['email'], m.root.email);
    const rows = await m.stored.sql(`select c::text as row from account_codes c where purpose = 'sign-in'`);
    assert.equal(rows.length, 1);
    const entries = await m.stored.sql(`select action, subject, actor_id from audit where action = 'makeSignInLink'`);
    assert.deepEqual(entries, [{ action: 'makeSignInLink', subject: `user/${m.root.id}`, actor_id: null }]);
    const kept = await m.stored.sql('select audit::text as row from audit');
    for (const text of [JSON.stringify([rows, kept]), ...m.replicas.flatMap(({ log }) => log)])
      assert.ok(!text.includes(code), text);
  });

  it('twice: the second use says so, on the other replica, too', async () => {
    const code = await newCode();
    assert.equal((await use(code)).status, 200);
    for (const at of m.replicas)
      assert.deepEqual(await refusal(code, { at }), [
        400,
        `code: was used before; a sign-in link works once. ${again}`,
      ]);
  });

  it('twice at once: exactly one of many succeeds', async () => {
    for (let round = 0; round < 5; round++) {
      const code = await newCode();
      const all = await Promise.all(Array.from({ length: 8 }, (_, one) => use(code, { at: m.replicas[one % 2]! })));
      assert.deepEqual(
        all.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 400, 400, 400, 400, 400, 400, 400],
      );
      for (const { status, json } of all) if (status !== 200) assert.match(json['error'], /was used before/);
    }
  });

  it('late: a link ends after an hour', async () => {
    const code = await printedCode();
    const late = `update account_codes set expires_at = expires_at - interval '1 hour'
      where purpose = 'sign-in' and used_at is null`;
    await m.stored.sql(late);
    assert.deepEqual(await refusal(code), [400, `code: has expired; a sign-in link works for an hour. ${again}`]);
  });

  it('invented: codes of another form, of mails, and ids of the table are not valid', async () => {
    const code = await newCode();
    const [row] = await m.stored.sql<{ id: string }>('select id from account_codes where used_at is null limit 1');
    for (const invented of ['x', 'A'.repeat(32), code.toLowerCase(), ` ${code}`, row!.id, "' or true --"])
      assert.deepEqual(await refusal(invented), [400, `code: is not valid. ${again}`]);
    const mailed = await m.stored.sql<{ id: string }>(
      `insert into account_codes (id, user_id, purpose, expires_at)
        values (encode(substr(sha256('mailed'), 1, 16), 'hex')::uuid, $1, 'reset', now() + interval '1 hour')
        returning id`,
      [m.root.id],
    );
    assert.equal(mailed.length, 1);
    assert.deepEqual(await refusal('mailed'), [400, `code: is not valid. ${again}`]);
  });

  it('signed in as another: the cookie is replaced, and the other session goes on', async () => {
    const ann = await m.person('ann');
    const signedIn = await m.call('POST', 'auth/sign-in', { body: { email: ann.email, password: PASSWORD } });
    const cookie = signedIn.json['jwt-token'].token as string;
    const { json } = await use(await newCode(), { cookie });
    assert.equal(json['email'], m.root.email);
    assert.equal((await m.call('GET', 'user/current', { cookie })).json['email'], ann.email);
  });

  it('from another site, or of a suspended account: refused', async () => {
    const code = await newCode();
    assert.equal((await refusal(code, { headers: { Origin: 'https://evil.test' } }))[0], 403);
    await m.stored.sql(`update users set status = 'suspended' where id = $1`, [m.root.id]);
    try {
      assert.deepEqual(await refusal(code), [403, 'the account is suspended']);
    } finally {
      await m.stored.sql(`update users set status = 'active' where id = $1`, [m.root.id]);
    }
  });

  it('a reset of the password ends the links of its account', async () => {
    const code = await newCode();
    await m.call('POST', 'auth/reset', { body: { email: m.root.email } });
    const mail = await m.box.next(m.root.email);
    const body = { 'reset-token': mail.code, 'new-password': PASSWORD };
    assert.equal((await m.call('POST', 'auth/reset/confirm', { body })).status, 200);
    assert.equal((await refusal(code))[0], 400);
  });

  it('the command: what it needs, and what it says without it', async () => {
    const { stdout } = await program([], { PY_PUBLIC_URL: 'https://probeyard.example.com/' });
    assert.match(stdout, /^https:\/\/probeyard\.example\.com\/app\/sign-in-link#[A-Za-z0-9]{32}\n$/);
    const failures: [RegExp, string[], Record<string, string>?][] = [
      [/usage: main\.ts sign-in-link ADDRESS/, []],
      [/usage: main\.ts sign-in-link ADDRESS/, ['127.0.0.1:8080']],
      [/usage: main\.ts sign-in-link ADDRESS/, ['javascript:alert(1)']],
      [/the console is off \(api\.console\)/, ['http://127.0.0.1:1'], { PY_CONSOLE: 'false' }],
    ];
    for (const [said, args, env] of failures) {
      const error = await program(args, env).then(
        () => assert.fail(`accepted: ${args.join(' ')}`),
        (failure: { stderr: string; stdout: string }) => failure,
      );
      assert.match(error.stderr, said);
      assert.equal(error.stdout, '');
    }
  });
});
