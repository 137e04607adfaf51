import assert from 'node:assert/strict';
import { createServer, request as httpRequest, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { egressRoute } from '../../src/source/http/egress.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy, type ProxyOptions } from '../../src/source/proxy.ts';
import { ask } from './ask.ts';
import { makeCertificate } from './certificate.ts';
import { Cleanup, pattern, sendFile, startOrigin, type Handler } from './origin.ts';

const cleanup = new Cleanup();
const body = pattern(4_000_000);
const file: Handler = (request, response) => sendFile(body, request, response);

/** An egress proxy: it resolves the names itself, each to 127.0.0.1. */
async function startEgress(
  password?: string,
  unreachable: readonly string[] = [],
  tls?: { cert: string; key: string },
): Promise<{ port: number; seen: string[]; close(): void }> {
  const wanted = password === undefined ? undefined : `Basic ${Buffer.from(`user:${password}`).toString('base64')}`;
  const seen: string[] = [];
  const forward: RequestListener = (request, response) => {
    seen.push(`${request.method} ${request.url}`);
    if (wanted !== undefined && request.headers['proxy-authorization'] !== wanted) {
      response.writeHead(407).end();
      return;
    }
    const url = new URL(request.url!);
    const { 'proxy-authorization': _login, ...headers } = request.headers;
    httpRequest({ host: '127.0.0.1', port: url.port, path: url.pathname + url.search, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    })
      .on('error', () => response.destroy())
      .end();
  };
  const server = tls === undefined ? createServer(forward) : createSecureServer(tls, forward);
  server.on('connect', (request, socket) => {
    seen.push(`CONNECT ${request.url}`);
    socket.on('error', () => {});
    if (wanted !== undefined && request.headers['proxy-authorization'] !== wanted) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    if (unreachable.some((address) => request.url!.includes(address))) {
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
      return;
    }
    const through = connect(Number(/\d+$/.exec(request.url!)![0]), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      through.pipe(socket).pipe(through);
    });
    through.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return cleanup.add({
    port: (server.address() as AddressInfo).port,
    seen,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  });
}

const unknown: ProxyOptions = { lookup: () => Promise.reject(new Error('ENOTFOUND')) };
const PUBLIC = '93.184.216.34';
const leadsTo = (...addresses: string[]): ProxyOptions => ({
  lookup: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
});
async function open(url: string, options: ProxyOptions): Promise<Job> {
  const proxy = cleanup.add(await startProxy({ ...unknown, ...options }));
  return cleanup.add(proxy.open({ source: parseSource(url), limits: { maxBytes: 1e10 } }));
}

describe('source proxy: egress proxy', function () {
  this.timeout(20_000);
  afterEach(() => cleanup.run());

  for (const scheme of ['http', 'https'] as const) {
    it(`gets the checked address, never a name that it could resolve differently: ${scheme}`, async () => {
      const tls = await makeCertificate({ dns: ['rebind.example'] });
      const origin = cleanup.add(await startOrigin(file, scheme === 'https' ? tls : undefined));
      const egress = await startEgress('p@ss');
      const job = await open(`${scheme}://rebind.example:${origin.port}/a.mp4?x=1`, {
        ca: tls.cert,
        egress: { url: `http://user:p%40ss@127.0.0.1:${egress.port}` },
        ...leadsTo(PUBLIC, '10.0.0.1'),
      });
      assert.ok((await ask(job.address('a'))).body.equals(body));
      assert.ok(egress.seen.length > 0);
      assert.ok(
        egress.seen.every((line) => line === `CONNECT ${PUBLIC}:${origin.port}`),
        egress.seen.join(),
      );
      assert.ok(
        origin.requests.every(({ host }) => host === `rebind.example:${origin.port}`),
        'the origin is still asked by its name',
      );
      assert.ok(origin.connections < origin.requests.length, 'connections are kept');
    });
  }

  it('gets the next address if it cannot reach the first', async () => {
    const origin = cleanup.add(await startOrigin(file));
    const egress = await startEgress(undefined, ['2606:4700::1']);
    const job = await open(`http://origin.example:${origin.port}/a.mp4`, {
      egress: { url: `http://127.0.0.1:${egress.port}` },
      ...leadsTo('2606:4700::1', PUBLIC),
    });
    assert.ok((await ask(job.address('a'))).body.equals(body));
    assert.deepEqual(egress.seen.slice(0, 2), [
      `CONNECT [2606:4700::1]:${origin.port}`,
      `CONNECT ${PUBLIC}:${origin.port}`,
    ]);
  });

  it('gets no request for a name that does not resolve here', async () => {
    const egress = await startEgress();
    for (const scheme of ['http', 'https']) {
      const job = await open(`${scheme}://origin.example/a.mp4`, {
        egress: { url: `http://127.0.0.1:${egress.port}` },
      });
      assert.equal((await ask(job.address('a'))).status, 502);
      assert.equal(job.stats().failure?.reason, 'dns');
    }
    assert.deepEqual(egress.seen, []);
  });

  it('if it resolves names: tunnels https, also to names that only it knows, and keeps the connections', async () => {
    const tls = await makeCertificate({ dns: ['origin.example'] });
    const origin = cleanup.add(await startOrigin(file, tls));
    const egress = await startEgress('p@ss');
    const job = await open(`https://origin.example:${origin.port}/a.mp4`, {
      ca: tls.cert,
      egress: { url: `http://user:p%40ss@127.0.0.1:${egress.port}`, resolve: 'proxy' },
    });
    assert.ok((await ask(job.address('a'))).body.equals(body));
    assert.ok(egress.seen.length > 0);
    assert.ok(
      egress.seen.every((line) => line === `CONNECT origin.example:${origin.port}`),
      egress.seen.join(),
    );
    assert.ok(origin.connections < origin.requests.length);
  });

  it('is spoken to by TLS if its address says so, as a host behind it, with the authorities of sources', async () => {
    const tls = await makeCertificate({ ip: ['127.0.0.1'], dns: ['origin.example'] });
    const egress = await startEgress('p', [], tls);
    for (const scheme of ['http', 'https'])
      for (const resolve of ['here', 'proxy'] as const) {
        const origin = cleanup.add(await startOrigin(file, scheme === 'https' ? tls : undefined));
        const options = {
          ca: tls.cert,
          egress: { url: `https://user:p@127.0.0.1:${egress.port}`, resolve },
          ...leadsTo(PUBLIC),
        };
        const job = await open(`${scheme}://origin.example:${origin.port}/a.mp4`, options);
        assert.ok((await ask(job.address('a'))).body.equals(body), `${scheme}, resolved: ${resolve}`);
        if (scheme === 'http') continue;
        const other = await open(`https://other.example:${origin.port}/a.mp4`, options);
        assert.equal((await ask(other.address('a'))).status, 502);
        assert.equal(other.stats().failure?.reason, 'certificate');
      }
  });

  it('if it resolves names: gets plain http requests', async () => {
    const origin = cleanup.add(await startOrigin(file));
    const egress = await startEgress('p');
    const job = await open(`http://origin.example:${origin.port}/a.mp4?x=1`, {
      egress: { url: `http://user:p@127.0.0.1:${egress.port}`, resolve: 'proxy' },
    });
    assert.ok((await ask(job.address('a'))).body.equals(body));
    assert.ok(
      egress.seen.every((line) => line === `GET http://origin.example:${origin.port}/a.mp4?x=1`),
      egress.seen.join(),
    );
    assert.equal(origin.requests[0]!.host, `origin.example:${origin.port}`);
  });

  it('its refusal is named in the error', async () => {
    const egress = await startEgress('right');
    const job = await open('https://origin.example/a.mp4', {
      egress: { url: `http://user:wrong@127.0.0.1:${egress.port}` },
      ...leadsTo(PUBLIC),
    });
    assert.equal((await ask(job.address('a'))).status, 502);
    assert.equal(job.stats().failure?.message, 'the egress proxy refused the connection (407)');
    const gone = await open('https://origin.example/a.mp4', {
      egress: { url: 'http://127.0.0.1:1' },
      ...leadsTo(PUBLIC),
    });
    await ask(gone.address('a'));
    assert.equal(gone.stats().failure?.message, 'the egress proxy cannot be reached');
  });

  it('gets no request for addresses that are not allowed', async () => {
    const egress = await startEgress();
    for (const resolve of ['here', 'proxy'] as const) {
      const through = { url: `http://127.0.0.1:${egress.port}`, resolve };
      for (const url of [
        'http://127.0.0.1:80/',
        'https://10.0.0.1/',
        'http://169.254.169.254/latest/',
        'https://[::1]/',
        'http://2130706433/',
      ]) {
        const job = await open(url, { egress: through });
        assert.equal((await ask(job.address('a'))).status, 403, `${resolve} ${url}`);
      }
      const known = await open('https://inside.example/', { egress: through, ...leadsTo('10.1.1.1') });
      assert.equal((await ask(known.address('a'))).status, 403);
    }
    assert.deepEqual(egress.seen, []);
  });

  it('is bypassed where the operator says so', async () => {
    const origin = cleanup.add(await startOrigin(file));
    const egress = await startEgress();
    const options: ProxyOptions = {
      egress: { url: `http://127.0.0.1:${egress.port}`, noProxy: ['127.0.0.0/8', '.direct.example'] },
      allow: [{ cidr: '127.0.0.1/32' }],
    };
    assert.ok((await ask((await open(`${origin.url}/a`, options)).address('a'))).body.equals(body));
    assert.deepEqual(egress.seen, []);
  });

  it('applies no_proxy as other programs do', () => {
    const { applies } = egressRoute({
      url: 'http://p:1',
      noProxy: ['example.com', '.dot.example', '*.star.example', '10.0.0.0/8', 'fd00::/8', ' '],
    });
    for (const host of [
      'example.com',
      'a.example.com',
      'dot.example',
      'a.dot.example',
      'x.star.example',
      '10.1.1.1',
      'fd00::1',
      'EXAMPLE.com',
    ])
      assert.equal(applies(host), false, host);
    for (const host of ['notexample.com', 'example.com.evil', '11.1.1.1', 'fe00::1'])
      assert.equal(applies(host), true, host);
    assert.equal(egressRoute({ url: 'http://p:1', noProxy: ['*'] }).applies('any'), false);
    assert.throws(() => egressRoute({ url: 'socks5://p:1' }), TypeError);
  });
});
