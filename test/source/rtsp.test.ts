import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { authorizationFor, challengeOf } from '../../src/source/protocols/rtsp/auth.ts';
import { encodeRtsp, RtspReader, type RtspMessage } from '../../src/source/protocols/rtsp/message.ts';
import { rtspNames } from '../../src/source/protocols/rtsp/relay.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { askRtsp } from './ask_rtsp.ts';
import { Cleanup } from './origin.ts';
import { listen } from './listen.ts';
import { assertLinear } from './work.ts';

const cleanup = new Cleanup();

describe('rtsp: wire format', () => {
  it('messages and frames are separated, in pieces of any size', () => {
    const frame = Buffer.from([0x24, 3, 0, 4, 1, 2, 3, 4]);
    const bytes = Buffer.concat([
      encodeRtsp(
        'RTSP/1.0 200 OK',
        [
          ['CSeq', '1'],
          ['Content-Type', 'x'],
        ],
        Buffer.from('$bod\r\n\r\n'),
      ),
      frame,
      Buffer.from('\r\n'),
      encodeRtsp('OPTIONS * RTSP/1.0', [['CSeq', '2']]),
      frame,
    ]);
    for (const step of [1, 5, bytes.length]) {
      const reader = new RtspReader();
      const found: string[] = [];
      for (let at = 0; at < bytes.length; at += step)
        for (const item of reader.read(bytes.subarray(at, at + step)))
          found.push(
            item.kind === 'frame' ? `${item.channel}:${item.payload.length}` : `${item.start} ${item.body.toString()}`,
          );
      assert.deepEqual(found, ['RTSP/1.0 200 OK $bod\r\n\r\n', '3:4', 'OPTIONS * RTSP/1.0 ', '3:4']);
    }
  });

  it('bodies, headers and line ends in small pieces take linear time', () => {
    const start = 'RTSP/1.0 200 OK\r\n';
    const cases: [name: string, size: number, text: (size: number) => string][] = [
      [
        'body',
        250_000,
        (size) => `${start}x: ${'y'.repeat(60_000)}\r\nContent-Length: 1048576\r\n\r\n${'b'.repeat(size)}`,
      ],
      ['head', 15_000, (size) => `${start}${'x:\r\n'.repeat(size / 5)}`],
      ['line ends', 1 << 18, (size) => '\r\n'.repeat(size / 2)],
    ];
    for (const [name, size, text] of cases) {
      assertLinear(name, size, (length) => {
        const bytes = Buffer.from(text(length));
        return () => {
          const reader = new RtspReader();
          for (let at = 0; at < bytes.length; at += 16)
            for (const item of reader.read(bytes.subarray(at, at + 16))) assert.fail(item.kind);
        };
      });
    }
  }).timeout(60_000);

  it('a length that is not a whole number is an error', () => {
    for (const length of ['1.5', '-1', '1e3', '0x10'])
      assert.throws(
        () => [...new RtspReader().read(Buffer.from(`RTSP/1.0 200 OK\r\nContent-Length: ${length}\r\n\r\nab`))],
        RangeError,
        length,
      );
  });

  it('invalid messages are an error, not a growing buffer', () => {
    const read = (text: string): unknown[] => [...new RtspReader().read(Buffer.from(text))];
    for (const bad of [
      '<html>',
      'HTTP/1.1 200 OK\r\n\r\n',
      'RTSP/1.0 050 No\r\n\r\n',
      `RTSP/1.0 200 OK\r\nx: ${'y'.repeat(70_000)}`,
      'RTSP/1.0 200 OK\r\nContent-Length: 99999999\r\n\r\n',
    ])
      assert.throws(() => read(bad), RangeError, bad.slice(0, 20));
  });
});

