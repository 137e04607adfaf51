import assert from 'node:assert/strict';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy, type Failure, type ProxyOptions } from '../../src/source/proxy.ts';
import { gzipSync } from 'node:zlib';
import { until } from '../until.ts';
import { ask } from './ask.ts';
import { makeCertificate } from './certificate.ts';
import { assertRead, Cleanup, pattern, sendFile, startOrigin, TLS_RECORD, type Handler } from './origin.ts';
import { random } from './random.ts';

const cleanup = new Cleanup();
const body = pattern(2_000_000);
const quick: ProxyOptions = {
  allow: [{ cidr: '127.0.0.0/8' }],
  connectTimeoutMs: 1_500,
  headersTimeoutMs: 1_500,
  idleTimeoutMs: 1_500,
};

async function openUrl(
  url: string,
  options: ProxyOptions = {},
  maxBytes = 1e10,
  verify?: Record<string, boolean>,
): Promise<Job> {
  const proxy = cleanup.add(await startProxy({ ...quick, ...options }));
  return cleanup.add(
    proxy.open({
      source: parseSource(url),
      limits: { maxBytes },
      ...(verify === undefined ? {} : { tls: { verify } }),
    }),
  );
}
async function open(handler: Handler, options: ProxyOptions = {}, maxBytes = 1e10): Promise<Job> {
  return openUrl(`${cleanup.add(await startOrigin(handler)).url}/a.ts?sig=verysecretvalue`, options, maxBytes);
}
/** A TCP server that does not speak HTTP. */
async function raw(listener: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    listener(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanup.add({
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        for (const socket of sockets) socket.destroy();
      }),
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function fails(job: Job, failure: Partial<Failure>, status: number): Promise<void> {
  const prepared = await job.prepare();
  assert.ok(!prepared.ok, 'prepare succeeded');
  const reply = await ask(job.address('a'));
  assert.equal(reply.status, status);
  const known = job.stats().failure!;
  for (const [name, value] of Object.entries(failure)) assert.equal(known[name as keyof Failure], value, name);
  assert.deepEqual(job.stats().failures['a'], known);
  assert.equal(reply.body.toString(), known.message);
  assert.ok(!reply.body.includes('verysecret'));
}

const part = (from: number, to: number, size: number | string): Record<string, string | number> => ({
  'content-length': to - from + 1,
  'content-range': `bytes ${from}-${to}/${size}`,
});

describe('source proxy: failures', function () {
  this.timeout(20_000);
  afterEach(() => cleanup.run());

  it('unknown name', async () => {
    await fails(
      await openUrl('http://nowhere.example/a', {
        lookup: () => Promise.reject(new Error('ENOTFOUND nowhere.example')),
      }),
      { code: 'origin-unreachable', reason: 'dns', message: 'cannot resolve host name nowhere.example' },
      502,
    );
  });
  it('no listener', async () => {
    const gone = await startOrigin(() => {});
    await gone.close();
    await fails(
      await openUrl(`${gone.url}/a`),
      {
        code: 'origin-unreachable',
        cause: 'connect',
        message: 'the host does not accept connections: it refused the connection',
      },
      502,
    );
  });
  for (const status of [400, 401, 403, 404, 410, 429, 500, 503]) {
    it(`a response of ${status}`, async () => {
      await fails(
        await open((_request, response) =>
          response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>private words of the origin</h1>'),
        ),
        { code: 'origin-unreachable', reason: 'status', status, message: `the host answered ${status}` },
        status,
      );
    });
  }
  it('an empty response', async () => {
    await fails(
      await open((_request, response) => response.writeHead(204).end()),
      { code: 'cut', reason: 'protocol' },
      502,
    );
  });
  it('no response', async () => {
    await fails(
      await open(() => {}),
      { code: 'origin-unreachable', reason: 'stalled', message: 'the host did not answer in time' },
      504,
    );
  });
  it('a connection closed at once', async () => {
    await fails(
      await openUrl(`http://${await raw((socket) => socket.destroy())}/a`),
      { code: 'origin-unreachable', reason: 'closed' },
      502,
    );
  });
  for (const [what, text] of [
    ['a banner', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['half a header', 'HTTP/1.1 200 OK\r\nx'],
    ['binary', '\u0000\u0001\u0002\r\n\r\n'],
    ['a negative length', 'HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nabc'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcde'],
  ] as const) {
    it(`${what} instead of HTTP`, async () => {
      const job = await openUrl(`http://${await raw((socket) => socket.end(text, 'latin1'))}/a`);
      const prepared = await job.prepare();
      assert.ok(!prepared.ok);
      assert.equal(prepared.failure.code, 'origin-unreachable');
      assert.equal((await ask(job.address('a'))).status, 502);
    });
  }
  it('an endless header', async () => {
    const job = await openUrl(
      `http://${await raw((socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        const more = (): void =>
          void (socket.writable && socket.write(`x-${'a'.repeat(1000)}: ${'b'.repeat(1000)}\r\n`, more));
        more();
      })}/a`,
    );
    assert.equal((await ask(job.address('a'))).status, 502);
  });
  it('endless interim responses', async () => {
    const address = await raw((socket) => {
      const more = (): void =>
        void (socket.writable && socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(1024), more));
      more();
    });
    await fails(
      await openUrl(`http://${address}/a`),
      {
        code: 'origin-unreachable',
        reason: 'protocol',
        message: 'the host sends endless interim responses',
      },
      502,
    );
  });
  it('a few interim responses before the final one', async () => {
    const text = 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(5) + 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc';
    const job = await openUrl(`http://${await raw((socket) => void socket.once('data', () => socket.end(text)))}/a`);
    assert.deepEqual(await job.prepare(), { ok: true, size: 3, type: '' });
  });
  it('no TLS at an https address', async () => {
    await fails(
      await openUrl(`https://${await raw((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))}/a`),
      { code: 'origin-unreachable', reason: 'tls' },
      502,
    );
  });
  it('a TLS handshake that never completes', async () => {
    await fails(
      await openUrl(`https://${await raw(() => {})}/a`),
      { code: 'origin-unreachable', reason: 'connect', cause: 'connect' },
      502,
    );
  });

  it('a self-signed certificate: refused, except for a tool that does not verify', async () => {
    const tls = await makeCertificate({ ip: ['127.0.0.1'] });
    const origin = cleanup.add(await startOrigin((request, response) => sendFile(body, request, response), tls));
    const job = await openUrl(`${origin.url}/a.mp4`, {}, 1e10, { strict: true, lax: false });
    assert.equal((await job.prepare()).ok, true);
    const strict = await ask(job.address('strict'));
    assert.equal(strict.status, 502);
    assert.equal(strict.body.toString(), 'the certificate of the host cannot be trusted: it is self-signed');
    assert.equal((await ask(job.address('unnamed'))).status, 502);
    assert.ok((await ask(job.address('lax'))).body.equals(body));
    assert.equal(job.stats().failures['strict']?.reason, 'certificate');
    assert.equal(job.stats().failures['lax'], undefined);
  });
  it('a certificate of the operator: trusted, and the origin read once for both tools', async () => {
    const tls = await makeCertificate({ ip: ['127.0.0.1'] });
    const origin = cleanup.add(await startOrigin((request, response) => sendFile(body, request, response), tls));
    const job = await openUrl(`${origin.url}/a.mp4`, { ca: tls.cert }, 1e10, { strict: true, lax: false });
    const replies = await Promise.all(['strict', 'lax'].map((tool) => ask(job.address(tool))));
    for (const reply of replies) assert.ok(reply.body.equals(body));
    const { ioUsage, requests } = job.stats();
    assertRead({ bytes: ioUsage, requests }, body.length, TLS_RECORD);
  });
  it('a trusted certificate for another name', async () => {
    const tls = await makeCertificate({ dns: ['other.example'] });
    const origin = cleanup.add(await startOrigin((request, response) => sendFile(body, request, response), tls));
    await fails(
      await openUrl(`${origin.url}/a.mp4`, { ca: tls.cert }),
      { code: 'origin-unreachable', reason: 'certificate' },
      502,
    );
    const named = await openUrl(`https://other.example:${origin.port}/a.mp4`, {
      ca: tls.cert,
      lookup: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    });
    assert.ok((await ask(named.address('a'))).body.equals(body));
  });

  it('a declared size over the limit is refused before reading', async () => {
    for (const handler of [
      ((_request, response) =>
        response.writeHead(206, part(0, 262143, 10_000_000_001)).end(Buffer.alloc(262144))) as Handler,
      ((_request, response) => response.writeHead(200, { 'content-length': 10_000_000_001 }).flushHeaders()) as Handler,
    ]) {
      const job = await open(handler);
      await fails(job, { code: 'too-large', message: 'the file is larger than 10000000000 bytes' }, 403);
      // One read of the socket brings the head and what follows it.
      assert.ok(job.stats().ioUsage <= 65_536);
    }
  });
  it('a read over the limit is cut', async () => {
    const job = await open(
      (_request, response) => {
        response.writeHead(200);
        const more = (): void => void (response.writable && response.write(Buffer.alloc(65536), more));
        more();
      },
      {},
      1_000_000,
    );
    const reply = await ask(job.address('a'));
    assert.ok(reply.cut);
    assert.ok(reply.body.length <= 1_100_000);
    assert.deepEqual([job.stats().failure?.code, job.stats().failure?.reason], ['cut', 'limit']);
  });

  it('a file shorter than declared', async () => {
    const job = await open((_request, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write(Buffer.alloc(500), () => response.destroy());
    });
    const reply = await ask(job.address('a'));
    assert.ok(reply.cut);
    assert.equal(reply.body.length, 500);
    assert.equal(job.stats().failure?.code, 'cut');
  });
  it('a body of unknown length that breaks off', async () => {
    const job = await open((_request, response) => {
      response.writeHead(200);
      response.write(Buffer.alloc(500), () => response.destroy());
    });
    assert.ok((await ask(job.address('a'))).cut);
    assert.equal(job.stats().failure?.code, 'cut');
  });
  it('ranges that always break off', async () => {
    const job = await open((request, response) => {
      const [, from = '0', to = '0'] = /(\d+)-(\d+)/.exec(request.headers.range!)!;
      response.writeHead(206, part(Number(from), Number(to), body.length));
      response.write(body.subarray(0, Number(from) === 0 ? 100 : 0), () => setImmediate(() => response.destroy()));
    });
    const reply = await ask(job.address('a'));
    assert.ok(reply.cut || reply.status === 502);
    assert.equal(job.stats().failure?.code, 'cut');
  });
  it('a range other than the requested one', async () => {
    const wrong: Handler = (_request, response) => response.writeHead(206, part(5, 104, 1000)).end(Buffer.alloc(100));
    await fails(await open(wrong), { code: 'cut', reason: 'protocol' }, 502);
    const later = await open((request, response) => {
      const from = Number(/\d+/.exec(request.headers.range!)![0]);
      if (from === 0) sendFile(body, request, response);
      else
        response.writeHead(206, { ...part(from + 1, from + 100, body.length), etag: '"one"' }).end(Buffer.alloc(100));
    });
    assert.ok((await ask(later.address('a'))).cut);
    assert.deepEqual([later.stats().failure?.code, later.stats().failure?.reason], ['cut', 'changed']);
  });
  it('a range without content-range, or with an invalid one', async () => {
    for (const range of [
      undefined,
      'bytes',
      'bytes x-y/z',
      'bytes 0-9/',
      'items 0-9/10',
      'bytes 0-9/*',
      'bytes 9-0/99999999999999999999',
    ]) {
      const job = await open((_request, response) =>
        response
          .writeHead(206, { 'content-length': 10, ...(range === undefined ? {} : { 'content-range': range }) })
          .end(Buffer.alloc(10)),
      );
      assert.equal((await ask(job.address('a'))).status, 502, String(range));
    }
  });
  it('a file that changes while it is read', async () => {
    let version = 1;
    const job = await open((request, response) => {
      sendFile(body, request, response, { etag: `"${version++}"` });
    });
    assert.ok((await ask(job.address('a'))).cut);
    assert.equal(job.stats().failure?.reason, 'changed');
  });
  it('an origin that goes silent in the middle', async () => {
    for (const status of [200, 206]) {
      const job = await open((request, response) => {
        const [, from = '0', to = '0'] = /(\d+)-(\d+)/.exec(request.headers.range!)!;
        response.writeHead(
          status,
          status === 206 ? part(Number(from), Number(to), body.length) : { 'content-length': body.length },
        );
        response.write(Buffer.alloc(Number(from) === 0 ? 1000 : 1));
      });
      const reply = await ask(job.address('a'));
      assert.ok(reply.cut, String(status));
      assert.equal(job.stats().failure?.code, 'cut');
    }
  });
  it('a playlist that decompresses endlessly', async () => {
    const bomb = gzipSync(Buffer.concat([Buffer.from('#EXTM3U\n'), Buffer.alloc(64 << 20, '#')]));
    assert.ok(bomb.length < 1 << 20);
    const job = await open(
      (_request, response) =>
        void response
          .writeHead(200, {
            'content-type': 'application/vnd.apple.mpegurl',
            'content-encoding': 'gzip',
            'content-length': bomb.length,
          })
          .end(bomb),
    );
    assert.equal((await ask(job.address('a'))).status, 502);
    assert.equal(job.stats().failure?.code, 'cut');
  });

  it('a file that points past its end is read to its end, without an unhandled rejection', async () => {
    const thrown: unknown[] = [];
    const note = (error: unknown): void => void thrown.push(error);
    process.on('unhandledRejection', note);
    try {
      for (const size of [5000, 70_000, 300_000, 3_000_000]) {
        const odd = Buffer.alloc(size, 7);
        Buffer.from('000000186674797069736f6d0000020069736f6d6d70343100ffffff6d6f6f76', 'hex').copy(odd);
        const job = await open((request, response) => sendFile(odd, request, response));
        const reply = await ask(job.address('a'));
        assert.ok(reply.body.equals(odd), `${size}: ${reply.body.length} bytes`);
        assert.equal(job.stats().failure, undefined);
      }
    } finally {
      process.off('unhandledRejection', note);
    }
    assert.deepEqual(thrown, []);
  });

  it('an endlessly trickling body ends with the job, on both sides', async () => {
    let left = false;
    const job = await open((_request, response) => {
      response.writeHead(200, { 'content-type': 'video/mp4' });
      const drip = setInterval(() => response.write('x'.repeat(64)), 5);
      response.on('close', () => {
        clearInterval(drip);
        left = true;
      });
    });
    const asked = ask(job.address('a'));
    await until('1,000 bytes were read', () => job.stats().ioUsage > 1000);
    job.close();
    const reply = await asked;
    assert.ok(reply.cut && reply.body.length > 0);
    await until('the connection to the origin is closed', () => left);
  });

  it('a redirect whose body does not come holds its connection for a short time only', async () => {
    const job = await open(
      (request, response, path) => {
        if (path.startsWith('/b')) sendFile(body, request, response);
        else response.writeHead(302, { location: '/b', 'content-length': 100 }).write('x');
      },
      { maxPerHost: 1 },
    );
    assert.ok((await ask(job.address('a'))).body.equals(body));
  });

  it('a body longer than declared is cut to the declared length', async () => {
    const url = await raw(
      (socket) =>
        void socket.once('data', () =>
          socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabcde${'f'.repeat(100_000)}`),
        ),
    );
    const job = await openUrl(`http://${url}/a.mp4`);
    assert.equal((await ask(job.address('a'))).body.toString(), 'abcde');
  });

  it('a tool that disconnects does not disturb the other', async () => {
    const job = await open((request, response) => sendFile(body, request, response));
    const address = new URL(job.address('gone'));
    const socket = (await import('node:net')).connect(Number(address.port), '127.0.0.1');
    await new Promise<void>((resolve) =>
      socket.write(`GET ${address.pathname} HTTP/1.1\r\nhost: x\r\n\r\n`, () => resolve()),
    );
    socket.destroy();
    assert.ok((await ask(job.address('b'))).body.equals(body));
  });
  it('closing a job while its tools read', async () => {
    const job = await open(
      (request, response) => {
        response.writeHead(206, part(0, 262143, body.length));
        response.write(body.subarray(0, 1000));
        void request;
      },
      { idleTimeoutMs: 5000 },
    );
    const reading = ask(job.address('a'));
    await job.prepare();
    job.close();
    const reply = await reading.catch(() => undefined);
    assert.ok(reply === undefined || reply.cut || reply.status >= 400);
    assert.equal(job.stats().failure, undefined);
  });

  it('nonsense from a tool: a response or a closed connection, and the next tool is served', async () => {
    const origin = cleanup.add(await startOrigin((request, response) => sendFile(body, request, response)));
    const proxy = cleanup.add(await startProxy({ ...quick }));
    const job = cleanup.add(proxy.open({ source: parseSource(`${origin.url}/a.mp4`), limits: { maxBytes: 1e10 } }));
    const { pathname } = new URL(job.address('a'));
    const next = random(77);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
    const login = Buffer.from(new URL(job.environment('a')['http_proxy']!).username + ':a').toString('base64');
    const paths = [
      pathname,
      `${pathname}?x`,
      `${pathname}/../..`,
      '/',
      '*',
      'http://[',
      'http://10.0.0.1/',
      `${origin.url}/b`,
      '10.0.0.1:443',
      'x:1',
      pathname.replace('a.mp4', 'x/http/'),
      pathname.replace('a.mp4', `x/http/127.0.0.1:${origin.port}/%00`),
      pathname.replace('a.mp4', 'refused/x'),
      '/%',
      'a'.repeat(9000),
    ];
    for (let i = 0; i < 300; i++) {
      const fields = [
        'range: bytes=0-',
        'range: bytes=5-1',
        'range: bytes=-',
        'range: bytes=99999999999999999999-',
        'range: bytes=0-1,2-3',
        'range: items=1',
        'content-length: 5',
        'transfer-encoding: chunked',
        'expect: 100-continue',
        'connection: upgrade',
        'upgrade: websocket',
        `proxy-authorization: Basic ${login}`,
        'proxy-authorization: x',
        'host: y',
        `x: ${'z'.repeat(20_000)}`,
      ];
      const lines = [
        `${pick(['GET', 'HEAD', 'POST', 'CONNECT', 'OPTIONS', 'PUT', 'get', 'PRI', ''])} ` +
          `${pick(paths)} ${pick(['HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', ''])}`,
      ];
      for (let n = Math.floor(next() * 4); n > 0; n--) lines.push(pick(fields));
      await new Promise<void>((resolve, reject) => {
        const socket = connect(proxy.port, '127.0.0.1', () =>
          socket.write(`${lines.join('\r\n')}\r\nconnection: close\r\n\r\n${pick(['', 'body', '5\r\nhello\r\n'])}`),
        );
        const late = setTimeout(() => reject(new Error(`no end to ${lines.join(' | ').slice(0, 300)}`)), 8000);
        socket.on('error', () => {});
        socket.on('data', () => socket.end());
        socket.on('close', () => {
          clearTimeout(late);
          resolve();
        });
        setTimeout(() => socket.destroy(), 50 + Math.floor(next() * 50)).unref();
      });
    }
    assert.ok((await ask(job.address('b'))).body.equals(body));
  }).timeout(60_000);

  it('nonsense from an origin: a response or a closed connection, never a crash', async function () {
    this.timeout(30_000);
    const next = random(99);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
    const host = await raw((socket) => {
      socket.once('data', () => {
        const lines = [
          pick([
            'HTTP/1.1 200 OK',
            'HTTP/1.1 206 Partial Content',
            'HTTP/1.0 200 OK',
            'HTTP/1.1 302 Found',
            'HTTP/1.1 416 No',
            'HTTP/1.1 100 Continue',
            'HTTP/2 200',
            'ICY 200 OK',
            'HTTP/1.1 99 x',
          ]),
        ];
        const fields = [
          'content-length: 100',
          'content-length: 0',
          'content-length: 99999999999',
          'content-range: bytes 0-99/100',
          'content-range: bytes 0-99/1000000',
          'content-range: bytes */5',
          'transfer-encoding: chunked',
          'content-type: application/vnd.apple.mpegurl',
          'content-encoding: gzip',
          'location: /again',
          'location: \u0001',
          'etag: "x"',
          'connection: close',
          'x: \u00ff',
          'x-amz-bucket-region: zz',
        ];
        for (let i = Math.floor(next() * 5); i > 0; i--) lines.push(pick(fields));
        const payload = pick([
          '#EXTM3U\n#EXTINF:1,\nhttp://[\n',
          '<MPD><BaseURL>http://[</BaseURL>',
          '\u0000\u0000\u0000\u0018ftypisom',
          '64\r\n',
          'G'.repeat(200),
          '',
          '\u001f\u008b\u0008',
        ]);
        socket.end(`${lines.join('\r\n')}\r\n\r\n${payload}${'y'.repeat(Math.floor(next() * 200))}`, 'latin1');
      });
    });
    const proxy = cleanup.add(await startProxy({ ...quick }));
    for (let i = 0; i < 150; i++) {
      const job = proxy.open({
        source: parseSource(`http://${host}/a.${pick(['mp4', 'm3u8', 'mpd'])}`),
        limits: { maxBytes: 1e9 },
      });
      await job.prepare();
      await ask(job.address('a'), { range: 'bytes=0-' }).catch(() => undefined);
      job.close();
    }
  });
});
