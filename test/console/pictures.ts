/**
 * The pictures of docs, from the console on the running cluster: every view in four forms with docs/pictures.md, which
 * shows them, the tour of docs/console.md, and a moving picture of a request. The media are drawn by ffmpeg.
 */
import { copyFile, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { withFfmpeg } from '../../images/samples_folder.ts';
import { openBrowser } from '../browser/chromium.ts';
import { batchEnded, createdBatch } from '../cluster/batches.ts';
import { cluster, eventually, fixtures, type Cluster } from '../cluster/fixture.ts';
import { PASSWORD, people, type Person } from '../hostility/people.ts';
import { serveFile } from '../node/origin.ts';
import { viewsOf, type Ids, type View } from './cluster_views.ts';
import { makeFilms, movingWebp, NAMES, webpOf } from './films.ts';
import { startVisit, visitAs, type Look, type Visit } from './fixture.ts';

const DOCS = join(import.meta.dirname, '../../docs');
const PICTURES = join(DOCS, 'pictures');
const FORMS_FOLDER = join(PICTURES, 'forms');
const MOST_BYTES = 250_000;
const MOST_MOVING_BYTES = 1_000_000;

type Form = Required<Pick<Look, 'width' | 'theme' | 'scale'>>;
const FORMS: Readonly<Record<string, Form>> = {
  'wide, light': { width: 1440, theme: 'light', scale: 2 },
  'wide, dark': { width: 1440, theme: 'dark', scale: 2 },
  'narrow, light': { width: 390, theme: 'light', scale: 2 },
  'narrow, dark': { width: 390, theme: 'dark', scale: 2 },
};
/** Views of the tour of docs/console.md, by the names of their pictures there. */
const TOUR: Readonly<Record<string, string>> = { 'one policy': 'policies' };
const IN_TOUR = new Set(
  'requests overview disagreements policy timeline ladder raw playground usage tokens cluster'.split(' '),
);
/** A chart is drawn after its library is there. */
const CHARTS = new Set(['timeline', 'ladder', 'usage']);

/** Short films of the test data, by names that people give. */
const COPIES = ['interview-cut-4.mp4', 'trailer.mov'];

const POLICY = `rules:
  - name: wrapper
    field: container.format
    in: [mp4, mov]
  - name: codec
    each: video
    field: codec.name
    in: [h264, hevc]
  - name: picture
    each: video
    field: size.height
    at-least: 1080
  - name: sound
    each: audio
    field: channels
    at-least: 6
`;

const fileOf = (name: string, form: string): string =>
  `${name.replaceAll(/\W+/g, '-')}-${form.replaceAll(/\W+/g, '-')}.webp`;

interface Studio {
  c: Cluster;
  browser: Browser;
  ffmpeg: readonly string[];
  caller: Person;
  operator: Person;
}

// What the pages show.

async function ran({ c, caller }: Studio, body: object, path?: string): Promise<string> {
  const { status, json, text, headers } = await c.probe(body, { token: caller.token, ...(path ? { path } : {}) });
  const id = json.metadata?.request_id ?? headers.get('x-request-id');
  if (!id) throw new Error(`${path ?? '/v1/probe/file'}: ${status} ${text}`);
  if (status < 400)
    await eventually(`${id} has ended`, 120, async () => (await c.get(`/v1/probe/${id}`, caller.token)).status === 200);
  return id;
}

/** Most of it is well, and one file is not there. */
async function ranBatch({ c, caller: { token } }: Studio, origin: string, names: readonly string[]): Promise<string> {
  const items = [...names, 'missing.mp4'].map((name) => ({ url: `${origin}/${name}`, ref: name.replace(/\..*/, '') }));
  const { id } = await createdBatch(c, token, { name: 'library', items });
  await batchEnded(c, token, id, 300);
  return id;
}

async function fillRecord(studio: Studio, origin: string): Promise<Ids> {
  const { c, caller } = studio;
  const saved = await fetch(`${c.url}/v1/policy/house-delivery`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${caller.token}`, 'Content-Type': 'application/yaml' },
    body: POLICY,
  });
  if (!saved.ok) throw new Error(`the policy is not saved: ${await saved.text()}`);
  const film = `${origin}/${NAMES.film}`;
  const { json } = await c.get('/v1/versions', caller.token);
  const tools = json['tools'] as { tool: string; versions: { version: string }[] }[];
  const versions = tools.find(({ tool }) => tool === 'ffprobe')!.versions.map(({ version }) => version);
  for (const name of [NAMES.hdr, ...COPIES]) await ran(studio, { url: `${origin}/${name}` });
  for (const version of versions.slice(0, 3)) await ran(studio, { url: film, ffprobe: { version } });
  const batch = await ranBatch(studio, origin, [NAMES.film, NAMES.hdr, ...COPIES]);
  const judged = { timeline: { enabled: true }, policy: 'house-delivery', webhook_url: `${origin}/hook` };
  const measured = { inject_output: false, parse_playlist_only: false };
  return {
    photo: await ran(studio, { url: `${origin}/photo.jpg`, inject_output: false }, '/v1/probe/c2pa'),
    versions: await ran(studio, { url: film, ffprobe: { versions: [versions.at(-1), versions[0]] } }, '/v1/compare'),
    ladder: await ran(studio, { url: `${origin}/${NAMES.ladder}`, ...measured }, '/v1/probe/mediastreamvalidator'),
    film: await ran(studio, { url: film, ...judged }),
    batch,
  };
}

// The pictures.

const signedIn = (studio: Studio, who: Person, look: Look, work: (v: Visit) => Promise<void>) =>
  visitAs(
    { visit: (given) => startVisit(studio.browser, studio.c.url, '', given ?? {}) },
    who.email,
    { path: '/account', look: { timezone: 'UTC', ...look }, password: PASSWORD },
    work,
  );

async function show({ page, open }: Visit, name: string, { path, heading, full }: View): Promise<void> {
  await open(path, heading);
  await full(page);
  if (CHARTS.has(name)) await page.locator('canvas').first().waitFor();
  await page.locator('[aria-busy="true"]:not(form)').first().waitFor({ state: 'detached' });
  // The tab and what is under it; a list and the first tab begin at the top.
  if (path.includes('?tab=')) await page.getByRole('tablist').evaluate((tabs) => tabs.scrollIntoView());
}

async function sized(path: string, most: number): Promise<void> {
  const { size } = await stat(path);
  console.log(`${path}: ${size} bytes`);
  if (size > most) throw new Error(`${path} is larger than ${most} bytes`);
}

async function takeForm(studio: Studio, form: string, views: readonly [string, View][]): Promise<void> {
  const scratch = join(FORMS_FOLDER, '.one.png');
  const look = FORMS[form]!;
  for (const who of [studio.caller, studio.operator])
    await signedIn(studio, who, look, async (v) => {
      for (const [name, view] of views.filter(([, { of }]) => (of === 'operator') === (who === studio.operator))) {
        await show(v, name, view);
        await v.page.screenshot({ path: scratch, animations: 'disabled' });
        const path = join(FORMS_FOLDER, fileOf(name, form));
        await webpOf(studio.ffmpeg, scratch, path);
        await sized(path, MOST_BYTES);
      }
    });
  await rm(scratch, { force: true });
}

async function takeTour(studio: Studio, views: readonly [string, View][]): Promise<void> {
  for (const who of [studio.caller, studio.operator])
    await signedIn(studio, who, { width: 1040 }, async (v) => {
      await v.page.setViewportSize({ width: 1040, height: 600 });
      for (const [name, view] of views) {
        const picture = TOUR[name] ?? (IN_TOUR.has(name) ? name : undefined);
        if (picture === undefined || (view.of === 'operator') !== (who === studio.operator)) continue;
        await show(v, name, view);
        const path = join(PICTURES, `${picture}.png`);
        await v.page.screenshot({ path, animations: 'disabled' });
        await sized(path, MOST_BYTES);
      }
    });
}

/** From the address to the answer, five pictures a second; what waits is not shown for longer than it is read. */
async function takeMoving(studio: Studio, film: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'moving-'));
  let count = 0;
  const shot = async (page: Page, times = 1): Promise<void> => {
    const path = (number: number) => join(folder, `${String(number).padStart(4, '0')}.png`);
    const first = count++;
    await page.screenshot({ path: path(first) });
    for (let again = 1; again < times; again++) await copyFile(path(first), path(count++));
  };
  await signedIn(studio, studio.caller, { width: 1240 }, async ({ page, open }) => {
    await page.setViewportSize({ width: 1240, height: 780 });
    await open(`/playground?url=${encodeURIComponent(film)}`, 'Playground');
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor();
    await shot(page, 6);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    const answered = page.getByRole('listitem').filter({ hasText: 'Recorded after' });
    for (let frame = 0; frame < 25 && (await answered.count()) === 0; frame++) await shot(page);
    await answered.waitFor();
    await shot(page, 15);
  });
  const path = join(PICTURES, 'probe.webp');
  for (const quality of [75, 60, 45, 30]) {
    await movingWebp(studio.ffmpeg, folder, path, { rate: 5, quality, width: 1000 });
    if ((await stat(path)).size <= MOST_MOVING_BYTES) break;
  }
  await sized(path, MOST_MOVING_BYTES);
  await rm(folder, { recursive: true, force: true });
}

const pageOf = (names: readonly string[]): string =>
  [
    '# Pictures of the console',
    'Every page in four forms: wide and narrow (1440 and 390 px), light and dark. The media in them are drawn by ' +
      'ffmpeg.\n`make screenshots` takes the pictures from a running cluster and writes this page.',
    '![A request in the playground, from the address to the answer](pictures/probe.webp)',
    ...names.flatMap((name) => [
      `## ${name[0]!.toUpperCase()}${name.slice(1)}`,
      Object.keys(FORMS)
        .map((form) => `![${name}, ${form}](pictures/forms/${fileOf(name, form)})`)
        .join('\n'),
    ]),
  ].join('\n\n') + '\n';

