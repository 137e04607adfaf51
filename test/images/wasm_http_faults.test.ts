/** Responses that a proxy would not send: MediaInfo's WebAssembly versions end with an error for each. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { startOrigin } from '../node/origin.ts';
import { clip } from './read_clip.ts';
import { forEachWasmTool } from './wasm_tools.ts';
import { readFile } from 'node:fs/promises';

interface Output {
  media: { track: Record<string, string>[] } | null;
}

const PART = 'HTTP/1.1 206 Partial Content\r\ncontent-range: bytes 0-99/100\r\n';

const FAULTS: readonly [name: string, response: string, error: string][] = [
  ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n', 'the response is not HTTP/1.1'],
  ['no response', '', 'the connection was closed within a response'],
  ['half a head', 'HTTP/1.1 206 Partial Content\r\ncontent-', 'the connection was closed within a response'],
  ['half a body', `${PART}content-length: 100\r\n\r\nabc`, 'the connection was closed within a response'],
  ['half a chunk', `${PART}transfer-encoding: chunked\r\n\r\n64\r\nabc`, 'the connection was closed within a response'],
  [
    'a chunk without a size',
    `${PART}transfer-encoding: chunked\r\n\r\nabc`.replace('abc', '\r\n'),
    'the response has a chunk without a size',
  ],
  ['a length that is no number', `${PART}content-length: many\r\n\r\n`, 'the response has no valid length'],
  ['a line without end', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(20_000)}`, 'a line of the response is too long'],
  ['headers without end', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(1_000)}`, 'the response has too many headers'],
  ['a redirection', 'HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n', 'HTTP 302'],
  ['nothing in the range', 'HTTP/1.1 416 Range Not Satisfiable\r\ncontent-length: 0\r\n\r\n', 'the source is empty'],
];

async function withResponse(response: string, work: (address: string) => Promise<void>): Promise<void> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}/a.mp4`);
  } finally {
    server.close();
  }
}

describe('MediaInfo as WebAssembly, with a faulty origin', function () {
  this.timeout(60_000);

  forEachWasmTool((_entry, run) => {
    for (const [name, response, error] of FAULTS)
      it(`ends with an error for ${name}`, () =>
        withResponse(response, async (address) => {
          const { code, stdout, stderr } = await run(['--Output=JSON', address]);
          assert.equal(stderr, `E: ${address}, ${error}\n`);
          assert.equal(code, 1);
          assert.equal((JSON.parse(stdout) as Output).media, null);
        }));

    it('ends with an error for a name, which it cannot look up', async () => {
      const { code, stderr } = await run(['http://origin.test/a.mp4']);
      assert.equal(code, 1);
      assert.match(stderr, /the host of an address has to be an IPv4 address or localhost$/m);
    });

    it('reads parts of unknown length, each over a connection of its own', async () => {
      const media = await readFile(clip);
      const { url, requests, close } = await startOrigin('127.0.0.1', (request, response) => {
        const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
        const part = media.subarray(Number(from), Number(to) + 1);
        const end = Number(from) + part.length - 1;
        response.writeHead(206, { 'content-range': `bytes ${from}-${end}/${media.length}`, connection: 'close' });
        for (let at = 0; at < part.length; at += 1_000) response.write(part.subarray(at, at + 1_000));
        response.end();
      });
      try {
        const { code, stdout, stderr } = await run(['--Output=JSON', `${url}/a.mp4`]);
        assert.equal(code, 0, stderr);
        assert.equal((JSON.parse(stdout) as Output).media?.track[1]?.['FrameCount'], '50');
        assert.equal(requests[0]?.range, 'bytes=0-65535');
      } finally {
        await close();
      }
    });
  });
});
