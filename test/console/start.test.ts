/** The first minutes in the console: the sign-in link, a sample with one click, and where later visits begin. */
import assert from 'node:assert/strict';
import { tool as ran } from '../api/fixture.ts';
import { body, good } from '../result/result_samples.ts';
import { ADMIN } from '../store/fixture.ts';
import { during, probingConsoleTest, visitAs, type Look, type Visit } from './fixture.ts';
import { storeAnswer } from './stored_answer.ts';

const HOUR_MS = 3_600_000;

probingConsoleTest(
  'console: the first visit',
  {},
  (c) => {
    let made = 0;
    async function newCode(): Promise<string> {
      const code = String(++made).padStart(32, 'C');
      assert.equal(await c.api.stored.store.addSignInLink(code, HOUR_MS), c.api.userId);
      return code;
    }
    const visit = async (look: Look, work: (v: Visit) => Promise<void>) => {
      const v = await c.visit(look);
      await during(v, work);
      await v.end();
    };
    const openLink = (v: Visit, code: string) => v.open(`/sign-in-link#${code}`, 'Sign in by a link');
    const signIn = ({ page }: Visit) => page.getByRole('button', { name: 'Sign in', exact: true }).click();
    const playground = ({ page }: Visit) =>
      page.getByRole('heading', { level: 1, name: 'Playground', exact: true }).waitFor();

    it('sign-in link: once, with one click, into the playground; its code is not in the history', () =>
      visit({ expected: /\b400\b/ }, async (v) => {
        const code = await newCode();
        await openLink(v, code);
        await v.accessible('sign-in link wide light');
        assert.ok(!v.page.url().includes(code), v.page.url());
        await signIn(v);
        await playground(v);
        await v.page.getByRole('banner').getByText(ADMIN.email).waitFor();
        await v.page.goBack();
        assert.ok(!v.page.url().includes(code), v.page.url());

        await openLink(v, code);
        await v.page.getByText(`You are signed in as ${ADMIN.email}`).waitFor();
        await signIn(v);
        await v.page.getByRole('alert').getByText('was used before; a sign-in link works once').waitFor();
        const how = v.page.getByRole('link', { name: 'How to make another one' });
        assert.equal(await how.getAttribute('href'), '/docs/accounts#sign-in-links');
      }));

    it('sign-in link: without its code it says so; on a phone and in the dark', () =>
      visit({ width: 390, theme: 'dark' }, async (v) => {
        await v.open('/sign-in-link', 'Sign in by a link');
        await v.page.getByText('What stands behind # in the link is missing').waitFor();
        await v.accessible('sign-in link 390 dark');
        await v.page.getByRole('link', { name: 'Sign in with a password' }).click();
        await v.page.getByLabel('Password').waitFor();
      }));

    it('sign-in link: signed in as another, nothing of that account stays on the page', () =>
      visit({}, async (v) => {
        const email = 'other@example.org';
        await c.api.stored.sql(
          `insert into users (email, password_hash, role, status, permissions)
            select $1, password_hash, 'user', 'active', permissions from users where email = $2`,
          [email, ADMIN.email],
        );
        await v.open('/account', 'Sign in');
        await v.signIn(email, ADMIN.password);
        await openLink(v, await newCode());
        await v.page.getByText(`You are signed in as ${email}`).waitFor();
        await signIn(v);
        await playground(v);
        await v.page.getByRole('banner').getByText(ADMIN.email).waitFor();
        assert.equal(await v.page.getByText(email).count(), 0);
      }));

    it('new account: the playground with a sample in it, an answer with one click; later the requests', () =>
      visitAs(c, ADMIN.email, { path: '/', password: ADMIN.password }, async (v) => {
        const { page } = v;
        await playground(v);
        const address = page.getByLabel('Address of the media');
        await address.waitFor();
        assert.equal(await address.inputValue(), 'http://samples.example/h264-aac.mp4');
        await page.getByRole('button', { name: 'Run', exact: true }).click();
        const { metadata } = await c.api.job('samples.example');
        await c.api.end(metadata.name, { result: { tools: [ran('ffprobe', '{"format":{"a":"b"}}')], ioUsage: 9 } });
        await page.getByRole('link', { name: 'The page of this request' }).waitFor();
        await v.open('/', 'Requests');
        await page.getByText('samples.example/h264-aac.mp4').waitFor();
      }));

    it('one who goes on at once stays there, when the start has found out where it would have led', async () => {
      const { stored, userId: id, tokenId } = c.api;
      await storeAnswer(stored.store, { id, tokenId }, 'file', body([good('ffprobe', '{"format":{}}')]));
      await visitAs(c, ADMIN.email, { path: '/account', password: ADMIN.password }, async ({ page }) => {
        const [asked, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        await page.route(/\/media\/log\?/, async (route) => {
          asked.resolve();
          await gone.promise;
          await route.continue();
        });
        await page.getByRole('link', { name: 'Probeyard', exact: true }).click();
        await asked.promise;
        await page.getByRole('link', { name: 'Usage', exact: true }).click();
        await page.getByRole('heading', { level: 1, name: 'Usage', exact: true }).waitFor();
        const answered = page.waitForResponse(/\/media\/log\?/);
        gone.resolve();
        await (await answered).finished();
        // By the answer to a later call, and another frame, the page has done what that answer leads to.
        await page.evaluate(`fetch('/healthz').then(() => new Promise((done) => requestAnimationFrame(done)))`);
        assert.match(page.url(), /\/app\/usage/);
      });
    });
  },
  { samplesUrl: 'http://samples.example' },
);
