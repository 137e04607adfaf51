/** The console as people meet it: bundled, served by the API on its real servers, in a real browser. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { bundleConsole } from '../../images/console_bundle.ts';
import { serveUploads } from '../../src/source/upload/serve.ts';
import { openSpool } from '../../src/source/upload/spool.ts';
import type { AccountSettings } from '../../src/service/accounts/settings.ts';
import type { Settings } from '../../src/service/api/deps.ts';
import { PASSWORD, startManagement, type Management } from '../api/accounts/fixture.ts';
import { startApi, type ApiFixture } from '../api/fixture.ts';
import { openBrowser } from '../browser/chromium.ts';
import { oncePerRun } from '../once_per_run.ts';

export interface Visit {
  page: Page;
  context: BrowserContext;
  /** Goes to a page of the console, and waits until its heading is there. */
  open(path: string, heading: string): Promise<void>;
  signIn(email: string, password?: string): Promise<void>;
  /** Where SCREENSHOTS names a folder. */
  picture(name: string): Promise<void>;
  /** Every rule of axe-core, in the present state of the page; a picture of it where SCREENSHOTS names a folder. */
  accessible(state: string): Promise<void>;
  /** No error in the console and no request elsewhere, in the whole visit; then it ends. */
  end(): Promise<void>;
}

export interface Look {
  width?: number;
  /** Pixels of the screen for each of the page. */
  scale?: number;
  theme?: 'light' | 'dark';
  timezone?: string;
  /** Statuses whose errors the browser writes into its console, and which the test causes on purpose. */
  expected?: RegExp;
  /** Beside the console's own address: where its pages lead people to, and what is asked for there. */
  alsoAt?: readonly string[];
}

export interface Pages {
  url: string;
  visit(look?: Look): Promise<Visit>;
  stop(): Promise<void>;
}

/** On the management side alone. */
export interface ConsoleFixture extends Pages {
  m: Management;
}

/** On the whole API, with an API server and NATS. */
export interface ProbingConsole extends Pages {
  api: ApiFixture;
}

export const axeSource = () => readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

interface AxeResults {
  violations: { id: string; help: string; nodes: { html: string; failureSummary: string }[] }[];
}

async function takePicture(page: Page, name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS'];
  if (folder !== undefined)
    await page.screenshot({ path: join(folder, `${name.replaceAll(/\W+/g, '_')}.png`), fullPage: true });
}

/** What is read anew is pale meanwhile, and its contrast is not that of the page. */
const READ_ANEW = '[aria-busy="true"]:not(.waiting, form)';

