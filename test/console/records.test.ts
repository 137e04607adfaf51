/** Requests, deliveries, the audit log and usage in the console, over a real record. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Person } from '../api/accounts/fixture.ts';
import { body, good } from '../result/result_samples.ts';
import { aCloseInput, anOpenInput } from '../store/fixture.ts';
import { consoleTest, during, type ConsoleFixture, type Visit } from './fixture.ts';
import { packText } from '../result/text_body.ts';

/** Script, a direction that turns around what follows, a bell, and a character without a form. */
const HOSTILE = `https://origin.example/<img src=x onerror="document.title='bad'">\u202e4pm.\u0007\u200b/=cmd`;
const TITLE = `<script>document.title='bad'</script>\u202egnp.exe\u0000`;

/** The zone of the browsers of these tests: UTC+5:45. */
const KATHMANDU_MS = 345 * 60_000;

consoleTest('console: requests, deliveries, audit log and usage', (c) => {
  let ann: Person;
  let ids: string[];
  before(async () => {
    ann = await c.m.person('ann');
    ids = [];
    for (let index = 0; index < 30; index++) ids.push(await record(index));
  });

  async function record(index: number): Promise<string> {
    const { store } = c.m.stored;
    const failed = index % 3 === 2;
    const open = anOpenInput(store, {
      tokenId: ann.tokenId,
      userId: ann.id,
      waiter: null,
      request: { options: {}, response: { shown: ['ffprobe'], injectOutput: false, injectJson: false } },
      display: index === 0 ? HOSTILE : `https://origin.example/film-${index}.mp4`,
      ...(index === 1 ? { webhookUrl: 'https://receiver.example/hook' } : {}),
    });
    await store.openRequest(open);
    const output = JSON.stringify({ format: { tags: { title: TITLE } } });
    const { packed, size } = packText(body([good('ffprobe', output)]));
    await store.closeRequest(
      aCloseInput(open, {
        body: packed,
        inflatedBytes: size,
        ...(failed ? { state: 'error', status: 404, reason: 'OriginUnreachable', error: 'not found', body: null } : {}),
      }),
    );
    return open.id;
  }

  const visit = async (look: Parameters<ConsoleFixture['visit']>[0], work: (v: Visit) => Promise<void>) => {
    const v = await c.visit(look);
    await during(v, work);
    await v.end();
  };
  const signedIn = async (v: Visit, path: string, heading: string) => {
    await v.open(path, 'Sign in');
    await v.signIn(ann.email);
    await v.page.getByRole('heading', { level: 1, name: heading }).waitFor();
  };
  const rowsOf = ({ page }: Visit, name: string) => page.getByRole('table', { name }).locator('tbody tr');

  it('requests: paged, sorted and filtered by the server, and every state is in the address', () =>
    visit({}, async (v) => {
      const { page } = v;
      await signedIn(v, '/requests', 'Requests');
      await page.getByText('1 to 25 of 30').waitFor();
      await v.accessible('requests wide light');
      await page.getByRole('link', { name: 'Next' }).click();
      await page.getByText('26 to 30 of 30').waitFor();
      assert.match(page.url(), /[?&]page=2\b/);
      await page.goBack();
      await page.getByText('1 to 25 of 30').waitFor();

      await page.getByLabel('Outcome').selectOption('error');
      await page.getByText('1 to 10 of 10').waitFor();
      assert.match(page.url(), /[?&]status=error\b/);
      await page.getByRole('button', { name: 'Address', exact: false }).first().click();
      await page.waitForURL(/[?&]sort=url&order=desc/);
      await page.getByRole('columnheader', { name: 'Address' }).and(page.locator('[aria-sort=descending]')).waitFor();
      // No rollup counts these: the total follows the rows.
      await page.getByLabel('Address or id').pressSequentially('film-', { delay: 20 });
      await page.waitForURL(/[?&]find=film-(&|$)/);
      assert.equal(await page.getByLabel('Address or id').inputValue(), 'film-');
      await page.getByLabel('Outcome').selectOption('');
      await page.getByText('1 to 25 of 29').waitFor();
      await page.getByLabel('Address or id').fill('film-29');
      await page.getByText('1 to 1 of 1', { exact: true }).waitFor();
      await page.reload();
      await page.getByText('1 to 1 of 1', { exact: true }).waitFor();
      await page.getByLabel('Address or id').fill('no such film');
      await page.getByText('No request matches').waitFor();
      await page.getByRole('link', { name: 'Without filters' }).click();
      await page.getByLabel('Address or id').fill(ids[4]!);
      await page.getByText('film-4.mp4').waitFor();
      assert.equal(await rowsOf(v, 'Requests').count(), 1);
    }));

  it('requests: opening one takes the worker that was started beside the list', () =>
    visit({}, async (v) => {
      const { page } = v;
      await signedIn(v, '/requests', 'Requests');
      const [worker] = page.workers().length > 0 ? page.workers() : [await page.waitForEvent('worker')];
      await page.getByText('1 to 25 of 30').waitFor();
      let others = 0;
      page.on('worker', () => (others += 1));
      const link = rowsOf(v, 'Requests').first().getByRole('link').first();
      const id = (await link.getAttribute('href'))!.split('/').at(-1)!;
      await link.click();
      await page.getByRole('heading', { level: 1, name: 'Request', exact: true }).waitFor();
      await page.getByText(id).first().waitFor();
      assert.deepEqual([page.workers(), others], [[worker], 0]);
    }));

  it('request: what stands in its way is said, and another try may succeed', () =>
    visit({ expected: /ERR_FAILED/ }, async (v) => {
      const { page } = v;
      await v.open(`/requests/${ids[29]}`, 'Sign in');
      const detail = `**/media/log/${ids[29]}`;
      await page.route(detail, (route) =>
        route.fulfill({ contentType: 'text/html', body: '<h1>Sign in to the network' }),
      );
      await v.signIn(ann.email);
      await page.getByText('its answer is no JSON').waitFor();
      await page.unroute(detail);
      await page.route('**/worker*.js', (route) => route.abort());
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByText('This server cannot be reached').waitFor();
      await page.unroute('**/worker*.js');
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByText('https://origin.example/film-29.mp4').first().waitFor();
    }));

  it('requests: a page is asked for when the pointer comes to its link, and shown before as old', () =>
    visit({}, async (v) => {
      const { page } = v;
      await page.clock.install();
      // A time that begins at a day: the last hours would be others after a minute.
      const yesterday = new Date(Date.now() - 24 * 3_600_000).toISOString().slice(0, 10);
      await signedIn(v, `/requests?range=days&from=${yesterday}`, 'Requests');
      await page.getByText('1 to 25 of 30').waitFor();
      const asked: string[] = [];
      page.on('request', (request) => {
        const { pathname, searchParams } = new URL(request.url());
        if (pathname.endsWith('/media/log')) asked.push(searchParams.get('pagination[page]') ?? '');
      });
      const point = async (name: string) => {
        const answered = page.waitForResponse((response) => response.url().includes('/media/log?'));
        await page.getByRole('link', { name, exact: true }).hover();
        await (await answered).finished();
      };
      await point('Next');
      await page.getByRole('link', { name: 'Next' }).click();
      await page.getByText('26 to 30 of 30').waitFor();
      // The pointer may be on another link now.
      assert.deepEqual(
        asked.filter((number) => number === '2'),
        ['2'],
        'asked for once',
      );

      // What the pointer asked for on its way is too old by then.
      await page.mouse.move(0, 0);
      await page.clock.fastForward(10_000);
      const release = Promise.withResolvers<void>();
      await page.route('**/media/log?*', async (route) => {
        await release.promise;
        await route.continue();
      });
      await page.getByRole('link', { name: 'Previous' }).focus();
      await page.keyboard.press('Enter');
      await page.locator('[aria-busy=true]').getByText('1 to 25 of 30').waitFor();
      release.resolve();
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
      await page.unroute('**/media/log?*');

      await point('Next');
      await page.clock.fastForward(10_000);
      asked.length = 0;
      const again = page.waitForResponse((response) => response.url().includes('/media/log?'));
      await page.evaluate(
        `[...document.querySelectorAll('nav.pages a')].find((a) => a.textContent === 'Next').click()`,
      );
      await again;
      assert.ok(asked.includes('2'), 'an answer of 10 s ago is not used');
    }));

  it('requests: text of strangers is text, and what cannot be seen is a symbol', () =>
    visit({ width: 390, theme: 'dark' }, async (v) => {
      const { page } = v;
      await signedIn(v, `/requests?find=${encodeURIComponent('onerror')}`, 'Requests');
      const row = rowsOf(v, 'Requests').first();
      await row.waitFor();
      const shown = await row.locator('td').nth(2).innerText();
      assert.match(shown, /<img src=x onerror=/);
      assert.match(shown, /\[U\+202E\]4pm\.\[U\+0007\]\[U\+200B\]/);
      for (const hidden of ['\u202e', '\u0007', '\u200b']) assert.ok(!shown.includes(hidden), JSON.stringify(shown));
      await v.accessible('requests 390 dark');
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'the list scrolls sideways');
      await row.getByRole('link').click();
      await page.getByRole('heading', { level: 1, name: 'Request' }).waitFor();
      const output = page.getByLabel('Output: ffprobe');
      await output.waitFor();
      assert.match(await output.innerText(), /<script>document\.title='bad'<\/script>/);
      assert.doesNotMatch(await output.innerText(), /\u202e/);
      await v.accessible('request 390 dark');
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'the page scrolls sideways');
      assert.equal(await page.title(), 'Request · Probeyard');
      assert.equal(await page.locator('main img, main script').count(), 0);
    }));

  it('requests: a time stands in the zone of the reader, and in UTC in its title', () =>
    visit({}, async (v) => {
      await signedIn(v, `/requests?find=${ids[4]}`, 'Requests');
      const time = rowsOf(v, 'Requests').locator('time');
      const iso = (await time.getAttribute('title'))!;
      const there = new Date(Date.parse(iso) + KATHMANDU_MS).toISOString();
      assert.match(iso, /Z$/);
      assert.ok((await time.innerText()).endsWith(there.slice(11, 19)), `${iso}: ${await time.innerText()}`);
    }));

  it('request: one of another account is not found', () =>
    visit({ expected: /\b404\b/ }, async (v) => {
      const eve = await c.m.person('eve');
      await v.open(`/requests/${ids[0]}`, 'Sign in');
      await v.signIn(eve.email);
      await v.page.getByRole('heading', { name: 'Not found' }).waitFor();
      assert.equal(await v.page.getByText('origin.example').count(), 0);
    }));

  it('deliveries: attempts are told, and one is sent again', () =>
    visit({ theme: 'dark' }, async (v) => {
      const { page } = v;
      await signedIn(v, '/deliveries', 'Deliveries');
      await page.getByText('receiver.example').waitFor();
      await c.m.stored.sql(`update webhook_outbox set state = 'failed', ended_at = now(), attempts = $1`, [
        JSON.stringify([{ at: new Date().toISOString(), status: 500, durationMs: 41 }]),
      ]);
      await v.open('/deliveries?state=failed', 'Deliveries');
      await page.getByText('1, the last: 500').click();
      await page.getByText('500 after 41 ms').waitFor();
      await v.accessible('deliveries wide dark');
      await page.getByRole('button', { name: /^Send again: / }).click();
      await page.getByText('There are no deliveries').waitFor();
      const [row] = await c.m.stored.sql<{ state: string }>('select state from webhook_outbox');
      assert.equal(row!.state, 'pending');
    }));

  it('audit log: who did what, filtered, and as lines to download', () =>
    visit({}, async (v) => {
      const { page } = v;
      await signedIn(v, '/audit', 'Audit log');
      const row = page.getByRole('row').filter({ hasText: 'signIn' }).first();
      await row.getByText(ann.email).waitFor();
      await row.getByText('jwt-token: shown').waitFor();
      await v.accessible('audit wide light');
      await page.getByLabel('Outcome').selectOption('denied');
      await page.getByText('No entries in this time').waitFor();
      const lines = page.getByRole('link', { name: 'Download as lines of JSON' });
      assert.match((await lines.getAttribute('href')) ?? '', /\/audit\/export\?.*outcome=denied/);
    }));

  it('usage: figures equal the record, in each of the eight aggregations', () =>
    visit({}, async (v) => {
      const { page } = v;
      await signedIn(v, '/usage', 'Usage');
      const sum = (name: string) => page.locator('.sums div').filter({ hasText: name }).locator('dd');
      await sum('Requests').waitFor();
      assert.equal(await sum('Requests').innerText(), '30');
      await v.accessible('usage wide light');
      for (const step of ['no-aggregation', 'yearly', 'monthly', 'weekly', 'hourly', 'minutely', 'secondly']) {
        await v.open(`/usage?range=day&step=${step}`, 'Usage');
        await sum('Requests').waitFor();
        assert.equal(await sum('Requests').innerText(), '30', step);
      }
      await rowsOf(v, 'By outcome').filter({ hasText: 'error' }).first().waitFor();
    }));

  it('usage: an administrator downloads what each account used in a month, and nobody else is offered it', () =>
    visit({}, async (v) => {
      const { page } = v;
      const download = page.getByRole('link', { name: 'Download as CSV' });
      await signedIn(v, '/usage', 'Usage');
      await page.getByRole('table', { name: 'By outcome' }).waitFor();
      assert.equal(await download.count(), 0);
      await v.context.clearCookies();
      const { email } = await c.m.person('controlling', { role: 'admin' });
      await v.open('/usage', 'Sign in');
      await v.signIn(email);
      const month = new Date().toISOString().slice(0, 7);
      await page.getByLabel('Month').selectOption(month);
      await page.waitForURL(/[?&]month=/);
      await v.accessible('usage chargeback');
      const [file] = await Promise.all([page.waitForEvent('download'), download.click()]);
      assert.equal(file.suggestedFilename(), `chargeback-${month}.csv`);
      const [head, ...rows] = (await readFile(await file.path(), 'utf8')).trimEnd().split('\n');
      assert.match(head!, /^month,account-id,labels,request-count,success,with-errors,error,/);
      assert.deepEqual(
        rows.map((row) => row.split(',').slice(0, 7).join()),
        [`${month},${ann.id},"",30,20,0,10`],
      );
    }));

  it('usage: near a limit is told in words, on a phone', () =>
    visit({ width: 390 }, async (v) => {
      const { page } = v;
      await signedIn(v, '/usage', 'Usage');
      await c.m.stored.sql(`update tokens set monthly_quota = '{"request-count": 31}' where id = $1`, [ann.tokenId]);
      await page.getByLabel('Token').selectOption(String(ann.tokenId));
      await page.getByText('30 of 31 (near)').waitFor();
      await v.accessible('usage 390 light');
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'the page scrolls sideways');
    }));

  it('empty installation: every page says what to do next', () =>
    visit({}, async (v) => {
      const { email } = await c.m.person('first');
      await v.open('/requests', 'Sign in');
      await v.signIn(email);
      await v.page.getByText('No requests in this time').waitFor();
      await v.accessible('requests empty');
      await v.open('/deliveries', 'Deliveries');
      await v.page.getByText('There are no deliveries').waitFor();
      await v.open('/usage', 'Usage');
      await v.page.getByText('Nothing was used in this time').waitFor();
      await v.accessible('usage empty');
    }));
});
