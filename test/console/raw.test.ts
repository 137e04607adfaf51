/** Long outputs: rows without a copy of the text, and a page that draws those in view. */
import assert from 'node:assert/strict';
import { find, rowsOf } from '../../src/console/worker/rows.ts';
import type { Person } from '../api/accounts/fixture.ts';
import { pageUntil } from '../browser/page_until.ts';
import { body, good } from '../result/result_samples.ts';
import { consoleTest, visitAs } from './fixture.ts';
import { frames } from './long_output.ts';
import { storeAnswer } from './stored_answer.ts';

const all = (text: string): string[] => {
  const rows = rowsOf(text);
  return Array.from({ length: rows.count }, (_, index) => rows.at(index));
};
const LONG = 'x'.repeat(1_000);

describe('console: rows of a text', () => {
  const ROWS: [name: string, text: string, rows: string[]][] = [
    ['nothing', '', []],
    ['lines', 'a\n\n b\n', ['a', '', ' b']],
    ['a last line without an end', 'a\nb', ['a', 'b']],
    ['a carriage return stays', 'a\r\nb', ['a\r', 'b']],
    ['a text that is no JSON', 'stream|index=0,1', ['stream|index=0,1']],
    ['JSON with lines', '{\n  "a": [1,2]\n}', ['{', '  "a": [1,2]', '}']],
    [
      'JSON without lines',
      '{"a":[1,{"b":2}],"c":3}',
      ['{', '  "a":[', '    1,', '    {', '      "b":2', '    }', '  ],', '  "c":3', '}'],
    ],
    ['empty lists and objects', '{"a":[],"b":{}}', ['{', '  "a":[],', '  "b":{}', '}']],
    ['brackets in strings', '{"a":"[{,}]\\"","b":"\\\\"}', ['{', '  "a":"[{,}]\\"",', '  "b":"\\\\"', '}']],
    ['a string without an end', '{"a":"b,c', ['{', '  "a":"b,c']],
    ['more closed than opened', '[1]]],2', ['[', '  1', ']', ']', '],', '2']],
    ['a line that is too long', LONG, [LONG.slice(0, 400), LONG.slice(0, 400), LONG.slice(0, 200)]],
    ['a character of two halves at the edge', `${'x'.repeat(399)}😀y`, [`${'x'.repeat(399)}😀`, 'y']],
  ];
  for (const [name, text, rows] of ROWS)
    it(name, () => {
      const made = all(text);
      assert.deepEqual(made, rows);
      const bare = (of: string) => of.replaceAll(/[\n ]/g, '');
      assert.equal(bare(made.join('')), bare(text), 'nothing is lost');
    });

  it('rows of deep JSON are indented up to a bound', () => {
    const rows = all('['.repeat(100_000));
    assert.equal(rows.length, 100_000);
    assert.equal(rows.at(-1), `${'  '.repeat(60)}[`);
  });

  const found = (text: string, wanted: string) => {
    const { rows, cut } = find({ lower: text.toLowerCase(), rows: rowsOf(text) }, wanted);
    return { rows: [...rows], cut };
  };
  it('find: each row once, in order', () => {
    assert.deepEqual(found('ab ab\ncd\nAB', 'ab'), { rows: [0, 2], cut: false });
    assert.deepEqual(found('ab', ''), { rows: [], cut: false });
    assert.deepEqual(found('ab', 'c'), { rows: [], cut: false });
    assert.deepEqual(found('aaaa', 'aa'), { rows: [0], cut: false });
  });
  it('find: ends after ten thousand rows', () => {
    const { rows, cut } = found('a\n'.repeat(20_000), 'a');
    assert.deepEqual([rows.length, cut], [10_000, true]);
  });
});

/** Where the view of rows is, and what the page says of the search. */
const SHOWN = `(() => {
  const view = document.querySelector('.rows');
  const rows = [...document.querySelectorAll('.row')].map(({ textContent }) => textContent.slice(0, 40));
  return {
    search: location.search,
    said: [...document.querySelectorAll('[role=status]')].map(({ textContent }) => textContent),
    view: view && [view.scrollTop, view.clientHeight, view.scrollHeight],
    rows: [rows.length, rows[0], rows.at(-1)],
  };
})()`;

