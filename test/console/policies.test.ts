/** Policies: written with completion, tried on what is on record, saved; what is wrong is shown at its place. */
import assert from 'node:assert/strict';
import { canonicalPolicy } from '../../src/media/policy/canonical.ts';
import { SHARED } from '../../src/platform/store/policies.ts';
import { completionAt, placeOf, policyText } from '../../src/console/policies/text.ts';
import type { Person } from '../api/accounts/fixture.ts';
import { pageUntil } from '../browser/page_until.ts';
import { body, good } from '../result/result_samples.ts';
import { consoleTest, visitAs } from './fixture.ts';
import { storeAnswer } from './stored_answer.ts';

const POLICY = {
  description: 'for "us": #1',
  uses: { ffprobe: '7.1' },
  rules: [
    { name: 'wrapper', field: 'container.format', in: ['mp4', 'mov'] },
    {
      name: 'size',
      each: 'video',
      any: [
        { field: 'size.height', is: 720 },
        { field: 'size.height', is: 1080 },
      ],
    },
  ],
};
const TEXT = `description: "for \\"us\\": #1"
uses:
  ffprobe: "7.1"
rules:
  - name: "wrapper"
    field: "container.format"
    in: ["mp4", "mov"]
  - name: "size"
    each: "video"
    any:
      - field: "size.height"
        is: 720
      - field: "size.height"
        is: 1080
`;

describe('console: the text of a policy', () => {
  it('is YAML that reads as the policy', () => {
    assert.equal(policyText(POLICY), TEXT);
  });

  const PLACES: [path: string, line: number | null, begins: string][] = [
    ['rules[0].field', 6, 'field: "container.format"'],
    ['rules[1]', 8, '  - name: "size"'],
    ['rules[1].any[1].is', 14, 'is: 1080'],
    ['rules[1].nothing', 8, '  - name: "size"'],
    ['rules', 4, 'rules:'],
    ['policy', null, ''],
  ];
  for (const [path, line, begins] of PLACES)
    it(`place of ${path}`, () => {
      const place = placeOf(TEXT, path);
      assert.equal(place?.line ?? null, line);
      if (place) assert.ok(TEXT.slice(place.from).startsWith(begins), TEXT.slice(place.from, place.to));
    });

  const NAMES = ['container.format', 'size.width', 'size.height', 'sample_rate'];
  const COMPLETIONS: [text: string, names: string[] | null][] = [
    ['- field: si', ['size.width', 'size.height']],
    ['- { name: a, field: "wid', ['size.width']],
    ['- field: ', NAMES],
    ['- field: sample_rate', null],
    ['- field: xyz', null],
    ['- name: si', null],
    ['field: size.width\n  is: si', null],
  ];
  for (const [text, names] of COMPLETIONS)
    it(`completion of ${JSON.stringify(text)}`, () => {
      assert.deepEqual(completionAt(text, text.length, NAMES)?.names ?? null, names);
    });
});

consoleTest('console: policies', (c) => {
  let ann: Person;
  before(async () => {
    ann = await c.m.person('ann');
    const printed = '{"streams":[],"format":{"format_name":"matroska,webm","duration":"2.0"}}';
    await storeAnswer(c.m.stored.store, ann, 'file', body([good('ffprobe', printed)]));
  });

  it('by keys: named, completed, corrected, tried, saved, and in the list', async () => {
    const look = { expected: /\b40[04]\b/ };
    await visitAs(c, ann.email, { path: '/policies', look }, async ({ page, accessible }) => {
      await page.getByText('There are no policies').waitFor();
      await accessible('policies empty wide light');
      await page.getByLabel('Name of a new policy').fill('house');
      await page.keyboard.press('Enter');
      const text = page.getByLabel('The policy as YAML or JSON');
      await text.fill('rules:\n  - name: wrapper\n    field: container.formt\n    is: mp4\n');
      await page.getByRole('button', { name: 'Try on the last 50 results' }).click();
      await page.getByText(/Line 3: rules\[0\]\.field: /).waitFor();
      await pageUntil(page, 'document.activeElement.selectionStart === 29');
      await accessible('policy wrong wide light');

      await text.fill('rules:\n  - name: wrapper\n    field: container.f');
      await page.getByRole('option', { name: 'container.format' }).waitFor();
      await accessible('policy completion wide light');
      await text.press('Enter');
      await text.press('Enter');
      await text.pressSequentially('    is: mp4');
      assert.equal(await text.inputValue(), 'rules:\n  - name: wrapper\n    field: container.format\n    is: mp4');
      await page.getByRole('button', { name: 'Try on the last 50 results' }).click();
      await page.getByText('1 fail', { exact: true }).waitFor();
      await accessible('policy tried wide light');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Saved as revision 1').waitFor();
      await page.getByRole('button', { name: 'Delete', exact: true }).waitFor();
      await page.getByRole('link', { name: 'All policies' }).click();
      await page.getByRole('link', { name: 'house' }).waitFor();
    });
  });

  it('read and deleted, on a phone in the dark', async () => {
    const look = { width: 390, theme: 'dark' as const };
    await visitAs(c, ann.email, { path: '/policies/house', look }, async ({ page, accessible }) => {
      await page.getByText('revision 1', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Try on the last 50 results' }).click();
      await page.getByText('1 fail', { exact: true }).waitFor();
      await accessible('policy tried 390 dark');
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'the page scrolls sideways');
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('button', { name: 'Delete the policy' }).click();
      await page.getByText('There are no policies').waitFor();
    });
  });

  it('a shared one is copied under a name of its own, in the order in which people write it', async () => {
    const shared = { account: SHARED, name: 'web', userId: null };
    const policy = { rules: [{ is: 'mp4', name: 'wrapper', field: 'container.format' }] };
    const most = { policies: 10, revisions: 10, documents: 100, bytes: 1_000_000 };
    await c.m.stored.store.putPolicy(shared, canonicalPolicy(policy as never), most);
    await visitAs(c, ann.email, { path: '/policies/shared/web' }, async ({ page, accessible }) => {
      const text = page.getByLabel('The policy as YAML or JSON');
      assert.match(await text.inputValue(), /^ {2}- name: "wrapper"\n {4}field: "container\.format"\n {4}is: "mp4"$/m);
      await page.getByRole('button', { name: 'Copy under another name' }).click();
      await accessible('policy copy wide light');
      await page.getByLabel('Name of the copy').fill('my house!');
      await page.keyboard.press('Enter');
      assert.equal(await page.getByLabel('Name of the copy').evaluate((field) => field.matches(':invalid')), true);
      await page.getByLabel('Name of the copy').fill('my-web');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Save', exact: true }).waitFor();
      assert.match(page.url(), /\/policies\/my-web$/);
      await text.waitFor();
    });
  });
});
