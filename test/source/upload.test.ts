import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { displaySource } from '../../src/source/address/redact.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import { uploadSource } from '../../src/source/protocols/upload/upload.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { CHUNK_BYTES, readTokenOf } from '../../src/source/upload/chunks.ts';
import type { UploadPlace } from '../../src/source/upload/place.ts';
import { serveUploads, type UploadServer } from '../../src/source/upload/serve.ts';
import { openSpool, type Spool } from '../../src/source/upload/spool.ts';
import { ask } from './ask.ts';
import { Cleanup, pattern, startOrigin } from './origin.ts';

const cleanup = new Cleanup();
const content = pattern(5 * CHUNK_BYTES + 1_000);

async function* whole(bytes: Buffer): AsyncGenerator<Buffer> {
  yield await Promise.resolve(bytes);
}

describe('an uploaded file as a source', function () {
  this.timeout(60_000);
  let folder: string;
  let spool: Spool;
  let server: UploadServer;
  let place: UploadPlace;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'spool-'));
    spool = await openSpool({ folder, maxBytes: 1e9 });
    server = await serveUploads(spool, { host: '127.0.0.1', port: 0 });
    const { id, key, size } = await spool.reserve(1).receive(whole(content), { maxBytes: 1e9, hashed: false });
    place = { host: '127.0.0.1', port: server.port, id, key, size };
  });
  afterEach(async () => {
    await cleanup.run();
    await server.close();
    await spool.close();
    await rm(folder, { recursive: true, force: true });
  });

  // No exception: the guard refuses this address for any other source.
  const open = async (at = place, name = 'film.mp4'): Promise<Job> => {
    const proxy = cleanup.add(await startProxy());
    return cleanup.add(proxy.open({ source: uploadSource(name, at), limits: { maxBytes: 1e10 } }));
  };

  it('is read whole, and in parts across its chunks', async () => {
    const job = await open();
    assert.deepEqual(await job.prepare(), { ok: true, size: content.length, type: '' });
    assert.ok((await ask(job.address('a'))).body.equals(content));
    for (const [from, to] of [
      [0, 1],
      [CHUNK_BYTES - 1, CHUNK_BYTES + 1],
      [100, 3 * CHUNK_BYTES],
      [content.length - 10, content.length],
    ] as const) {
      const { status, body } = await ask(job.address('a'), { range: `bytes=${from}-${to - 1}` });
      assert.equal(status, 206);
      assert.ok(body.equals(content.subarray(from, to)), `${from} to ${to}`);
    }
    assert.equal(job.stats().failure, undefined);
  });

  it('is told to be lost, if the server that held it is gone or has another file there', async () => {
    const gone = await open({ ...place, id: 'f'.repeat(32) });
    await gone.prepare();
    assert.equal(gone.stats().failure?.reason, 'upload-lost');
    await server.close();
    const away = await open();
    await away.prepare();
    assert.equal(away.stats().failure?.reason, 'upload-lost');
    assert.match(away.stats().failure!.message, /send it again/);
  });

  it('yields nothing of another server, whatever that answers', async () => {
    const other = cleanup.add(
      await startOrigin((request, response) => {
        const [from = 0, to = 0] = /(\d+)-(\d+)/
          .exec(request.headers.range ?? '')!
          .slice(1)
          .map(Number);
        response.writeHead(206, { 'content-length': to - from + 1 }).end(Buffer.alloc(to - from + 1, 'inside'));
      }),
    );
    const job = await open({ ...place, port: other.port });
    const answered = await ask(job.address('a')).catch(() => undefined);
    assert.ok(answered === undefined || !answered.body.includes('inside'));
    assert.equal(job.stats().failure?.code, 'cut');
  });

  it('is served with its token alone, as stored, and in ranges within it', async () => {
    const get = (path: string, token: string, range = 'bytes=0-9', method = 'GET'): Promise<Response> =>
      fetch(`http://127.0.0.1:${server.port}${path}`, { method, headers: { authorization: `Bearer ${token}`, range } });
    const token = readTokenOf(place.key);
    const own = await get(`/${place.id}`, token);
    assert.equal(own.status, 206);
    assert.ok(!Buffer.from(await own.arrayBuffer()).equals(content.subarray(0, 10)));
    for (const [path, given, range, method] of [
      [`/${place.id}`, readTokenOf(Buffer.alloc(32).toString('base64url'))],
      [`/${place.id}`, 'x'],
      [`/${place.id}/../../etc/passwd`, token],
      ['/', token],
      [`/${place.id}`, token, 'bytes=-5'],
      [`/${place.id}`, token, 'bytes=0-9', 'POST'],
    ] as const) {
      const answered = await get(path, given, range, method);
      assert.equal(answered.status, 404, `${path} ${range}`);
      assert.equal(await answered.text(), '');
    }
    assert.equal((await get(`/${place.id}`, token, 'bytes=0-999999999')).status, 416);
  });

  it('has a name without a path and without control characters, and cannot be named by an address', async () => {
    for (const [name, shown] of [
      ['film.mp4', 'upload:///film.mp4'],
      ['../../etc/passwd', 'upload:///passwd'],
      ['C:\\a\\b.mov', 'upload:///b.mov'],
      ['a\r\nb\0.mp4', 'upload:///ab.mp4'],
      ['..', 'upload:///file'],
      ['', 'upload:///file'],
      ['a b?c#d.mp4', 'upload:///a%20b%3Fc%23d.mp4'],
    ] as const)
      assert.equal(displaySource(uploadSource(name, place)), shown);
    assert.throws(() => parseSource('upload:///film.mp4'), /must begin with one of/);
    const job = await open(place, 'a b?.mp4');
    assert.ok((await ask(job.address('a'))).body.equals(content));
    assert.ok(!job.redact(job.address('a')).includes('127.0.0.1'));
  });

  it('has no key in the output of a tool', async () => {
    const job = await open();
    assert.equal(job.redact(`${place.key} ${readTokenOf(place.key)}`), 'REDACTED REDACTED');
  });
});
