/** A host is asked which file it has: by the rules of runners, and with the same answer. */
import assert from 'node:assert/strict';
import { makeGuard } from '../../src/source/address/guard.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import { askIdentity } from '../../src/source/http/ask_identity.ts';
import { trustedContext } from '../../src/source/http/connect.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { ask } from './ask.ts';
import { Cleanup, pattern, sendFile, startOrigin, type Handler, type Origin } from './origin.ts';

describe('asking a host for the identity of a file', function () {
  this.timeout(20_000);
  const cleanup = new Cleanup();
  afterEach(() => cleanup.run());
  const body = pattern(300_000);

  const connect = (allow: { cidr: string; port: number }[], timeoutMs = 2_000) => ({
    guard: makeGuard({ allow }),
    verify: true,
    context: trustedContext(undefined),
    egress: undefined,
    timeoutMs,
    alpn: ['http/1.1'],
  });
  const asked = (origin: Origin, url = `${origin.url}/film.mp4`, timeoutMs = 2_000) =>
    askIdentity(
      parseSource(url),
      connect([{ cidr: '127.0.0.1/32', port: origin.port }], timeoutMs),
      AbortSignal.timeout(timeoutMs),
    );

  it('gets what a runner gets, with one request of one byte', async () => {
    const origin = cleanup.add(await startOrigin((request, response) => sendFile(body, request, response)));
    const { identity, bytes } = await asked(origin);
    assert.deepEqual(
      origin.requests.map(({ range }) => range),
      ['bytes=0-0'],
    );
    assert.ok(bytes > 0 && bytes < 1_000, String(bytes));
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32', port: origin.port }] }));
    const job = cleanup.add(
      proxy.open({
        source: parseSource(`${origin.url}/film.mp4`),
        limits: { maxBytes: 1e10 },
        readPlaylistsAsTheyAre: [],
      }),
    );
    await ask(job.address('a'));
    assert.equal(identity, job.identity);
    assert.notEqual(identity, undefined);
  });

  it('follows redirects, and sends a password to the first host alone', async () => {
    const file = cleanup.add(await startOrigin((request, response) => sendFile(body, request, response)));
    const first = cleanup.add(
      await startOrigin((_, response) => response.writeHead(302, { location: `${file.url}/film.mp4` }).end()),
    );
    const { identity } = await askIdentity(
      parseSource(`http://me:secret@127.0.0.1:${first.port}/x.mp4`),
      connect([first, file].map(({ port }) => ({ cidr: '127.0.0.1/32', port }))),
      AbortSignal.timeout(2_000),
    );
    assert.equal(identity, (await asked(file)).identity);
    assert.match(first.requests[0]!.authorization ?? '', /^Basic /);
    assert.equal(file.requests[0]!.authorization, undefined);
  });

  it('connects to no private address, not even by a redirect', async () => {
    const inner = cleanup.add(await startOrigin((request, response) => sendFile(body, request, response)));
    const outer = cleanup.add(
      await startOrigin((_, response) => response.writeHead(302, { location: `${inner.url}/film.mp4` }).end()),
    );
    await assert.rejects(asked(outer), { name: 'SourceError', code: 'refused' });
    await assert.rejects(asked(outer, `${inner.url}/film.mp4`), { name: 'SourceError', code: 'refused' });
    assert.equal(inner.requests.length, 0);
  });

  const NONE: [string, Handler][] = [
    ['has no ranges', (_, response) => response.writeHead(200, { etag: '"one"' }).end(body)],
    ['has a weak tag', (request, response) => sendFile(body, request, response, { etag: 'W/"one"' })],
  ];
  for (const [what, handler] of NONE)
    it(`gets none from a host that ${what}`, async () => {
      const origin = cleanup.add(await startOrigin(handler));
      assert.equal((await asked(origin)).identity, undefined);
    });

  it('fails in time if the host refuses, is silent, or redirects for ever', async () => {
    const refuses = cleanup.add(await startOrigin((_, response) => response.writeHead(403).end()));
    await assert.rejects(asked(refuses), { name: 'SourceError' });
    const silent = cleanup.add(await startOrigin(() => {}));
    await assert.rejects(asked(silent, undefined, 200), { name: 'SourceError' });
    const loops = cleanup.add(
      await startOrigin((_, response) => response.writeHead(302, { location: '/film.mp4' }).end()),
    );
    await assert.rejects(asked(loops), { name: 'SourceError' });
  });
});
