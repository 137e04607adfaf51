import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { makeGuard } from '../../src/source/address/guard.ts';
import { targetOf } from '../../src/source/address/target.ts';
import { fillBody } from '../../src/source/http/answer.ts';
import { trustedContext } from '../../src/source/http/connect.ts';
import { StaleConnection } from '../../src/source/http/connection.ts';
import { egressRoute } from '../../src/source/http/egress.ts';
import { Pool, type PoolOptions } from '../../src/source/http/pool.ts';
import { until } from '../until.ts';
import { makeCertificate } from './certificate.ts';
import { listen } from './listen.ts';
import { Cleanup, pattern, startOrigin } from './origin.ts';
import { random } from './random.ts';

const cleanup = new Cleanup();
const never = new AbortController().signal;
const body = pattern(700_000);

function open(options: Partial<PoolOptions> = {}): Pool {
  return cleanup.add(
    new Pool({
      guard: makeGuard({ allow: [{ cidr: '127.0.0.1/32' }] }),
      verify: true,
      context: trustedContext(undefined),
      egress: undefined,
      timeoutMs: 5_000,
      maxPerHost: 6,
      idleMs: 5_000,
      headersTimeoutMs: 5_000,
      nearMs: 5,
      ...options,
    }),
  );
}

type Answer = Awaited<ReturnType<Pool['get']>>['response'];
const answerOf = async (pool: Pool, url: string, signal = never): Promise<Answer> =>
  (await pool.get(targetOf(url), {}, signal, () => {})).response;

async function streamed(answer: Answer): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of answer as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}

const transfer = { idleMs: 5_000, pace: { whole() {} }, signal: never };

/** Into memory of this length, a page at a time. */
async function filled(answer: Answer, length: number, page = 65_536): Promise<Buffer> {
  const memory = Buffer.alloc(length);
  let at = 0;
  await fillBody(
    answer,
    transfer,
    () => memory.subarray(at, Math.min(length, at - (at % page) + page)),
    (count) => {
      at += count;
    },
  );
  return memory.subarray(0, at);
}

/** A server that answers each request with the next of these texts. */
async function scripted(
  ...answers: ((socket: Socket) => unknown)[]
): Promise<{ url: string; server: Awaited<ReturnType<typeof listen>> }> {
  const server = cleanup.add(
    await listen((socket) => {
      let text = '';
      socket.on('data', (bytes) => {
        text += bytes.toString('latin1');
        for (; text.includes('\r\n\r\n'); text = text.slice(text.indexOf('\r\n\r\n') + 4)) answers.shift()?.(socket);
      });
    }),
  );
  return { url: `http://127.0.0.1:${server.port}/a`, server };
}
const says =
  (text: string) =>
  (socket: Socket): void =>
    void socket.write(text, 'latin1');
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

