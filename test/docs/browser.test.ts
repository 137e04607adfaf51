/** The documentation in a browser: narrow and wide, light and dark, by keyboard alone, without a violation of axe. */
import assert from 'node:assert/strict';
import type { Browser } from 'playwright-core';
import { buildSite } from '../../docs/site/build.ts';
import type { HttpServer } from '../../src/service/api/http/http_server.ts';
import { servePages } from '../api/serve_pages.ts';
import { browserFor } from '../browser/chromium.ts';
import { pageUntil } from '../browser/page_until.ts';
import { axeSource, startVisit, type Look } from '../console/fixture.ts';
import { oncePerRun } from '../once_per_run.ts';

describe('documentation in a browser', function () {
  this.timeout(300_000);
  let browser: Browser | undefined;
  let server: HttpServer | undefined;
  let axe: string;
  const visit = (look: Look = {}) => startVisit(browser!, `http://127.0.0.1:${server!.port}`, axe, look);
  const at = (path: string) => `http://127.0.0.1:${server!.port}${path}`;

  before(async function () {
    browser = await browserFor(this);
    const [source, folder] = await Promise.all([axeSource(), oncePerRun('site', buildSite)]);
    axe = source;
    server = await servePages({ siteFolder: folder });
  });
  after(async () => {
    await browser?.close();
    await server?.close(1_000);
  });

  for (const [theme, width] of [
    ['light', 1280],
    ['dark', 390],
  ] as const)
    it(`pages: no violation of axe and no sideways scrolling, ${theme}, ${width} px`, async () => {
      const v = await visit({ theme, width, expected: /\b404\b/ });
      const pages = [
        '',
        'none',
        'quickstart',
        'guides/webhooks',
        'guides/errors',
        'cli',
        'console',
        'operating/values',
      ];
      for (const address of pages) {
        await v.page.goto(at(`/docs/${address}`));
        await v.accessible(`docs ${address || 'index'} ${theme} ${width}`);
        const wide = await v.page.evaluate('document.documentElement.scrollWidth - innerWidth');
        assert.ok(Number(wide) <= 0, `${address}: ${String(wide)} px too wide`);
      }
      await v.end();
    });

  it('search: by keyboard alone, from any page to a section', async () => {
    const v = await visit();
    await v.page.goto(at('/docs/faq'));
    await v.page.keyboard.press('/');
    await v.page.keyboard.type('webhooks go');
    const options = v.page.getByRole('option');
    await options.first().waitFor();
    await v.accessible('docs search');
    const index = (await options.allTextContents()).findIndex((text) => text.startsWith('Go'));
    assert.ok(index >= 0 && index < 5, (await options.allTextContents()).join('\n'));
    for (let step = 0; step < index; step++) await v.page.keyboard.press('ArrowDown');
    await v.page.keyboard.press('Enter');
    await v.page.waitForURL(at('/docs/guides/webhooks#go'));
    await v.end();
  });

  it('search: says that nothing was found, and Escape closes the list', async () => {
    const v = await visit({ width: 390 });
    await v.page.goto(at('/docs/'));
    const input = v.page.getByRole('combobox', { name: 'Search' });
    await input.fill('webhook');
    await v.page.getByRole('option').first().waitFor();
    await input.press('Escape');
    await v.page.getByRole('listbox').waitFor({ state: 'hidden' });
    await input.fill('zzzz');
    await v.page.getByRole('status').getByText('No result for “zzzz”.').waitFor();
    const heightOf = async () => (await v.page.locator('#said').boundingBox())!.height;
    assert.ok((await heightOf()) > 20, 'it can be seen');
    await v.accessible('docs search without a result');
    await input.press('Escape');
    assert.ok((await heightOf()) <= 1, 'it is gone with Escape');
    await v.end();
  });

  it('skip link: is the first stop of the keyboard and leads to the content', async () => {
    const v = await visit();
    await v.page.goto(at('/docs/quickstart'));
    await v.page.keyboard.press('Tab');
    await v.page.keyboard.press('Enter');
    await pageUntil(v.page, 'document.activeElement.id === "content"');
    await v.end();
  });
});
