/** Single sign-on of programs: over HTTP, and by the command line as a process. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../../until.ts';
import { type Answer, startManagement, type Management } from '../accounts/fixture.ts';
import { PUBLIC, SECRET, startIssuer, toIssuers, type TestIssuer } from './issuer.ts';

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const HOUR_MS = 3_600_000;

describe('single sign-on of programs', function () {
  this.timeout(60_000);
  let m: Management;
  let issuer: TestIssuer;
  let other: TestIssuer;
  before(async () => {
    [issuer, other] = await Promise.all([startIssuer('corp'), startIssuer('other')]);
    const issuers = [issuer.settings, other.settings];
    m = await startManagement({ issuers, issuerSecret: () => SECRET, publicUrl: PUBLIC }, {}, await toIssuers());
    issuer.people.set('ada', { email: 'ada@example.org', groups: ['staff'] });
    issuer.people.set('none', { email: 'none@example.org', groups: [] });
  });
  after(async () => {
    await m.stop();
    await Promise.all([issuer.stop(), other.stop()]);
  });

  async function begin(): Promise<{ code: string; userCode: string }> {
    const { status, json, text } = await m.call('POST', 'auth/sso/corp/device');
    assert.equal(status, 200, text);
    assert.match(json['url'], /^https:\/\/127\.0\.0\.1:\d+\/device/);
    assert.ok(json['expires-in'] > 60 && json['interval'] >= 1);
    return { code: json['device-code'] as string, userCode: json['user-code'] as string };
  }
  /** On the other replica. */
  const redeem = (code: string, name = 'corp'): Promise<Answer> =>
    m.call('POST', `auth/sso/${name}/token`, { body: { 'device-code': code }, at: m.replicas[1] });

  it('pending until somebody enters the code; then a token of theirs that ends after twelve hours', async () => {
    const { code, userCode } = await begin();
    const waiting = await redeem(code);
    assert.deepEqual([waiting.status, waiting.json], [200, { pending: true, 'slow-down': false }]);
    await issuer.approve(userCode, 'ada');
    const answer = await redeem(code);
    const { status, json } = answer;
    assert.deepEqual([status, json['pending'], json['email']], [200, false, 'ada@example.org']);
    const left = Date.parse(json['expires']) - Date.now();
    assert.ok(left > 11 * HOUR_MS && left <= 12 * HOUR_MS + 60_000, String(left));
    const token = json['token'] as string;
    const entries = ({ headers }: Answer) =>
      m.stored.sql<{ action: string; subject: string; shown: boolean }>(
        `select action, subject, changes @> '[{"field": "token", "redacted": "shown"}]' shown from audit where id = $1`,
        [headers.get('X-Request-Id')],
      );
    assert.deepEqual(await entries(waiting), []);
    const [entry] = await entries(answer);
    assert.deepEqual([entry?.action, entry?.shown], ['endDeviceSignIn', true]);
    assert.match(entry?.subject ?? '', /^user\/\d+$/);
    const me = await m.call('GET', 'user/current', { token });
    assert.deepEqual([me.status, me.json['email'], me.json['role']], [200, 'ada@example.org', 'user']);
    const { json: listed } = await m.call('GET', 'auth/api-token', { token });
    const [made] = listed['api-tokens'];
    assert.equal(made.name, 'probeyard login');
    assert.ok(made.permissions.includes('write:media') && !made.permissions.includes('write:policy'));
  });

  it('a code works once, and only here', async () => {
    const { code, userCode } = await begin();
    await issuer.approve(userCode, 'ada');
    assert.equal((await redeem(code)).status, 200);
    const again = await redeem(code);
    const used = 'corp: the sign-in was used before, or has expired; start again';
    assert.deepEqual([again.status, again.json['error']], [400, used]);
    for (const [given, name] of [
      [code, 'other'],
      [`${code.slice(0, -4)}AAAA`, 'corp'],
      ['x', 'corp'],
    ] as const) {
      const refused = await redeem(given, name);
      assert.deepEqual([refused.status, refused.json['error']], [400, 'device-code: is not valid']);
    }
  });

  it('without a group: no account and no token', async () => {
    const { code, userCode } = await begin();
    await issuer.approve(userCode, 'none');
    const { status, json } = await redeem(code);
    assert.deepEqual([status, json['error']], [403, 'none of your groups at corp has access; ask an administrator']);
    assert.deepEqual(await m.stored.sql(`select 1 from users where email = 'none@example.org'`), []);
  });

  it('asked too often: 429, and when to ask again', async () => {
    const { code } = await begin();
    const all = [await redeem(code), await redeem(code), await redeem(code)];
    assert.deepEqual(
      all.map(({ status }) => status),
      [200, 200, 429],
    );
    assert.match(all[2]!.headers.get('Retry-After') ?? '', /^[1-9]$/);
  });

  it('an issuer that is away: 503; an unknown one: 404', async () => {
    issuer.away = 503;
    try {
      assert.equal((await m.call('POST', 'auth/sso/corp/device')).status, 503);
    } finally {
      issuer.away = null;
    }
    assert.equal((await m.call('POST', 'auth/sso/none/device')).status, 404);
  });

  it('probeyard login --sso: prints where to go, waits, and keeps the token', async () => {
    const home = mkdtempSync(join(tmpdir(), 'probeyard-login-'));
    const { url } = m.replicas[0];
    const login = (...args: string[]) =>
      spawn(process.execPath, [MAIN, 'login', '--server', url, '--sso', ...args], {
        env: { PATH: process.env['PATH'], HOME: home },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    try {
      const unsure = login();
      let said = '';
      unsure.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
      assert.deepEqual(await once(unsure, 'close'), [2, null]);
      assert.match(said, /--issuer: must be one of corp, other/);

      const child = login('--issuer', 'corp');
      let text = '';
      child.stderr.setEncoding('utf8').on('data', (more: string) => (text += more));
      const closed = once(child, 'close');
      const userCode = await until('it prints a code', () => /enter the code (\S+)\n/.exec(text)?.[1]);
      assert.match(text, /^open https:\/\/127\.0\.0\.1:\d+\/device/m);
      await issuer.approve(userCode, 'ada');
      assert.deepEqual(await closed, [0, null], text);
      assert.match(text, /signed in as ada@example\.org; the token ends at /);
      const kept = JSON.parse(readFileSync(join(home, '.config/probeyard/config.json'), 'utf8')) as { token: string };
      assert.ok(!text.includes(kept.token));
      assert.equal((await m.call('GET', 'user/current', { token: kept.token })).json['email'], 'ada@example.org');
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});