describe('connections to origins', function () {
  this.timeout(20_000);
  afterEach(() => cleanup.run());

  for (const scheme of ['http', 'https'])
    for (const framing of ['a length', 'chunks', 'its connection'])
      it(`bring a body that has ${framing} by ${scheme}, however it is cut, as a stream and into memory`, async () => {
        const tls = await makeCertificate({ ip: ['127.0.0.1'] });
        const next = random(7);
        const origin = cleanup.add(
          await startOrigin(
            (_request, response) => {
              if (framing === 'a length') response.setHeader('content-length', body.length);
              if (framing === 'its connection') response.removeHeader('transfer-encoding');
              response.useChunkedEncodingByDefault = framing === 'chunks';
              let at = 0;
              const more = (): void => {
                if (at >= body.length) {
                  response.end();
                  return;
                }
                const length = Math.ceil(next() ** 4 * 100_000);
                response.write(body.subarray(at, at + length));
                at += length;
                setImmediate(more);
              };
              more();
            },
            scheme === 'https' ? tls : undefined,
          ),
        );
        const pool = open({ context: trustedContext(tls.cert) });
        for (let i = 0; i < 5; i++) {
          assert.ok((await streamed(await answerOf(pool, `${origin.url}/a`))).equals(body));
          const answer = await answerOf(pool, `${origin.url}/a`);
          // Its first bytes may have arrived before anybody reads them.
          if (i % 2 === 0) await new Promise(setImmediate);
          // Without a length there is a byte more to ask for, so that the end is seen.
          const length = framing === 'a length' ? body.length : body.length + 1;
          assert.ok((await filled(answer, length, 1 + Math.floor(next() * 90_000))).equals(body));
        }
        assert.equal(origin.connections, framing === 'its connection' ? 10 : 1);
      });

  it('close when a body is left early', async () => {
    const origin = cleanup.add(await startOrigin((_request, response) => response.end(body)));
    const pool = open();
    assert.ok((await filled(await answerOf(pool, `${origin.url}/a`), 70_000)).equals(body.subarray(0, 70_000)));
    (await answerOf(pool, `${origin.url}/a`)).destroy();
    assert.ok((await streamed(await answerOf(pool, `${origin.url}/a`))).equals(body));
    assert.equal(origin.connections, 3);
  });

  it('close when a body is read for a job that has ended', async () => {
    const origin = cleanup.add(await startOrigin((_request, response) => response.end(body)));
    const answer = await answerOf(open(), `${origin.url}/a`);
    const reading = fillBody(
      answer,
      { ...transfer, signal: AbortSignal.abort() },
      () => assert.fail('memory is asked for'),
      () => {},
    );
    await assert.rejects(reading, { reason: 'ended' });
    assert.ok(answer.destroyed);
  });

  it('write to no memory after a body was left', async () => {
    let sent = 0;
    const { url } = await scripted((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${1 << 30}\r\n\r\n`);
      const more = (): void => {
        sent++;
        if (socket.writable) socket.write(Buffer.alloc(65_536, 1), () => setImmediate(more));
      };
      more();
    });
    const memory = Buffer.alloc(1 << 20);
    const answer = await answerOf(open(), url);
    let isLeft = false;
    const reading = fillBody(
      answer,
      transfer,
      () => memory,
      () => {
        if (sent > 20) isLeft = true;
        if (!isLeft) return;
        memory.fill(0);
        answer.destroy();
      },
    );
    await assert.rejects(reading);
    const before = sent;
    await until('the host has noticed', () => sent > before);
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.ok(memory.equals(Buffer.alloc(1 << 20)));
  });

  it('write to no memory of a body that was left, although TLS has more of it', async () => {
    const tls = await makeCertificate({ ip: ['127.0.0.1'] });
    const origin = cleanup.add(
      await startOrigin((_request, response) => {
        response.setHeader('content-length', 1 << 30);
        const more = (): void => void (response.writable && response.write(Buffer.alloc(1 << 20, 1), more));
        more();
      }, tls),
    );
    for (let i = 0; i < 10; i++) {
      const answer = await answerOf(open({ context: trustedContext(tls.cert) }), `${origin.url}/a`);
      const memory = Buffer.alloc(1 << 20);
      let pieces = 0;
      const reading = fillBody(
        answer,
        transfer,
        () => memory,
        () => {
          // Before the next of the pieces that are deciphered already.
          if (++pieces === 20 + i) queueMicrotask(() => answer.destroy());
        },
      );
      await assert.rejects(reading);
      memory.fill(0);
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert.ok(memory.equals(Buffer.alloc(1 << 20)), `written to after ${pieces} pieces`);
    }
  });

  it('are not used again after bytes that no request asked for', async () => {
    const { url, server } = await scripted(says(`${OK}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil`), says(OK));
    const pool = open();
    assert.equal((await streamed(await answerOf(pool, url))).toString(), 'ok');
    assert.equal((await streamed(await answerOf(pool, url))).toString(), 'ok');
    assert.equal(server.connections, 2);
  });

  it('take nothing that was sent beyond a body read into memory for the next answer', async () => {
    const long = 'x'.repeat(500_000);
    const { url, server } = await scripted(
      says(`HTTP/1.1 200 OK\r\ncontent-length: ${long.length}\r\n\r\n${long}${OK.replace('ok', 'no')}`),
      says(OK),
    );
    const pool = open();
    assert.equal((await filled(await answerOf(pool, url), long.length)).toString(), long);
    // The kept connection is closed, if it has not closed before.
    const next = answerOf(pool, url).catch((error: Error) => {
      assert.ok(error instanceof StaleConnection);
      return answerOf(pool, url);
    });
    assert.equal((await streamed(await next)).toString(), 'ok');
    assert.equal(server.connections, 2);
  });

  it('may be asked again if a kept one answers with nonsense, and only then', async () => {
    const { url } = await scripted(says(OK), says(`\r\n${OK}`));
    const pool = open();
    await streamed(await answerOf(pool, url));
    await assert.rejects(answerOf(pool, url), StaleConnection);
    const { url: other } = await scripted(says(`\r\n${OK}`));
    await assert.rejects(answerOf(pool, other), { reason: 'protocol' });
  });

  it('are not kept longer than the host says', async () => {
    const { url, server } = await scripted(says(OK.replace('\r\n', '\r\nkeep-alive: timeout=1\r\n')), says(OK));
    const pool = open();
    for (let i = 0; i < 2; i++) await streamed(await answerOf(pool, url));
    assert.equal(server.connections, 2);
  });

  it('serve requests that wait in their order', async () => {
    const texts = ['one', 'two', 'three'];
    const { url, server } = await scripted(
      ...texts.map((text) => says(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`)),
    );
    const pool = open({ maxPerHost: 1 });
    const read = await Promise.all(texts.map(async () => (await streamed(await answerOf(pool, url))).toString()));
    assert.deepEqual(read, texts);
    assert.equal(server.connections, 1);
  });

  it('read no more of a body than is asked for', async () => {
    const { url } = await scripted((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${100 << 20}\r\n\r\n`);
      const more = (): void => void (socket.writable && socket.write(Buffer.alloc(1 << 20), more));
      more();
    });
    const answer = await answerOf(open(), url);
    await until('bytes that wait to be read', () => answer.readableLength >= 65_536);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.ok(answer.readableLength <= 131_072, `${answer.readableLength} bytes are held`);
  });

  it('to a proxy are for one request, and stay open while nobody reads on', async () => {
    const closed = Promise.withResolvers<void>();
    const { url } = await scripted((socket) => {
      socket.once('close', () => closed.resolve());
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`);
      socket.write(body);
    });
    const guard = makeGuard({ lookup: () => Promise.reject(new Error('ENOTFOUND')) });
    const pool = open({ guard, egress: egressRoute({ url, resolve: 'proxy' }) });
    const answer = await answerOf(pool, 'http://origin.example/a');
    await until('bytes that wait to be read', () => answer.readableLength >= 65_536);
    assert.ok((await streamed(answer)).equals(body));
    await closed.promise;
  });

  it('are more than usual while nobody reads from the others', async () => {
    const endless = (socket: Socket): void => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${100 << 20}\r\n\r\n`);
      const more = (): void => void (socket.writable && socket.write(Buffer.alloc(1 << 20), more));
      more();
    };
    const { url, server } = await scripted(endless, endless, endless, says(OK));
    const pool = open({ maxPerHost: 2 });
    const unread: Answer[] = [];
    // The third waits until the others are paused.
    await Promise.all([1, 2, 3].map(async () => unread.push(await answerOf(pool, url))));
    assert.equal((await streamed(await answerOf(pool, url))).toString(), 'ok');
    assert.equal(server.connections, 4);
    for (const answer of unread) answer.destroy();
  });

  it('are bounded over all hosts, those that rest more closely', async () => {
    const sockets = new Set<Socket>();
    const server = cleanup.add(
      await listen((socket) => {
        sockets.add(socket);
        socket.on('close', () => sockets.delete(socket));
        socket.on('data', (bytes) => bytes.includes('/held') || void socket.write(OK));
      }, '0.0.0.0'),
    );
    const pool = open({ guard: makeGuard({ allow: [{ cidr: '127.0.0.0/8' }] }) });
    const url = (host: number, path = ''): string =>
      `http://127.0.${Math.floor(host / 250)}.${(host % 250) + 1}:${server.port}/${path}`;
    for (let host = 0; host < 100; host++) await streamed(await answerOf(pool, url(host)));
    await until('of 100 hosts, 48 connections are left', () => sockets.size === 48);
    const away = new AbortController();
    const held = Array.from({ length: 256 }, (_, host) => answerOf(pool, url(host, 'held'), away.signal));
    await until('256 requests are held', () => sockets.size === 256);
    await assert.rejects(answerOf(pool, url(300)), { message: 'the source has too many hosts at a time' });
    away.abort();
    await Promise.allSettled(held);
    assert.equal((await streamed(await answerOf(pool, url(300)))).toString(), 'ok');
  });

  it('break with an error for whoever reads', async () => {
    const cut = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab';
    const { url } = await scripted(...[1, 2, 3].map(() => (socket: Socket) => socket.end(cut)));
    const pool = open();
    const broken = { code: 'cut', message: 'the host closed the connection before the end of the file' };
    await assert.rejects(streamed(await answerOf(pool, url)), broken);
    await assert.rejects(filled(await answerOf(pool, url), 5), broken);
    const answer = await answerOf(pool, url);
    await until('the connection is gone', () => answer.destroyed);
    await assert.rejects(filled(answer, 5), broken);
  });

  it('end for a request that is given up, before and after its answer', async () => {
    const { url, server } = await scripted(says('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab'), says(OK), says(OK));
    const pool = open({ maxPerHost: 1 });
    const [reading, waiting] = [new AbortController(), new AbortController()];
    const answer = await answerOf(pool, url, reading.signal);
    const late = answerOf(pool, url, waiting.signal);
    waiting.abort();
    await assert.rejects(late, { reason: 'ended' });
    const rest = streamed(answer);
    answer.destroy();
    await assert.rejects(rest);
    assert.equal((await streamed(await answerOf(pool, url))).toString(), 'ok');
    assert.equal(server.connections, 2);
    pool.close();
    await assert.rejects(answerOf(pool, url), { reason: 'ended' });
  });

  it('fail for all that wait, with what the host does', async () => {
    const { url, server } = await scripted();
    server.close();
    const pool = open({ maxPerHost: 2 });
    const failures = await Promise.allSettled([1, 2, 3, 4, 5].map(() => answerOf(pool, url)));
    for (const failure of failures)
      assert.equal(
        failure.status === 'rejected' && (failure.reason as Error).message,
        'the host does not accept connections: it refused the connection',
      );
  });

  it('tell no distance of a host that was forgotten, rather than wait for another connection', async () => {
    const { url } = await scripted(says(OK));
    const pool = open();
    await streamed(await answerOf(pool, url));
    for (let i = 0; i < 256; i++) void pool.isFar(targetOf(`http://${i}.example/`));
    assert.equal(await pool.isFar(targetOf(url)), false);
  });

  it('are opened in advance, and closed if the host speaks first', async () => {
    const server = cleanup.add(await listen((socket) => void socket.write('220 ready\r\n')));
    const pool = open();
    const target = targetOf(`http://127.0.0.1:${server.port}/a`);
    pool.warm(target, 3);
    await until('three connections', () => server.connections === 3);
    await until('none is kept', () => pool.ready(target) === 0);
    await assert.rejects(
      pool.get(target, {}, never, () => {}),
      { code: 'origin-unreachable' },
    );
  });

  it('do not begin TLS with an address that is not allowed, whatever the look-up returned', async () => {
    let said = 0;
    const closed = Promise.withResolvers<void>();
    const server = cleanup.add(
      await listen((socket) => {
        socket.on('data', (bytes) => {
          said += bytes.length;
        });
        socket.on('close', () => closed.resolve());
      }),
    );
    const guard = { ...makeGuard(), resolveAndCheck: async () => [{ address: '127.0.0.1', family: 4 as const }] };
    await assert.rejects(answerOf(open({ guard }), `https://origin.example:${server.port}/a`), { code: 'refused' });
    await closed.promise;
    assert.equal(said, 0);
  });
});