consoleTest('console: raw outputs', (c) => {
  let ann: Person;
  before(async () => {
    ann = await c.m.person('ann');
  });

  for (const look of [{}, { width: 390, theme: 'dark' as const }])
    it(`a chosen output, searched by typing, in the address (${look.width ?? 1280} px)`, async () => {
      const text = JSON.stringify({ format: { tags: { title: '<b>x</b>\u202e', Other: 'needle' } }, more: ['Needle'] });
      const id = await storeAnswer(
        c.m.stored.store,
        ann,
        'file',
        body([good('ffprobe', text), good('mediainfo', 'General\nneedle\n', { format: 'text' })]),
      );
      await visitAs(c, ann.email, { path: `/requests/${id}`, look }, async ({ page, accessible }) => {
        await page.getByText('"title":"<b>x</b>[U+202E]",').waitFor();
        await page.getByLabel('Find').fill('needle');
        await page.getByText('Row 1 of 2 that hold it').waitFor();
        await page.getByRole('button', { name: 'Next' }).click();
        await page.locator('.row.at', { hasText: '"Needle"' }).waitFor();
        assert.deepEqual(await page.locator('mark').allInnerTexts(), ['needle', 'Needle']);
        await accessible(`raw found ${look.width ?? 1280}`);
        await page.getByLabel('Output', { exact: true }).selectOption('mediainfo');
        await page.getByText('Row 1 of 1 that hold it').waitFor();
        assert.match(page.url(), /output=mediainfo/);
        await page.getByLabel('Find').fill('no such text');
        await page.getByText('Not found').waitFor();
        const asked = page.waitForEvent('download');
        await page.getByRole('button', { name: 'Download the output of mediainfo' }).click();
        assert.equal((await asked).suggestedFilename(), `${id}-mediainfo.txt`);
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), look.width ?? 1280);
      });
    });

  it('50 MB: few rows are drawn, the last one is found, keys reach the end', async () => {
    const id = await storeAnswer(c.m.stored.store, ann, 'file', body([good('ffprobe', frames(50_000_000))]));
    await visitAs(c, ann.email, { path: `/requests/${id}`, look: {} }, async ({ page, accessible }) => {
      const view = page.getByLabel('Output: ffprobe');
      await view.getByText('"frames": [').waitFor();
      assert.ok((await page.locator('.row').count()) < 150);
      await accessible('raw 50 MB');
      await view.focus();
      await page.keyboard.press('End');
      await page.getByRole('button', { name: 'Later rows' }).waitFor();
      await page.getByLabel('Find').fill('needle in');
      const needle = page.locator('.row.at', { hasText: 'needle in the hay' });
      await needle.waitFor().catch(async (error: unknown) => {
        throw new Error(`not found; the page shows ${JSON.stringify(await page.evaluate(SHOWN))}`, { cause: error });
      });
      assert.equal(await page.getByRole('button', { name: 'Later rows' }).isDisabled(), true);
      assert.ok((await page.locator('.row').count()) < 150);
    });
  });

  it('a row that was searched for stays in view while an earlier scroll goes on, until somebody scrolls', async () => {
    const id = await storeAnswer(c.m.stored.store, ann, 'file', body([good('ffprobe', frames(1_000_000))]));
    await visitAs(c, ann.email, { path: `/requests/${id}`, look: {} }, async ({ page }) => {
      const view = page.getByLabel('Output: ffprobe');
      await view.getByText('"frames": [').waitFor();
      const needle = page.locator('.row.at', { hasText: 'needle in the hay' });
      await page.getByLabel('Find').fill('needle in');
      await needle.waitFor();
      // As the last frame of a scroll that a key began.
      await page.evaluate(`new Promise((done) => {
        const view = document.querySelector('.rows');
        view.addEventListener('scroll', () => requestAnimationFrame(() => requestAnimationFrame(done)), { once: true });
        view.scrollTo({ top: 400 });
      })`);
      // The rows of that place may be drawn for a moment.
      await pageUntil(page, `document.querySelector('.rows').scrollTop > 10_000`);
      await needle.waitFor();
      await view.hover();
      await page.mouse.wheel(0, -2_000);
      await needle.waitFor({ state: 'detached' });
    });
  });

  it('a worker that has failed is said beside what is still shown', async () => {
    const text = JSON.stringify({ format: { tags: { title: 'needle' } } });
    const id = await storeAnswer(c.m.stored.store, ann, 'file', body([good('ffprobe', text)]));
    await visitAs(c, ann.email, { path: `/requests/${id}`, look: {} }, async ({ page }) => {
      const row = page.locator('.row', { hasText: 'needle' });
      await row.waitFor();
      // As after a defect: in its next message.
      await page.workers()[0]!.evaluate(`self.addEventListener('message', () => { throw new Error('out of rows'); })`);
      await page.getByLabel('Find').fill('no such text');
      await page.getByRole('alert').getByText('out of rows').waitFor();
      assert.equal(await row.count(), 1);
    });
  });

  it('above 100 MB: the facts, and a download', async () => {
    const id = await storeAnswer(c.m.stored.store, ann, 'file', body([good('ffprobe', frames(105_000_000))]));
    await visitAs(c, ann.email, { path: `/requests/${id}`, look: {} }, async ({ page, accessible }) => {
      await page.getByText('The outputs are too long to be shown').waitFor();
      await page.getByText('https://example.org/a.mp4', { exact: true }).waitFor();
      await accessible('raw too long');
    });
  });
});
