/** Sign-in, accounts and tokens in the console. */
import assert from 'node:assert/strict';
import { PASSWORD } from '../api/accounts/fixture.ts';
import { pageUntil } from '../browser/page_until.ts';
import { until } from '../until.ts';
import { consoleTest, during, type ConsoleFixture, type Visit } from './fixture.ts';

consoleTest('console: accounts and tokens', (c) => {
  const visit = async (look: Parameters<ConsoleFixture['visit']>[0], work: (v: Visit) => Promise<void>) => {
    const v = await c.visit(look);
    await during(v, work);
    await v.end();
  };
  const revokeAll = (email: string) =>
    c.m.stored.sql('update tokens set revoked_at = now() where user_id = (select id from users where email = $1)', [
      email,
    ]);
  const rows = async ({ page }: Visit, table: string): Promise<string[]> =>
    page.getByRole('table', { name: table }).locator('tbody tr').allInnerTexts();

  it('sign-in: leads back to the page that was asked for, with its query, and nothing lies in storage', () =>
    visit({}, async (v) => {
      const { email } = await c.m.person('back');
      await v.open('/tokens?sort=name&order=asc', 'Sign in');
      await v.accessible('sign-in wide light');
      await v.signIn(email);
      await v.page.getByRole('heading', { level: 1, name: 'Tokens' }).waitFor();
      assert.equal(new URL(v.page.url()).search, '?sort=name&order=asc');
      assert.deepEqual(await v.page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]'), [
        0,
        0,
        '',
      ]);
    }));

  it('sign-in: a wrong password says so and keeps what was typed; `to` never leads elsewhere', () =>
    visit({}, async (v) => {
      const { email } = await c.m.person('wrong');
      await v.open('/sign-in?to=//elsewhere.example/', 'Sign in');
      await v.page.getByLabel('E-mail address').fill(email);
      await v.page.getByLabel('Password').fill('not it');
      await v.page.keyboard.press('Enter');
      await v.page.getByRole('alert').getByText('the e-mail address or the password is wrong').waitFor();
      assert.equal(await v.page.getByLabel('E-mail address').inputValue(), email);
      await v.signIn(email);
      assert.ok(v.page.url().startsWith(`${c.url}/app/`), v.page.url());
    }));

  it('single sign-on: a button for each issuer leads back to the page; without passwords nothing asks for one', () =>
    visit({}, async (v) => {
      const issuers = c.m.replicas[0].deps.issuers as Map<string, never>;
      c.m.settings.passwords = false;
      for (const name of ['corp', 'Google']) issuers.set(name, {} as never);
      try {
        await v.open('/tokens?sort=name', 'Sign in');
        const links = v.page.getByRole('link', { name: /^Sign in with / });
        await links.first().waitFor();
        assert.deepEqual(await links.allInnerTexts(), ['Sign in with corp', 'Sign in with Google']);
        const back = '/frontend/api/v1/auth/sso/corp?ret-url=%2Fapp%2Ftokens%3Fsort%3Dname';
        assert.equal(await links.first().getAttribute('href'), back);
        assert.equal(await v.page.getByLabel('Password').count(), 0);
        assert.equal(await v.page.getByRole('link', { name: 'Forgotten password' }).count(), 0);
        await v.accessible('sign-in by issuers');
      } finally {
        c.m.settings.passwords = true;
        issuers.clear();
      }
    }));

  it('sign-up: from the form over the link of the mail to the first page, on a phone and in the dark', () =>
    visit({ width: 390, theme: 'dark' }, async (v) => {
      await v.open('/sign-up', 'Sign up');
      await v.accessible('sign-up 390 dark');
      await v.page.getByLabel('E-mail address').fill('new@example.org');
      await v.page.getByLabel('Password').fill(PASSWORD);
      await v.page.getByLabel('First name').fill('New');
      await v.page.getByRole('button', { name: 'Sign up' }).click();
      await v.page.getByText('Look into your mail').waitFor();
      const { code } = await c.m.box.next('new@example.org');
      // As the mail links to it where the installation knows its address.
      await v.page.goto(`${c.url}/verify#${code}`);
      await v.page.getByRole('heading', { level: 1, name: 'Confirm your address' }).waitFor();
      assert.equal(await v.page.getByLabel('Code from the mail').inputValue(), code);
      await v.page.getByRole('button', { name: 'Confirm the address' }).click();
      await v.page.getByRole('link', { name: 'Sign in' }).click();
      await v.signIn('new@example.org');
      await v.open('/tokens', 'Tokens');
      await v.page.getByRole('table', { name: 'Tokens' }).waitFor();
      await v.accessible('tokens 390 dark');
      assert.equal(await v.page.evaluate('document.documentElement.scrollWidth'), 390, 'the page scrolls sideways');
    }));

  it('reset: a forgotten password is replaced by the code of a mail', () =>
    visit({ expected: /\b400\b/ }, async (v) => {
      const { email } = await c.m.person('forgetful');
      await v.open('/reset', 'Choose a password');
      await v.page.getByLabel('E-mail address').fill(email);
      await v.page.getByRole('button', { name: 'Send the mail' }).click();
      await v.page.getByLabel('Code from the mail').fill('nonsense');
      await v.page.getByLabel('New password').fill('a new password');
      await v.page.getByRole('button', { name: 'Set the password' }).click();
      await v.page.getByRole('alert').getByText('reset-token: is not valid').waitFor();
      await v.accessible('reset wide light');
      await v.page.getByLabel('Code from the mail').fill((await c.m.box.next(email)).code);
      await v.page.getByRole('button', { name: 'Set the password' }).click();
      await v.page.getByText('The password is set').waitFor();
    }));

  it('tokens: made, seen, limited, replaced and revoked with the keyboard alone', () =>
    visit({}, async (v) => {
      const { page } = v;
      const { email } = await c.m.person('keys');
      const press = async (role: 'button' | 'link', name: string) => {
        await page.getByRole(role, { name, exact: true }).focus();
        await page.keyboard.press('Enter');
      };
      await v.open('/tokens', 'Sign in');
      await v.signIn(email);
      await revokeAll(email);
      await v.open('/tokens', 'Tokens');
      await page.getByText('There are no tokens').waitFor();
      await v.accessible('tokens empty');

      await press('button', 'Make a token');
      const dialog = page.getByRole('dialog', { name: 'Make a token' });
      await dialog.waitFor();
      await v.accessible('tokens dialog');
      await page.keyboard.type('ci');
      await page.getByLabel('Requests at once').focus();
      await page.keyboard.type('3');
      await page.keyboard.press('Enter');
      await page.getByText('The token is made').waitFor();
      await press('button', 'Show token');
      const first = await page.getByLabel('Token', { exact: true }).innerText();
      assert.match(first, /^[A-Za-z0-9]{64}$/);
      const works = (token: string) =>
        fetch(`${c.url}/frontend/api/v1/user/current`, { headers: { Authorization: `Bearer ${token}` } });
      assert.equal((await works(first)).status, 200);
      await page.getByRole('table', { name: 'Tokens' }).getByRole('cell', { name: '3', exact: true }).waitFor();

      await press('link', 'ci');
      await page.getByRole('heading', { level: 1, name: 'Token' }).waitFor();
      await page.getByLabel('Size of a file').focus();
      await page.keyboard.type('5000');
      await page.keyboard.press('Enter');
      await page.getByText('Saved').waitFor();
      await v.accessible('token');

      await press('button', 'Replace the token');
      await page.getByRole('dialog', { name: 'Replace the token?' }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      assert.equal((await works(first)).status, 200);
      await press('button', 'Replace the token');
      await page.getByRole('dialog', { name: 'Replace the token?' }).waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      // The caches of tokens hear of it by a notice of Postgres, which may come after the answer.
      await until('the old token is refused', async () => (await works(first)).status === 401);
      await press('button', 'Show token');
      const second = await page.getByLabel('Token', { exact: true }).innerText();
      const read = (await (
        await fetch(`${c.url}/frontend/api/v1/auth/api-token/${second}`, {
          headers: { Authorization: `Bearer ${second}` },
        })
      ).json()) as { limits: object };
      assert.deepEqual(read.limits, {
        concurrency: 3,
        'file-size': 5000,
      });

      await press('button', 'Revoke the token');
      await page.getByRole('dialog', { name: 'Revoke the token?' }).waitFor();
      await page.keyboard.press('Enter');
      await page.getByText('There are no tokens').waitFor();
      await until('the revoked token is refused', async () => (await works(second)).status === 401);
    }));

  it('tokens: the webhook secret is covered, shown when asked for, and replaced', () =>
    visit({}, async (v) => {
      const { page } = v;
      const { email, tokenId } = await c.m.person('signs');
      await v.open(`/tokens/${tokenId}`, 'Sign in');
      await v.signIn(email);
      const secret = page.getByLabel('Secret', { exact: true });
      await secret.waitFor();
      assert.match(await secret.innerText(), /^•+$/);
      await page.getByRole('button', { name: 'Show secret' }).click();
      const first = await secret.innerText();
      assert.match(first, /^whsec_/);
      await page.getByRole('button', { name: 'Replace the webhook secret' }).click();
      await page.getByRole('button', { name: 'Replace the secret' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      const second = await secret.innerText();
      assert.match(second, /^whsec_/);
      assert.notEqual(second, first);
    }));

  it('tokens: where they are not viewable, one is shown when it is made and never again', () =>
    visit({}, async (v) => {
      const { page } = v;
      const { email } = await c.m.person('unseen');
      c.m.settings.tokensViewable = false;
      try {
        await v.open('/tokens', 'Sign in');
        await v.signIn(email);
        await page.getByRole('button', { name: 'Make a token' }).click();
        await page.getByLabel('Name').fill('once');
        await page.getByRole('button', { name: 'Make the token' }).click();
        await page.getByRole('button', { name: 'Show token' }).click();
        assert.match(await page.getByLabel('Token', { exact: true }).innerText(), /^[A-Za-z0-9]{64}$/);
        await page.getByRole('link', { name: 'Its page' }).click();
        await page.getByText('not shown again on this installation').waitFor();
        await v.accessible('token not viewable');
      } finally {
        c.m.settings.tokensViewable = true;
      }
    }));

  it('account: names and password change, another session ends, on a phone', () =>
    visit({ width: 390, expected: /\b400\b/ }, async (v) => {
      const { page } = v;
      const { email } = await c.m.person('account');
      await fetch(`${c.url}/frontend/api/v1/auth/sign-in`, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          'User-Agent': 'curl/8.0 \u202e\u0007evil'.replaceAll(/[^\x20-\x7e]/g, ''),
        },
        body: JSON.stringify({ email, password: PASSWORD }),
      });
      await v.open('/account', 'Sign in');
      await v.signIn(email);
      await page.getByRole('table', { name: 'Sessions' }).waitFor();
      await v.accessible('account 390 light');
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'the page scrolls sideways');
      await page.getByLabel('First name').fill('<img src=x onerror=alert(1)>');
      await page.getByRole('button', { name: 'Save names' }).click();
      await page.getByText('Saved').waitFor();

      await page.getByLabel('Present password').fill('not it');
      await page.getByLabel('New password').fill('another password');
      await page.getByRole('button', { name: 'Change the password' }).click();
      await page.getByRole('alert').getByText('old-password: is wrong').waitFor();
      await pageUntil(page, 'document.activeElement.name === "old-password"');
      await page.getByLabel('Present password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Change the password' }).click();
      await page.getByText('Changed').waitFor();

      const others = page.getByRole('row').filter({ hasText: 'cli' });
      await others.getByRole('button').click();
      await page.getByRole('button', { name: 'End the session', exact: true }).click();
      await others.waitFor({ state: 'detached' });
      assert.equal((await rows(v, 'Sessions')).length, 1);
    }));

  it('sub-users: one is added, gets a mail, and chooses a password', () =>
    visit({ theme: 'dark' }, async (v) => {
      const { page } = v;
      const { email } = await c.m.person('boss');
      await v.open('/users', 'Sign in');
      await v.signIn(email);
      await page.getByText('There are no sub-users').waitFor();
      await page.getByRole('button', { name: 'Add a sub-user' }).click();
      await page.getByLabel('E-mail address').fill('below@example.org');
      await page.getByRole('dialog').getByRole('button', { name: 'Add the sub-user' }).click();
      await page.getByRole('cell', { name: 'below@example.org' }).waitFor();
      await v.accessible('sub-users dark');
      const { code } = await c.m.box.next('below@example.org');
      // The invited one has a browser of their own.
      await v.context.clearCookies();
      await page.goto(`${c.url}/reset#${code}`);
      await page.getByLabel('New password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Set the password' }).click();
      await page.getByRole('link', { name: 'Sign in' }).click();
      await v.signIn('below@example.org');
    }));

  it('session: one that ends in mid-work is renewed in place, and what was typed stays', () =>
    visit({}, async (v) => {
      const { page } = v;
      const { id, email } = await c.m.person('ended');
      await v.open('/account', 'Sign in');
      await v.signIn(email);
      await page.getByLabel('First name').fill('typed before');
      // What the page asks for by itself would find the end of the session first.
      await page.getByRole('table', { name: 'Sessions' }).waitFor();
      await c.m.stored.sql('delete from sessions where user_id = $1', [id]);
      await page.getByRole('button', { name: 'Save names' }).click();
      const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
      await dialog.waitFor();
      await v.accessible('session ended');
      await page.keyboard.press('Escape');
      assert.ok(await dialog.isVisible());
      await dialog.getByLabel('Password').fill(PASSWORD);
      await page.keyboard.press('Enter');
      await dialog.waitFor({ state: 'detached' });
      assert.equal(await page.getByLabel('First name').inputValue(), 'typed before');
      await page.getByRole('button', { name: 'Save names' }).click();
      await page.getByText('Saved').waitFor();
    }));

  it('states: slow, stopped, busy, refused and offline are told, and another try mends them', () =>
    visit({ expected: /\b503\b|\b404\b|ERR_INTERNET_DISCONNECTED|ERR_FAILED/ }, async (v) => {
      const { page, context } = v;
      const { email } = await c.m.person('states');
      await v.open('/tokens', 'Sign in');
      await v.signIn(email);
      const list = '**/frontend/api/v1/auth/api-token?*';
      const again = () => page.getByRole('button', { name: 'Try again' }).click();

      let answer = (): void => {};
      await page.route(list, async (route) => {
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        await route.abort().catch(() => {});
      });
      await v.open('/tokens', 'Tokens');
      await page.getByText('Waiting for the tokens').waitFor();
      await v.accessible('tokens slow');
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.getByText('Stopped waiting for the tokens').waitFor();
      answer();
      await page.unroute(list);

      await page.route(list, (route) =>
        route.fulfill({ status: 503, headers: { 'Retry-After': '5' }, body: '{"error":"Postgres is away"}' }),
      );
      await again();
      await page.getByText('Postgres is away').waitFor();
      await page.getByText('tried again in 5 s').waitFor();
      await v.accessible('tokens busy');
      await page.unroute(list);

      await page.route(list, (route) =>
        route.fulfill({ contentType: 'text/html', body: '<h1>Sign in to the network' }),
      );
      await again();
      await page.getByText('its answer is no JSON').waitFor();
      await page.unroute(list);

      await context.setOffline(true);
      await again();
      await page.getByText('This server cannot be reached').waitFor();
      await v.accessible('tokens offline');
      await context.setOffline(false);
      await page.getByRole('table', { name: 'Tokens' }).waitFor();

      await v.open('/tokens/999999999', 'Token');
      await page.getByRole('heading', { name: 'Not found' }).waitFor();
      await v.accessible('token not found');
      await v.open('/no/such/page', 'Not found');
    }));

  it('server: an answer of 503 at the start is told and tried again', () =>
    visit({ expected: /\b503\b/ }, async (v) => {
      const { page } = v;
      const who = '**/frontend/api/v1/user/current';
      await page.route(who, (route) => route.fulfill({ status: 503, body: 'upstream' }));
      await v.open('/tokens', 'Tokens');
      await page.getByText('The server answered with status 503').waitFor();
      await page.unroute(who);
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    }));
});
