import assert from 'node:assert/strict';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { startProxy, type SourceProxy } from '../../src/source/proxy.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import { sendFile, startOrigin, type Handler, type Origin } from '../source/origin.ts';
import { newAuthority, newSigner } from './pki.ts';
import { C2paRig, programs, WHY_SKIPPED } from './rig.ts';
import { sampleOf } from './samples.ts';

const MB = 1024 * 1024;

describe('C2PA check through the source proxy', function () {
  this.timeout(60_000);
  if (!programs) {
    it.skip(`skipped: ${WHY_SKIPPED}`);
    return;
  }
  const rig = new C2paRig();
  let proxy: SourceProxy;
  let origin: Origin;
  let handler: Handler;
  let signed: Buffer;
  let config: string;
  before(async () => {
    const authority = await newAuthority('Root');
    config = rig.trusting(authority);
    // Larger than one read, so that several ranges are needed.
    const wav = Buffer.concat([sampleOf('WAV').bytes, Buffer.alloc(6 * MB, 'probeyard')]);
    wav.writeUInt32LE(wav.length - 8, 4);
    wav.writeUInt32LE(wav.length - 44, 40);
    [signed] = rig.sign([{ bytes: wav, format: 'audio/wav', signer: await newSigner(authority) }]) as [Buffer];
    proxy = await startProxy();
    origin = await startOrigin((request, response, path) => handler(request, response, path));
  });
  after(async () => {
    await proxy.close();
    await origin.close();
    rig.close();
  });

  async function through(how: Handler, maxBytes = 100 * MB) {
    handler = how;
    const url = `${origin.url}/a.wav`;
    const job = proxy.open({
      source: parseSource(url),
      allow: [{ cidr: '127.0.0.1/32', port: origin.port }],
      limits: { maxBytes },
      tls: { verify: {} },
    });
    try {
      const checked = await rig.check(job.address('c2pa'), config);
      return { ...checked, stats: job.stats() };
    } finally {
      job.close();
    }
  }

  it('reads ranges, each byte once', async () => {
    const { code, stdout, stderr, stats } = await through((request, response) => sendFile(signed, request, response));
    assert.equal(code, 0, stderr);
    assert.equal(JSON.parse(stdout).validation_state, 'Trusted');
    assert.ok(stats.ioUsage <= signed.length * 1.1 + 512 * 1024, `${stats.ioUsage} bytes of ${signed.length}`);
  });

  it('reads from an origin without ranges', async () => {
    const { code, stdout, stderr } = await through((_request, response) => {
      response.writeHead(200, { 'content-length': signed.length }).end(signed);
    });
    assert.equal(code, 0, stderr);
    assert.equal(JSON.parse(stdout).validation_state, 'Trusted');
  });

  it('gives no verdict on a truncated file', async () => {
    // The head is complete, so that the library would see a file with a wrong hash.
    const { code, stdout, stderr } = await through((request, response) => {
      const [, from = '0'] = /^bytes=(\d+)-/.exec(request.headers.range ?? '') ?? [];
      if (Number(from) + 2 * MB < 4 * MB) sendFile(signed, request, response);
      else response.destroy();
    });
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^the source cannot be read: /);
  });

  it('reports the status of the origin', async () => {
    const { code, stderr, stats } = await through((_request, response) => {
      response.writeHead(404).end('gone');
    });
    assert.equal(code, 1);
    assert.match(stderr, /404|not found/i);
    assert.equal(stats.failure?.status, 404);
  });

  it('fails for a file that is too large', async () => {
    const { code, stats } = await through((request, response) => sendFile(signed, request, response), 1 * MB);
    assert.equal(code, 1);
    assert.equal(stats.failure?.code, 'too-large');
  });

  describe('source address', () => {
    let server: Server;
    let asked = 0;
    before(async () => {
      server = createServer((_request, response) => {
        asked += 1;
        response.end();
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
    });
    after(() => server.close());

    it('must be an IP address over http, so that no name is ever resolved', async () => {
      const { port } = server.address() as AddressInfo;
      for (const address of [
        `http://localhost:${port}/`,
        `https://127.0.0.1:${port}/`,
        `ftp://127.0.0.1:${port}/`,
        `http://127.0.0.1:${port}/a b`,
        'http://',
        'http://:80/',
        `http://127.0.0.1:${port}99999/`,
      ]) {
        assert.deepEqual([(await rig.check(address)).code, asked], [1, 0], address);
      }
    });
  });
});
