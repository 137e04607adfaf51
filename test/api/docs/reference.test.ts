/**
 * The page of the description: complete without any other address, under its own policy, and able to send a request.
 */
import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import { browserFor } from '../../browser/chromium.ts';
import { startManagement, type Management } from '../accounts/fixture.ts';

describe('/docs/api', function () {
  this.timeout(120_000);
  let m: Management;
  before(async () => {
    m = await startManagement();
  });
  after(() => m.stop());

  it('serves its files to everybody, compressed if accepted, and 304 to a caller that has them', async () => {
    for (const [path, type] of [
      ['/docs/api', 'text/html'],
      ['/docs/api/page.css', 'text/css'],
      ['/docs/api/rapidoc.js', 'text/javascript'],
      ['/docs/api.md', 'text/markdown'],
    ] as const) {
      const response = await fetch(`${m.replicas[0].url}${path}`);
      assert.deepEqual([response.status, response.headers.get('content-type')], [200, `${type}; charset=utf-8`]);
      assert.match(response.headers.get('content-security-policy')!, /^default-src 'none'; script-src 'self'; /);
      const text = await response.text();
      const plain = await fetch(`${m.replicas[0].url}${path}`, { headers: { 'Accept-Encoding': 'identity' } });
      assert.deepEqual([plain.headers.get('content-encoding'), await plain.text()], [null, text]);
      const again = await fetch(`${m.replicas[0].url}${path}`, {
        headers: { 'If-None-Match': response.headers.get('etag')!, 'Cache-Control': 'max-age=0' },
      });
      assert.equal(again.status, 304);
      assert.equal((await fetch(`${m.replicas[0].url}${path}`, { method: 'POST' })).status, 405);
    }
    assert.equal((await fetch(`${m.replicas[0].url}/docs/../package.json`)).status, 404);
    assert.equal((await fetch(`${m.replicas[0].url}/docs/api/endpoint.ts`)).status, 404);
  });

  describe('in a browser', () => {
    let browser: Browser | undefined;
    before(async function () {
      browser = await browserFor(this);
    });
    after(async () => {
      await browser?.close();
    });

    it('shows every operation, loads nothing from elsewhere, violates no policy, and sends a request', async () => {
      const { url } = m.replicas[0];
      const ann = await m.person('ann');
      const page: Page = await browser!.newPage();
      const asked: string[] = [];
      const said: string[] = [];
      page.on('request', (request) => asked.push(request.url()));
      page.on('console', (message) => {
        if (message.type() === 'error') said.push(message.text());
      });
      page.on('pageerror', (error) => said.push(error.message));
      await page.goto(`${url}/docs/api`);
      await page.getByText('Sign up', { exact: false }).first().waitFor({ timeout: 90_000 });

      const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as {
        paths: Record<string, Record<string, { summary: string }>>;
      };
      const text = (await page.evaluate(`(() => {
        const walk = (node) =>
          (node.shadowRoot ? walk(node.shadowRoot) : '') +
          [...node.childNodes].map((child) => child.nodeType === 3 ? child.data : walk(child)).join(' ');
        return walk(document.body);
      })()`)) as string;
      for (const [path, methods] of Object.entries(paths))
        for (const { summary } of Object.values(methods)) assert.ok(text.includes(summary), `${path}: ${summary}`);

      // The token goes into the page's own field, and its own button sends the request.
      await page.evaluate(`document.querySelector('rapi-doc').setApiKey('apiTokenQuery', '${ann.token}')`);
      await page.evaluate(`document.querySelector('rapi-doc').scrollToPath('get-/frontend/api/v1/user/current')`);
      const answered = page.waitForResponse((response) => response.url().includes('/frontend/api/v1/user/current'), {
        timeout: 60_000,
      });
      const section = page.locator('[id="get-/frontend/api/v1/user/current"]').last();
      await section.getByRole('button', { name: 'TRY', exact: false }).first().click();
      const response = await answered;
      assert.equal(response.status(), 200);
      assert.equal(((await response.json()) as { email: string }).email, 'ann@example.org');
      await page.getByText('ann@example.org').first().waitFor();

      assert.deepEqual(
        asked.filter((address) => !address.startsWith(url) && !/^(data|blob):/.test(address)),
        [],
      );
      assert.deepEqual(said, []);
    });

    it('is dark where the system is, and not wider than a telephone', async () => {
      const page = await browser!.newPage({ colorScheme: 'dark', viewport: { width: 390, height: 844 } });
      await page.goto(`${m.replicas[0].url}/docs/api`);
      // The list at its side is not shown at this width.
      await page.locator('[id="get-/frontend/api/v1/user/current"]').last().waitFor({ timeout: 90_000 });
      assert.equal(await page.evaluate(`document.querySelector('rapi-doc').theme`), 'dark');
      assert.ok(Number(await page.evaluate('document.documentElement.scrollWidth')) <= 390);
      await page.close();
    });
  });
});
