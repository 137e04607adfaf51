/** A policy's verdict and a comparison of versions, over real records. */
import assert from 'node:assert/strict';
import type { ComparisonAnswer } from '../../src/api_types.ts';
import { cellsOf, type Difference } from '../../src/media/answer/comparison.ts';
import type { Comparison } from '../../src/media/compare/schema.ts';
import type { Person } from '../api/accounts/fixture.ts';
import { bad, body, good } from '../result/result_samples.ts';
import { consoleTest, visitAs } from './fixture.ts';
import { VERDICT } from './sample_answers.ts';
import { storeAnswer } from './stored_answer.ts';

const change = { type: 1, value: 1, renamed: 0, removed: 1, added: 0, rounding: 1 };
const COMPARISON: Comparison = {
  fields: [
    {
      path: 'video[0].codec.level',
      tool: 'ffprobe',
      level: 'canonical',
      change: 'type',
      values: { '4.4': '31', '7.1': 31, '9.0': 31 },
      known: { release: '0.1.0', note: 'The level is a number from 7.1 on.' },
    },
    {
      path: 'streams[0].<b>tag</b>',
      tool: 'ffprobe',
      level: 'raw',
      change: 'removed',
      values: { '4.4': 'old', '7.1': 'new' },
    },
    {
      path: 'container.duration',
      tool: 'ffprobe',
      level: 'canonical',
      change: 'rounding',
      values: { '4.4': 2, '7.1': 2.000_01, '9.0': 2 },
    },
  ],
  summary: {
    fields: 3,
    told: 3,
    known: 1,
    canonical: 2,
    raw: 1,
    changes: change,
    not_compared: [{ tool: 'mediainfo', run: '26.10', why: 'it is the only run that succeeded' }],
  },
};

consoleTest('console: verdicts and versions', (c) => {
  let ann: Person;
  before(async () => {
    ann = await c.m.person('ann');
  });

  for (const look of [{}, { width: 390, theme: 'dark' as const }])
    it(`policy: failed rules first, with what was found and wanted (${look.width ?? 1280} px)`, async () => {
      const { name, revision } = VERDICT;
      const result = body([good('ffprobe', '{}')], { policy: VERDICT });
      const id = await storeAnswer(c.m.stored.store, ann, 'file', result, { policy: { name, revision } });
      await visitAs(c, ann.email, { path: `/requests/${id}?tab=policy`, look }, async ({ page, accessible }) => {
        const rows = page.getByRole('table', { name: 'Rules' }).locator('tbody tr');
        await rows.first().waitFor();
        assert.deepEqual(
          (await rows.locator('td:nth-child(2)').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ')),
          ['title [U+202E]gnp', 'hls', 'loudness warns', 'wrapper'],
        );
        await page.getByText('<img src=x onerror=alert(1)>').waitFor();
        await page.getByText('1 rule failed, 1 rule could not be judged, 1 rule warned, 1 rule passed').waitFor();
        for (const [format, extension] of [
          ['JUnit', 'xml'],
          ['SARIF', 'sarif'],
        ] as const) {
          const asked = page.waitForEvent('download');
          await page.getByRole('button', { name: `Download as ${format}` }).click();
          assert.equal((await asked).suggestedFilename(), `${id}.${extension}`);
        }
        await accessible(`policy ${look.width ?? 1280}`);
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), look.width ?? 1280);
      });
    });

  for (const look of [{ theme: 'dark' as const }, { width: 390 }])
    it(`versions: cells that differ are marked, rounding is left out at first (${look.width ?? 1280} px)`, async () => {
      const runs = [
        ...['4.4', '7.1', '9.0'].map((version) => good('ffprobe', '{}', { version, build: `ffprobe ${version}` })),
        good('mediainfo', '{}', { version: '26.10' }),
        bad('mediainfo', 'timeout', 'timed out after 30 s', { version: '21.09' }),
      ];
      const comparison = { durationMs: 3, output: JSON.stringify(COMPARISON) };
      const id = await storeAnswer(c.m.stored.store, ann, 'compare', body(runs, { comparison }));
      await visitAs(c, ann.email, { path: `/requests/${id}`, look }, async ({ page, accessible }) => {
        const rows = page.getByRole('table', { name: 'Fields of ffprobe that change' }).locator('tbody tr');
        await rows.first().waitFor();
        const texts = (await rows.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim());
        assert.deepEqual(texts, [
          'video[0].codec.level intended in 0.1.0 The level is a number from 7.1 on. type 31 31 type 31',
          'streams[0].<b>tag</b> as printed removed old new value – gone',
        ]);
        await page.getByText('timed out after 30 s').waitFor();
        await page.getByText('mediainfo 26.10 is not compared').waitFor();
        await accessible(`versions ${look.width ?? 1280}`);
        await page.getByLabel('Fields', { exact: true }).selectOption('all');
        await page.getByText('container.duration').waitFor();
        assert.match(page.url(), /fields=all/);
        await page.getByLabel('Values').selectOption('raw');
        await page.getByLabel('Fields', { exact: true }).selectOption('unknown');
        await page.getByText('container.duration').waitFor({ state: 'detached' });
        assert.equal(await rows.count(), 1);
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), look.width ?? 1280);
      });
    });

  const compared = { comparison: { durationMs: 3, output: JSON.stringify(COMPARISON) } };
  for (const [question, kind, result, answer] of [
    ['why did this file fail?', 'file', body([bad('ffprobe', 'failed', 'moov atom not found')]), 'moov atom not found'],
    [
      'which version changed?',
      'compare',
      body([good('ffprobe', '{}', { version: '4.4' }), good('ffprobe', '{}', { version: '9.0' })], compared),
      'intended in 0.1.0',
    ],
  ] as const)
    it(`${question} is answered by one click from the start`, async () => {
      const id = await storeAnswer(c.m.stored.store, ann, kind, result);
      await visitAs(c, ann.email, { path: '/requests' }, async ({ page }) => {
        await page.locator(`a[href$="/requests/${id}"]`).first().click();
        await page.getByText(answer).first().waitFor({ timeout: 20_000 });
      });
    });

  const VALUES: [
    name: string,
    values: ComparisonAnswer['fields'][number]['values'],
    changes: Difference['change'][],
  ][] = [
    ['all equal', { a: 1, b: 1, c: 1 }, [null, null, null]],
    ['appears', { b: 1, c: 1 }, [null, 'new', null]],
    ['goes and comes back', { a: 1, c: 1 }, [null, 'gone', 'new']],
    ['null is no number', { a: 1, b: null, c: null }, [null, 'type', null]],
    ['a text is no number', { a: '1', b: 1, c: 2 }, [null, 'type', 'value']],
    ['is in none', {}, [null, null, null]],
  ];
  for (const [name, values, changes] of VALUES)
    it(`matrix: ${name}`, () => {
      assert.deepEqual(
        cellsOf({ values }, ['a', 'b', 'c']).map((cell) => cell.change),
        changes,
      );
    });
});
