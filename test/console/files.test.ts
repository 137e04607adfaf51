/** The console's files, as the API serves them. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleConsole } from '../../images/console_bundle.ts';
import { writePlain } from '../../images/packed.ts';
import type { HttpServer } from '../../src/service/api/http/http_server.ts';
import { servePages } from '../api/serve_pages.ts';
import { oncePerRun } from '../once_per_run.ts';

const MOST_PACKED = 150_000;
const MOST_CHART = 30_000;

const serve = (consoleFolder: string | null): Promise<HttpServer> => servePages({ consoleFolder });

describe('console: its files', function () {
  this.timeout(60_000);
  let folder: string;
  let server: HttpServer;
  const get = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { redirect: 'manual', ...init });

  before(async () => {
    folder = await oncePerRun('console', bundleConsole);
    server = await serve(folder);
  });
  after(() => server.close(1_000));

  it('bundle: the same sources make the same bytes', async () => {
    const again = await mkdtemp(join(tmpdir(), 'console-'));
    try {
      await bundleConsole(again, writePlain);
      const names = await readdir(again, { recursive: true });
      const packed = (await readdir(folder, { recursive: true })).filter((name) => !/\.(?:br|gz)$/.test(name));
      assert.deepEqual(names.sort(), packed.sort());
      for (const name of names.filter((one) => one.includes('.')))
        assert.ok((await readFile(join(again, name))).equals(await readFile(join(folder, name))), name);
    } finally {
      await rm(again, { recursive: true, force: true });
    }
  });

  it('bundle: without the library of charts it is at most 150 kB compressed, and that one 30 kB', async () => {
    const packed = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.gz'));
    const sizes = await Promise.all(packed.map(async (name) => (await readFile(join(folder, name))).length));
    const chart = sizes[packed.findIndex((name) => /\bchart-/.test(name))]!;
    const sum = sizes.reduce((a, b) => a + b, 0) - chart;
    assert.ok(packed.length >= 5);
    assert.ok(sum <= MOST_PACKED && chart <= MOST_CHART, `${sum} and ${chart} bytes`);
  });

  it('bundle: the page does not load the library of charts before a chart is shown', async () => {
    const html = await (await get('/app/')).text();
    assert.doesNotMatch(html, /chart-/);
    const [main] = (await readdir(join(folder, 'assets'))).filter((name) => /^main-.*\.js$/.test(name));
    assert.doesNotMatch(await readFile(join(folder, 'assets', main!), 'utf8'), /u-cursor-x/);
  });

  it('page: has no inline script or style, and names only assets of this server', async () => {
    const html = await (await get('/app/')).text();
    assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=/i);
    const addresses = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address!);
    assert.ok(addresses.length >= 3);
    for (const address of addresses) assert.match(address, /^\/(app\/assets\/[\w.-]+|docs\/)$/);
  });

  it('page: every address below /app/ answers with it, under a strict policy, checked again each time', async () => {
    for (const path of ['/app/', '/app/requests', '/app/requests/7?page=2', '/app/no/such/page']) {
      const response = await get(path);
      assert.deepEqual(
        [response.status, response.headers.get('content-type')],
        [200, 'text/html; charset=utf-8'],
        path,
      );
      assert.equal(
        response.headers.get('content-security-policy'),
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
          "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      );
      const wanted = ['no-cache', 'nosniff', 'DENY', 'no-referrer', 'same-origin'];
      const names = ['cache-control', 'x-content-type-options', 'x-frame-options', 'referrer-policy'];
      assert.deepEqual(
        [...names, 'cross-origin-opener-policy'].map((name) => response.headers.get(name)),
        wanted,
      );
    }
    assert.equal((await get('/app/', { method: 'POST' })).status, 405);
  });

  it('assets: are kept for ever, packed where that is taken, and nothing beside them is served', async () => {
    const html = await (await get('/app/')).text();
    for (const [, address] of html.matchAll(/(?:src|href)="(\/app\/assets[^"]+)"/g)) {
      const plain = await get(address!, { headers: { 'Accept-Encoding': 'identity' } });
      assert.equal(plain.status, 200, address);
      assert.equal(plain.headers.get('cache-control'), 'public, max-age=31536000, immutable');
      const body = await plain.text();
      for (const encoding of ['br', 'gzip']) {
        const packed = await get(address!, { headers: { 'Accept-Encoding': encoding } });
        assert.deepEqual([packed.headers.get('content-encoding'), await packed.text()], [encoding, body]);
      }
    }
    for (const path of ['none.js', 'index.html', '..%2findex.html', 'main.js.gz'])
      assert.equal((await get(`/app/assets/${path}`)).status, 404, path);
  });

  it('redirects: the root, and the links of mails', async () => {
    for (const [from, to] of [
      ['/', '/app/'],
      ['/app', '/app/'],
      ['/verify', '/app/verify'],
      ['/reset', '/app/reset'],
    ] as const) {
      const response = await get(from);
      assert.deepEqual([response.status, response.headers.get('location')], [302, to], from);
    }
  });

  it('switched off, or not bundled: its addresses are not found, and the rest of the API is served', async () => {
    for (const none of [null, join(folder, 'missing')]) {
      const other = await serve(none);
      try {
        for (const path of ['/', '/app/', '/app/requests', '/verify', '/app/assets/main.js'])
          assert.equal((await fetch(`http://127.0.0.1:${other.port}${path}`)).status, 404, path);
        assert.equal((await fetch(`http://127.0.0.1:${other.port}/openapi.json`)).status, 200);
      } finally {
        await other.close(1_000);
      }
    }
  });
});
