/** Sound and pictures of known content, from their bytes: not by the program that is tested on them. */

const RATE = 48_000;

/** A sine of 1 kHz in both channels, 16 bit, clipped at full scale. `silent`: from, to in seconds. */
export function toneWav(seconds: number, amplitude: number, silent: readonly [number, number] = [0, 0]): Buffer {
  const samples = Math.round(seconds * RATE);
  const data = Buffer.alloc(samples * 4);
  for (let at = 0; at < samples; at += 1) {
    const isSilent = at >= silent[0] * RATE && at < silent[1] * RATE;
    const value = isSilent ? 0 : amplitude * Math.sin((2 * Math.PI * 1_000 * at) / RATE);
    const sample = Math.round(Math.max(-1, Math.min(1, value)) * 32_767);
    data.writeInt16LE(sample, at * 4);
    data.writeInt16LE(sample, at * 4 + 2);
  }
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + data.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(2, 22);
  head.writeUInt32LE(RATE, 24);
  head.writeUInt32LE(RATE * 4, 28);
  head.writeUInt16LE(4, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(data.length, 40);
  return Buffer.concat([head, data]);
}

const [WIDTH, HEIGHT, FPS] = [64, 48, 10];
const FRAME = (WIDTH * HEIGHT * 3) / 2;

const chunk = (id: string, data: Buffer): Buffer => {
  const head = Buffer.alloc(8);
  head.write(id, 0, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data]);
};
const list = (type: string, ...parts: Buffer[]): Buffer => chunk('LIST', Buffer.concat([Buffer.from(type), ...parts]));
const words = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [at, value] of values.entries()) bytes.writeUInt32LE(value, at * 4);
  return bytes;
};

/** Raw pictures (I420) of one luminance each, ten a second. */
export function madeAvi(frames: number, luminance: (frame: number) => number): Buffer {
  const main = words(1e6 / FPS, 0, 0, 0x10, frames, 0, 1, FRAME, WIDTH, HEIGHT, 0, 0, 0, 0);
  const stream = Buffer.concat([
    Buffer.from('vidsI420'),
    words(0, 0, 0, 1, FPS, 0, frames, FRAME, 0xffffffff, 0),
    words(0, 0),
  ]);
  const format = Buffer.concat([
    words(40, WIDTH, HEIGHT, (12 << 16) | 1),
    Buffer.from('I420'),
    words(FRAME, 0, 0, 0, 0),
  ]);
  const headers = list('hdrl', chunk('avih', main), list('strl', chunk('strh', stream), chunk('strf', format)));
  const pictures = Array.from({ length: frames }, (_, at) => {
    const picture = Buffer.alloc(FRAME, 128);
    return chunk('00dc', picture.fill(luminance(at), 0, WIDTH * HEIGHT));
  });
  return chunk('RIFF', Buffer.concat([Buffer.from('AVI '), headers, list('movi', ...pictures)]));
}
