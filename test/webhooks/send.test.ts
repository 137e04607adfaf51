import assert from 'node:assert/strict';
import { connect as dial, createServer as createTcpServer, type AddressInfo } from 'node:net';
import { createServer } from 'node:http';
import type { ConnectOptions } from '../../src/source/http/connect.ts';
import { trustedContext } from '../../src/source/http/connect.ts';
import { egressRoute } from '../../src/source/http/egress.ts';
import { makeGuard, type GuardOptions } from '../../src/source/address/guard.ts';
import { send } from '../../src/service/webhooks/send.ts';
import { makeCertificate } from '../source/certificate.ts';
import { startReceiver, type Receiver } from './receiver.ts';

const LOOPBACK = { allow: [{ cidr: '127.0.0.0/8' }] };
const options = (guard: GuardOptions = LOOPBACK, more: Partial<ConnectOptions> = {}): ConnectOptions => ({
  guard: makeGuard(guard),
  verify: true,
  context: trustedContext(undefined),
  egress: undefined,
  timeoutMs: 2_000,
  ...more,
});
const message = (url: string) => ({ url, headers: { 'webhook-id': 'one' }, body: Buffer.from('{"a":"é"}') });

describe('sending a webhook', function () {
  this.timeout(20_000);
  let receiver: Receiver;
  before(async () => {
    receiver = await startReceiver();
  });
  after(() => receiver.close());
  beforeEach(() => {
    receiver.received.length = 0;
    receiver.answer = (response) => void response.writeHead(204).end();
  });
  const timeless = ({ durationMs, ...rest }: Awaited<ReturnType<typeof send>>) => {
    assert.ok(durationMs >= 0);
    return rest;
  };

  it('is one POST of JSON to the given path and query, with user info as basic authentication', async () => {
    const sent = await send(
      message(`http://us%40er:pa%3Ass@127.0.0.1:${receiver.port}/hook/a?x=1&y=%20`),
      options(),
      2_000,
    );
    assert.deepEqual(timeless(sent), { status: 204 });
    const [{ headers, ...rest }] = receiver.received as [Receiver['received'][0]];
    assert.deepEqual(rest, { method: 'POST', path: '/hook/a?x=1&y=%20', body: '{"a":"é"}' });
    assert.deepEqual(
      [headers['content-type'], headers['content-length'], headers['webhook-id'], headers.host],
      ['application/json', '10', 'one', `127.0.0.1:${receiver.port}`],
    );
    assert.equal(headers.authorization, `Basic ${Buffer.from('us@er:pa:ss').toString('base64')}`);
  });

  it('follows no redirect', async () => {
    receiver.answer = (response) => void response.writeHead(302, { location: `${receiver.url}/other` }).end();
    assert.deepEqual(timeless(await send(message(`${receiver.url}/one`), options(), 2_000)), {
      status: 302,
      error: 'the receiver answered 302; redirects are not followed',
    });
    assert.deepEqual(
      receiver.received.map(({ path }) => path),
      ['/one'],
    );
  });

  it('returns the status and the pause that the receiver asks for', async () => {
    receiver.answer = (response) => void response.writeHead(503, { 'retry-after': '17' }).end('busy');
    assert.deepEqual(timeless(await send(message(receiver.url), options(), 2_000)), {
      status: 503,
      error: 'the receiver answered 503',
      retryAfter: '17',
    });
  });

  it('does not wait for the body after the status', async () => {
    receiver.answer = (response) => void response.writeHead(200).write('and on it goes');
    assert.deepEqual(timeless(await send(message(receiver.url), options(), 15_000)), { status: 200 });
  });

  it('times out on a silent receiver, before and after the connection', async () => {
    receiver.answer = () => {};
    assert.deepEqual(timeless(await send(message(receiver.url), options(), 300)), {
      status: null,
      error: 'the receiver did not answer within 0.3 s',
    });
    const never = { ...LOOPBACK, lookup: () => new Promise<never>(() => {}) };
    assert.deepEqual(timeless(await send(message('http://slow.test/'), options(never), 300)), {
      status: null,
      error: 'the receiver did not answer within 0.3 s',
    });
  });

  it('connects to no private address behind any name, and resolves the name once', async () => {
    let asked = 0;
    const lookup = async () => {
      asked++;
      return [{ address: '127.0.0.1', family: 4 as const }];
    };
    const refused = { status: null, error: 'the address is not allowed: it is private, local or reserved' };
    for (const url of [
      `http://hidden.test:${receiver.port}/`,
      receiver.url,
      'http://169.254.169.254/latest',
      `http://[::ffff:127.0.0.1]:${receiver.port}/`,
      'http://0x7f.1/',
    ]) {
      assert.deepEqual(timeless(await send(message(url), options({ lookup }), 2_000)), refused, url);
    }
    assert.deepEqual([asked, receiver.received.length], [1, 0]);
  });

  it('names the error of a receiver that does not speak HTTP', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.end('220 mail.test ESMTP\r\n');
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    assert.deepEqual(timeless(await send(message(`http://127.0.0.1:${port}/`), options(), 2_000)), {
      status: null,
      error: 'the receiver does not answer with HTTP',
    });
    server.close();
    assert.deepEqual(timeless(await send(message(`http://127.0.0.1:${port}/`), options(), 2_000)), {
      status: null,
      error: 'the host does not accept connections: it refused the connection',
    });
  });

  it('ends an attempt whose receiver sends endless interim responses', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      // A large but finite number. An endless loop would leave this process no time to fail.
      socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(100_000));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    assert.deepEqual(timeless(await send(message(`http://127.0.0.1:${port}/`), options(), 5_000)), {
      status: null,
      error: 'the host sends endless interim responses',
    });
    server.close();
  });

  it("rejects an untrusted certificate, and accepts one of the operator's own authority", async () => {
    const tls = await makeCertificate({ ip: ['127.0.0.1'] });
    const secure = await startReceiver(tls);
    try {
      assert.deepEqual(timeless(await send(message(secure.url), options(), 2_000)), {
        status: null,
        error: 'the certificate of the host cannot be trusted: it is self-signed',
      });
      assert.deepEqual(
        timeless(await send(message(secure.url), options(LOOPBACK, { context: trustedContext(tls.cert) }), 2_000)),
        { status: 204 },
      );
    } finally {
      await secure.close();
    }
  });

  it('goes through the egress proxy: to the checked address, or by name if the proxy resolves', async () => {
    const seen: string[] = [];
    const proxy = createServer((request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers['proxy-authorization'] ?? ''}`);
      request.resume().on('end', () => response.writeHead(202).end());
    });
    proxy.on('connect', (request, socket) => {
      seen.push(`CONNECT ${request.url}`);
      const through = dial(Number(request.url!.split(':')[1]), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        through.pipe(socket).pipe(through);
      });
      for (const end of [socket, through])
        end.on('error', () => {
          socket.destroy();
          through.destroy();
        });
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const tls = await makeCertificate({ dns: ['hook.test'] });
    const secure = await startReceiver(tls);
    const url = `http://user:pass@127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const egress = egressRoute({ url, resolve: 'proxy' });
    const here = { egress: egressRoute({ url }), context: trustedContext(tls.cert) };
    const known = { lookup: async () => [{ address: '93.184.216.34', family: 4 as const }] };
    const unknown = {
      lookup: async () => {
        throw new Error('unknown here');
      },
    };
    try {
      assert.deepEqual(timeless(await send(message('http://hook.test/a'), options(unknown, { egress }), 2_000)), {
        status: 202,
      });
      assert.deepEqual(
        timeless(
          await send(
            message(`https://hook.test:${secure.port}/b`),
            options(unknown, { egress, context: trustedContext(tls.cert) }),
            2_000,
          ),
        ),
        { status: 204 },
      );
      assert.deepEqual(timeless(await send(message('http://10.0.0.1/'), options({}, { egress }), 2_000)).status, null);
      for (const hook of [`http://hook.test:${receiver.port}/c`, `https://hook.test:${secure.port}/d`]) {
        assert.deepEqual(timeless(await send(message(hook), options(known, here), 2_000)), { status: 204 });
        assert.deepEqual(timeless(await send(message(hook), options(unknown, here), 2_000)), {
          status: null,
          error: 'cannot resolve host name hook.test',
        });
      }
      assert.equal(receiver.received[0]?.headers.host, `hook.test:${receiver.port}`);
      assert.deepEqual(seen, [
        `POST http://hook.test/a Basic ${Buffer.from('user:pass').toString('base64')}`,
        `CONNECT hook.test:${secure.port}`,
        `CONNECT 93.184.216.34:${receiver.port}`,
        `CONNECT 93.184.216.34:${secure.port}`,
      ]);
    } finally {
      await secure.close();
      proxy.close();
      proxy.closeAllConnections();
    }
  });
});
