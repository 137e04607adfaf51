import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { isRefusedLiteral } from '../../src/service/api/probe/request_source.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import { displaySource, redactUrl } from '../../src/source/address/redact.ts';
import { groupOf, originUrl } from '../../src/source/protocols/table.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { ask } from './ask.ts';
import { makeCertificate } from './certificate.ts';
import { Cleanup, pattern, sendFile, startOrigin } from './origin.ts';

const cleanup = new Cleanup();
const HOST = 'storage.googleapis.com';

/** An egress proxy that leads every host to one port of this machine. */
async function startEgress(to: number): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = [];
  const server = createServer();
  server.on('connect', (request, socket) => {
    seen.push(request.url ?? '');
    const through = connect(to, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      through.pipe(socket).pipe(through);
    });
    through.on('error', () => socket.destroy());
    socket.on('error', () => through.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanup.add({ close: () => void server.close() });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

describe('gs://', function () {
  this.timeout(20_000);
  afterEach(() => cleanup.run());

  it('gs: an object is read from storage.googleapis.com over https, in ranges and without credentials', async () => {
    const body = pattern(4_000_000);
    const tls = await makeCertificate({ dns: [HOST] });
    const origin = cleanup.add(await startOrigin((request, response) => sendFile(body, request, response), tls));
    const egress = await startEgress(origin.port);
    const proxy = cleanup.add(
      await startProxy({
        ca: tls.cert,
        egress: { url: egress.url },
        lookup: async () => [{ address: '142.250.0.1', family: 4 }],
      }),
    );
    const source = parseSource('gs://bucket/dir//a b ü.mp4?generation=7');
    const job = cleanup.add(proxy.open({ source, limits: { maxBytes: 1e10 } }));
    assert.ok((await ask(job.address('ffprobe'))).body.equals(body));
    assert.ok(egress.seen.every((target) => target === '142.250.0.1:443'));
    assert.deepEqual(
      [...new Set(origin.requests.map(({ host, path }) => `${host} ${path}`))],
      [`${HOST} /bucket/dir//a%20b%20%C3%BC.mp4?generation=7`],
    );
    assert.ok(origin.requests.every(({ headers }) => headers.authorization === undefined));
    assert.equal(
      job.redact(`cannot read ${job.address('ffprobe')}`),
      'cannot read gs://bucket/dir//a%20b%20%C3%BC.mp4?generation=REDACTED',
    );
  });

  it('gs: an address is shown without the values of its query', () => {
    const source = parseSource('gs://bucket/a/b/c.mp4?X-Goog-Signature=secret');
    assert.equal(displaySource(source), 'gs://bucket/…/c.mp4');
    assert.equal(redactUrl(source.url), 'gs://bucket/a/b/c.mp4?X-Goog-Signature=REDACTED');
  });

  it('gs: an object counts as https, a playlist by its format', () => {
    assert.equal(groupOf(parseSource('gs://bucket/a.mp4')), 'https');
    assert.equal(groupOf(parseSource('gs://bucket/a.m3u8')), 'hls');
  });

  it('gs: a bucket named like an address is no address', () => {
    const source = parseSource('gs://127.0.0.1/a.mp4');
    assert.equal(originUrl(source), 'https://storage.googleapis.com/127.0.0.1/a.mp4');
    assert.equal(isRefusedLiteral(source, { allow: [], deny: [] }), false);
  });
});
