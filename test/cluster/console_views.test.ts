/** Each view of the console in a real browser, on the cluster: what it shows comes from real media and real runs. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { aMain, aVariant, vod } from '../hls/examples/playlists.ts';
import { browserFor } from '../browser/chromium.ts';
import { textIn, viewsOf, type Ids } from '../console/cluster_views.ts';
import { axeSource, startVisit, visitAs, type Look, type Visit } from '../console/fixture.ts';
import { PASSWORD, people, type People, type Person } from '../hostility/people.ts';
import { batchEnded, createdBatch } from './batches.ts';
import { cluster, eventually, fixtures, type Cluster, type Envelope } from './fixture.ts';

const LOOKS: readonly Required<Pick<Look, 'width' | 'theme'>>[] = [
  { width: 1280, theme: 'light' },
  { width: 390, theme: 'dark' },
  { width: 1280, theme: 'dark' },
  { width: 390, theme: 'light' },
];
const POLICY = { rules: [{ name: 'wrapper', field: 'container.format', is: 'matroska' }] };

describe('console on the cluster', function () {
  this.timeout(300_000);
  let c: Cluster;
  let accounts: People;
  let caller: Person;
  let operator: Person;
  let browser: Browser;
  let axe: string;
  let film: string;
  const ids: Ids = {
    film: '',
    ladder: '',
    versions: '',
    photo: '',
    batch: '',
  };

  before(async function () {
    browser = await browserFor(this);
    axe = await axeSource();
    c = await cluster();
    accounts = people(c);
    caller = await accounts.make({ password: true });
    operator = await accounts.make({ password: true, role: 'admin' });
    const files: Record<string, string | Buffer> = {
      '/film.mp4': readFileSync(join(fixtures, 'tiny.mp4')),
      '/photo.jpg': readFileSync(join(fixtures, 'c2pa', 'a.jpg')),
      '/main.m3u8': aMain(aVariant({}, 'variant.m3u8')),
      '/variant.m3u8': vod('#EXTINF:6,', 'film.mp4'),
    };
    const { url: origin } = await c.origin((request, response) => {
      const body = files[(request.url ?? '').split('?')[0] ?? ''];
      if (body === undefined) response.writeHead(404).end('not here');
      else response.writeHead(200).end(body);
    });
    film = `${origin}/film.mp4`;
    await fillRecord(origin);
  });
  after(async () => {
    await browser?.close();
    await accounts?.close();
    await c?.close();
  });

  async function ran(body: object, path?: string): Promise<string> {
    const { status, json, text, headers } = await c.probe(body, {
      token: caller.token,
      ...(path === undefined ? {} : { path }),
    });
    assert.ok(status === 200 || status === 202, text);
    const id = (json as Envelope).metadata?.request_id ?? headers.get('x-request-id')!;
    // With a webhook the answer comes before the end.
    await eventually(`${id} has ended`, 60, async () => (await c.get(`/v1/probe/${id}`, caller.token)).status === 200);
    return id;
  }

  async function fillRecord(origin: string): Promise<void> {
    const saved = await fetch(`${c.url}/v1/policy/house`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${caller.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(POLICY),
    });
    assert.equal(saved.status, 200, await saved.text());
    const asked = { timeline: { enabled: true }, policy: 'house', webhook_url: `${origin}/hook` };
    ids.film = await ran({ url: film, ...asked });
    ids.ladder = await ran({ url: `${origin}/main.m3u8`, inject_output: false }, '/v1/probe/mediastreamvalidator');
    ids.photo = await ran({ url: `${origin}/photo.jpg`, inject_output: false }, '/v1/probe/c2pa');
    const { json } = await c.get('/v1/versions');
    const tools = json['tools'] as { tool: string; versions: { version: string }[] }[];
    const versions = tools.find(({ tool }) => tool === 'ffprobe')!.versions.map(({ version }) => version);
    assert.ok(versions.length >= 2, 'the cluster has two versions of ffprobe');
    ids.versions = await ran({ url: film, ffprobe: { versions: [versions.at(-1), versions[0]] } }, '/v1/compare');
    const list = { name: 'library', items: [film, `${origin}/missing.mp4`] };
    ids.batch = (await createdBatch(c, caller.token, list)).id;
    await batchEnded(c, caller.token, ids.batch, 120);
  }

  const signedIn = (who: Person, look: Look, work: (v: Visit) => Promise<void>) =>
    visitAs(
      { visit: (given) => startVisit(browser, c.url, axe, given ?? {}) },
      who.email,
      { path: '/account', look, password: PASSWORD },
      work,
    );

  for (const look of LOOKS)
    it(`each view is full, accessible and as wide as the window (${look.width} px, ${look.theme})`, async () => {
      const all = Object.entries(viewsOf({ film, policy: 'house', summary: /^MP4, 2/, ids, caller }));
      for (const who of [caller, operator])
        await signedIn(who, look, async (v) => {
          for (const [name, { path, heading, full }] of all.filter(
            ([, { of }]) => (of === 'operator') === (who === operator),
          )) {
            await v.open(path, heading);
            await full(v.page);
            await v.accessible(`cluster ${name} ${look.width} ${look.theme}`);
            assert.equal(await v.page.evaluate('document.documentElement.scrollWidth'), look.width, name);
          }
        });
    });

  it('with the keyboard alone: sign in, find the request, read its answer, run it again', async () => {
    const v = await startVisit(browser, c.url, axe, {});
    const { page } = v;
    const { keyboard } = page;
    const isAt = (what: string): Promise<boolean> =>
      page.evaluate(`Boolean(document.activeElement?.matches(${JSON.stringify(what)}))`);
    /** As a person does: from one to the next until it is there. */
    const tabTo = async (what: string): Promise<void> => {
      for (let steps = 0; steps < 120; steps++) {
        if (await isAt(what)) return;
        await keyboard.press('Tab');
      }
      assert.fail(`120 times Tab do not lead to ${what}`);
    };
    await v.open('/requests', 'Sign in');
    await tabTo('input[type=email]');
    await keyboard.type(caller.email);
    await tabTo('input[type=password]');
    await keyboard.type(PASSWORD);
    await keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Requests' }).waitFor();
    await textIn('film.mp4')(page);
    await tabTo('input[type=search]');
    await keyboard.type(ids.film);
    await page.getByText('1 to 1 of 1', { exact: true }).waitFor();
    await tabTo('tbody a');
    await keyboard.press('Enter');
    await textIn(/^MP4, 2/)(page);
    await tabTo('[role=tab][aria-selected=true]');
    await keyboard.press('End');
    await page.getByRole('tab', { name: 'Raw', selected: true }).waitFor();
    await tabTo('a[href*="/playground?"]');
    await keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor();
    await tabTo('button[type=submit]');
    await keyboard.press('Enter');
    await page.getByRole('listitem').filter({ hasText: 'Recorded after' }).waitFor();
    await textIn(/^MP4, 2/)(page);
    await v.end();
  });
});
