/** Sound and pictures of known content, from their bytes: not by the program that is tested on them. */
import { createHash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';

const RATE = 48_000;
/** Where the channels differ, no sample of the sine is zero, which would be the same in both. */
const OFF_ZERO = 0.05;

/** A sine of 1 kHz, 16 bit, clipped at full scale. `silent`: from, to in seconds; `right`: how loud it is there. */
export function toneWav(
  seconds: number,
  amplitude: number,
  silent: readonly [number, number] = [0, 0],
  right = 1,
): Buffer {
  const samples = Math.round(seconds * RATE);
  const phase = right === 1 ? 0 : OFF_ZERO;
  const data = Buffer.alloc(samples * 4);
  for (let at = 0; at < samples; at += 1) {
    const isSilent = at >= silent[0] * RATE && at < silent[1] * RATE;
    const value = isSilent ? 0 : amplitude * Math.sin(phase + (2 * Math.PI * 1_000 * at) / RATE);
    const sample = Math.round(Math.max(-1, Math.min(1, value)) * 32_767);
    data.writeInt16LE(sample, at * 4);
    data.writeInt16LE(Math.round(sample * right), at * 4 + 2);
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

const avi = (...parts: Buffer[]): Buffer => chunk('RIFF', Buffer.concat([Buffer.from('AVI '), ...parts]));

/** Sines of 1 kHz with one channel, each half as loud as the one before. */
export function tracksAvi(tracks: number, seconds: number): Buffer {
  const main = words(1e6 / FPS, 0, 0, 0x10, 0, 0, tracks, 0, 0, 0, 0, 0, 0, 0);
  const format = Buffer.alloc(16);
  for (const [at, value] of [1, 1, 0, 0, 0, 0, 2, 16].entries()) format.writeUInt16LE(value, at * 2);
  format.writeUInt32LE(RATE, 4);
  format.writeUInt32LE(RATE * 2, 8);
  const numbers = Array.from({ length: tracks }, (_, track) => track);
  const streams = numbers.map(() => {
    const head = [Buffer.from('auds'), words(0, 0, 0, 0, 2, RATE * 2, 0, RATE * 2 * seconds, 0, 0, 2), words(0, 0)];
    return list('strl', chunk('strh', Buffer.concat(head)), chunk('strf', format));
  });
  const second = (track: number): Buffer => {
    const data = Buffer.alloc(RATE * 2);
    for (let at = 0; at < RATE; at += 1)
      data.writeInt16LE(Math.round(2 ** -track * 16_384 * Math.sin((2 * Math.PI * 1_000 * at) / RATE)), at * 2);
    return chunk(`0${track}wb`, data);
  };
  const each = Buffer.concat(numbers.map(second));
  const movie = list('movi', ...Array.from({ length: seconds }, () => each));
  return avi(list('hdrl', chunk('avih', main), ...streams), movie);
}

const png = (id: string, data: Buffer): Buffer => {
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  const body = Buffer.concat([Buffer.from(id), data]);
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
};

interface Pictures {
  codec: string;
  width: number;
  height: number;
  data: readonly Buffer[];
}

/** Ten a second. */
function picturesAvi({ codec, width, height, data }: Pictures): Buffer {
  const largest = Math.max(...data.map(({ length }) => length));
  const main = words(1e6 / FPS, 0, 0, 0x10, data.length, 0, 1, largest, width, height, 0, 0, 0, 0);
  const stream = Buffer.concat([
    Buffer.from(`vids${codec}`),
    words(0, 0, 0, 1, FPS, 0, data.length, largest, 0xffffffff, 0),
    words(0, 0),
  ]);
  const format = Buffer.concat([
    words(40, width, height, (12 << 16) | 1),
    Buffer.from(codec),
    words(largest, 0, 0, 0, 0),
  ]);
  const headers = list('hdrl', chunk('avih', main), list('strl', chunk('strh', stream), chunk('strf', format)));
  return avi(headers, list('movi', ...data.map((picture) => chunk('00dc', picture))));
}

/** One black picture with one bit for each pixel. */
export function blackAvi(side: number): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side);
  head.writeUInt32BE(side, 4);
  head.writeUInt8(1, 8);
  const pixels = deflateSync(Buffer.alloc((side / 8 + 1) * side));
  const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
  const parts = [signature, png('IHDR', head), png('IDAT', pixels), png('IEND', Buffer.alloc(0))];
  // Each chunk has an even length.
  const padding = Buffer.alloc(parts.reduce((sum, { length }) => sum + length, 0) % 2);
  return picturesAvi({ codec: 'MPNG', width: side, height: side, data: [Buffer.concat([...parts, padding])] });
}

/** Raw pictures (I420), grey, ten a second, by the luminance of each pixel. */
export const madeAvi = (frames: number, luminance: (frame: number, x: number, y: number) => number): Buffer =>
  picturesAvi({
    codec: 'I420',
    width: WIDTH,
    height: HEIGHT,
    data: Array.from({ length: frames }, (_, at) => {
      const picture = Buffer.alloc((WIDTH * HEIGHT * 3) / 2, 128);
      for (let pixel = 0; pixel < WIDTH * HEIGHT; pixel += 1)
        picture[pixel] = luminance(at, pixel % WIDTH, Math.floor(pixel / WIDTH));
      return picture;
    }),
  });

/** A raw picture (I420) of an even size, all white. */
export const whiteAvi = (width: number, height: number): Buffer =>
  picturesAvi({ codec: 'I420', width, height, data: [Buffer.alloc((width * height * 3) / 2, 235)] });

/** Of EBU colour bars at 75 %: white, yellow, cyan, green, magenta, red, blue, black, as Y, U and V. */
const EBU_BARS = [
  [180, 128, 128],
  [162, 44, 142],
  [131, 156, 44],
  [112, 72, 58],
  [84, 184, 198],
  [65, 100, 212],
  [35, 212, 114],
  [16, 128, 128],
] as const;

/** Raw pictures (I420), ten a second: grey ones, and colour bars from one picture on up to another. */
export function barsAvi(frames: number, from: number, to: number): Buffer {
  const [width, height] = [320, 64];
  const plane = (which: number, by: number): Buffer => {
    const row = Buffer.from(Array.from({ length: width / by }, (_, x) => EBU_BARS[Math.floor((x * by) / 40)]![which]!));
    return Buffer.concat(Array.from({ length: height / by }, () => row));
  };
  const bars = Buffer.concat([plane(0, 1), plane(1, 2), plane(2, 2)]);
  const grey = Buffer.alloc(bars.length, 128);
  const data = Array.from({ length: frames }, (_, at) => (at >= from && at < to ? bars : grey));
  return picturesAvi({ codec: 'I420', width, height, data });
}

function flacCrc(bytes: Buffer, bits: 8 | 16, polynomial: number): number {
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte << (bits - 8);
    for (let bit = 0; bit < 8; bit += 1) sum = (sum << 1) ^ (sum & (1 << (bits - 1)) ? polynomial : 0);
    sum &= (1 << bits) - 1;
  }
  return sum;
}

