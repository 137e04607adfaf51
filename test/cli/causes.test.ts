/** A source that fails, by every way to ask: API, command line, MCP and console say the same cause and code. */
import assert from 'node:assert/strict';
import type { Browser } from 'playwright-core';
import { bundleConsole } from '../../images/console_bundle.ts';
import { modern, send } from '../api/mcp/clients.ts';
import { openBrowser } from '../browser/chromium.ts';
import { startVisit, visitAs } from '../console/fixture.ts';
import { oncePerRun } from '../once_per_run.ts';
import { ALL_TOOLS, FAILING, type Failing, failingProxy } from '../source/failing_sources.ts';
import { Cleanup } from '../source/origin.ts';
import { ADMIN } from '../store/fixture.ts';
import { startInstallation, type Installation } from './rig.ts';

/** Which of the two tools of this installation have the error: both are asked, or one alone. */
const GROUPS = ['both', 'ffprobe', 'mediainfo'] as const;
type Group = (typeof GROUPS)[number];

function groupsOf({ tools = ALL_TOOLS }: Failing): Group[] {
  const some = (['ffprobe', 'mediainfo'] as const).filter((tool) => tools.includes(tool));
  return some.length === 2 ? ['both'] : some;
}

interface Row extends Failing {
  what: string;
  group: Group;
  status: number;
}
const ROWS: readonly Row[] = Object.entries(FAILING).flatMap(([what, failing]) =>
  groupsOf(failing).map((group) => ({ what, group, status: 404, ...failing })),
);

interface Told {
  error: string;
  code: string;
}
type Answer = Told & Partial<Record<'ffprobe' | 'mediainfo', Told>>;

/** An address that is refused before anything runs is named by its field. */
const plain = (error: string): string => error.replace(/^(failed: )?url: /, '$1');

describe('causes: what is said of a source that fails', function () {
  this.timeout(300_000);
  const cleanup = new Cleanup();
  const urls = new Map<string, string>();
  const printed = new Map<string, { json: Told; text: string }>();
  let browser: Browser | undefined;
  let here: Installation;

  before(async function () {
    browser = await openBrowser();
    here = await startInstallation(
      [
        { tool: 'ffprobe', version: '9.0', latest: true },
        { tool: 'mediainfo', version: '26.10', latest: true },
      ],
      this,
      {
        proxy: await failingProxy(cleanup, 3_000),
        folders: { consoleFolder: browser ? await oncePerRun('console', bundleConsole) : null },
      },
    );
    for (const { what, source } of ROWS) urls.set(what, await source(cleanup));
    for (const group of GROUPS) await print(group);
  });
  after(async () => {
    await browser?.close();
    await here?.stop();
    await cleanup.run();
  });

  /** One run of the command line for all rows of a group, and one for its JSON. */
  async function print(group: Group): Promise<void> {
    const rows = ROWS.filter((row) => row.group === group);
    const only = group === 'both' ? [] : ['--only', group];
    const args = ['probe', ...rows.map(({ what }) => urls.get(what)!), ...only, '--parallel', '8'];
    const timeoutMs = 150_000;
    const text = await here.probeyard(args, { timeoutMs });
    const json = await here.probeyard([...args, '-o', 'json'], { timeoutMs });
    assert.deepEqual([text.code, json.code], [1, 1], text.stderr + json.stderr);
    const blocks = text.stdout.toString().trimEnd().split('\n\n');
    const list = JSON.parse(json.stdout.toString()) as Told[];
    for (const [place, { what }] of rows.entries())
      printed.set(what, { json: list[place]!, text: blocks[place] ?? 'nothing' });
  }

  async function post(path: string, body: object) {
    const response = await fetch(`${here.url}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${here.token}` },
    });
    const { status, headers } = response;
    return { status, id: headers.get('x-request-id'), answer: (await response.json()) as Answer };
  }
  const probed = ({ what, group }: Pick<Row, 'what' | 'group'>) =>
    post('/v1/probe/file', { url: urls.get(what), ...(group === 'both' ? {} : { only: group }) });

  /** The last sentence before the data, and the data. */
  async function called(name: string, args: object): Promise<{ sentence: string; data: Told }> {
    const { json } = await send(here.url, here.token, modern('tools/call', { name, arguments: args }));
    const { content } = json.result as { content: { text: string }[] };
    const lines = content[0]!.text.split('\n');
    const fence = lines.findIndex((line) => line.startsWith('--- data '));
    return { sentence: lines[fence - 1] ?? '', data: (JSON.parse(lines[fence + 1]!) as { data: Told }).data };
  }

  for (const { what, group, status, code, error } of ROWS)
    it(what, async () => {
      const { status: answered, answer } = await probed({ what, group });
      assert.deepEqual([answered, plain(answer.error), answer.code], [status, error, code], 'API');
      for (const tool of ['ffprobe', 'mediainfo'] as const) {
        const told = answer[tool];
        if (told) assert.deepEqual([told.error, told.code], [error, code], `API, ${tool}`);
      }

      const { json, text } = printed.get(what)!;
      assert.deepEqual([plain(json.error), json.code], [error, code], 'JSON of the command line');
      const failed = text.split('\n').filter((line) => /^failed(?: ffprobe| mediainfo)?: /.test(line));
      assert.ok(failed.length > 0, text);
      for (const line of failed) assert.equal(plain(line).replace(/^[^:]+: /, ''), `${error} (${code})`, text);

      // Both tools are what its check of a file asks.
      if (group !== 'both') return;
      const { sentence, data } = await called('analyze_media_file', { url: urls.get(what) });
      const read = status === 200 ? 'No tool succeeded' : 'The source cannot be read';
      assert.equal(sentence, `${read} (${code}): see error.`);
      assert.deepEqual([plain(data.error), data.code], [error, code], 'MCP');
    });

  it('a comparison of two of them', async () => {
    const url = urls.get('a login page')!;
    const { error, code } = FAILING['a login page']!;
    const { status, answer } = await post('/v1/compare', { urls: [url, url] });
    assert.deepEqual([status, answer.error, answer.code], [200, `a: ${error}; b: ${error}`, code]);
    const { sentence } = await called('compare_media', { urls: [url, url] });
    assert.equal(sentence, `Nothing could be compared (${code}): see error.`);
    const diff = await here.probeyard(['diff', url, url]);
    assert.deepEqual([diff.code, diff.stderr], [3, `probeyard: ${url}: ${error} (${code})\n`]);
  });

  it('the page of a request in the console', async function () {
    const opened = browser;
    if (!opened) {
      console.log('      skipped: there is no chromium in the cache (make browser)');
      return this.skip();
    }
    const pages = await Promise.all(
      ['no such name', 'a response of 403', 'a login page'].map(async (what) => {
        const { id } = await probed({ what, group: 'both' });
        return { ...FAILING[what]!, path: `/requests/${id}` };
      }),
    );
    const visit = () => startVisit(opened, here.url, '', { expected: /\b404\b/ });
    await visitAs({ visit }, ADMIN.email, { path: pages[0]!.path, password: ADMIN.password }, async ({ page }) => {
      for (const { path, error, code } of pages) {
        await page.goto(`${here.url}/app${path}`);
        await page.locator('dd', { hasText: error }).locator('code', { hasText: code }).first().waitFor();
      }
    });
  });
});
