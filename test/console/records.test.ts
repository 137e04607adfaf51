/** Requests, deliveries and usage in the console, over a real record. */
import assert from 'node:assert/strict';
import { zstdCompressSync } from 'node:zlib';
import type { Person } from '../api/accounts/fixture.ts';
import { body, good } from '../result/result_samples.ts';
import { aCloseInput, anOpenInput } from '../store/fixture.ts';
import { startConsole, type ConsoleFixture, type Visit } from './fixture.ts';

/** Script, a direction that turns around what follows, a bell, and a character without a form. */
const HOSTILE = `https://origin.example/<img src=x onerror="document.title='bad'">\u202e4pm.\u0007\u200b/=cmd`;
const TITLE = `<script>document.title='bad'</script>\u202egnp.exe\u0000`;

describe('console: requests, deliveries and usage', function () {
  this.timeout(300_000);
  let c: ConsoleFixture;
  let ann: Person;
  let ids: string[];
  before(async function () {
    const started = await startConsole();
    if (!started) {
      console.log('      skipped: there is no chromium in the cache (make browser)');
      this.skip();
    }
    c = started!;
    ann = await c.m.person('ann');
    ids = [];
    for (let index = 0; index < 30; index++) ids.push(await record(index));
  });
  after(() => c?.stop());

  async function record(index: number): Promise<string> {
    const { store } = c.m.stored;
    const failed = index % 3 === 2;
    const open = anOpenInput(store, {
      tokenId: ann.tokenId,
      userId: ann.id,
      waiter: null,
      request: { asked: [{ name: 'ffprobe' }], shown: ['ffprobe'], inject_json: false },
      display: index === 0 ? HOSTILE : `https://origin.example/film-${index}.mp4`,
      ...(index === 1 ? { webhookUrl: 'https://receiver.example/hook' } : {}),
    });
    await store.openRequest(open);
    const text = JSON.stringify(body([good('ffprobe', JSON.stringify({ format: { tags: { title: TITLE } } }))]));
    await store.closeRequest(
      aCloseInput(open, {
        body: zstdCompressSync(text),
        inflatedBytes: Buffer.byteLength(text),
        ...(failed ? { state: 'error', status: 404, reason: 'OriginUnreachable', error: 'not found', body: null } : {}),
      }),
    );
    return open.id;
  }

  const visit = async (look: Parameters<ConsoleFixture['visit']>[0], work: (v: Visit) => Promise<void>) => {
    const v = await c.visit(look);
    await work(v);
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
