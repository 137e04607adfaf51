/** Ten tasks of every day, each by clicks from the start; how many and how long is printed. */
import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { tool as ran } from '../api/fixture.ts';
import { bad, body, good } from '../result/result_samples.ts';
import { ADMIN } from '../store/fixture.ts';
import { until } from '../until.ts';
import { during, probingConsoleTest, type Visit } from './fixture.ts';
import { REPORT } from './sample_answers.ts';
import { LADDER } from './sample_ladder.ts';
import { storeAnswer } from './stored_answer.ts';

const DAY_MS = 86_400_000;

interface Hands {
  click(what: Locator): Promise<void>;
  /** A choice from a list: it is opened, and one is taken. */
  choose(list: Locator, value: string): Promise<void>;
  /** In the navigation. */
  goTo(page: string): Promise<void>;
  /** Its time is not that of the task. */
  accessible(state: string): Promise<void>;
}

probingConsoleTest('console: ten tasks', {}, (c) => {
  const ids: Record<string, string> = {};
  before(async () => {
    const { stored, userId: id, tokenId } = c.api;
    const record = (kind: 'file' | 'msv', result: ReturnType<typeof body>, asked = {}) =>
      storeAnswer(stored.store, { id, tokenId }, kind, result, asked);
    const report = { ...good('ffprobe', JSON.stringify(REPORT)), name: 'probe_report' as const };
    ids['film'] = await record('file', body([good('ffprobe', '{"format":{}}')], { report }), {
      ffprobe: { version: 'latest' },
    });
    ids['failed'] = await record('file', body([bad('ffprobe', 'failed', 'moov atom not found')]), {
      ended: { state: 'error', error: 'moov atom not found' },
    });
    ids['ladder'] = await record('msv', body([good('msv', JSON.stringify(LADDER))]));
  });

  /** Signs in before the clicks are counted. */
  const task = (
    name: string,
    most: number,
    work: (v: Visit, hands: Hands) => Promise<void>,
    { signedIn = true } = {},
  ) =>
    it(`${name}: at most ${most} clicks`, async () => {
      // By the clock of tomorrow, the last 24 hours have not begun.
      const v = await c.visit({ expected: /\b40[04]\b/ });
      let clicks = 0;
      let beside = 0;
      const hands: Hands = {
        async click(what) {
          clicks += 1;
          await what.click();
        },
        async choose(list, value) {
          clicks += 2;
          await list.selectOption(value);
        },
        async goTo(page) {
          clicks += 1;
          await v.page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: page, exact: true }).click();
        },
        async accessible(state) {
          const began = performance.now();
          await v.accessible(state);
          beside += performance.now() - began;
        },
      };
      await v.open('/', 'Sign in');
      if (signedIn) await v.signIn(ADMIN.email, ADMIN.password);
      const began = performance.now();
      await during(v, () => work(v, hands));
      console.log(`      ${clicks} clicks, ${((performance.now() - began - beside) / 1_000).toFixed(1)} s`);
      await v.end();
      assert.ok(clicks <= most, `${clicks} clicks`);
    });
  const openFilm = async (v: Visit) => {
    await v.open(`/requests/${ids['film']}`, 'Request');
    await v.page.getByText('MP4, 60.0 s').waitFor();
  };

  task(
    'sign in and probe a sample',
    3,
    async ({ page }, { click, goTo }) => {
      await page.getByLabel('E-mail address').fill(ADMIN.email);
      await page.getByLabel('Password').fill(ADMIN.password);
      await click(page.getByRole('button', { name: 'Sign in', exact: true }));
      await goTo('Playground');
      await click(page.getByRole('button', { name: 'h264-aac.mp4' }));
      const { metadata } = await c.api.job('samples.test');
      await c.api.end(metadata.name, { result: { tools: [ran('ffprobe', '{"format":{"a":"b"}}')], ioUsage: 9 } });
      await page.getByText('"a":"b"').waitFor();
    },
    { signedIn: false },
  );

  task('find a failed request of yesterday, and see why', 6, async ({ page }, { choose, goTo, click }) => {
    await page.clock.setFixedTime(Date.now() + DAY_MS);
    await goTo('Requests');
    await choose(page.getByLabel('Time'), 'yesterday');
    await choose(page.getByLabel('Outcome'), 'error');
    const row = page.getByRole('table', { name: 'Requests' }).locator('tbody tr');
    await row.getByText('moov atom not found').waitFor();
    await until('only one is left', async () => (await row.count()) === 1);
    await click(row.getByRole('link').first());
    await page.locator('.badge', { hasText: 'Failed' }).waitFor();
    await page.getByText('moov atom not found').first().waitFor();
  });

  task('run it again at another version', 2, async (v, { click, accessible }) => {
    const { page } = v;
    await openFilm(v);
    await click(page.getByText('Again at another version'));
    await accessible('request again wide light');
    await click(page.getByRole('button', { name: 'ffprobe 3.3' }));
    await page.getByRole('button', { name: 'Cancel' }).waitFor();
    const job = await c.api.job('example.org');
    assert.equal(job.spec.tools?.find(({ name }) => name === 'ffprobe')?.version, '3.3');
    assert.equal(await page.getByLabel('Version of ffprobe').inputValue(), '3.3');
    await c.api.end(job.metadata.name, { result: { tools: [ran('ffprobe', '{"x":"again"}')], ioUsage: 9 } });
    await page.getByText('"x":"again"').waitFor();
  });

  task('compare two versions', 2, async (v, { click, accessible }) => {
    const { page } = v;
    await openFilm(v);
    await click(page.getByRole('link', { name: 'Compare versions' }));
    assert.deepEqual(
      [await page.getByLabel('ffprobe 7.0').isChecked(), await page.getByLabel('ffprobe 3.3').isChecked()],
      [true, true],
    );
    await accessible('compare wide light');
    await click(page.getByRole('button', { name: 'Compare', exact: true }));
    await page.getByRole('button', { name: 'Cancel' }).waitFor();
    const { spec } = await c.api.job('example.org');
    assert.deepEqual(
      spec.tools?.map(({ name, version }) => [name, version]),
      [
        ['ffprobe', '3.3'],
        ['ffprobe', '7.0'],
      ],
    );
  });

  task('make a narrow token', 4, async ({ page }, { click, goTo }) => {
    await goTo('Tokens');
    await click(page.getByRole('button', { name: 'Make a token' }));
    await page.getByLabel('Name', { exact: true }).fill('narrow');
    await click(page.getByLabel('read:media'));
    await click(page.getByRole('button', { name: 'Make the token' }));
    await page.getByText('The token is made').waitFor();
    const made = await until('the token is there', async () => {
      const rows = await c.api.stored.sql<{ permissions: string[] | null }>(
        `select permissions from tokens where name = 'narrow'`,
      );
      return rows[0];
    });
    assert.deepEqual(made.permissions, ['read:media']);
  });

  task('write a policy and try it', 2, async ({ page }, { click, goTo }) => {
    await goTo('Policies');
    await page.getByLabel('Name of a new policy').fill('house');
    await page.keyboard.press('Enter');
    await page
      .getByLabel('The policy as YAML or JSON')
      .fill('rules:\n  - name: a\n    field: container.format\n    is: mov');
    await click(page.getByRole('button', { name: 'Try on the last 50 results' }));
    await page.getByRole('table', { name: 'Results' }).waitFor();
  });

  task('see the ladder', 2, async ({ page }, { click, goTo }) => {
    await goTo('Requests');
    await click(page.locator(`a[href$="/requests/${ids['ladder']}"]`).first());
    await page.getByRole('figure', { name: 'Declared and measured bit rates' }).locator('canvas').waitFor();
    await page.getByText('3.6 Mbit/s above what is declared').waitFor();
  });

  task('see the usage of a week', 1, async ({ page }, { goTo, accessible }) => {
    await goTo('Usage');
    await page.getByRole('figure', { name: 'Requests over time' }).locator('canvas').waitFor();
    await accessible('usage of a week wide light');
  });

  task('find the account that uses most', 1, async ({ page }, { goTo }) => {
    await goTo('Usage');
    const rows = page.getByRole('table', { name: 'By user' }).locator('tbody tr');
    await rows.first().getByRole('link', { name: ADMIN.email }).waitFor();
  });

  task('take a request into a script as curl', 3, async (v, { click }) => {
    const { page } = v;
    await v.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await openFilm(v);
    await click(page.getByRole('link', { name: 'Open in the playground' }));
    await click(page.locator('summary', { hasText: 'curl' }));
    await click(page.getByRole('button', { name: 'Copy as curl' }));
    await page.waitForFunction(`navigator.clipboard.readText().then((text) => text.startsWith('curl '))`);
  });
});