describe('rtsp: authentication', () => {
  it('answers a digest challenge as in RFC 2069 and 2617, and prefers it to basic', () => {
    const challenge = challengeOf([
      ['WWW-Authenticate', 'Basic realm="x"'],
      [
        'WWW-Authenticate',
        'Digest realm="testrealm@host.com", ' +
          'nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", ' +
          'opaque="5ccc069c403ebaf9f0171e9517f40e41"',
      ],
    ])!;
    const said = authorizationFor(challenge, { user: 'Mufasa', password: 'CircleOfLife' }, 'GET', '/dir/index.html');
    assert.match(said, /^Digest username="Mufasa", realm="testrealm@host.com", /);
    // The example of RFC 2069, with the value of its erratum.
    assert.match(said, /response="1949323746fe6a43ef61f9606e7febea"/);
    assert.match(said, /opaque="5ccc069c403ebaf9f0171e9517f40e41"/);
  });

  it('uses the other offer if a digest algorithm is unknown', () => {
    assert.deepEqual(
      challengeOf([
        ['www-authenticate', 'Digest realm="a", nonce="b", algorithm=MD5-sess-x'],
        ['www-authenticate', 'Basic realm="x"'],
      ]),
      { scheme: 'basic' },
    );
    assert.equal(challengeOf([['www-authenticate', 'Bearer']]), undefined);
  });
});

describe('rtsp: addresses for tools', () => {
  const local = 'rtsp://127.0.0.1:9/secret/ffprobe/stream';
  const names = rtspNames(local, () => 'rtsp://host/cam?token=value');
  it('lead to the server and back, and hide its place', () => {
    assert.equal(names.up(local), 'rtsp://host/cam?token=value');
    assert.equal(names.up(`${local}/trackID=0`), 'rtsp://host/cam?token=value/trackID=0');
    const base = names.down('rtsp://user:pass@host/cam/?token=value');
    assert.ok(!/host|value|pass/.test(base), base);
    assert.equal(names.up(`${base}/trackID=1`), 'rtsp://host/cam/?token=value/trackID=1');
    assert.equal(
      names.down('url=rtsp://host/cam?token=value/trackID=0;seq=1,url=rtsp://other/x;seq=2', true),
      `url=${local}/trackID=0;seq=1,url=rtsp://127.0.0.1:9/secret/ffprobe/u1;seq=2`,
    );
  });

  it('an address that was not given to the tool leads nowhere', () => {
    for (const uri of [
      'rtsp://127.0.0.1/',
      'rtsp://host/cam',
      `${local}x`,
      'rtsp://127.0.0.1:9/secret/ffprobe/u77',
      'rtsp://127.0.0.1:9/secret/mediainfo/stream',
    ])
      assert.equal(names.up(uri), undefined, uri);
  });
});

