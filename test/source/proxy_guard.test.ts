import assert from 'node:assert/strict';
import { connect, createServer, type AddressInfo } from 'node:net';
import type { Address } from '../../src/source/address/guard.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy, type ProxyOptions, type SourceProxy } from '../../src/source/proxy.ts';
import { ask } from './ask.ts';
import { Cleanup, pattern, sendFile, startOrigin, type Handler, type Origin } from './origin.ts';

const cleanup = new Cleanup();
const body = pattern(3_000_000);

/** A service that must never be reached, on a loopback address other than that of the allowed origin. */
interface Trap {
  port: number;
  touched: number;
  close(): Promise<unknown>;
}
async function startTrap(port = 0): Promise<Trap> {
  const server = createServer((socket) => {
    trap.touched++;
    socket.on('error', () => {});
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret');
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.2', resolve));
  const trap: Trap = {
    port: (server.address() as AddressInfo).port,
    touched: 0,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
  return cleanup.add(trap);
}

interface Setup {
  origin: Origin;
  trap: Trap;
  proxy: SourceProxy;
  open(url: string): Job;
}
async function setup(handler: (trap: Trap) => Handler, options: ProxyOptions = {}): Promise<Setup> {
  const trap = await startTrap();
  const origin = cleanup.add(await startOrigin(handler(trap)));
  const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32', port: origin.port }], ...options }));
  return {
    origin,
    trap,
    proxy,
    open: (url) => cleanup.add(proxy.open({ source: parseSource(url), limits: { maxBytes: 1e10 } })),
  };
}

const redirectTo =
  (location: (trap: Trap) => string, status = 302) =>
  (trap: Trap): Handler =>
  (_request, response) =>
    void response.writeHead(status, { location: location(trap), 'content-length': 0 }).end();

describe('source proxy: refused connections', () => {
  afterEach(() => cleanup.run());

  for (const spelled of [
    '127.0.0.2',
    '127.2',
    '0x7f000002',
    '2130706434',
    '017700000002',
    '[::ffff:127.0.0.2]',
    '[::ffff:7f00:2]',
    '①②⑦.0.0.②',
  ]) {
    it(`refuses the address ${spelled} without connecting`, async () => {
      const { trap, open } = await setup(() => (request, response) => sendFile(body, request, response));
      const url = `http://${spelled}:${trap.port}/a.mp4`;
      const job = open(url);
      const prepared = await job.prepare();
      assert.ok(!prepared.ok);
      assert.equal(prepared.failure.code, 'refused');
      const reply = await ask(job.address('ffprobe'));
      assert.equal(reply.status, 403);
      assert.equal(reply.body.toString(), 'the address is not allowed: it is private, local or reserved');
      assert.equal(job.stats().failure?.code, 'refused');
      assert.equal(job.stats().refused.length, 1);
      assert.equal(trap.touched, 0);
    });
  }

  it('refuses an allowed address at another port', async () => {
    const { origin, proxy, open } = await setup(() => (request, response) => sendFile(body, request, response));
    assert.equal((await ask(open(`http://127.0.0.1:${proxy.port}/`).address('a'))).status, 403);
    assert.equal(origin.connections, 0);
  });

  for (const status of [301, 302, 303, 307, 308]) {
    it(`does not follow a ${status} to a private address`, async () => {
      const { trap, open, origin } = await setup(redirectTo(({ port }) => `http://127.0.0.2:${port}/secret`, status));
      const job = open(`${origin.url}/a.mp4`);
      const reply = await ask(job.address('a'));
      assert.equal(reply.status, 403);
      assert.ok(!reply.body.includes('127.0.0.2'));
      assert.equal(job.stats().failure?.code, 'refused');
      assert.equal(trap.touched, 0);
    });
  }

  for (const location of [
    'file:///etc/passwd',
    'ftp://127.0.0.1/x',
    'gopher://127.0.0.1:70/',
    'data:text/plain,x',
    'rtmp://127.0.0.1/x',
    'http://',
    'javascript:1',
  ]) {
    it(`does not follow a redirect to ${location}`, async () => {
      const { open, origin } = await setup(redirectTo(() => location));
      const job = open(`${origin.url}/a.mp4`);
      assert.equal((await ask(job.address('a'))).status, 403);
      assert.equal(job.stats().failure?.code, 'refused');
    });
  }

  it('follows ten redirects and no more', async () => {
    const chain = (last: number) => (): Handler => (request, response, path) => {
      const step = Number(path.slice(1));
      if (step >= last) sendFile(body, request, response);
      else response.writeHead(302, { location: `/${step + 1}`, 'content-length': 0 }).end();
    };
    const ten = await setup(chain(10));
    assert.ok((await ask(ten.open(`${ten.origin.url}/0`).address('a'))).body.equals(body));
    const eleven = await setup(chain(11));
    const job = eleven.open(`${eleven.origin.url}/0`);
    assert.equal((await ask(job.address('a'))).status, 502);
    assert.equal(job.stats().failure?.reason, 'redirects');
  });

  it('connects to the address that it checked, even if the name resolves differently a moment later', async () => {
    let asked = 0;
    const rebind = (): Promise<Address[]> =>
      Promise.resolve([{ address: asked++ === 0 ? '127.0.0.1' : '127.0.0.2', family: 4 as const }]);
    const { origin, trap, proxy } = await setup(
      () => (request, response) => {
        sendFile(body, request, response, { connection: 'close' });
      },
      { lookup: rebind },
    );
    const beside = await startTrap(origin.port);
    const job = cleanup.add(
      proxy.open({
        source: parseSource(`http://rebind.example:${origin.port}/a.mp4`),
        allow: [{ cidr: '127.0.0.1/32' }],
        limits: { maxBytes: 1e10 },
      }),
    );
    await ask(job.address('a'));
    assert.ok(asked > 1, 'the name was resolved again for another connection');
    assert.equal(trap.touched + beside.touched, 0);
    assert.ok(origin.requests.every(({ host }) => host === `rebind.example:${origin.port}`));
  });

  it('uses the allowed addresses of a name, and not its private ones', async () => {
    const mixed = (): Promise<Address[]> =>
      Promise.resolve([
        { address: '127.0.0.2', family: 4 },
        { address: '::1', family: 6 },
        { address: '127.0.0.1', family: 4 },
      ]);
    const { origin, trap, open } = await setup(() => (request, response) => sendFile(body, request, response), {
      lookup: mixed,
    });
    const beside = await startTrap(origin.port);
    const job = open(`http://mixed.example:${origin.port}/a.mp4`);
    assert.ok((await ask(job.address('a'))).body.equals(body));
    assert.equal((await ask(open(`http://mixed.example:${trap.port}/a.mp4`).address('a'))).status, 403);
    assert.equal(trap.touched + beside.touched, 0);
  });

  const playlist = (trap: Trap): string =>
    [
      '#EXTM3U',
      '#EXT-X-TARGETDURATION:4',
      `#EXT-X-KEY:METHOD=AES-128,URI="http://127.0.0.2:${trap.port}/key"`,
      `#EXT-X-MAP:URI="//127.0.0.2:${trap.port}/init.mp4"`,
      '#EXTINF:4,',
      'good.ts',
      '#EXTINF:4,',
      `http://127.0.0.2:${trap.port}/bad.ts?token=hidden`,
      '#EXTINF:4,',
      'file:///etc/passwd',
      '#EXT-X-ENDLIST',
      '',
    ].join('\n');

  it('refuses a private address in a playlist, reports it to the tool, and reads the rest', async () => {
    const { origin, trap, open } = await setup((made) => (request, response, path) => {
      if (path === '/live/list.m3u8') sendFile(Buffer.from(playlist(made)), request, response);
      else sendFile(body, request, response);
    });
    const job = open(`${origin.url}/live/list.m3u8`);
    const reply = await ask(job.address('ffprobe'));
    assert.equal(reply.status, 200);
    const lines = reply.body.toString().split('\n');
    const prefix = job.address('ffprobe').replace(/\/list\.m3u8$/, '');
    assert.equal(lines[2], `#EXT-X-KEY:METHOD=AES-128,URI="x/http/127.0.0.2:${trap.port}/key"`);
    assert.equal(lines[5], 'good.ts');
    for (const address of [
      /URI="([^"]+)"/.exec(lines[2]!)![1]!,
      /URI="([^"]+)"/.exec(lines[3]!)![1]!,
      lines[7]!,
      lines[9]!,
    ]) {
      const refused = await ask(new URL(address, job.address('ffprobe')).href);
      assert.equal(refused.status, 403, address);
      assert.match(refused.body.toString(), /not allowed/);
    }
    assert.ok((await ask(`${prefix}/good.ts`)).body.equals(body));
    const stats = job.stats();
    assert.deepEqual(stats.refused, [
      `http://127.0.0.2:${trap.port}/key`,
      `http://127.0.0.2:${trap.port}/init.mp4`,
      `http://127.0.0.2:${trap.port}/bad.ts?token=REDACTED`,
      'file://REDACTED',
    ]);
    assert.equal(stats.failure, undefined, 'the source itself was good');
    assert.equal(trap.touched, 0);
  });

  it('refuses a segment that redirects to a private address', async () => {
    const { origin, trap, open } = await setup((made) => (request, response, path) => {
      if (path.endsWith('.m3u8'))
        sendFile(Buffer.from('#EXTM3U\n#EXTINF:4,\na.ts\n#EXT-X-ENDLIST\n'), request, response);
      else response.writeHead(302, { location: `http://127.0.0.2:${made.port}/x` }).end();
    });
    const job = open(`${origin.url}/list.m3u8`);
    await ask(job.address('a'));
    assert.equal((await ask(job.address('a').replace('list.m3u8', 'a.ts'))).status, 403);
    assert.equal(trap.touched, 0);
  });

  for (const path of [
    'x/http/127.0.0.2:PORT/',
    'x/https/127.0.0.2:PORT/',
    'x/http/user@127.0.0.2:PORT/',
    'x/http/127.0.0.1@127.0.0.2:PORT/',
    'x/http/127.2:PORT/',
    'x/http/[::ffff:127.0.0.2]:PORT/',
    'x/ftp/127.0.0.2:PORT/',
    'x/http//127.0.0.2:PORT/',
    '//127.0.0.2:PORT/',
    '%2f%2f127.0.0.2:PORT/',
    '\\\\127.0.0.2:PORT/',
    'x/http/127.0.0.1:PORT\\@127.0.0.2:PORT/',
    'http://127.0.0.2:PORT/',
    '../../x/http/127.0.0.2:PORT/',
  ]) {
    it(`cannot be led inside by the path ${path}`, async () => {
      const { origin, trap, open } = await setup(
        () => (_request, response) => void response.writeHead(404, { 'content-length': 0 }).end(),
      );
      const job = open(`${origin.url}/a.mp4`);
      const base = job.address('a').replace(/a\.mp4$/, '');
      const reply = await ask(base + path.replaceAll('PORT', String(trap.port)));
      assert.ok(reply.status === 403 || reply.status === 404, String(reply.status));
      assert.equal(trap.touched, 0);
    });
  }
});

