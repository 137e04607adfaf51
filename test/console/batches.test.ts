/** Batches in the console: listed, followed, paused and resumed, and created from lines. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { bodyOf, inLines, linesIn } from '../../src/console/views/batch_lines.ts';
import { batchesOf } from '../api/batch/fixture.ts';
import { tool } from '../api/fixture.ts';
import { ADMIN } from '../store/fixture.ts';
import { until } from '../until.ts';
import { probingConsoleTest, visitAs, type Look, type Visit } from './fixture.ts';

const addresses = (host: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `https://${host}/${n}.mp4`);

describe('console: the list of a new batch', () => {
  it('lines: blank ones and remarks are left out, and places are said by their number', () => {
    const lines = linesIn('# films\r\n https://a.test/ \n\n{"url": "https://b.test/"}');
    assert.equal(bodyOf({ name: 'x' }, lines), '{"name":"x"}\n"https://a.test/"\n{"url": "https://b.test/"}\n');
    assert.equal(
      inLines('items.0.url must begin; items.1: must be; items.7.ref: is', lines),
      'line 2: url must begin; line 4: must be; items.7.ref: is',
    );
  });
});

probingConsoleTest('console: batches', {}, (c) => {
  const visit = (path: string, look: Look, work: (v: Visit) => Promise<void>) =>
    visitAs(c, ADMIN.email, { path, look, password: ADMIN.password }, work);
  const rowsOf = ({ page }: Visit, name: string) => page.getByRole('table', { name }).locator('tbody tr');
  const tools = (code: string) => [
    { name: 'ffprobe' as const, version: '7.0', success: false, code, durationMs: 0, usageMs: 0 },
  ];

  const found = (container: string) => ({
    name: 'ffprobe' as const,
    version: '7.0',
    success: true,
    facets: { container: [container] },
    durationMs: 0,
    usageMs: 0,
  });

  it('no batch: says what one is', () =>
    visit('/batches', {}, async (v) => {
      await v.page.getByText('There are no batches').waitFor();
      await v.accessible('batches empty');
    }));

  it('one with failures: followed while it lives, and its items filtered by their code', async () => {
    const host = 'failing.test';
    const batches = batchesOf(c.api);
    const { id } = await batches.create({ items: addresses(host, 3), name: 'Library <b>', concurrency: 3 });
    await visit('/batches', { theme: 'dark' }, async (v) => {
      const { page } = v;
      const row = rowsOf(v, 'Batches').filter({ hasText: 'Library <b>' });
      await row.getByText('Running').waitFor();
      await v.accessible('batches wide dark');
      await row.getByRole('link').first().click();
      await page.getByRole('heading', { level: 1, name: 'Batch', exact: true }).waitFor();
      await page.getByText('0 of 3 items are over').waitFor();
      await v.accessible('batch running dark');
      await batches.run(id, host, ({ metadata: { name }, spec }) =>
        spec.source.display!.includes('/1.mp4')
          ? batches.failure(name, { status: 422, reason: 'ToolFailed', error: 'x', tools: tools('http-404') })
          : c.api.end(name, {
              result: { tools: [tool('ffprobe', '{}')], ioUsage: 10 },
              asked: [{ name: 'ffprobe' }],
              close: { tools: [found(spec.source.display!.includes('/0.mp4') ? 'matroska' : 'mp4')] },
            }),
      );
      await page.getByText('Completed with failures').waitFor();
      await page.getByText('3 of 3 items are over, 1 failed.').waitFor();
      await page.getByRole('list', { name: 'Errors by code' }).getByRole('link', { name: 'http-404' }).click();
      await page.waitForURL(/[?&]code=http-404\b/);
      await until('one row', async () => (await rowsOf(v, 'Items').count()) === 1);
      await rowsOf(v, 'Items').getByText('/1.mp4').waitFor();
      await v.accessible('batch ended dark');
      await page.getByLabel('State', { exact: true }).selectOption('success');
      await page.getByText('No item matches').waitFor();
      await page.getByRole('button', { name: 'Clear: Code' }).click();
      await until('two rows', async () => (await rowsOf(v, 'Items').count()) === 2);
      await page.getByRole('region', { name: 'Container' }).getByRole('link', { name: 'matroska' }).click();
      await page.waitForURL(/[?&]container=matroska\b/);
      await until('one row', async () => (await rowsOf(v, 'Items').count()) === 1);
      await rowsOf(v, 'Items').getByText('/0.mp4').waitFor();
      await rowsOf(v, 'Items').first().getByRole('link', { name: 'its request' }).click();
      await page.getByRole('heading', { level: 1, name: 'Request', exact: true }).waitFor();
    });
  });

  it('one that ran out of its budget: resumed with a larger one, paused, downloaded and cancelled', async () => {
    const host = 'budget.test';
    const batches = batchesOf(c.api);
    const items = addresses(host, 4);
    const { id } = await batches.create({ items, concurrency: 1, max_requests: 1 });
    await batches.success((await c.api.job(host)).metadata.name);
    await batches.untilIn(id, 'stopped');
    await visit(`/batches/${id}`, {}, async (v) => {
      const { page } = v;
      await page.getByText('max_requests is used up').waitFor();
      await page.getByText('1 of 1', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Resume' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Budget of requests').fill('3');
      await v.accessible('batch resume light');
      await dialog.getByRole('button', { name: 'Resume' }).click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByText('1 of 3', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Pause' }).click();
      await page.locator('.badge').filter({ hasText: 'Paused' }).waitFor();
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download as CSV' }).click(),
      ]);
      assert.equal(file.suggestedFilename(), `batch-${id}.csv`);
      const lines = (await readFile(await file.path(), 'utf8')).trimEnd().split('\n');
      assert.deepEqual([lines.length, lines[0]!.startsWith('n,url,ref,state,')], [5, true]);
      await page.getByRole('button', { name: 'Cancel the batch' }).click();
      await dialog.getByRole('button', { name: 'Cancel the batch' }).click();
      await dialog.waitFor({ state: 'detached' });
      for (const { metadata } of await batches.jobs(host))
        await batches.failure(metadata.name, { status: 499, reason: 'Cancelled', error: 'cancelled' });
      await page.locator('.badge').filter({ hasText: 'Cancelled' }).waitFor();
      assert.equal(await page.getByRole('button', { name: 'Cancel the batch' }).count(), 0);
    });
  });

  it('created with the options of the playground, from lines: a wrong one is named by its number', () =>
    visit('/playground?ffprobe.version=3.3&timeline.enabled=true', { expected: /\b400\b/ }, async (v) => {
      const { page } = v;
      await page.getByRole('link', { name: 'Probe many with these options' }).click();
      await page.getByRole('heading', { level: 1, name: 'New batch', exact: true }).waitFor();
      const list = page.getByLabel('Addresses');
      await page.getByRole('button', { name: 'Create the batch' }).click();
      await page.getByText('The list has no address.').waitFor();
      await page.getByLabel('Or a file of lines').setInputFiles({
        name: 'list.txt',
        mimeType: 'text/plain',
        buffer: Buffer.from('# films\nhttps://new.test/a.mp4\n\n{"url": "nonsense", "ref": "b"}\n'),
      });
      await page.getByText('2 of at most 10,000').waitFor();
      await page.getByLabel('Name').fill('from lines');
      await page.getByRole('button', { name: 'Create the batch' }).click();
      await page.getByText(/^line 4: url must begin/).waitFor();
      assert.equal(await list.getAttribute('aria-invalid'), 'true');
      await page.getByText('Template', { exact: false }).first().click();
      await page.getByText('Limits', { exact: true }).click();
      await v.accessible('batch new light');
      await list.fill('https://new.test/a.mp4\n{"url": "https://new.test/b.mp4?sig=geheim", "ref": "b"}');
      await page.getByLabel('Jobs at once').fill('1');
      await page.getByRole('button', { name: 'Create the batch' }).click();
      await page.getByText('0 of 2 items are over').waitFor();
      await page.getByText('from lines').waitFor();
      assert.doesNotMatch(await page.content(), /geheim/);
      const { spec } = await c.api.job('new.test');
      assert.deepEqual(
        spec.tools?.map(({ name, version }) => [name, version]),
        [
          ['ffprobe', '3.3'],
          ['mediainfo', '24.06'],
        ],
      );
    }));

  it('created from a list at an address, or from what fits in a bucket', () =>
    visit('/batches/new', { expected: /\b400\b/ }, async (v) => {
      const { page } = v;
      const create = () => page.getByRole('button', { name: 'Create the batch' }).click();
      await page.getByLabel('Sources').selectOption('A list at an address');
      await page.getByLabel('Address of the list').fill('http://127.0.0.1:1/list.csv');
      await create();
      await page
        .getByRole('alert')
        .getByText(/^items_url/)
        .waitFor();
      assert.equal(await page.getByLabel('Address of the list').getAttribute('aria-invalid'), 'true');
      await page.getByLabel('Sources').selectOption('A bucket');
      await page.getByLabel('Address of the bucket').fill('films/2026/');
      await page.getByLabel('Only what fits').fill('*.mp4\n\n*.mov\n');
      await page.getByLabel('Nothing that fits').fill('*/draft/*');
      await page.getByLabel('Smallest size').fill('1');
      await page.getByLabel('Modified on or after').fill('2026-01-31');
      await v.accessible('batch new bucket light');
      await create();
      await page
        .getByRole('alert')
        .getByText(/^bucket\.url/)
        .waitFor();
      await page.getByLabel('Address of the bucket').fill('s3://films/2026/');
      await create();
      await page.getByText('0 of 1 items are over').waitFor();
      const [row] = await c.api.stored.sql<{ listing: { url: string; filter: object } }>(
        'select listing from batches where listing is not null',
      );
      assert.equal(row!.listing.url, 's3://films/2026/');
      assert.deepEqual(row!.listing.filter, {
        include: ['*.mp4', '*.mov'],
        exclude: ['*/draft/*'],
        minBytes: 1,
        maxBytes: null,
        modifiedAfter: Date.parse('2026-01-31T00:00:00Z'),
        modifiedBefore: null,
      });
    }));

  it('an answer that is lost: another try creates no second batch', () =>
    visit('/batches/new', { expected: /ERR_FAILED/ }, async ({ page }) => {
      await page.getByLabel('Addresses').fill('https://lost.test/a.mp4');
      await page.route('**/v1/batch', async (route) => {
        await route.fetch();
        await route.abort();
      });
      await page.getByRole('button', { name: 'Create the batch' }).click();
      await page.getByText('This server cannot be reached').waitFor();
      await page.unroute('**/v1/batch');
      await page.getByRole('button', { name: 'Create the batch' }).click();
      await page.getByText('0 of 1 items are over').waitFor();
      const made = await c.api.stored.sql(`select 1 from batch_items where display like 'https://lost.test/%'`);
      assert.equal(made.length, 1);
    }));

  it('items: pages by the place where each begins, on a phone', async () => {
    const batches = batchesOf(c.api);
    const { id } = await batches.create({ items: addresses('many.test', 120), concurrency: 1 });
    await batches.act(id, 'pause');
    await visit(`/batches/${id}`, { width: 390 }, async (v) => {
      const { page } = v;
      await page.locator('.badge').filter({ hasText: 'Paused' }).waitFor();
      assert.equal(await rowsOf(v, 'Items').count(), 100);
      await v.accessible('batch 390 light');
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'the page scrolls sideways');
      await page.getByRole('link', { name: 'Next', exact: true }).click();
      await page.waitForURL(/[?&]page=99\b/);
      await until('the rest', async () => (await rowsOf(v, 'Items').count()) === 20);
      await page.getByRole('link', { name: 'First', exact: true }).click();
      await until('the first page', async () => (await rowsOf(v, 'Items').count()) === 100);
    });
    await batches.act(id, 'cancel');
  });
});