describe('rtsp: relay', function () {
  this.timeout(20_000);
  afterEach(() => cleanup.run());

  interface Server {
    port: number;
    requests: RtspMessage[];
  }
  async function server(reply: (request: RtspMessage, socket: Socket) => Buffer): Promise<Server> {
    const requests: RtspMessage[] = [];
    const listening = cleanup.add(
      await listen((socket) => {
        const reader = new RtspReader();
        socket.on('data', (bytes) => {
          for (const item of reader.read(bytes)) {
            if (item.kind === 'frame') continue;
            requests.push(item);
            socket.write(reply(item, socket));
          }
        });
      }),
    );
    return { port: listening.port, requests };
  }
  const header = (message: RtspMessage, name: string): string | undefined =>
    message.headers.find(([known]) => known.toLowerCase() === name)?.[1];
  const respond = (request: RtspMessage, status: string, headers: [string, string][] = [], body?: Buffer): Buffer =>
    encodeRtsp(`RTSP/1.0 ${status}`, [['CSeq', header(request, 'cseq')!], ...headers], body);

  async function open(url: string): Promise<Job> {
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.0/8' }] }));
    return cleanup.add(proxy.open({ source: parseSource(url), limits: { maxBytes: 1e9 }, live: ['ffprobe'] }));
  }
  const ask = (
    job: Job,
    method: string,
    headers: [string, string][] = [],
    uri = job.address('ffprobe'),
  ): Promise<RtspMessage | undefined> => askRtsp(job.address('ffprobe'), method, { headers, uri });

  it("authenticates with the caller's credentials, which the tool neither has nor sees", async () => {
    const origin = await server((request) =>
      header(request, 'authorization')?.startsWith('Digest username="user"')
        ? respond(
            request,
            '200 OK',
            [
              ['Content-Base', `rtsp://127.0.0.1:${origin.port}/cam/`],
              ['Content-Type', 'application/sdp'],
            ],
            Buffer.from(`v=0\r\na=control:rtsp://127.0.0.1:${origin.port}/cam/all\r\n`),
          )
        : respond(request, '401 Unauthorized', [['WWW-Authenticate', 'Digest realm="r", nonce="n"']]),
    );
    const job = await open(`rtsp://user:password@127.0.0.1:${origin.port}/cam`);
    const answer = await ask(job, 'DESCRIBE');
    assert.equal(answer?.start, 'RTSP/1.0 200 OK');
    assert.equal(header(answer!, 'cseq'), '7');
    assert.equal(header(answer!, 'content-base'), `${job.address('ffprobe')}/`);
    assert.ok(!answer!.body.toString().includes(String(origin.port)), answer!.body.toString());
    assert.equal(origin.requests.length, 2);
  });

  it('follows a redirect to a checked address, without the password', async () => {
    const second = await server((request) =>
      respond(request, '401 Unauthorized', [['WWW-Authenticate', 'Basic realm="r"']]),
    );
    const first = await server((request) =>
      respond(request, '302 Found', [['Location', `rtsp://127.0.0.2:${second.port}/else`]]),
    );
    const third = await server((request) =>
      respond(request, '302 Found', [['Location', `rtsp://127.0.0.1:${second.port}/else`]]),
    );
    const away = await open(`rtsp://user:password@127.0.0.1:${third.port}/cam`);
    assert.equal((await ask(away, 'DESCRIBE'))?.start, 'RTSP/1.0 401 Unauthorized');
    assert.deepEqual(
      second.requests.map((request) => [request.start, header(request, 'authorization')]),
      [[`DESCRIBE rtsp://127.0.0.1:${second.port}/else RTSP/1.0`, undefined]],
    );
    assert.deepEqual([away.stats().failure?.code, away.stats().failure?.status], ['origin-unreachable', 401]);

    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32' }] }));
    const closed = cleanup.add(
      proxy.open({
        source: parseSource(`rtsp://127.0.0.1:${first.port}/cam`),
        limits: { maxBytes: 1e9 },
        live: ['ffprobe'],
      }),
    );
    assert.equal((await ask(closed, 'DESCRIBE'))?.start, 'RTSP/1.0 403 Forbidden');
    assert.equal(closed.stats().failure?.code, 'refused');
  });

  it('refuses other transports, methods and addresses before they reach the server', async () => {
    const origin = await server((request) => respond(request, '200 OK'));
    const job = await open(`rtsp://127.0.0.1:${origin.port}/cam`);
    assert.equal(
      (await ask(job, 'SETUP', [['Transport', 'RTP/AVP;unicast;client_port=5000-5001']]))?.start,
      'RTSP/1.0 461 Unsupported Transport',
    );
    assert.equal((await ask(job, 'ANNOUNCE'))?.start, 'RTSP/1.0 405 Method Not Allowed');
    assert.equal((await ask(job, 'DESCRIBE', [], 'rtsp://127.0.0.1:1/other'))?.start, 'RTSP/1.0 404 Not Found');
    assert.equal(origin.requests.length, 0);
  });

  it('relays no status that the tool cannot read', async () => {
    const origin = await server((request) => respond(request, '050 OK'));
    const job = await open(`rtsp://127.0.0.1:${origin.port}/cam`);
    assert.equal(await ask(job, 'DESCRIBE'), undefined);
    assert.equal(job.stats().failure?.reason, 'protocol');
  });

  it('ignores a server that answers with UDP', async () => {
    const origin = await server((request) =>
      respond(request, '200 OK', [['Transport', 'RTP/AVP;unicast;client_port=1-2;server_port=3-4']]),
    );
    const job = await open(`rtsp://127.0.0.1:${origin.port}/cam`);
    assert.equal(
      (await ask(job, 'SETUP', [['Transport', 'RTP/AVP/TCP;unicast;interleaved=0-1']]))?.start,
      'RTSP/1.0 503 Service Unavailable',
    );
    assert.match(job.stats().failure?.message ?? '', /UDP only/);
  });
});
