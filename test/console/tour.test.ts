/** A first visit to an installation that shows no token again: every page, a request, the end of the session. */
import assert from 'node:assert/strict';
import { tool as ran } from '../api/fixture.ts';
import { ADMIN } from '../store/fixture.ts';
import { until } from '../until.ts';
import { probingConsoleTest, visitAs, type Visit } from './fixture.ts';

probingConsoleTest('console: a tour where tokens are not shown again', { tokensViewable: false }, (c) => {
  const visit = (path: string, expected: RegExp, work: (v: Visit) => Promise<void>) =>
    visitAs(c, ADMIN.email, { path, look: { expected }, password: ADMIN.password }, work);
  const sessionEnds = () => c.api.stored.sql('update sessions set ended_at = now() where user_id = $1', [c.api.userId]);
  const signInAgain = async ({ page }: Visit) => {
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    await dialog.getByLabel('Password').fill(ADMIN.password);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
  };

  it('empty installation: each page of the navigation says what to do next', () =>
    visit('/requests', /\b503\b/, async (v) => {
      const { page } = v;
      const pages = await page.getByRole('navigation').first().getByRole('link').allInnerTexts();
      const FIRST: Record<string, string | RegExp> = {
        Requests: 'No requests in this time',
        Playground: 'was made for this page',
        Compare: 'The comparison appears here',
        Policies: 'There are no policies',
        Usage: 'Nothing was used in this time',
        Batches: 'There are no batches',
        Sources: 'There are no sources',
        Deliveries: 'There are no deliveries',
        'Audit log': 'signIn',
        Tokens: 'Make a token',
        Cluster: 'has not sent a cluster snapshot yet',
        Users: ADMIN.email,
        Account: 'Sessions',
      };
      const own = pages.filter((name) => name !== 'API' && name !== 'Documentation');
      assert.deepEqual(own.toSorted(), Object.keys(FIRST).toSorted());
      for (const [name, text] of Object.entries(FIRST)) {
        await page.getByRole('navigation').first().getByRole('link', { name, exact: true }).click();
        await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
        await page.getByRole('main').getByText(text).first().waitFor();
        await v.accessible(`tour ${name} empty`);
      }
    }));

  it('navigation: on a phone it is a drawer, which Escape, a press beside it and a choice close', async () => {
    const v = await c.visit({ width: 390, expected: /\b404\b/ });
    await v.open('/account', 'Sign in');
    await v.signIn(ADMIN.email, ADMIN.password);
    const { page } = v;
    const menu = page.getByRole('button', { name: 'Menu' });
    const link = page.getByRole('link', { name: 'Requests', exact: true });
    const closed = async () => {
      await link.waitFor({ state: 'hidden' });
      assert.equal(await page.locator('#pages:popover-open').count(), 0);
    };
    await closed();
    await menu.focus();
    await page.keyboard.press('Enter');
    await link.waitFor();
    await v.accessible('navigation open 390 light');
    await page.keyboard.press('Escape');
    await closed();
    assert.ok(await menu.evaluate((element) => element === element.ownerDocument.activeElement));
    await menu.click();
    await page.mouse.click(370, 500);
    await closed();
    await menu.click();
    await link.click();
    await page.getByRole('heading', { level: 1, name: 'Requests', exact: true }).waitFor();
    await closed();
    await v.end();
  });

  it('a request by a token that the page made: run, read, judged, listed', () =>
    visit('/playground?url=https://tour.test/a.mp4', /\b404\b/, async (v) => {
      const { page } = v;
      await page.getByText('was made for this page').waitFor();
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      const { metadata } = await c.api.job('tour.test');
      await c.api.end(metadata.name, { result: { tools: [ran('ffprobe', '{"format":{"a":"b"}}')], ioUsage: 9 } });
      await page.getByText('"a":"b"').waitFor();
      await page.getByRole('link', { name: 'The page of this request' }).click();
      await page.getByText('"a":"b"').waitFor();
      await v.open('/policies/house', 'Policy');
      await page.getByRole('button', { name: 'Try on the last 50 results' }).click();
      await page.getByText('On the last 1 result').waitFor();
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Saved as revision 1').waitFor();
      await v.open('/tokens', 'Tokens');
      await page.getByText('Console, until the session ends').first().waitFor();
      await v.open('/requests', 'Requests');
      await page.getByText('tour.test/a.mp4').waitFor();
      assert.doesNotMatch(c.api.log.join('\n'), /[A-Za-z0-9]{64}/);
    }));

  it('the session ends while a request runs: signed in again, it is followed to its end', () =>
    visit('/playground?url=https://ends.test/a.mp4', /\b401\b|\b404\b/, async (v) => {
      const { page } = v;
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      const { metadata } = await c.api.job('ends.test');
      await page.getByRole('button', { name: 'Cancel' }).waitFor();
      await sessionEnds();
      await signInAgain(v);
      await c.api.end(metadata.name, { result: { tools: [ran('ffprobe', '{"format":{"a":"b"}}')], ioUsage: 9 } });
      await page.getByText('"a":"b"').waitFor();
    }));

  it('the session ends while a policy is written: what was written is saved', () =>
    visit('/policies/typed', /\b401\b|\b404\b/, async (v) => {
      const { page } = v;
      const text = page.getByLabel('The policy as YAML or JSON');
      const written = 'rules:\n  - name: wrapper\n    field: container.format\n    is: mp4\n';
      await text.fill(written);
      await sessionEnds();
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await signInAgain(v);
      assert.equal(await text.inputValue(), written);
      // The token of the page ended with the session: until the next one is there, saving says so.
      await until('it is saved', async () => {
        const answered = page.waitForResponse((response) => response.request().method() === 'PUT');
        await page.getByRole('button', { name: 'Save', exact: true }).click();
        return (await answered).ok();
      });
      await page.getByText('Saved as revision 1').waitFor();
    }));
});
