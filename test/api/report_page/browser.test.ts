/** The page of a report in a browser: from a file alone, readable by all, narrow, and printed. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import type { Context } from '../../../src/service/api/http/request_context.ts';
import { sendHtml } from '../../../src/service/api/report_page/report_endpoints.ts';
import { reportPage } from '../../../src/service/api/report_page/report_page.ts';
import { browserFor } from '../../browser/chromium.ts';
import { axeSource, startVisit, type Look } from '../../console/fixture.ts';
import { PAGES } from './page_samples.ts';
import { readPdf } from './read_pdf.ts';

/** The file that a caller gets. */
function fileOf(name: keyof typeof PAGES): string {
  const ctx = { set() {} } as unknown as Context;
  sendHtml(ctx, name, reportPage(PAGES[name]));
  return ctx.body as string;
}

describe('report page in a browser', function () {
  this.timeout(300_000);
  let browser: Browser | undefined;
  let axe: string;
  let folder: string | undefined;
  const visit = (look: Look) => startVisit(browser!, 'file://', axe, look);
  const at = (name: string) => pathToFileURL(join(folder!, `${name}.html`)).href;

  before(async function () {
    browser = await browserFor(this);
    axe = await axeSource();
    folder = await mkdtemp(join(tmpdir(), 'report-'));
    for (const name of Object.keys(PAGES) as (keyof typeof PAGES)[])
      await writeFile(join(folder, `${name}.html`), fileOf(name));
  });
  after(async () => {
    await browser?.close();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  for (const [theme, width] of [
    ['light', 1280],
    ['dark', 390],
  ] as const)
    it(`no violation of axe, no sideways scrolling, no request elsewhere: ${theme}, ${width} px`, async () => {
      const v = await visit({ theme, width });
      for (const name of Object.keys(PAGES)) {
        await v.page.goto(at(name));
        await v.accessible(`report ${name} ${theme} ${width}`);
        const wide = await v.page.evaluate('document.documentElement.scrollWidth - innerWidth');
        assert.ok(Number(wide) <= 0, `${name}: ${String(wide)} px too wide`);
        const fromElsewhere = '[...document.images].filter(({ src }) => !src.startsWith("data:")).length';
        assert.equal(await v.page.evaluate(`${fromElsewhere} + document.scripts.length`), 0, name);
      }
      await v.end();
    });

  for (const format of ['A4', 'Letter'] as const)
    it(`prints as ${format}: text that can be selected, no row on two pages, light on a dark screen`, async () => {
      const v = await visit({ theme: 'dark' });
      await v.page.goto(at('hostile'));
      const { size, pages } = readPdf(await v.page.pdf({ format }));
      assert.deepEqual(size, { A4: [596, 843], Letter: [612, 792] }[format]);
      assert.ok(pages.length > 2 && pages.length < 40, `${pages.length} pages`);
      const [first, second] = [pages[0]!, pages[1]!];
      assert.match(first, /Media report by Probeyard.*the request failed/);
      assert.ok(
        [...pages].every((page) => !page.includes('\ufffd') && page.trim() !== ''),
        second,
      );
      // The head of a long table is on each of its pages, and each row on one.
      const ofTable = pages.filter((page) => /streams\[\d+\]\.duration/.test(page));
      assert.ok(ofTable.length > 1, `${ofTable.length} pages of the table`);
      for (const page of ofTable) assert.match(page, /Field.*probe.*mediainfo.*Con.*dence.*Why/);
      for (let row = 0; row < 100; row++)
        assert.equal(pages.filter((page) => page.includes(`streams[${row}].duration${row}`)).length, 1, `row ${row}`);
      await v.page.emulateMedia({ media: 'print' });
      assert.equal(
        await v.page.evaluate('getComputedStyle(document.documentElement).backgroundColor'),
        'rgb(255, 255, 255)',
      );
      const rows = await v.page.evaluate(`[...document.querySelectorAll('tr, figure')].every(
        (row) => getComputedStyle(row).breakInside === 'avoid')`);
      assert.equal(rows, true);
      assert.equal(
        await v.page.evaluate(`getComputedStyle(document.querySelector('thead')).display`),
        'table-header-group',
      );
      await v.end();
    });
});
