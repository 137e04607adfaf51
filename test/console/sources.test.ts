/** Sources in the console: listed, created, paused and resumed, with a new key, and deleted. */
import assert from 'node:assert/strict';
import { pageOf, sourcesOf } from '../api/source/fixture.ts';
import { ADMIN } from '../store/fixture.ts';
import { until } from '../until.ts';
import { during, probingConsoleTest, visitAs, type Look, type Visit } from './fixture.ts';

probingConsoleTest('console: sources', {}, (c) => {
  const visit = (path: string, look: Look, work: (v: Visit) => Promise<void>) =>
    visitAs(c, ADMIN.email, { path, look, password: ADMIN.password }, work);
  const heading = ({ page }: Visit, name: string) => page.getByRole('heading', { level: 1, name, exact: true });
  const press = ({ page }: Visit, name: string) => page.getByRole('button', { name, exact: true }).click();

  it('no source: says what one is, also to those who come by way of the sign-up', async () => {
    const v = await c.visit();
    await v.open('/sources', 'Sign in');
    await during(v, async ({ page }) => {
      for (const way of ['Forgotten password', 'Sign up']) {
        await page.getByRole('link', { name: way, exact: true }).click();
        await page.waitForURL(/\/(?:reset|sign-up)\?to=%2Fsources$/);
        if (way !== 'Sign up') await page.goBack();
      }
      await page.getByRole('link', { name: 'Sign in to an account that exists' }).click();
      await heading(v, 'Sign in').waitFor();
      await v.signIn(ADMIN.email, ADMIN.password);
      await heading(v, 'Sources').waitFor();
      await page.getByText('There are no sources').waitFor();
      await v.accessible('sources empty');
    });
    await v.end();
  });

  it('created from the form on a phone: its address for events is shown once', () =>
    visit('/sources/new', { width: 390, theme: 'dark', expected: /\b400\b/ }, async (v) => {
      const { page } = v;
      await page.getByLabel('Address of the bucket').fill('https://films.test/');
      await page.getByLabel('Name', { exact: true }).fill('From <b>');
      await press(v, 'Create the source');
      await page
        .getByRole('alert')
        .getByText(/^bucket\.url/)
        .waitFor();
      await page.getByLabel('Address of the bucket').fill('s3://by-hand/in/');
      await page.getByLabel('Only what fits').fill('*.mp4');
      await page.getByLabel('Listed every').fill('');
      await page.getByLabel('Also probe the objects that are there now').uncheck();
      await v.accessible('source new 390 dark');
      await press(v, 'Create the source');
      await page.getByRole('heading', { name: 'The address for its events' }).waitFor();
      await press(v, 'Show address');
      const address = await page.getByLabel('Address', { exact: true }).innerText();
      const [, id] = /\/v1\/source\/([^/]+)\/events\?key=[\w-]{32}$/.exec(address)!;
      await v.accessible('source made 390 dark');
      await page.getByRole('link', { name: 'The source' }).click();
      await heading(v, 'Source').waitFor();
      await page.getByText('It has not been listed yet.').waitFor();
      await page.getByText('when asked to').waitFor();
      await v.accessible('source 390 dark');
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'the page scrolls sideways');
      const source = (await c.api.stored.store.readSource(id!))!;
      assert.deepEqual([source.name, source.every, source.existing], ['From <b>', null, false]);
      await c.api.stored.store.setConfirmation(id!, 'sns.test');
      await page.getByText('SNS waits for a confirmation').waitFor();
    }));

  it('with a listing that failed: listed, paused, resumed, listed again, with a new key, and deleted', async () => {
    const sources = sourcesOf(c.api);
    const { id } = await sources.create({ name: 'incoming', bucket: { url: 's3://shown/' }, tries: 1 });
    const listed = async (error: string | null) => (await sources.read(id)).last_listing?.error === error;
    await sources.run(
      'shown',
      () => 403,
      () => listed('http-403'),
    );
    await visit('/sources', {}, async (v) => {
      const { page } = v;
      const row = page.getByRole('table', { name: 'Sources' }).locator('tbody tr').filter({ hasText: 'incoming' });
      await row.getByText('http-403').waitFor();
      await v.accessible('sources wide light');
      await row.getByRole('link').click();
      await page.getByText('The last listing failed: http-403.').waitFor();
      await page.getByText('It has made no batch').waitFor();
      await press(v, 'Pause');
      await press(v, 'Resume');
      await press(v, 'List now');
      await sources.run(
        'shown',
        () => pageOf(new Map([['a.mp4', '1']])),
        async () => {
          const [batch] = await sources.batchesOf(id);
          return batch?.state === 'ended' && (await listed(null));
        },
      );
      await page.getByText('1 objects were found, 0 are not wanted.').waitFor();
      await page.getByRole('table', { name: 'Batches' }).getByText('Completed').waitFor();
      await v.accessible('source wide light');
      const [before] = await c.api.stored.sql<{ key_sha256: Buffer }>('select key_sha256 from sources where id = $1', [
        id,
      ]);
      await press(v, 'New key of events');
      await page.getByRole('dialog').getByRole('button', { name: 'Make the key' }).click();
      await page.getByRole('heading', { name: 'The address for its events' }).waitFor();
      const [after] = await c.api.stored.sql<{ key_sha256: Buffer }>('select key_sha256 from sources where id = $1', [
        id,
      ]);
      assert.ok(!after!.key_sha256.equals(before!.key_sha256));
      await press(v, 'Done');
      await press(v, 'Delete the source');
      await v.accessible('source delete light');
      await page.getByRole('dialog').getByRole('button', { name: 'Delete the source' }).click();
      await heading(v, 'Sources').waitFor();
      await until('it is gone', async () => (await c.api.stored.store.readSource(id)) === null);
    });
  });
});
