import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeGuard } from '../../src/source/address/guard.ts';
import { NAMESPACE, RUNNERS, cluster, eventually, fixtures, type Cluster } from '../cluster/fixture.ts';
import { record } from './record.ts';
import { spellingsOf } from './spellings.ts';

/**
 * Connections here must never happen. It listens on every address of the host except the allowed one, and on its
 * loopback.
 */
async function openTrap(): Promise<{ port: number; touched: () => string[]; close(): void }> {
  const touched: string[] = [];
  const server = createServer((socket) => {
    touched.push(socket.localAddress ?? '');
    socket.on('error', () => {}).end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret');
  });
  await new Promise<void>((resolve) => server.listen(0, '::', resolve));
  return { port: (server.address() as AddressInfo).port, touched: () => touched, close: () => void server.close() };
}

const AT_ONCE = 8;
async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
    }),
  );
}

describe('private addresses', function () {
  this.timeout(120_000);
  let c: Cluster;
  let token: string;
  let trap: Awaited<ReturnType<typeof openTrap>>;
  /** Examples of private addresses: the node, services and pods of the cluster, other addresses of this host. */
  let inside: { name: string; address: string; port: number }[];
  const of = async (...args: string[]) => (await c.kubectl(...args)).trim();

  before(async () => {
    c = await cluster();
    ({ token } = await c.newToken(50));
    trap = await openTrap();
    const service = (name: string, namespace: string = NAMESPACE) =>
      of('-n', namespace, 'get', 'svc', name, '-o', 'jsonpath={.spec.clusterIP}');
    const guard = makeGuard();
    const own = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .filter(
        ({ family, internal, address }) =>
          family === 'IPv4' && !internal && address !== c.hostIp && guard.check(address) === 'refused',
      );
    inside = [
      { name: 'loopback', address: '127.0.0.1', port: trap.port },
      { name: 'the metadata of a cloud', address: '169.254.169.254', port: 80 },
      { name: 'the API server', address: await service('kubernetes', 'default'), port: 443 },
      {
        name: 'NATS',
        address: await of('-n', NAMESPACE, 'get', 'pod', 'probeyard-nats-0', '-o', 'jsonpath={.status.podIP}'),
        port: 4222,
      },
      ...own.map(({ address }) => ({ name: 'another address of the node', address, port: trap.port })),
    ];
  });
  after(async () => {
    trap?.close();
    await c?.close();
  });
  it('a runner could reach the trap if it were allowed to, because its network does not stop it', async function () {
    const target = inside[4];
    // A ready runner to connect from.
    await eventually(
      'a runner is ready',
      60,
      async () =>
        (await c.probe({ url: `${(await c.origin(fixtures)).url}/tiny.mp4`, only: 'ffprobe' }, { token })).json.success,
    );
    const pod = (
      await c.kubectl(
        '-n',
        RUNNERS,
        'get',
        'pods',
        '-l',
        'app.kubernetes.io/component=runner,probeyard.dev/pool=short',
        '--field-selector=status.phase=Running',
        '-o',
        'jsonpath={.items[*].metadata.name}',
      )
    ).split(' ')[0];
    if (!target || !pod) {
      console.log('      skipped: this host has one address alone, or no runner');
      this.skip();
    }
    const program =
      `require('net').connect(${target.port}, '${target.address}', function () { ` +
      `console.log('connected'); this.destroy(); }).on('error', (error) => console.log(error.code))`;
    const said = await eventually('the runner can be asked', 60, () =>
      of('-n', RUNNERS, 'exec', pod, '-c', 'agent', '--', '/app/bin/node', '-e', program).catch(() => undefined),
    );
    console.log(`      from a runner, past the guard: ${said}`);
    if (said === 'connected') assert.equal(trap.touched().length, 1);
    trap.touched().length = 0;
  });
  afterEach(() => assert.deepEqual(trap.touched(), [], 'somebody was connected to'));

  const table = (attempt: string, statuses: readonly number[]) =>
    record({
      group: 'addresses',
      attempt,
      expected: '400, no connection',
      got:
        `${[...new Set(statuses)].join(' and ')}, ` +
        `${trap.touched().length} connections (${statuses.length} ` +
        'addresses)',
    });

  for (const [index, name] of [
    'loopback',
    'the metadata of a cloud',
    'the API server',
    'NATS',
    'another address of the node',
  ].entries()) {
    it(`${name}, in ${spellingsOf('1.2.3.4').length} spellings, is 400`, async () => {
      const target = inside[index];
      if (!target) return; // This host has a single address.
      const statuses: number[] = [];
      await each(spellingsOf(target.address), async ([spelled, host]) => {
        const authority = host.includes('#') ? host.replace('#', `:${target.port}/#`) : `${host}:${target.port}`;
        const { status, text } = await c.probe({ url: `http://${authority}/a.mp4` }, { token });
        statuses.push(status);
        assert.equal(status, 400, `${spelled} (${host}): ${text}`);
      });
      table(`${name}, in every spelling`, statuses);
    });
  }

  const others = [
    'http://[::1]:PORT/',
    'http://[::]:PORT/',
    'http://[0:0:0:0:0:0:0:1]:PORT/',
    'http://0/',
    'http://0.0.0.0:PORT/',
    'http://localhost:PORT/',
    'http://LOCALHOST.:PORT/',
    'http://localhost.localdomain:PORT/',
    'http://10.0.0.1/',
    'http://172.16.0.1/',
    'http://192.168.0.1/',
    'http://100.64.0.1/',
    'http://198.18.0.1/',
    'http://224.0.0.1/',
    'http://240.0.0.1/',
    'http://255.255.255.255/',
    'http://[fe80::1]/',
    'http://[fc00::1]/',
    'http://[fd00:ec2::254]/',
    'http://[ff02::1]/',
    'http://168.63.129.16/',
    'http://100.100.100.200/',
    'http://192.0.0.192/',
    'http://[2001:db8::1]/',
    'http://[2001:0:4136:e378::1]/',
    'http://[fec0::1]/',
    'rtmp://127.0.0.1/live/key',
    'rtsp://127.0.0.1:PORT/a',
    'srt://127.0.0.1:PORT',
    'ftp://127.0.0.1:PORT/a.mp4',
    'http://kubernetes.default.svc.cluster.local/',
    'http://probeyard-nats.probeyard.svc.cluster.local:4222/',
    'http://probeyard-nats.probeyard.svc.cluster.local.:4222/',
    'http://PROBEYARD-POSTGRES.probeyard.svc.cluster.local:5432/',
  ];
  it(`${others.length} more, of every reserved range, scheme and name, are refused`, async () => {
    const statuses: number[] = [];
    await each(others, async (url) => {
      const { status, text } = await c.probe({ url: url.replace('PORT', String(trap.port)) }, { token });
      statuses.push(status);
      // An unknown name is 404.
      if (/localdomain|LOCALHOST\./.test(url)) assert.ok(status === 400 || status === 404, `${url}: ${text}`);
      else assert.equal(status, 400, `${url}: ${text}`);
    });
    table('other ranges, schemes and names', statuses);
  });

  it('a redirect to any of them, after one and after three hops, is 400', async () => {
    // In the path, because an address with a query may contain a secret, and its job would get a separate pod.
    const path = (hops: number, to: string) => `/${hops}/${Buffer.from(to).toString('base64url')}/a.mp4`;
    const origin = await c.origin((request, response) => {
      const [, hops = '', coded = ''] = (request.url ?? '').split('/');
      const to = Buffer.from(coded, 'base64url').toString();
      response
        .writeHead([301, 302, 303, 307, 308][Number(hops) % 5]!, {
          location: Number(hops) > 1 ? path(Number(hops) - 1, to) : to,
        })
        .end();
    });
    const statuses: number[] = [];
    const targets = inside.flatMap(({ address, port }) =>
      [
        address,
        `[::ffff:${address}]`,
        ...spellingsOf(address)
          .filter(([name]) => name === 'one number' || name === 'NAT64')
          .map(([, host]) => host),
      ].map((host) => `http://${host}:${port}/x.mp4`),
    );
    await each(targets, async (target) => {
      for (const hops of [1, 3]) {
        const { status, text } = await c.probe(
          { url: `${origin.url}${path(hops, target)}`, only: 'ffprobe' },
          { token },
        );
        statuses.push(status);
        assert.equal(status, 400, `${target} after ${hops}: ${text}`);
      }
    });
    table('by a redirect, after one and three hops', statuses);
  });

  const LISTS: [name: string, file: string, text: (inner: string) => string][] = [
    ['a variant', 'a.m3u8', (inner) => `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000000\n${inner}/v.m3u8\n`],
    [
      'a rendition',
      'a.m3u8',
      (inner) =>
        `#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="a",DEFAULT=YES,AUTOSELECT=YES,` +
        `URI="${inner}/a.m3u8"\n#EXT-X-STREAM-INF:BANDWIDTH=1000000,AUDIO="a"\n${inner}/v.m3u8\n`,
    ],
    [
      'a key',
      'a.m3u8',
      (inner) =>
        `#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXT-X-KEY:METHOD=AES-128,` +
        `URI="${inner}/key"\n#EXTINF:6,\ntiny.mp4\n#EXT-X-ENDLIST\n`,
    ],
    [
      'an initialisation',
      'a.m3u8',
      (inner) =>
        `#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXT-X-MAP:URI="${inner}/init.mp4"\n#EXTINF:6,\ntiny.mp4\n#EXT-X-ENDLIST\n`,
    ],
    ['a segment', 'a.m3u8', (inner) => `#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\n${inner}/s.ts\n#EXT-X-ENDLIST\n`],
    [
      'a segment behind a redirect',
      'a.m3u8',
      (inner) =>
        `#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\n` +
        `moved?to=${encodeURIComponent(`${inner}/s.ts`)}\n#EXT-X-ENDLIST\n`,
    ],
    [
      'a BaseURL of DASH',
      'a.mpd',
      (inner) =>
        '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" ' +
        'mediaPresentationDuration="PT10S" ' +
        `profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><BaseURL>${inner}/</BaseURL>` +
        '<Period><AdaptationSet mimeType="video/mp4"><Representation id="1" bandwidth="1000" ' +
        'codecs="avc1.42c01e" width="16" height="16"><BaseURL>v.mp4</BaseURL><SegmentBase ' +
        'indexRange="0-100"/></Representation></AdaptationSet></Period></MPD>',
    ],
    [
      'a template of DASH',
      'a.mpd',
      (inner) =>
        '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" ' +
        'mediaPresentationDuration="PT10S" ' +
        'profiles="urn:mpeg:dash:profile:isoff-live:2011"><Period><AdaptationSet ' +
        `mimeType="video/mp4"><SegmentTemplate media="${inner}/$Number$.m4s" ` +
        `initialization="${inner}/i.mp4" duration="2" startNumber="1"/><Representation id="1" ` +
        'bandwidth="1000" codecs="avc1.42c01e" width="16" height="16"/></AdaptationSet></Period></MPD>',
    ],
  ];
  for (const [name, file, text] of LISTS) {
    it(`${name}, read by both tools, is an error of the tool without a connection`, async () => {
      for (const { address, port } of inside.filter((_, index) => index !== 1 && index !== 2)) {
        const origin = await c.origin((request, response) => {
          const to = new URL(request.url ?? '/', 'http://x').searchParams.get('to');
          if (to !== null) response.writeHead(302, { location: to }).end();
          else
            response
              .writeHead(200, {
                'content-type': file.endsWith('mpd') ? 'application/dash+xml' : 'application/vnd.apple.mpegurl',
              })
              .end(text(`http://${address}:${port}`));
        });
        const { status, text: answer } = await c.probe(
          { url: `${origin.url}/${file}`, timeout: 20_000, probe_report: { enabled: false } },
          { token },
        );
        assert.ok(status === 200 || status === 400, answer);
        assert.doesNotMatch(answer, /secret/);
        const ofNode = port === trap.port && address !== '127.0.0.1';
        record({
          group: 'addresses',
          attempt: `${name}, at ${port === 4222 ? 'NATS' : ofNode ? 'another address of the node' : 'loopback'}`,
          expected: "a tool's error, no connection",
          got: `${status}, ${trap.touched().length} connections`,
        });
      }
    });
  }

  it('as a webhook address are 400, and nothing is sent', async () => {
    const { url: source } = await c.origin(fixtures);
    const statuses: number[] = [];
    await each(
      inside.flatMap(({ address, port }) =>
        spellingsOf(address).map(
          ([, host]) => `http://${host.includes('#') ? host.replace('#', `:${port}/#`) : `${host}:${port}`}/hook`,
        ),
      ),
      async (target) => {
        const { status, text } = await c.probe({ url: `${source}/tiny.mp4`, webhook_url: target }, { token });
        statuses.push(status);
        assert.equal(status, 400, `${target}: ${text}`);
      },
    );
    table('as the target of a webhook', statuses);
  });

  it('a name with an allowed and a private address connects to the allowed one only', async () => {
    // A persistent connection was checked before, so each one here is new.
    const clip = await readFile(join(fixtures, 'tiny.mp4'));
    const origin = await c.origin(
      (_request, response) =>
        void response
          .writeHead(200, { 'content-type': 'video/mp4', 'content-length': clip.length, connection: 'close' })
          .end(clip),
    );
    const port = Number(new URL(origin.url).port);
    const name = `turning-${port}`;
    const natsPod = inside[3]!.address;
    const file = join(tmpdir(), `probeyard-${name}.json`);
    const apply = async (...addresses: string[]) => {
      const slice = {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name, namespace: 'default', labels: { 'kubernetes.io/service-name': name } },
        addressType: 'IPv4',
        ports: [{ name: 'http', port, protocol: 'TCP' }],
        endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
      };
      await writeFile(file, JSON.stringify(slice));
      await c.kubectl('apply', '--server-side', '-f', file);
    };
    await c.kubectl('create', 'service', 'clusterip', name, '-n', 'default', '--clusterip=None', `--tcp=${port}`);
    try {
      await apply(c.hostIp, natsPod);
      const url = `http://${name}.default.svc.cluster.local:${port}/tiny.mp4`;
      await eventually(
        'the name is known',
        40,
        async () => (await c.probe({ url, only: 'ffprobe' }, { token })).json.success,
      );
      for (let round = 0; round < 5; round++) {
        const { status, json, text } = await c.probe({ url, only: 'ffprobe' }, { token });
        assert.equal(status, 200, text);
        assert.equal(json.success, true, text);
      }
      await apply(natsPod);
      const { status } = await eventually('it leads inside alone', 40, async () => {
        const answer = await c.probe({ url, only: 'ffprobe' }, { token });
        return answer.status === 400 ? answer : undefined;
      });
      record({
        group: 'addresses',
        attempt: 'a DNS name that turns from an allowed address to NATS',
        expected: '200, then 400',
        got: `200, then ${status}`,
      });
    } finally {
      await rm(file, { force: true });
      await c.kubectl('delete', 'service', name, '-n', 'default', '--wait=false');
      await c.kubectl('delete', 'endpointslice', name, '-n', 'default', '--ignore-not-found', '--wait=false');
    }
  });
});
