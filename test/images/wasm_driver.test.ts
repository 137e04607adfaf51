import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { forEachWasmTool } from './wasm_tools.ts';

const clip = await readFile(join(import.meta.dirname, '..', 'fixtures', 'tiny.mp4'));

/** The clip, then 40 MB that a reader of its index does not need. */
const padding = 40_000_000;
const head = Buffer.alloc(8);
head.writeUInt32BE(padding);
head.write('free', 4, 'latin1');
const large = Buffer.concat([clip, head, Buffer.alloc(padding - 8)]);

interface Origin {
  server: Server;
  base: string;
  sent: number;
  requests: number;
}

async function startOrigin(): Promise<Origin> {
  const origin: Origin = { server: createServer(), base: '', sent: 0, requests: 0 };
  origin.server.on('request', (request, response) => {
    origin.requests++;
    const path = request.url ?? '';
    const file = path.startsWith('/large') ? large : clip;
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    if (path.startsWith('/missing')) return void response.writeHead(404).end('<html>no</html>');
    if (path.startsWith('/whole') || from === undefined) {
      origin.sent += file.length;
      return void response.writeHead(200, { 'content-length': file.length }).end(file);
    }
    if (Number(from) >= file.length) return void response.writeHead(416).end();
    const part = file.subarray(Number(from), to === '' ? undefined : Number(to) + 1);
    origin.sent += part.length;
    return void response
      .writeHead(206, {
        'content-range': `bytes ${from}-${Number(from) + part.length - 1}/${file.length}`,
        'content-length': part.length,
      })
      .end(part);
  });
  await new Promise<void>((resolve) => origin.server.listen(0, '127.0.0.1', resolve));
  origin.base = `http://127.0.0.1:${(origin.server.address() as AddressInfo).port}`;
  return origin;
}

interface Output {
  media: { '@ref': string; track: Record<string, string>[] } | null;
}

describe('MediaInfo as WebAssembly over http', function () {
  this.timeout(60_000);
  let origin: Origin;
  beforeEach(async () => {
    origin = await startOrigin();
  });
  afterEach(() => {
    origin.server.closeAllConnections();
    origin.server.close();
  });

  forEachWasmTool((_entry, run) => {
    const tracks = (stdout: string): Record<string, string>[] => (JSON.parse(stdout) as Output).media?.track ?? [];

    it('reads ranges, and prints the address and its extension like the command line tool', async () => {
      const address = `${origin.base}/a%20"clip".mp4?x=1&y=2`;
      const { code, stdout, stderr } = await run([
        '--Output=JSON',
        '--Language=raw',
        '--ParseSpeed=0.5',
        '--ReadByHuman=0',
        address,
      ]);
      assert.equal(stderr, '');
      assert.equal(code, 0);
      assert.equal((JSON.parse(stdout) as Output).media?.['@ref'], address);
      const [general, video] = tracks(stdout);
      assert.equal(general?.['FileExtension'], 'mp4');
      assert.equal(general['FileSize'], String(clip.length));
      assert.equal(video?.['FrameCount'], '50');
    });

    it('reads a small part of a large file', async () => {
      const { code, stdout } = await run(['--Output=JSON', `${origin.base}/large.mp4`]);
      assert.equal(code, 0);
      assert.equal(tracks(stdout)[1]?.['FrameCount'], '50');
      assert.ok(origin.sent < 2_000_000, `${origin.sent} bytes in ${origin.requests} requests`);
    });

    it('reads from an origin without ranges', async () => {
      const { code, stdout } = await run(['--Output=JSON', `${origin.base}/whole.mp4`]);
      assert.equal(code, 0);
      assert.deepEqual(
        tracks(stdout).map((track) => track['@type']),
        ['General', 'Video', 'Audio'],
      );
    });

    it('prints media null and exits with 1 if there is nothing to read', async () => {
      const { code, stdout, stderr } = await run(['--Output=JSON', `${origin.base}/missing.mp4`]);
      assert.equal(code, 1);
      assert.equal((JSON.parse(stdout) as Output).media, null);
      assert.match(stderr, /^E: .*HTTP 404$/m);
    });

    it('prints XML and text as well', async () => {
      const xml = await run(['--Output=XML', `${origin.base}/a&b.mp4`]);
      assert.match(xml.stdout, /<media ref="http:\/\/127\.0\.0\.1:\d+\/a&#38;b\.mp4">/);
      assert.match(xml.stdout, /<FileExtension>mp4<\/FileExtension>/);
      const text = await run([`${origin.base}/a.mp4`]);
      assert.match(text.stdout, /^General\nComplete name +: http:\/\/127\.0\.0\.1:\d+\/a\.mp4\n/);
      assert.match(text.stdout, /^Format +: AVC$/m);
    });
  });
});
