/** Changes for hostile files, from a seed. The same seed gives the same file. */

export type Random = () => number;

/** xorshift32: numbers from 0 up to 1. */
function random(seed: number): Random {
  let state = seed >>> 0 || 0x9e3779b9;
  return () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 0x1_0000_0000;
  };
}

const SIZES = [0, 1, 7, 8, 9, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fff0, 0xffff_ffff];

type Change = (bytes: Buffer, next: (below: number) => number) => Buffer;

const CHANGES: readonly Change[] = [
  (bytes, next) => {
    bytes[next(bytes.length)]! ^= 1 << next(8);
    return bytes;
  },
  (bytes, next) => {
    bytes[next(bytes.length)] = next(256);
    return bytes;
  },
  // Overwrites a possible size field.
  (bytes, next) => {
    if (bytes.length >= 4) bytes.writeUInt32BE(SIZES[next(SIZES.length)]!, next(bytes.length - 3));
    return bytes;
  },
  (bytes, next) => bytes.subarray(0, next(bytes.length) + 1),
  (bytes, next) => {
    const [from, length, to] = [next(bytes.length), next(256) + 1, next(bytes.length)];
    return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from, from + length), bytes.subarray(to)]);
  },
  (bytes, next) => {
    const at = next(bytes.length);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + next(256) + 1)]);
  },
  (bytes, next) => {
    const at = next(bytes.length);
    return Buffer.concat([bytes.subarray(0, at), Buffer.alloc(next(64) + 1, next(256)), bytes.subarray(at)]);
  },
];

/** One to eight changes. Most of them are within `within`, the manifest, because it is the input of the parser. */
export function mutate(file: Buffer, seed: number, within: { from: number; to: number }): Buffer {
  const roll = random(seed);
  const next = (below: number): number => Math.floor(roll() * Math.max(1, below));
  let out = Buffer.from(file);
  for (let count = next(8) + 1; count > 0 && out.length > 1; count--) {
    const change = CHANGES[next(CHANGES.length)]!;
    if (roll() < 0.2 || within.to > out.length) out = Buffer.from(change(out, next));
    else
      out = Buffer.concat([
        out.subarray(0, within.from),
        change(Buffer.from(out.subarray(within.from, within.to)), next),
        out.subarray(within.to),
      ]);
    if (out.length === 0) break;
  }
  return out;
}
