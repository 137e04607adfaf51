import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { ask } from './ask.ts';
import { Cleanup, startOrigin, type Handler } from './origin.ts';

const cleanup = new Cleanup();
const slow = { code: 'cut', cause: 'slow', reason: 'slow', message: 'the source is too slow' };

describe('slow sources', function () {
  this.timeout(60_000);
  afterEach(() => cleanup.run());

  async function open(handler: Handler, name: string, pace = { minBytes: 16_384, windowMs: 1_000 }): Promise<Job> {
    const origin = cleanup.add(await startOrigin(handler));
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32' }], pace, cacheBytes: 1 << 20 }));
    return cleanup.add(
      proxy.open({ source: parseSource(`${origin.url}/${name}`), limits: { maxBytes: 1e9 }, live: ['ffprobe'] }),
    );
  }
  /** Sends a byte every 20 ms, so that no idle timeout fires. */
  const trickle: Handler = (request, response) => {
    const ranged = request.headers.range !== undefined;
    response.writeHead(ranged ? 206 : 200, {
      'content-length': 1_000_000,
      ...(ranged ? { 'content-range': 'bytes 0-999999/1000000' } : {}),
    });
    const timer = setInterval(() => response.write('x'), 20);
    response.on('close', () => clearInterval(timer));
  };

  it('a trickling file ends with an error that says so, for every tool that reads it', async () => {
    const job = await open(trickle, 'a.mp4');
    const replies = await Promise.all(
      ['ffprobe', 'mediainfo'].map((tool) => ask(job.address(tool), { deadlineMs: 30_000 })),
    );
    assert.ok(replies.every(({ status, cut }) => status !== 200 || cut));
    assert.deepEqual(job.stats().failures, { ffprobe: slow, mediainfo: slow });
    assert.deepEqual(job.stats().failure, slow);
  });

  it('a body without ranges ends the same way', async () => {
    const job = await open((_request, response) => {
      response.writeHead(200, { 'content-type': 'video/mp2t' });
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    }, 'a.ts');
    const { status, cut } = await ask(job.address('ffprobe'), { deadlineMs: 30_000 });
    assert.ok(status !== 200 || cut);
    assert.deepEqual(job.stats().failures['ffprobe'], slow);
  });

  it('parts of a playlist count like the source itself', async () => {
    const job = await open((request, response, path) => {
      if (path.endsWith('.m3u8')) response.writeHead(200).end('#EXTM3U\n#EXTINF:6,\na.ts\n#EXT-X-ENDLIST\n');
      else trickle(request, response, path);
    }, 'list.m3u8');
    await ask(job.address('ffprobe'));
    await ask(job.address('ffprobe').replace('list.m3u8', 'a.ts'), { deadlineMs: 30_000 });
    assert.deepEqual(job.stats().failures['ffprobe'], slow);
    // The next read fails at once, because the source was abandoned.
    assert.equal(
      (await ask(job.address('ffprobe').replace('list.m3u8', 'b.ts'))).body.toString(),
      'the source is too slow',
    );
  });

  it('a small file that is complete in time is read', async () => {
    const job = await open(
      (_request, response) => {
        response.writeHead(200, { 'content-length': 10 });
        response.write('01234');
        setTimeout(() => response.end('56789'), 200);
      },
      'a.txt',
      { minBytes: 16_384, windowMs: 10_000 },
    );
    assert.equal((await ask(job.address('ffprobe'))).body.toString(), '0123456789');
    assert.equal(job.stats().failure, undefined);
  });

  it('time in which no tool waits for the source does not count', async () => {
    const job = await open(
      (_request, response) => void response.writeHead(200, { 'content-length': 10 }).end('0123456789'),
      'a.txt',
      { minBytes: 16_384, windowMs: 400 },
    );
    await ask(job.address('ffprobe'));
    await delay(1_000);
    assert.equal((await ask(job.address('mediainfo'))).status, 200);
    assert.equal(job.stats().failure, undefined);
  });

  it('any pace is accepted without a minimum', async () => {
    const job = await open(
      (_request, response) => {
        response.writeHead(200, { 'content-length': 20 });
        let sent = 0;
        const timer = setInterval(
          () => (sent++, response.write('x'), sent === 20 && (clearInterval(timer), response.end())),
          60,
        );
      },
      'a.txt',
      { minBytes: 0, windowMs: 300 },
    );
    assert.equal((await ask(job.address('ffprobe'))).body.length, 20);
  });
});
