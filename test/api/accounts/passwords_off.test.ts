/** Passwords switched off: nothing takes or sets one, and nobody waits for a mail that asks for one. */
import assert from 'node:assert/strict';
import { PASSWORD, startManagement, type Management } from './fixture.ts';

describe('management: passwords switched off', function () {
  this.timeout(60_000);
  let m: Management;
  before(async () => {
    m = await startManagement({ passwords: false });
  });
  after(() => m.stop());

  it('every call with a password is refused, and says what to use', async () => {
    const ada = await m.person('ada');
    const email = ada.email;
    const change = { 'old-password': PASSWORD, 'new-password': 'another one' };
    const calls: [string, string, object, string?][] = [
      ['POST', 'auth/sign-in', { email, password: PASSWORD }],
      ['POST', 'auth/sign-up', { email: 'new@example.org', password: PASSWORD }],
      ['POST', 'auth/verify', { 'verify-token': 'x' }],
      ['POST', 'auth/reset', { email }],
      ['POST', 'auth/reset/confirm', { 'reset-token': 'x', 'new-password': PASSWORD }],
      ['PUT', 'auth/current/password', change, ada.token],
      ['PUT', `auth/${ada.id}/password`, change, m.root.token],
    ];
    for (const [method, path, body, token] of calls) {
      const { status, json } = await m.call(method, path, { body, token });
      const said = 'sign-in with a password is switched off here; use single sign-on';
      assert.deepEqual([status, json['code'], json['error']], [403, 40300, said], path);
    }
    assert.equal(m.box.mails.length, 0);
  });

  it('a user whom an administrator makes is active at once, without a mail', async () => {
    const { status, json } = await m.call('POST', 'user/current', {
      token: m.root.token,
      body: { email: 'made@example.org' },
    });
    assert.deepEqual([status, json['user'].status, m.box.mails.length], [201, 'active', 0]);
  });

  it('the ways to sign in name neither passwords nor sign-up', async () => {
    const { json } = await m.call('GET', 'auth/sso');
    assert.deepEqual(json, { passwords: false, 'sign-up': false, issuers: [] });
  });
});
