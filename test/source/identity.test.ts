import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { parseSource } from '../../src/source/address/parse.ts';
import { IDENTITY_PATTERN, identityOf, markOf } from '../../src/source/http/identity.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { ask } from './ask.ts';
import { Cleanup, pattern, sendFile, startOrigin, type Handler } from './origin.ts';

describe('the identity of a file', () => {
  const NONE: [string, IncomingHttpHeaders, number | undefined][] = [
    ['no validator', {}, 5],
    ['a date alone', { 'last-modified': 'Sat, 21 Nov 2026 08:00:00 GMT' }, 5],
    ['a weak tag', { etag: 'W/"one"' }, 5],
    ['a weak tag in lower case', { etag: 'w/"one"' }, 5],
    ['a tag without quotes', { etag: 'one' }, 5],
    ['an empty tag', { etag: '""' }, 5],
    ['a tag with a blank', { etag: '"o ne"' }, 5],
    ['a tag of 2 kB', { etag: `"${'x'.repeat(2_048)}"` }, 5],
    ['two tags', { etag: '"one", "two"' }, 5],
    ['a bucket without versions', { 'x-amz-version-id': 'null' }, 5],
    ['a size that is not known', { etag: '"one"' }, undefined],
  ];
  for (const [name, headers, size] of NONE)
    it(`does not exist with ${name}`, () => assert.equal(identityOf(headers, size), undefined));

  it('differs by tag, by version, by the header of the version and by size', () => {
    const all = [
      identityOf({ etag: '"one"' }, 5),
      identityOf({ etag: '"two"' }, 5),
      identityOf({ etag: '"one"' }, 6),
      identityOf({ 'x-amz-version-id': '"one"' }, 5),
      identityOf({ 'x-goog-generation': '"one"' }, 5),
      identityOf({ etag: '"one"', 'x-amz-version-id': 'a' }, 5),
      identityOf({ etag: 'W/"one"', 'x-amz-version-id': 'a' }, 5),
    ];
    for (const one of all) assert.match(one ?? '', new RegExp(IDENTITY_PATTERN));
    assert.equal(new Set(all).size, all.length);
    assert.equal(identityOf({ etag: '"one"', date: 'now' }, 5), all[0]);
  });

  it('rests on what must be equal in each part', () => {
    const weak = { etag: 'W/"one"', 'x-amz-version-id': 'a' };
    assert.notEqual(markOf({ headers: weak }), markOf({ headers: { ...weak, 'x-amz-version-id': 'b' } }));
    assert.equal(markOf({ headers: { 'last-modified': 'then' } }), 'then');
    assert.equal(markOf({ headers: {} }), '');
  });
});

describe('the identity of a source', function () {
  this.timeout(20_000);
  const cleanup = new Cleanup();
  afterEach(() => cleanup.run());
  const body = pattern(300_000);

  async function open(handler: Handler, name = 'film.mp4'): Promise<Job> {
    const origin = cleanup.add(await startOrigin(handler));
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32', port: origin.port }] }));
    const source = parseSource(`${origin.url}/${name}`);
    return cleanup.add(proxy.open({ source, limits: { maxBytes: 1e10 }, readPlaylistsAsTheyAre: ['again'] }));
  }

  it('is known once it was read, and the same for all tools', async () => {
    const job = await open((request, response) => sendFile(body, request, response));
    assert.equal(job.identity, undefined);
    await job.prepare();
    await Promise.all(['a', 'b'].map((tool) => ask(job.address(tool))));
    assert.equal(job.identity, identityOf({ etag: '"one"' }, body.length));
  });

  it('does not exist without ranges, with a weak tag, or if the host refuses', async () => {
    const plain: Handler = (_, response) =>
      response.writeHead(200, { etag: '"one"', 'content-length': 5 }).end('whole');
    const weak: Handler = (request, response) => sendFile(body, request, response, { etag: 'W/"one"' });
    const refused: Handler = (_, response) => response.writeHead(403, { etag: '"one"' }).end();
    for (const handler of [plain, weak, refused]) {
      const job = await open(handler);
      await ask(job.address('a'));
      assert.equal(job.identity, undefined);
    }
  });

  it('does not exist if the file changed between two tools', async () => {
    let times = 0;
    const job = await open((request, response) => sendFile(body, request, response, { etag: `"${++times}"` }));
    const range = 'bytes=0-9';
    await ask(job.address('again'), { range, headers: { 'cache-control': 'no-cache' } });
    await ask(job.address('again'), { range, headers: { 'cache-control': 'no-cache' } });
    assert.equal(times, 2);
    assert.equal(job.identity, undefined);
  });

  it('does not exist for a playlist, whatever its name', async () => {
    const playlist = Buffer.from('#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\npart.ts\n#EXT-X-ENDLIST\n');
    for (const name of ['list.m3u8', 'film.mp4']) {
      const job = await open((request, response) => sendFile(playlist, request, response), name);
      await ask(job.address('a'));
      assert.equal(job.identity, undefined, name);
    }
  });

  it('does not exist if a tool read another address', async () => {
    const job = await open((request, response) => sendFile(body, request, response));
    await ask(job.address('a'));
    assert.notEqual(job.identity, undefined);
    const { host } = new URL(job.main);
    await ask(job.address('a').replace('film.mp4', `x/http/${host}/other.mp4`));
    assert.equal(job.identity, undefined);
  });
});
