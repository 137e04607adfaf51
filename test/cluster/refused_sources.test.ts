import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { cluster, type Cluster } from './fixture.ts';

/** Counts connections on the host's loopback, on all of its addresses, and through services of the cluster. */
function trap(host: string): Promise<{ port: number; connections: () => number; close: () => Promise<void> }> {
  let connections = 0;
  const server: Server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, () =>
      resolve({
        port: (server.address() as AddressInfo).port,
        connections: () => connections,
        close: () =>
          new Promise((done) => {
            server.close(() => done());
          }),
      }),
    );
  });
}

describe('internal addresses', function () {
  this.timeout(120_000);
  let c: Cluster;
  let nodeIp: string;
  before(async () => {
    c = await cluster();
    nodeIp = (
      await c.kubectl('get', 'nodes', '-o', 'jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}')
    ).trim();
  });
  after(() => c.close());

  const direct: [string, string][] = [
    ['loopback', 'http://127.0.0.1:PORT/a.mp4'],
    ['loopback by name', 'http://localhost:PORT/a.mp4'],
    ['loopback as one number', 'http://2130706433:PORT/a.mp4'],
    ['loopback in octal', 'http://0177.0.0.1:PORT/a.mp4'],
    ['loopback, shortened', 'http://127.1:PORT/a.mp4'],
    ['loopback, IPv6', 'http://[::1]:PORT/a.mp4'],
    ['loopback mapped into IPv6', 'http://[::ffff:127.0.0.1]:PORT/a.mp4'],
    ['the unspecified address', 'http://0.0.0.0:PORT/a.mp4'],
    ['cloud metadata', 'http://169.254.169.254/latest/meta-data/'],
    ["the API server's service", 'https://10.96.0.1/version'],
    ['the API server by name', 'https://kubernetes.default.svc.cluster.local/version'],
    ['our own API by name', 'http://probeyard-api.probeyard.svc.cluster.local/healthz'],
    ['NATS by name', 'http://probeyard-nats.probeyard.svc.cluster.local:4222/'],
  ];
  for (const [title, url] of direct) {
    it(`${title} is 400`, async () => {
      const watched = await trap('127.0.0.1');
      try {
        const { status, text } = await c.probe({ url: url.replace('PORT', String(watched.port)) });
        assert.equal(status, 400, text);
        assert.equal(watched.connections(), 0);
      } finally {
        await watched.close();
      }
    });
  }

  it('the node itself is refused, because only its address on the pod bridge is allowed', async () => {
    if (nodeIp === c.hostIp) return;
    const watched = await trap('0.0.0.0');
    try {
      const { status, text } = await c.probe({ url: `http://${nodeIp}:${watched.port}/a.mp4` });
      assert.equal(status, 400, text);
      assert.equal(watched.connections(), 0);
    } finally {
      await watched.close();
    }
  });

  it('a redirect to an internal address is 400 without a connection', async () => {
    const watched = await trap('127.0.0.1');
    try {
      for (const target of [
        `http://127.0.0.1:${watched.port}/x.mp4`,
        'http://169.254.169.254/x.mp4',
        'http://10.96.0.1/x.mp4',
        `http://[::1]:${watched.port}/x.mp4`,
      ]) {
        const origin = await c.origin((_request, response) => void response.writeHead(302, { location: target }).end());
        const { status, text } = await c.probe({ url: `${origin.url}/a.mp4` });
        assert.equal(status, 400, `${target}: ${text}`);
      }
      assert.equal(watched.connections(), 0);
    } finally {
      await watched.close();
    }
  });

  it('a playlist with internal addresses is a failure of the tool without a connection', async () => {
    const watched = await trap('127.0.0.1');
    try {
      const playlist = [
        '#EXTM3U',
        '#EXT-X-TARGETDURATION:6',
        `#EXT-X-KEY:METHOD=AES-128,URI="http://127.0.0.1:${watched.port}/key"`,
        '#EXTINF:6,',
        `http://127.0.0.1:${watched.port}/s.ts`,
        '#EXT-X-ENDLIST',
        '',
      ].join('\n');
      const origin = await c.origin(
        (_request, response) =>
          void response.writeHead(200, { 'content-type': 'application/vnd.apple.mpegurl' }).end(playlist),
      );
      const { status, json } = await c.probe({ url: `${origin.url}/a.m3u8`, only: 'ffprobe' });
      assert.equal(status, 200);
      assert.equal(json.success, false);
      assert.equal(watched.connections(), 0);
    } finally {
      await watched.close();
    }
  });
});