/** Frames of 4,096 samples with one value each, of 12 or 16 bits, in one channel. */
export function constantFlac(bits: 12 | 16, values: readonly number[]): Buffer {
  const samples = Buffer.concat(values.map((value) => Buffer.from(new Int16Array(4_096).fill(value).buffer)));
  const facts = (BigInt(RATE) << 44n) | (BigInt(bits - 1) << 36n) | BigInt(samples.length / 2);
  const info = Buffer.alloc(18);
  info.writeUInt16BE(4_096);
  info.writeUInt16BE(4_096, 2);
  info.writeBigUInt64BE(facts, 10);
  const head = Buffer.concat([info, createHash('md5').update(samples).digest()]);
  const frames = values.map((value, at) => {
    const begin = Buffer.from([0xff, 0xf8, 0xc0, 0, at]);
    // One subframe: its type, and the value to a whole byte.
    const body = Buffer.alloc(3);
    body.writeUInt16BE((value << (16 - bits)) & 0xffff, 1);
    const frame = Buffer.concat([begin, Buffer.from([flacCrc(begin, 8, 0x07)]), body]);
    const sum = Buffer.alloc(2);
    sum.writeUInt16BE(flacCrc(frame, 16, 0x8005));
    return Buffer.concat([frame, sum]);
  });
  return Buffer.concat([Buffer.from('fLaC'), Buffer.from([0x80, 0, 0, head.length]), head, ...frames]);
}
