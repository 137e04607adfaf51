/** A source without a file: a tenth of a second of silence, served the way the source proxy serves a tool. */
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

/** One pixel. */
const COVER = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgAAIAAAUAAen63NgAAAAASUVORK5CYII=',
  'base64',
);

/** The same with a cover: a chunk with an ID3 tag, whose only frame is the picture. */
export function coveredWav(): Buffer {
  const picture = Buffer.concat([Buffer.from('\0image/png\0\u0003\0', 'latin1'), COVER]);
  const frame = Buffer.concat([Buffer.from('APIC\0\0\0\0\0\0', 'latin1'), picture]);
  frame.writeUInt32BE(picture.length, 4);
  const tag = Buffer.concat([Buffer.from('ID3\u0003\0\0\0\0\0\0', 'latin1'), frame]);
  // Synchsafe: seven bits per byte.
  tag.writeUInt16BE(((frame.length >> 7) << 8) | (frame.length & 0x7f), 8);
  const chunk = Buffer.alloc(8 + tag.length + (tag.length % 2));
  chunk.write('id3 ', 0);
  chunk.writeUInt32LE(tag.length, 4);
  tag.copy(chunk, 8);
  const wav = Buffer.concat([sampleWav(), chunk]);
  wav.writeUInt32LE(wav.length - 8, 4);
  return wav;
}

export async function serveSample(sample = sampleWav()): Promise<{ address: string; close(): void }> {
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