async function checkAccessible(page: Page, axe: string, state: string): Promise<void> {
  await page.locator(READ_ANEW).first().waitFor({ state: 'detached' });
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe);
  const { violations } = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as AxeResults;
  await takePicture(page, state);
  const told = violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}\n${nodes.map((node) => `  ${node.html}\n  ${node.failureSummary}`).join('\n')}`,
  );
  assert.deepEqual(told, [], state);
}

/** A browser's own words of an answer that is an error. */
const FAILED_LOAD = /^Failed to load resource: /;
/** Over http a browser obeys this header on loopback only, and says so on every page. */
const WITHOUT_TLS =
  /^The Cross-Origin-Opener-Policy header has been ignored, because the URL's origin was untrustworthy/;

export async function startVisit(browser: Browser, url: string, axe: string, look: Look): Promise<Visit> {
  const { width = 1280, scale = 1, theme = 'light', timezone = 'Asia/Kathmandu', expected, alsoAt = [] } = look;
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    deviceScaleFactor: scale,
    colorScheme: theme,
    locale: 'en-GB',
    timezoneId: timezone,
    reducedMotion: 'reduce',
    // Certificates of tests are trusted by nobody.
    ignoreHTTPSErrors: true,
  });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const elsewhere: string[] = [];
  const errors: string[] = [];
  context.on('request', (request) => {
    const address = request.url();
    const isOwn = [url, ...alsoAt].some((origin) => address.startsWith(`${origin}/`));
    if (!isOwn && !address.startsWith('blob:')) elsewhere.push(address);
  });
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    // Who is signed in is asked before anybody is.
    const text = message.text();
    if (WITHOUT_TLS.test(text)) return;
    if (FAILED_LOAD.test(text) && (/\b401\b/.test(text) || expected?.test(text))) return;
    errors.push(text);
  });
  page.on('pageerror', (error) => errors.push(error.stack ?? error.message));
  return {
    page,
    context,
    async open(path, heading) {
      await page.goto(`${url}/app${path}`);
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
    },
    async signIn(email, password = PASSWORD) {
      await page.getByLabel('E-mail address').fill(email);
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor();
    },
    picture: (name) => takePicture(page, name),
    accessible: (state) => checkAccessible(page, axe, state),
    async end() {
      await context.close();
      assert.deepEqual({ elsewhere, errors }, { elsewhere: [], errors: [] });
    },
  };
}

interface Served {
  url: string;
  stop(): Promise<void>;
}

/** Undefined: there is no browser on this machine. */
export async function startPages<T>(serve: (folder: string) => Promise<Served & T>): Promise<(Pages & T) | undefined> {
  const browser = await openBrowser();
  if (!browser) return undefined;
  const [axe, folder] = await Promise.all([axeSource(), oncePerRun('console', bundleConsole)]);
  const served = await serve(folder);
  return {
    ...served,
    visit: (look = {}) => startVisit(browser, served.url, axe, look),
    async stop() {
      await browser.close();
      await served.stop();
    },
  };
}

export const startConsole = (settings: Partial<AccountSettings> = {}): Promise<ConsoleFixture | undefined> =>
  startPages(async (consoleFolder) => {
    const m = await startManagement(settings, { consoleFolder });
    return { m, url: m.replicas[0].url, stop: () => m.stop() };
  });

/** Nothing answers there: tests end the jobs themselves. */
const SAMPLES_URL = 'http://samples.test';

/** With room for files that are sent. */
const startProbingConsole = (
  accounts: Partial<AccountSettings> = {},
  settings: Partial<Settings> = {},
): Promise<ProbingConsole | undefined> =>
  startPages(async (consoleFolder) => {
    const folder = await mkdtemp(join(tmpdir(), 'spool-'));
    const spool = await openSpool({ folder, maxBytes: 20_000_000 });
    const server = await serveUploads(spool, { host: '127.0.0.1', port: 0 });
    const uploads = { spool, maxBytes: 8_000_000, host: '127.0.0.1', port: server.port };
    const api = await startApi({ consoleFolder, samplesUrl: SAMPLES_URL, ...settings }, { accounts, uploads });
    const stop = async (): Promise<void> => {
      await api.stop();
      await server.close();
      await spool.close();
      await rm(folder, { recursive: true, force: true });
    };
    return { api, url: api.url, stop };
  });

/** Tests of a started console, which `c` is from the first of them on. Without a browser they are skipped. */
export function suite<T extends Pages>(
  name: string,
  start: () => Promise<T | undefined>,
  define: (c: T) => void,
): void {
  describe(name, function () {
    this.timeout(600_000);
    const c = {} as T;
    let started: T | undefined;
    before(async function () {
      started = await start();
      if (started) Object.assign(c, started);
      else {
        console.log('      skipped: there is no chromium in the cache (make browser)');
        this.skip();
      }
    });
    after(() => started?.stop());
    define(c);
  });
}

export const consoleTest = (name: string, define: (c: ConsoleFixture) => void): void =>
  suite(name, startConsole, define);

export const probingConsoleTest = (
  name: string,
  accounts: Partial<AccountSettings>,
  define: (c: ProbingConsole) => void,
  settings: Partial<Settings> = {},
): void => suite(name, () => startProbingConsole(accounts, settings), define);

/** An error of `work` also says where the page was and what it showed; there is a picture of it. */
export async function during(v: Visit, work: (v: Visit) => Promise<void>): Promise<void> {
  try {
    await work(v);
  } catch (error) {
    await v.picture('failed');
    const shown = await v.page.locator('body').innerText({ timeout: 5_000 });
    (error as Error).message += `\n${v.page.url()} showed:\n${shown.slice(0, 2_000)}`;
    throw error;
  }
}

interface VisitOf {
  path: string;
  look?: Look;
  password?: string;
}

/** One who is signed in, from the first page to the end of the visit. */
export async function visitAs(
  { visit }: Pick<Pages, 'visit'>,
  email: string,
  { path, look = {}, password = PASSWORD }: VisitOf,
  work: (v: Visit) => Promise<void>,
): Promise<void> {
  const v = await visit(look);
  await v.open(path, 'Sign in');
  await v.signIn(email, password);
  await during(v, work);
  await v.end();
}
