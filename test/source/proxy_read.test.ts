import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy, type ProxyOptions, type SourceProxy } from '../../src/source/proxy.ts';
import { until } from '../until.ts';
import { ask } from './ask.ts';
import { assertRead, Cleanup, pattern, sendFile, startOrigin, type Handler, type Origin } from './origin.ts';
import { random } from './random.ts';

const cleanup = new Cleanup();
const body = pattern(3_000_000);

async function open(
  handler: Handler,
  options: ProxyOptions = {},
  maxBytes = 1e10,
): Promise<{ origin: Origin; proxy: SourceProxy; job: Job }> {
  const origin = cleanup.add(await startOrigin(handler));
  const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32', port: origin.port }], ...options }));
  const job = cleanup.add(
    proxy.open({
      source: parseSource(`${origin.url}/dir/file.ts?token=abc`),
      limits: { maxBytes },
      readPlaylistsAsTheyAre: ['validator'],
    }),
  );
  return { origin, proxy, job };
}

describe('source proxy: reading', function () {
  // A live playlist is fresh for a second, and an ended one is observed for longer.
  this.timeout(20_000);
  afterEach(() => cleanup.run());
  const file: Handler = (request, response) =>
    sendFile(body, request, response, {
      'content-type': 'video/mp4',
      'last-modified': 'Sat, 21 Nov 2026 08:00:00 GMT',
    });

  it('gives each tool an address with a secret and the file name', async () => {
    const { job, proxy } = await open(file);
    assert.match(
      job.address('ffprobe'),
      new RegExp(`^http://127\\.0\\.0\\.1:${proxy.port}/[0-9a-f]{32}/ffprobe/file\\.ts$`),
    );
    const other = proxy.open({ source: parseSource('https://example.com/'), limits: { maxBytes: 1 } });
    assert.match(other.address('mediainfo'), /\/mediainfo\/source$/);
    assert.notEqual(other.address('x').split('/')[3], job.address('x').split('/')[3]);
    other.close();
  });

  it('passes on the complete file and its headers', async () => {
    const { job, origin } = await open(file);
    assert.deepEqual(await job.prepare(), { ok: true, size: body.length, type: 'video/mp4' });
    const reply = await ask(job.address('a'));
    assert.equal(reply.status, 200);
    assert.ok(reply.body.equals(body));
    assert.equal(reply.headers['content-length'], String(body.length));
    assert.equal(reply.headers['accept-ranges'], 'bytes');
    assert.equal(reply.headers['content-type'], 'video/mp4');
    assert.equal(reply.headers['last-modified'], 'Sat, 21 Nov 2026 08:00:00 GMT');
    assert.equal(origin.requests[0]!.path, '/dir/file.ts?token=abc');
    assert.equal(origin.requests[0]!.headers['accept-encoding'], 'identity');
  });

  it('serves any range exactly', async () => {
    const { job } = await open(file);
    const next = random(3);
    for (let i = 0; i < 60; i++) {
      const from = Math.floor(next() * body.length);
      const to = Math.min(body.length - 1, from + Math.floor(next() ** 3 * 700_000));
      const reply = await ask(job.address('a'), { range: `bytes=${from}-${to}` });
      assert.equal(reply.status, 206);
      assert.equal(reply.headers['content-range'], `bytes ${from}-${to}/${body.length}`);
      assert.ok(reply.body.equals(body.subarray(from, to + 1)), `${from}-${to}`);
    }
    const tail = await ask(job.address('a'), { range: 'bytes=-100' });
    assert.ok(tail.body.equals(body.subarray(-100)));
    const rest = await ask(job.address('a'), { range: 'bytes=2999990-' });
    assert.ok(rest.body.equals(body.subarray(2_999_990)));
    const beyond = await ask(job.address('a'), { range: `bytes=${body.length}-` });
    assert.equal(beyond.status, 416);
    assert.equal(beyond.headers['content-range'], `bytes */${body.length}`);
  });

  it('reads the origin once for both tools, over persistent connections', async () => {
    const { job, origin } = await open(file, { maxPerHost: 2 });
    const replies = await Promise.all(['a', 'b', 'c'].map((tool) => ask(job.address(tool))));
    for (const reply of replies) assert.ok(reply.body.equals(body));
    const stats = job.stats();
    assertRead({ ...stats, bytes: stats.ioUsage }, body.length);
    assert.equal(stats.requests, origin.requests.length);
    const bytes = origin.requests.reduce((sum, { range }) => sum + rangeLength(range!), 0);
    assert.equal(bytes, body.length);
    assert.ok(origin.connections <= 2, `${origin.connections} connections`);
    assert.ok(origin.requests.length > origin.connections, `${origin.requests.length} requests`);
  });

  it('counts each byte to the tool that first asked for it', async () => {
    const { job } = await open(file, { nearMs: 60_000 });
    assert.equal((await ask(job.address('a'), { range: 'bytes=0-99999' })).status, 206);
    assert.equal((await ask(job.address('b'), { range: 'bytes=50000-99999' })).status, 206);
    const shared = job.stats().origin;
    assert.deepEqual([shared['b']!.requests, shared['b']!.connections, shared['b']!.bytes], [0, 0, 0]);
    assert.equal((await ask(job.address('b'), { range: 'bytes=2900000-2999999' })).status, 206);
    const { origin, ioUsage, requests, connections } = job.stats();
    assert.equal(origin['b']!.requests, 1);
    assertRead(origin['b']!, 3_000_000 - 44 * 65_536);
    for (const [key, whole] of Object.entries({ bytes: ioUsage, requests, connections }))
      assert.equal(
        Object.values(origin).reduce((sum, use) => sum + use[key as 'bytes'], 0),
        whole,
        key,
      );
  });

  it('tells how long each tool waited for the origin, and counts waits that overlap once', async () => {
    const held = Promise.withResolvers<void>();
    const { job } = await open(async (...exchange) => {
      if (exchange[0].headers.range !== 'bytes=0-524287') await held.promise;
      file(...exchange);
    });
    await ask(job.address('a'), { range: 'bytes=0-9' });
    const before = job.stats().origin;
    const begun = performance.now();
    const late = Promise.all(
      ['bytes=1000000-1000009', 'bytes=2000000-2000009'].map((range) => ask(job.address('b'), { range })),
    );
    await until('it has waited for 50 ms', () => job.stats().origin['b']!.ms >= 50);
    held.resolve();
    await late;
    const { a, b } = job.stats().origin;
    assert.ok(a!.ms - before['a']!.ms < b!.ms, `${a!.ms} ms`);
    assert.ok(b!.ms <= performance.now() - begun, `${b!.ms} ms`);
  });

  it('counts the wait of each tool for the first bytes of a file', async () => {
    const held = Promise.withResolvers<void>();
    const { job } = await open(async (_request, response) => {
      response.writeHead(200).write('x');
      await held.promise;
      response.end('y'.repeat(100));
    });
    const both = Promise.all(['a', 'b'].map((tool) => ask(job.address(tool))));
    await until('both have waited for 50 ms', () =>
      ['a', 'b'].every((tool) => (job.stats().origin[tool]?.ms ?? 0) >= 50),
    );
    held.resolve();
    const lengths = (await both).map((answer) => answer.body.length);
    assert.deepEqual(lengths, [101, 101]);
  });

  it('reads nothing ahead from a near origin, and a window ahead from a far one', async () => {
    const asked = async (nearMs: number): Promise<string[]> => {
      const { job, origin } = await open(file, { nearMs });
      for (const range of ['bytes=0-1000000', 'bytes=2900000-2999999'])
        assert.equal((await ask(job.address('a'), { range })).status, 206);
      return origin.requests.map(({ range }) => range!);
    };
    const near = await asked(60_000);
    assert.deepEqual(near, ['bytes=0-524287', 'bytes=524288-1048575', 'bytes=2883584-2999999']);
    const held = Promise.withResolvers<void>();
    const { job, origin } = await open(
      async (...exchange) => {
        // All but the first one, whatever their order.
        if (!exchange[0].headers.range!.startsWith('bytes=0-')) await held.promise;
        file(...exchange);
      },
      { nearMs: 0 },
    );
    const answer = ask(job.address('a'), { range: 'bytes=0-2899999' });
    // In as many requests as suit the line, over as many connections, in any order.
    const askedTo = (): number =>
      origin.requests
        .map(({ range }) =>
          range!
            .match(/^bytes=(\d+)-(\d+)$/)!
            .slice(1)
            .map(Number),
        )
        .toSorted(([a], [b]) => a! - b!)
        .reduce((end, [from, last]) => (from === end ? last! + 1 : end), 0);
    await until('all of the window is asked for before any of it has come', () => askedTo() === 2_949_120);
    held.resolve();
    assert.equal((await answer).status, 206);
  });

  it('answers the many small reads of a tool that skips through a file with few requests', async () => {
    for (const nearMs of [0, 60_000]) {
      const { job, origin } = await open(file, { nearMs });
      for (let from = 0; from < body.length; from += 20_000) {
        const asked = get(job.address('a'), { agent: false, headers: { range: `bytes=${from}-` } });
        const [response] = (await once(asked, 'response')) as [IncomingMessage];
        const [piece] = (await once(response, 'data')) as [Buffer];
        assert.ok(piece.equals(body.subarray(from, from + piece.length)));
        asked.on('error', () => {});
        response.destroy();
      }
      const { ioUsage, requests } = job.stats();
      assertRead({ bytes: ioUsage, requests }, body.length);
      // The head has half a megabyte, and each of the others a quarter at least.
      assert.ok(
        origin.requests.length <= 1 + Math.ceil((body.length - 524_288) / 262_144),
        `${origin.requests.length}`,
      );
    }
  });

  it('reuses the connections of an earlier job', async () => {
    const { job, origin, proxy } = await open(file, { nearMs: 60_000 });
    await ask(job.address('a'));
    const before = origin.connections;
    const again = cleanup.add(
      proxy.open({ source: parseSource(`${origin.url}/other.mp4`), limits: { maxBytes: 1e10 } }),
    );
    assert.ok((await ask(again.address('a'))).body.equals(body));
    assert.equal(origin.connections, before);
    assert.equal(again.stats().connections, 0);
  });

  it('keeps no connection of a job that has credentials', async () => {
    const { origin, proxy } = await open(file, { nearMs: 60_000 });
    const read = async (url: string): Promise<number> => {
      const job = proxy.open({ source: parseSource(url), limits: { maxBytes: 1e10 } });
      assert.ok((await ask(job.address('a'))).body.equals(body));
      const { connections } = job.stats();
      job.close();
      return connections;
    };
    const named = `${origin.url.replace('://', '://user:word@')}/a`;
    assert.ok((await read(named)) > 0);
    assert.ok((await read(named)) > 0, 'not for the same source');
    assert.ok((await read(`${origin.url}/a`)) > 0, 'not for another');
    assert.equal(await read(`${origin.url}/a`), 0, 'without credentials they are kept');
    assert.ok((await read(named)) > 0, 'none of another job either');
  });

  it('does not share connections with a job whose guard decides differently', async () => {
    const { job, origin, proxy } = await open(file, { allow: [] });
    job.close();
    const allowed = cleanup.add(
      proxy.open({
        source: parseSource(`${origin.url}/a`),
        allow: [{ cidr: '127.0.0.0/8' }],
        limits: { maxBytes: 1e10 },
      }),
    );
    assert.equal((await ask(allowed.address('a'), { range: 'bytes=0-9' })).status, 206);
    const not = cleanup.add(proxy.open({ source: parseSource(`${origin.url}/a`), limits: { maxBytes: 1e10 } }));
    assert.equal((await ask(not.address('a'))).status, 403);
  });

  it('caches no more pages than allowed, and fetches evicted ones again', async () => {
    const { job } = await open(file, { cacheBytes: 1 << 20 });
    assert.ok((await ask(job.address('a'))).body.equals(body));
    assert.ok((await ask(job.address('b'))).body.equals(body));
    assert.ok(job.stats().ioUsage > body.length);
  });

  it('fetches each page once for a tool that reads on, although the cache is small', async () => {
    const { job } = await open(file, { cacheBytes: 1 << 20, nearMs: 0 });
    assert.ok((await ask(job.address('a'))).body.equals(body));
    const { ioUsage, requests } = job.stats();
    assertRead({ bytes: ioUsage, requests }, body.length);
  });

  it('reads a live playlist again, and an ended one once', async () => {
    let version = 0;
    const { job, origin } = await open((request, response, path) => {
      const end = path.includes('ended') ? '#EXT-X-ENDLIST\n' : '';
      sendFile(
        Buffer.from(`#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:${++version}\n#EXTINF:1,\na.ts\n${end}`),
        request,
        response,
        { etag: `"${version}"` },
      );
    });
    const live = job.address('a').replace('file.ts', 'live');
    const first = await ask(live);
    assert.equal((await ask(live)).body.toString(), first.body.toString(), 'both tools see one');
    await until('a newer playlist is served', async () => (await ask(live)).body.toString() !== first.body.toString());
    const ended = job.address('a').replace('file.ts', 'ended');
    await ask(ended);
    const asked = origin.requests.length;
    await new Promise((resolve) => setTimeout(resolve, 1100));
    await ask(ended);
    await ask(ended.replace('/a/', '/b/'));
    assert.equal(origin.requests.length, asked);
  });

  it('keeps the last of the ended playlists, up to 16 MB', async () => {
    const long = Buffer.from(`#EXTM3U\n#EXT-X-ENDLIST\n${'#'.repeat(5 << 20)}\n`);
    const packed = gzipSync(long);
    const { job } = await open((request, response) =>
      sendFile(packed, request, response, {
        'content-type': 'application/vnd.apple.mpegurl',
        'content-encoding': 'gzip',
      }),
    );
    const last = [2, 3, 4].map((n) => `a ${n}.m3u8`);
    for (const n of [0, 1, 2, 3, 4, 3]) {
      const { body: got } = await ask(job.address('a').replace('file.ts', `${n}.m3u8`));
      assert.ok(got.equals(long), String(n));
    }
    assert.deepEqual([...job.playlists.keys()], last);
    assert.ok([...job.playlists.values()].every((kept) => kept.equals(long)));
    await ask(job.address('a').replace('file.ts', '0.m3u8'));
    assert.deepEqual([...job.playlists.keys()], [...last.slice(1), 'a 0.m3u8']);
  });

  it('answers HEAD with the result of a GET', async () => {
    const { job, origin } = await open(file);
    const reply = await ask(job.address('a'), { method: 'HEAD' });
    assert.equal(reply.status, 200);
    assert.equal(reply.headers['content-length'], String(body.length));
    assert.equal(reply.body.length, 0);
    assert.deepEqual(new Set(origin.requests.map(({ method }) => method)), new Set(['GET']));
  });

  it('refuses other methods, secrets and paths', async () => {
    const { job, proxy } = await open(file);
    assert.equal((await ask(job.address('a'), { method: 'POST' })).status, 405);
    assert.equal((await ask(`http://127.0.0.1:${proxy.port}/`)).status, 404);
    assert.equal((await ask(`http://127.0.0.1:${proxy.port}/${'0'.repeat(32)}/a/file.ts`)).status, 404);
    const address = job.address('a');
    job.close();
    assert.equal((await ask(address)).status, 404);
  });

  it('serves an empty file as empty', async () => {
    for (const handler of [
      ((request, response) => sendFile(Buffer.alloc(0), request, response)) as Handler,
      ((_request, response) => response.writeHead(200, { 'content-length': 0 }).end()) as Handler,
    ]) {
      const { job } = await open(handler);
      const reply = await ask(job.address('a'));
      assert.equal(reply.status, 200);
      assert.equal(reply.body.length, 0);
      assert.equal((await ask(job.address('b'), { range: 'bytes=0-' })).body.length, 0);
    }
  });

  it('reads an origin without ranges once for both tools, and offers no ranges', async () => {
    const { job, origin } = await open((_request, response) =>
      response.writeHead(200, { 'content-length': body.length }).end(body),
    );
    const replies = await Promise.all(['a', 'b'].map((tool) => ask(job.address(tool), { range: 'bytes=0-' })));
    for (const reply of replies) {
      assert.equal(reply.status, 200);
      assert.equal(reply.headers['accept-ranges'], undefined);
      assert.ok(reply.body.equals(body));
    }
    assert.equal(origin.requests.length, 1);
    assertRead({ bytes: job.stats().ioUsage, requests: 1 }, body.length);
  });

  it('restarts, a limited number of times, if such an origin is read past its cached bytes', async () => {
    const { job } = await open(
      (_request, response) => response.writeHead(200, { 'content-length': body.length }).end(body),
      { cacheBytes: 1 << 20 },
    );
    for (let i = 0; i < 5; i++) assert.ok((await ask(job.address('a'))).body.equals(body), `reading ${i}`);
    assert.equal((await ask(job.address('a'))).status, 502);
  });

  /** Connections to an origin without ranges that sends for ever. */
  async function endless(options: ProxyOptions): Promise<{ job: Job; used(): number; leave(): Promise<void> }> {
    let used = 0;
    const { job } = await open((_request, response) => {
      used++;
      response.on('close', () => used--).writeHead(200);
      const more = (): void => void (response.writable && response.write(Buffer.alloc(1 << 18), more));
      more();
    }, options);
    /** A tool that has read more than the cache takes. */
    const leave = async (): Promise<void> => {
      const asked = get(job.address('validator'), { agent: false, headers: { 'cache-control': 'no-cache' } });
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      let read = 0;
      response.on('error', () => {}).on('data', (bytes: Buffer) => (read += bytes.length));
      await until('bytes beyond the cache', () => read > 3 << 20);
      response.destroy();
    };
    return { job, used: () => used, leave };
  }

  it('closes the connection of such an origin once nobody can read what it sends', async () => {
    const { used, leave } = await endless({ cacheBytes: 1 << 20 });
    await leave();
    await until('no connection', () => used() === 0);
  });

  it('closes all connections of such an origin with the job, also of an address that was fetched again', async () => {
    const { job, used, leave } = await endless({});
    for (let i = 0; i < 3; i++) await leave();
    assert.equal(used(), 3);
    job.close();
    await until('no connection', () => used() === 0);
  });

  it('passes on a body of unknown length', async () => {
    const { job } = await open((_request, response) => {
      response.writeHead(200);
      for (let at = 0; at < body.length; at += 100_000) response.write(body.subarray(at, at + 100_000));
      response.end();
    });
    const reply = await ask(job.address('a'));
    assert.equal(reply.headers['content-length'], undefined);
    assert.ok(reply.body.equals(body));
    assert.equal(reply.cut, false);
  });

  it('passes on an encoded body unchanged, with its encoding', async () => {
    const { job } = await open((request, response) =>
      sendFile(body, request, response, { 'content-encoding': 'gzip' }),
    );
    const reply = await ask(job.address('a'));
    assert.equal(reply.headers['content-encoding'], 'gzip');
    assert.ok(reply.body.equals(body));
  });

  it('resumes after a connection broke in the middle', async () => {
    let broken = 0;
    const { job } = await open((request, response) => {
      const from = Number(/\d+/.exec(request.headers.range!)![0]);
      if (from > 0 && broken < 3) {
        broken++;
        const [, a = '0', b = '0'] = /(\d+)-(\d+)/.exec(request.headers.range!)!;
        response.writeHead(206, {
          'content-length': Number(b) - Number(a) + 1,
          'content-range': `bytes ${a}-${b}/${body.length}`,
          etag: '"one"',
        });
        response.write(body.subarray(from, from + 10_000), () => response.destroy());
      } else {
        sendFile(body, request, response);
      }
    });
    assert.ok((await ask(job.address('a'))).body.equals(body));
    assert.equal(broken, 3);
    assert.equal(job.stats().failure, undefined);
  });

  it('repeats a request if a persistent connection turns out to be closed', async () => {
    const used = new Set<unknown>();
    let refused = 0;
    const { job, origin, proxy } = await open((request, response) => {
      if (used.has(request.socket)) {
        refused++;
        request.socket.destroy();
        return;
      }
      used.add(request.socket);
      sendFile(body, request, response);
    });
    assert.ok((await ask(job.address('a'))).body.equals(body));
    const again = cleanup.add(proxy.open({ source: parseSource(`${origin.url}/b`), limits: { maxBytes: 1e10 } }));
    refused = 0;
    assert.equal((await again.prepare()).ok, true);
    assert.ok(refused > 0);
    assert.equal(job.stats().failure, undefined);
  });

  it('stops reading from the origin when the tool has disconnected', async () => {
    const big = 200_000_000;
    const { job, origin } = await open((request, response) => {
      const [, a = '0', b = '0'] = /(\d+)-(\d+)/.exec(request.headers.range!)!;
      const length = Number(b) - Number(a) + 1;
      response
        .writeHead(206, { 'content-length': length, 'content-range': `bytes ${a}-${b}/${big}` })
        .end(Buffer.alloc(length));
    });
    const reply = await ask(job.address('a'), { range: 'bytes=0-99999' });
    assert.equal(reply.body.length, 100_000);
    await until('the origin is quiet', async () => {
      const before = origin.requests.length;
      await new Promise((resolve) => setTimeout(resolve, 50));
      return before === origin.requests.length;
    });
    assert.ok(job.stats().ioUsage < 1_500_000, `${job.stats().ioUsage} bytes read for 100,000`);
  });
});

function rangeLength(range: string): number {
  const [, from = '0', to = '0'] = /(\d+)-(\d+)/.exec(range)!;
  return Math.min(Number(to), body.length - 1) - Number(from) + 1;
}