async function takeAll(ffmpeg: readonly string[]): Promise<void> {
  const browser = await openBrowser();
  if (!browser) throw new Error('there is no chromium in the cache: make browser');
  const folder = await mkdtemp(join(tmpdir(), 'films-'));
  const c = await cluster();
  const accounts = people(c);
  try {
    console.log('the films are made: this takes some minutes');
    await makeFilms(folder, ffmpeg);
    for (const name of COPIES) await copyFile(join(fixtures, 'tiny.mp4'), join(folder, name));
    await copyFile(join(fixtures, 'c2pa', 'a.jpg'), join(folder, 'photo.jpg'));
    const { url: origin } = await c.origin(async (request, response) => {
      if (request.url === '/hook') response.writeHead(204).end();
      else await serveFile(folder, request, response);
    });
    const mark = Date.now().toString(36);
    const [caller, operator] = [
      await accounts.make({ password: true, email: `ann@${mark}.example` }),
      await accounts.make({ password: true, role: 'admin', email: `operator@${mark}.example` }),
    ];
    const studio: Studio = { c, browser, ffmpeg, caller, operator };
    const ids = await fillRecord(studio, origin);
    const film = `${origin}/${NAMES.film}`;
    const views = Object.entries(viewsOf({ film, policy: 'house-delivery', summary: /^MP4, 36/, ids, caller }));
    await rm(FORMS_FOLDER, { recursive: true, force: true });
    await mkdir(FORMS_FOLDER, { recursive: true });
    for (const form of Object.keys(FORMS)) await takeForm(studio, form, views);
    await takeTour(studio, views);
    await takeMoving(studio, film);
    await writeFile(join(DOCS, 'pictures.md'), pageOf(views.map(([name]) => name)));
  } finally {
    await browser.close();
    await accounts.close();
    await c.close();
    await rm(folder, { recursive: true, force: true });
  }
}

await withFfmpeg(takeAll);
