/** A source that needs no file: a tenth of a second of silence, served the way the source proxy serves a tool. */
import { once } from 'node:events';
import { createServer } from 'node:http';

/** WAV, 8 kHz, 16 bit, one channel. */
export function sampleWav(samples = 800): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + samples * 2, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(16_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(samples * 2, 40);
  return Buffer.concat([head, Buffer.alloc(samples * 2)]);
}

export async function serveSample(): Promise<{ address: string; close(): void }> {
  const sample = sampleWav();
  const server = createServer((request, response) => {
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
    const from = Number(range?.[1] ?? 0);
    const to = Math.min(range?.[2] ? Number(range[2]) : sample.length - 1, sample.length - 1);
    const headers = {
      'content-type': 'audio/wav',
      'accept-ranges': 'bytes',
      'content-length': Math.max(0, to - from + 1),
    };
    if (range && from >= sample.length) response.writeHead(416, { 'content-range': `bytes */${sample.length}` }).end();
    else
      response
        .writeHead(
          range ? 206 : 200,
          range ? { ...headers, 'content-range': `bytes ${from}-${to}/${sample.length}` } : headers,
        )
        .end(request.method === 'HEAD' ? undefined : sample.subarray(from, to + 1));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    address: `http://127.0.0.1:${port}/sample.wav`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
