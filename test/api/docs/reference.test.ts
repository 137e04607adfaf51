/** The API reference in a browser: schemas open in place, and an example is sent under the policy of its page. */
import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import { buildSite } from '../../../docs/site/build.ts';
import { browserFor } from '../../browser/chromium.ts';
import { axeSource, startVisit, type Look, type Visit } from '../../console/fixture.ts';
import { oncePerRun } from '../../once_per_run.ts';
import { startManagement, type Management } from '../accounts/fixture.ts';

describe('/docs/api in a browser', function () {
  this.timeout(180_000);
  let m: Management;
  let browser: Browser | undefined;
  let axe: string;
  before(async function () {
    browser = await browserFor(this);
    axe = await axeSource();
    m = await startManagement({}, { siteFolder: await oncePerRun('site', buildSite) });
  });
  after(async () => {
    await browser?.close();
    await m?.stop();
  });

  async function at(address: string, look: Look, work: (v: Visit, page: Page) => Promise<void>): Promise<void> {
    const { url } = m.replicas[0];
    const v = await startVisit(browser!, url, axe, look);
    await v.page.goto(`${url}/docs/${address}`);
    await work(v, v.page);
    await v.end();
  }
  /** The form of the first example below an operation's anchor. */
  const tryAt = async (page: Page, operation: string) => {
    const place = page.locator(`p:has(> a#${operation}) ~ .code`).first();
    await place.getByRole('button', { name: 'Try', exact: true }).click();
    return page.locator('form.try').first();
  };

  it('an operation: its example is sent with a token, and the answer is shown', async () => {
    const ann = await m.person('ann');
    await at('api/users#readCurrentUser', {}, async (v, page) => {
      const form = await tryAt(page, 'readCurrentUser');
      await form.getByLabel('API token').fill(ann.token);
      await form.getByRole('button', { name: 'Send' }).click();
      await form.getByRole('status').getByText('200 OK').waitFor();
      assert.match(await form.locator('pre').innerText(), /"email": "ann@example\.org"/);
      await v.accessible('docs api tried');
    });
  });

  it('an operation: a name of the path that was not replaced is not sent', async () => {
    await at('api/users#readUser', {}, async (_, page) => {
      const form = await tryAt(page, 'readUser');
      await form.getByRole('button', { name: 'Send' }).click();
      await form.getByRole('status').getByText('Replace $ID in the path.').waitFor();
    });
  });

  it('an operation: a body that is not valid is answered with the name of the field', async () => {
    await at('api/auth#signIn', { expected: /\b400\b/ }, async (_, page) => {
      const form = await tryAt(page, 'signIn');
      await form.getByLabel('Body').fill('{"email": 1}');
      await form.getByRole('button', { name: 'Send' }).click();
      await form.getByRole('status').getByText('400').waitFor();
      assert.match(await form.locator('pre').innerText(), /"field": "(?:email|password)"/);
    });
  });

  it('a schema: opens where it is named, with those inside it, and closes again', async () => {
    await at('api/auth#listSessions', {}, async (v, page) => {
      const link = page.locator('main a[href="#schema-Session"]').first();
      await link.click();
      const opened = page.locator('.schema').first();
      await opened.waitFor();
      assert.equal(await link.getAttribute('aria-expanded'), 'true');
      await v.accessible('docs api schema');
      await link.click();
      await opened.waitFor({ state: 'detached' });
    });
  });

  it('a link to a schema opens it', () =>
    at('api/users#schema-User', {}, async (_, page) => {
      await page.locator('details#schema-User[open]').waitFor();
    }));

  for (const [theme, width] of [
    ['light', 1280],
    ['dark', 390],
  ] as const)
    it(`pages: no violation of axe and no sideways scrolling, ${theme}, ${width} px`, async () => {
      for (const address of ['api', 'api/probe', 'api/policy', 'api/webhooks'])
        await at(address, { theme, width }, async (v, page) => {
          await v.accessible(`docs ${address} ${theme} ${width}`);
          const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
          assert.ok(Number(wide) <= 0, `${address}: ${String(wide)} px too wide`);
        });
    });
});
