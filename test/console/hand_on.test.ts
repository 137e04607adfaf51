/** A report is handed on from the page of its request: as a file, and by a link that needs no account. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Person } from '../api/accounts/fixture.ts';
import { body, good } from '../result/result_samples.ts';
import { consoleTest, visitAs } from './fixture.ts';
import { REPORT } from './sample_answers.ts';
import { storeAnswer } from './stored_answer.ts';

consoleTest('console: a report to hand on', (c) => {
  let ann: Person;
  let id: string;
  before(async () => {
    ann = await c.m.person('ann');
    const report = { ...good('ffprobe', JSON.stringify(REPORT)), name: 'probe_report' as const };
    id = await storeAnswer(c.m.stored.store, ann, 'file', body([good('ffprobe', '{"format":{}}')], { report }));
  });

  it('download: the report as one file', () =>
    visitAs(c, ann.email, { path: `/requests/${id}` }, async ({ page }) => {
      const started = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download report' }).click();
      const file = await started;
      assert.equal(file.suggestedFilename(), `report-${id}.html`);
      assert.match(await readFile(await file.path(), 'utf8'), /^<!doctype html>.*2 disagreements/s);
    }));

  for (const look of [{}, { width: 390, theme: 'dark' as const }])
    it(`link: made, read without an account, and ended (${look.width ?? 1280} px)`, () =>
      visitAs(c, ann.email, { path: `/requests/${id}`, look: { ...look, expected: /\b404\b/ } }, async (v) => {
        const { page } = v;
        await page.getByRole('button', { name: 'Share a link' }).click();
        const dialog = page.getByRole('dialog', { name: 'Share this report' });
        assert.equal(await dialog.getByLabel('It works for').inputValue(), '168');
        await dialog.getByLabel('It works for').selectOption('a day');
        await dialog.getByRole('button', { name: 'Make a link' }).click();
        const address = await dialog.getByText(`${c.url}/r/`).innerText();
        await dialog.getByText('Works until').waitFor();
        await v.accessible(`hand on ${look.width ?? 1280}`);
        const other = await c.visit(look);
        await other.page.goto(address);
        await other.page.getByText('Shared by ann until').waitFor();
        assert.equal(await other.page.getByRole('heading', { level: 2, name: 'Disagreements' }).count(), 1);
        await other.end();
        await dialog.getByRole('button', { name: 'End this link' }).click();
        await dialog.getByText('Works until').waitFor({ state: 'detached' });
        assert.equal(await dialog.getByText('/r/').count(), 0);
        assert.equal((await fetch(address)).status, 404);
      }));

  it('download: where the session has ended, it asks for the password in place', () =>
    visitAs(c, ann.email, { path: `/requests/${id}` }, async ({ page }) => {
      const button = page.getByRole('button', { name: 'Download report' });
      await button.waitFor();
      await c.m.stored.sql('delete from sessions where user_id = $1', [ann.id]);
      await button.click();
      await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    }));
});