describe('source proxy: as an HTTP proxy for addresses that were not rewritten', () => {
  afterEach(() => cleanup.run());
  const good = () => ((request, response) => sendFile(body, request, response)) as Handler;
  const login = (job: Job): { port: number; authorization: string } => {
    const url = new URL(job.environment('ffprobe')['http_proxy']!);
    return {
      port: Number(url.port),
      authorization: `Basic ${Buffer.from(`${url.username}:${url.password}`).toString('base64')}`,
    };
  };

  function tunnel(port: number, target: string, authorization: string | undefined): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      const late = setTimeout(() => socket.destroy(new Error('no answer within the deadline')), 10_000);
      let text = '';
      socket.on('error', reject).on('close', () => {
        clearTimeout(late);
        resolve(text);
      });
      socket.on('data', (chunk: Buffer) => {
        const first = text === '';
        text += chunk.toString('latin1');
        if (first && text.startsWith('HTTP/1.1 200'))
          socket.write('GET /t HTTP/1.1\r\nhost: t\r\nrange: bytes=0-9\r\nconnection: close\r\n\r\n');
      });
      socket.write(
        `CONNECT ${target} HTTP/1.1\r\nhost: ` +
          `${target}\r\n${authorization === undefined ? '' : `proxy-authorization: ${authorization}\r\n`}\r\n`,
      );
    });
  }

  it('requires the secret', async () => {
    const { origin, open, proxy } = await setup(good);
    open(`${origin.url}/a`);
    assert.match(
      await tunnel(proxy.port, `127.0.0.1:${origin.port}`, undefined),
      /^HTTP\/1\.1 407 .*\r\nproxy-authenticate: Basic/s,
    );
    assert.match(
      await tunnel(proxy.port, `127.0.0.1:${origin.port}`, `Basic ${Buffer.from('x:y').toString('base64')}`),
      /^HTTP\/1\.1 407/,
    );
    assert.equal((await ask(`${origin.url}/b`, { proxy })).status, 407);
    assert.equal(origin.connections, 0);
  });

  it('opens no tunnel to the source, a public address or any port, and reports the target', async () => {
    const { origin, trap, open } = await setup(good);
    const job = open(`${origin.url}/a`);
    const { port, authorization } = login(job);
    for (const target of [
      `127.0.0.1:${origin.port}`,
      '93.184.216.34:443',
      'example.com:443',
      'example.com:25',
      `127.0.0.2:${trap.port}`,
      `127.2:${trap.port}`,
      `[::ffff:127.0.0.2]:${trap.port}`,
      '169.254.169.254:80',
    ]) {
      assert.match(await tunnel(port, target, authorization), /^HTTP\/1\.1 403/, target);
    }
    for (const target of ['127.0.0.2', 'a@127.0.0.2:80', '/x:80', '%:80'])
      assert.match(await tunnel(port, target, authorization), /^HTTP\/1\.1 400/, target);
    assert.deepEqual(job.stats().refused.slice(0, 3), [
      `https://127.0.0.1:${origin.port}/`,
      'https://93.184.216.34/',
      'https://example.com/',
    ]);
    assert.equal(origin.connections + trap.touched, 0);
    assert.equal(job.stats().ioUsage, 0);
  });

  it('fetches allowed http addresses, without any credential', async () => {
    const { origin, trap, proxy } = await setup(good);
    const job = cleanup.add(
      proxy.open({
        source: parseSource(`http://user:password@127.0.0.1:${origin.port}/a`),
        limits: { maxBytes: 1e10 },
      }),
    );
    const { authorization } = login(job);
    const headers = { 'proxy-authorization': authorization };
    assert.ok((await ask(`${origin.url}/b`, { proxy, headers })).body.equals(body));
    assert.equal(origin.requests[0]!.authorization, undefined);
    assert.equal((await ask(`http://127.0.0.2:${trap.port}/`, { proxy, headers })).status, 403);
    assert.equal((await ask(`http://127.2:${trap.port}/`, { proxy, headers })).status, 403);
    assert.equal(trap.touched, 0);
    assert.ok((await ask(job.address('x'), { proxy })).body.equals(body), 'its own address, asked for as a proxy');
    assert.match(origin.requests.at(-1)!.authorization ?? '', /^Basic /);
  });
});
