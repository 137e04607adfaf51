/** The documentation as the API serves it: pages, Markdown, texts for programs, the index of the search. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { buildSite, renderPages } from '../../docs/site/build.ts';
import { escaped } from '../../docs/site/highlight.ts';
import { DOCS, PAGES } from '../../docs/site/pages.ts';
import { makeSearch, type SearchIndex } from '../../docs/site/search.ts';
import { SYNONYMS } from '../../docs/site/words.ts';
import type { HttpServer } from '../../src/service/api/http/http_server.ts';
import { writePlain } from '../../images/packed.ts';
import { servePages } from '../api/serve_pages.ts';
import { oncePerRun } from '../once_per_run.ts';

/** It is fetched by the first search. With the API reference and the pages on operation it is 86 kB. */
const MOST_INDEX = 88_000;
/** For readers of the repository alone. */
const NOT_IN_SITE =
  /^(?:README|architecture|console-design|job-states|local-node|newcomers|pictures|trust)\.md$|^(?:decisions|reports|tables|site)\//;

describe('documentation: the site', function () {
  this.timeout(120_000);
  let folder: string;
  let server: HttpServer;
  const get = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { redirect: 'manual', ...init });
  const htmlOf = async (path: string) => {
    const response = await get(path);
    assert.equal(response.status, 200, path);
    return response.text();
  };

  before(async () => {
    folder = await oncePerRun('site', buildSite);
    server = await servePages({ siteFolder: folder });
  });
  after(async () => {
    await server.close(1_000);
  });

  it('list of pages: every page of docs/ is in it or named here', () => {
    const listed = new Set(PAGES.map(({ file }) => file));
    const missing = readdirSync(DOCS, { recursive: true, encoding: 'utf8' }).filter(
      (name) => name.endsWith('.md') && !listed.has(name) && !NOT_IN_SITE.test(name),
    );
    assert.deepEqual(missing, []);
  });

  it('list of pages: each has a description of its own, one sentence without markup', () => {
    const wrong = PAGES.filter(({ description }) => !/^[^\n`*[\]]{24,119}\.$/.test(description));
    assert.deepEqual(wrong, []);
    assert.equal(new Set(PAGES.map(({ description }) => description)).size, PAGES.length);
  });

  it('links to files of the repository lead to files that exist', () => {
    const repository = join(DOCS, '..');
    const gone = [...renderPages().byPage.values()].flatMap(({ page, links }) =>
      links.flatMap(({ href, target }) =>
        target.kind === 'repository' && !existsSync(join(repository, target.path)) ? [`${page.file}: ${href}`] : [],
      ),
    );
    assert.deepEqual(gone, []);
  });

  it('build: the same sources make the same bytes', async () => {
    const again = await mkdtemp(join(tmpdir(), 'site-'));
    try {
      await buildSite(again, writePlain);
      const names = await readdir(again, { recursive: true });
      const packed = (await readdir(folder, { recursive: true })).filter((name) => !/\.(?:br|gz)$/.test(name));
      assert.deepEqual(names.toSorted(), packed.toSorted());
      for (const name of names.filter((one) => /\.(?:html|md|txt|json|js|css)$/.test(one)))
        assert.ok((await readFile(join(again, name))).equals(await readFile(join(folder, name))), name);
    } finally {
      await rm(again, { recursive: true, force: true });
    }
  });

  it('pages: each is served under a strict policy, without inline scripts or styles', async () => {
    for (const { address } of [{ address: '' }, ...PAGES]) {
      const response = await get(`/docs/${address}`);
      assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
      assert.equal(
        response.headers.get('content-security-policy'),
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      );
      assert.doesNotMatch(await response.text(), /<script(?![^>]*\bsrc=)|<style|<[^>]+\s(?:on\w+|style)=/i, address);
    }
  });

  it('pages: each tells search engines its description', async () => {
    for (const { address, description } of PAGES) {
      const [, content] = /<meta name="description" content="([^"]*)">/.exec(await htmlOf(`/docs/${address}`))!;
      assert.equal(content, escaped(description), address);
    }
  });

  it('first page: six tiles, then every page with its description', async () => {
    const html = await htmlOf('/docs/');
    assert.equal(html.match(/<li><h3><a href="\/docs\/[^"]+">[^<]+<\/a><\/h3><p>/g)?.length, 6);
    for (const { address, description } of PAGES)
      assert.ok(html.includes(`</a>: ${escaped(description)}</li>`), address);
  });

  it('links: every address and every anchor of this server leads somewhere', async () => {
    const anchorsOf = new Map<string, Set<string>>();
    const links: { from: string; path: string; anchor: string }[] = [];
    for (const { address } of [{ address: '' }, ...PAGES]) {
      const from = `/docs/${address}`;
      const html = await htmlOf(from);
      anchorsOf.set(from, new Set([...html.matchAll(/\bid="([^"]+)"/g)].map(([, id]) => id!)));
      for (const [, href] of html.matchAll(/(?:href|src)="([^"]+)"/g)) {
        if (/^[a-z]+:/.test(href!)) continue;
        const { pathname: path, hash } = new URL(href!, `http://site${from}`);
        links.push({ from, path, anchor: decodeURIComponent(hash.slice(1)) });
      }
    }
    const paths = new Set(links.map(({ path }) => path).filter((path) => !path.startsWith('/app/')));
    for (const path of paths) {
      if (path === '/openapi.json') continue;
      assert.equal((await get(path)).status, 200, `${path} of ${links.find((one) => one.path === path)!.from}`);
    }
    const broken = links.filter(
      ({ path, anchor }) => anchor !== '' && anchorsOf.has(path) && !anchorsOf.get(path)!.has(anchor),
    );
    assert.deepEqual(broken, []);
  });

  it('Markdown: every page has it at its address with .md, and its links lead to Markdown', async () => {
    for (const { address } of PAGES) {
      const response = await get(`/docs/${address}.md`);
      assert.equal(response.headers.get('content-type'), 'text/markdown; charset=utf-8', address);
      const text = await response.text();
      assert.match(text, /^# \S/, address);
      assert.doesNotMatch(text, /<!-- prints: /, address);
      for (const [, path] of text.matchAll(/\]\((\/docs\/[^)#\s]+)/g))
        assert.equal((await get(path!)).status, 200, `${path} of ${address}`);
    }
  });

  it('llms.txt: lists every page as Markdown; llms-full.txt has those for callers', async () => {
    const list = await htmlOf('/llms.txt');
    for (const { address, description } of PAGES)
      assert.ok(list.includes(`](/docs/${address}.md): ${description}\n`), address);
    const full = await htmlOf('/llms-full.txt');
    assert.ok(full.includes('# Quickstart') && full.includes('# The HLS validator'));
    assert.ok(!full.includes('# Values') && full.length < 500_000, `${full.length} characters`);
  });

  it('files: are packed where that is taken, and not sent to a caller that has them', async () => {
    for (const path of ['/docs/quickstart', '/docs/quickstart.md', '/llms.txt']) {
      const plain = await get(path, { headers: { 'Accept-Encoding': 'identity' } });
      const body = await plain.text();
      for (const encoding of ['br', 'gzip']) {
        const packed = await get(path, { headers: { 'Accept-Encoding': encoding } });
        assert.deepEqual([packed.headers.get('content-encoding'), await packed.text()], [encoding, body]);
        const again = await get(path, {
          headers: {
            'Accept-Encoding': encoding,
            'If-None-Match': packed.headers.get('etag')!,
            'Cache-Control': 'max-age=0',
          },
        });
        assert.equal(again.status, 304, path);
      }
    }
  });

  it('addresses: /docs leads to the first page, a slash at the end to its page; nothing else is served', async () => {
    for (const [from, to] of [
      ['/docs', '/docs/'],
      ['/docs/guides/hls/', '/docs/guides/hls'],
    ] as const) {
      const response = await get(from);
      assert.deepEqual([response.status, response.headers.get('location')], [302, to]);
    }
    for (const path of ['/docs/none', '/docs/..%2fpackage.json', '/docs/quickstart.html.gz', '/docs/architecture'])
      assert.equal((await get(path)).status, 404, path);
    assert.equal((await get('/docs/', { method: 'POST' })).status, 405);
  });

  it('not found: an address without a page is 404 with a page that leads on; a text or asset is not', async () => {
    const none = await get('/docs/none');
    const html = await none.text();
    assert.deepEqual([none.status, none.headers.get('content-type')], [404, 'text/html; charset=utf-8']);
    assert.ok(html.includes('<h1>Page not found</h1>') && html.includes('href="/docs/quickstart"'));
    const again = await get('/docs/none', { headers: { 'If-None-Match': none.headers.get('etag')! } });
    assert.equal(again.status, 404);
    assert.equal((await get('/docs/none', { method: 'HEAD' })).status, 404);
    for (const path of ['/docs/none.md', '/docs/assets/none.js'])
      assert.equal((await get(path)).headers.get('content-type'), 'application/json; charset=utf-8', path);
  });

  it('not built: its addresses are not found, and the rest of the API is served', async () => {
    for (const none of [null, join(folder, 'missing')]) {
      const other = await servePages({ siteFolder: none });
      try {
        const at = (path: string) => fetch(`http://127.0.0.1:${other.port}${path}`, { redirect: 'manual' });
        for (const path of ['/docs', '/docs/', '/docs/api', '/llms.txt'])
          assert.equal((await at(path)).status, 404, path);
        assert.equal((await at('/openapi.json')).status, 200);
      } finally {
        await other.close(1_000);
      }
    }
  });

  describe('search', () => {
    let search: ReturnType<typeof makeSearch>;
    let index: string;
    before(async () => {
      const path = /data-index="([^"]+)"/.exec(await htmlOf('/docs/'))![1]!;
      index = await htmlOf(path);
      search = makeSearch(JSON.parse(index) as SearchIndex);
    });

    it(`index: is at most ${MOST_INDEX} bytes on the wire`, () => {
      const { length } = brotliCompressSync(index);
      assert.ok(length <= MOST_INDEX, `${length} bytes`);
    });

    it('finds a section whatever its number is', () => {
      const sections: SearchIndex['sections'] = Array.from({ length: 100 }, (_, number) => [0, `s${number}`, '']);
      for (const number of sections.keys()) {
        const made = makeSearch({
          pages: [['page', 'Page', 'A page.']],
          sections,
          words: `rare ${number.toString(36)}.1`,
        });
        assert.deepEqual(
          made('rare').map((found) => found.address),
          [`/docs/page#s${number}`],
        );
      }
    });

    for (const [query, address] of [
      ['quickstart', '/docs/quickstart'],
      ['verify webhook signature python', '/docs/guides/webhooks#python'],
      ['presign azure', '/docs/guides/sources#azure-blob-storage'],
      ['show_frames', '/docs/options'],
      ['idempotency-key', '/docs/guides/errors#a-client-that-retries'],
      ['NoRunner', '/docs/operating/troubleshoot#why-does-a-job-wait'],
      ['bandwidth-exceeded', '/docs/hls-rules#measured-on-segments'],
      ['runners.isolation.require', '/docs/operating/network#isolation-of-runners'],
      ['migrat ffprobe', '/docs/guides/from-ffprobe'],
      ['k8s deploy', '/docs/operating/install'],
      ['claude', '/docs/mcp'],
      ['callback', '/docs/guides/webhooks'],
      ['swagger', '/docs/guides/clients'],
      ['ffprobe zombie process', '/docs/guides/reliable-ffprobe'],
      ['stuck', '/docs/guides/reliable-ffprobe'],
      ['loudness', '/docs/faq#does-it-check-picture-and-sound'],
      ['content checks', '/docs/qc'],
      ['qc', '/docs/qc'],
      ['bulk', '/docs/batches'],
      ['many files', '/docs/faq#can-i-send-many-files-in-one-call'],
      ['first password', '/docs/faq#how-do-i-sign-in-for-the-first-time'],
      ['upload', '/docs/api-by-example#send-a-file'],
      ['revoke token', '/docs/api/auth#revokeApiToken'],
      ['cancel request', '/docs/api/probe#cancelProbe'],
      ['retry webhook', '/docs/api/webhooks#retryWebhook'],
      ['set limits of a user', '/docs/api/users#setUserLimits'],
      ['list samples', '/docs/api/probe#readSamples'],
    ] as const)
      it(`"${query}" finds ${address} among the first five`, () => {
        const found = search(query).slice(0, 5);
        assert.ok(
          found.some((one) => one.address === address || one.address.startsWith(`${address}#`)),
          JSON.stringify(found, null, 1),
        );
      });

    it('synonyms: each leads to a word of the pages', () => {
      const known = new Set((JSON.parse(index) as SearchIndex).words.split('\n').map((line) => line.split(' ')[0]!));
      const unknown = Object.entries(SYNONYMS).filter(([, word]) => !known.has(word));
      assert.deepEqual(unknown, []);
    });

    it('a query of no known word finds nothing', () => {
      assert.deepEqual([search('zzzz'), search(''), search('the')], [[], [], []]);
    });
  });
});
