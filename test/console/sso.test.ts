/** Single sign-on in a real browser: over the pages of oidc-provider, another site, to the console and back. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { makeIssuers, type Issuer } from '../../src/service/api/sso/issuers.ts';
import { startApi, tool as ran } from '../api/fixture.ts';
import { certificate, SECRET, startIssuer, toIssuers, type TestIssuer } from '../api/sso/issuer.ts';
import { during, startPages, suite, type Look, type ProbingConsole, type Visit } from './fixture.ts';

interface Front {
  url: string;
  to: string;
  stop(): Promise<void>;
}

/** What ends TLS before an installation, as an ingress does. Its name is another site than that of the issuer. */
async function startFront(): Promise<Front> {
  const server = createServer(await certificate(), (incoming, response) => {
    const { method, headers, url } = incoming;
    const sent = request(`${front.to}${url}`, {
      method: method!,
      headers: { ...headers, 'x-forwarded-proto': 'https' },
    });
    sent.on('response', (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    sent.on('error', () => response.destroy());
    incoming.pipe(sent);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const front: Front = {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    to: '',
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return front;
}

interface SsoConsole extends ProbingConsole {
  issuer: TestIssuer;
}

const SAMPLES_URL = 'http://samples.example';

const startSsoConsole = (): Promise<SsoConsole | undefined> =>
  startPages(async (consoleFolder) => {
    const front = await startFront();
    const issuer = await startIssuer('corp', {}, { publicUrl: front.url, hasPages: true });
    const settings = { publicUrl: front.url, issuers: [issuer.settings], issuerSecret: () => SECRET };
    const api = await startApi({ consoleFolder, samplesUrl: SAMPLES_URL }, { accounts: { publicUrl: front.url } });
    // The installation's own way there leads to no loopback address.
    const { log, issuers } = api.wired.deps;
    for (const [name, one] of makeIssuers(settings, { fetch: await toIssuers(), log }))
      (issuers as Map<string, Issuer>).set(name, one);
    front.to = api.url;
    const stop = async (): Promise<void> => {
      await api.stop();
      await Promise.all([issuer.stop(), front.stop()]);
    };
    return { api, issuer, url: front.url, stop };
  });

suite('console: single sign-on in a browser', startSsoConsole, (c) => {
  /** The pages of the issuer ask for them. */
  const FONTS = 'https://fonts.googleapis.com';
  const visit = async (look: Look, work: (v: Visit) => Promise<void>) => {
    const v = await c.visit({ alsoAt: [c.issuer.url, FONTS], ...look });
    await v.context.route(`${FONTS}/**`, (route) => route.fulfill({ contentType: 'text/css', body: '' }));
    await during(v, work);
    await v.end();
  };
  afterEach(() => {
    c.issuer.away = null;
  });

  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  const begin = (page: Page) => page.getByRole('link', { name: 'Sign in with corp', exact: true }).click();
  async function signInAtIssuer(page: Page, subject: string): Promise<void> {
    await page.getByPlaceholder('Enter any login').fill(subject);
    await page.getByPlaceholder('and password').fill('whatever');
    await page.getByRole('button', { name: 'Sign-in' }).click();
  }
  const people = (subject: string, groups: string[]) =>
    c.issuer.people.set(subject, { email: `${subject}@example.org`, email_verified: true, groups });

  /** No script runs in these pages, that of the check neither: it looks at a copy. */
  async function looksRight(name: string, html: string): Promise<void> {
    const v = await c.visit({ width: 390, theme: 'dark' });
    await v.page.setContent(html);
    await v.accessible(`sso ${name} 390 dark`);
    assert.equal(await v.page.evaluate('document.documentElement.scrollWidth'), 390, 'the page scrolls sideways');
    await v.end();
  }

  // The first of all: what an issuer says of itself is kept for a while, and then people come to it and not back.
  it('errors of the issuer are pages that say what to do, and lead back to the page that was asked for', () =>
    visit({ expected: /\b400\b|\b503\b/ }, async (v) => {
      const { page } = v;
      people('bob', ['staff']);
      c.issuer.away = 503;
      await v.open('/tokens?sort=name', 'Sign in');
      await begin(page);
      await heading(page, 'You are not signed in');
      await page.getByText('corp cannot be reached; try again later').waitFor();
      await page.getByText('Nothing is wrong with your account. Try again in a minute.').waitFor();
      const away = await page.content();
      c.issuer.away = null;
      await page.getByRole('link', { name: 'Sign in with corp again' }).click();
      await page.getByRole('link', { name: 'Cancel' }).click();
      await heading(page, 'You are not signed in');
      await page.getByText('corp: access was denied there').waitFor();
      const denied = await page.content();
      await page.getByRole('link', { name: 'Sign in with corp again' }).click();
      await signInAtIssuer(page, 'bob');
      await heading(page, 'Tokens');
      assert.equal(new URL(page.url()).search, '?sort=name');
      for (const [name, html] of Object.entries({ away, denied })) await looksRight(name, html);
    }));

  it('first sign-in: over the issuer into the playground, to an answer, and out', () =>
    visit({}, async (v) => {
      const { page } = v;
      people('ada', ['staff']);
      await v.open('/', 'Sign in');
      await begin(page);
      await signInAtIssuer(page, 'ada');
      await heading(page, 'Playground');
      await page.getByRole('banner').getByText('ada@example.org').waitFor();
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      const { metadata } = await c.api.job('samples.example');
      await c.api.end(metadata.name, { result: { tools: [ran('ffprobe', '{"format":{"a":"b"}}')], ioUsage: 9 } });
      await page.getByText('"a":"b"').waitFor();
      const cookies = await v.context.cookies(c.url);
      assert.deepEqual(cookies.map(({ name, httpOnly, secure }) => [name, httpOnly, secure]).toSorted(), [
        ['__Host-jwt', true, true],
        ['jwt', true, true],
      ]);

      await page.getByRole('button', { name: 'Sign out', exact: true }).click();
      await heading(page, 'Sign in');
      assert.deepEqual(await v.context.cookies(c.url), []);
      // Who is signed in at the issuer comes back by one click, to the page that was asked for.
      await v.open('/tokens?sort=name', 'Sign in');
      await begin(page);
      await heading(page, 'Tokens');
      assert.equal(new URL(page.url()).search, '?sort=name');
      await page.getByRole('banner').getByText('ada@example.org').waitFor();
    }));

  it('a group that was taken away: nobody comes in by another tab, and the page stays until the group is back', () =>
    visit({ expected: /\b403\b/ }, async (v) => {
      const { page, context } = v;
      people('eve', ['staff']);
      await v.open('/account', 'Sign in');
      await begin(page);
      await signInAtIssuer(page, 'eve');
      await heading(page, 'Account');
      await page.getByLabel('First name').fill('typed before');

      people('eve', []);
      await c.api.stored.sql('delete from sessions where user_id = (select id from users where email = $1)', [
        'eve@example.org',
      ]);
      await page.getByRole('button', { name: 'Save names' }).click();
      const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
      await dialog.getByText('It opens another tab').waitFor();
      const [tab] = await Promise.all([context.waitForEvent('page'), begin(page)]);
      await heading(tab, 'You are not signed in');
      await tab.getByText('none of your groups at corp has access any more').waitFor();
      await tab.getByText('an administrator can give you access').waitFor();
      const [user] = await c.api.stored.sql('select status from users where email = $1', ['eve@example.org']);
      assert.deepEqual(user, { status: 'suspended' });

      people('eve', ['staff']);
      await tab.getByRole('link', { name: 'Sign in with corp again' }).click();
      await heading(tab, 'Playground');
      await tab.close();
      await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
      await dialog.waitFor({ state: 'detached' });
      assert.equal(await page.getByLabel('First name').inputValue(), 'typed before');
      await page.getByRole('button', { name: 'Save names' }).click();
      await page.getByText('Saved').waitFor();
    }));
});
