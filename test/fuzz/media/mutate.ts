/** Damage as caused by transfers, disks and attackers. The same seed gives the same damage. */

export type Random = () => number;

/** Small, fast and sufficient to choose positions (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296;
  };
}

const below = (random: Random, limit: number): number => Math.floor(random() * limit);

/** Most formats have their essential data at the beginning or end. */
function place(random: Random, length: number): number {
  const where = random();
  if (where < 0.4) return below(random, Math.min(length, 4096));
  return where < 0.6 ? length - 1 - below(random, Math.min(length, 4096)) : below(random, length);
}

type Mutation = (bytes: Buffer, random: Random, other: Buffer) => Buffer;

const overwrite = (bytes: Buffer, at: number, by: Buffer): Buffer => {
  by.copy(bytes, at, 0, Math.min(by.length, bytes.length - at));
  return bytes;
};

export const mutations: Readonly<Record<string, Mutation>> = {
  truncated: (bytes, random) => bytes.subarray(0, below(random, bytes.length)),
  'truncated in the head': (bytes, random) => bytes.subarray(0, below(random, Math.min(bytes.length, 2048))),
  'bits flipped': (bytes, random) => {
    for (let i = 1 + below(random, 64); i > 0; i--) bytes[place(random, bytes.length)]! ^= 1 << below(random, 8);
    return bytes;
  },
  'lengths made huge': (bytes, random) => {
    for (let i = 1 + below(random, 4); i > 0; i--)
      overwrite(bytes, place(random, bytes.length) & ~3, Buffer.from(random() < 0.5 ? 'ffffffff' : '7fffffff', 'hex'));
    return bytes;
  },
  'lengths made zero': (bytes, random) => {
    for (let i = 1 + below(random, 4); i > 0; i--) overwrite(bytes, place(random, bytes.length) & ~3, Buffer.alloc(4));
    return bytes;
  },
  'a part zeroed': (bytes, random) => bytes.fill(0, place(random, bytes.length), place(random, bytes.length)),
  'a part cut out': (bytes, random) => {
    const at = place(random, bytes.length);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + below(random, bytes.length - at))]);
  },
  'a part doubled': (bytes, random) => {
    const at = place(random, bytes.length);
    const end = at + below(random, Math.min(65_536, bytes.length - at));
    return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
  },
  'a part of another file': (bytes, random, other) => {
    const from = below(random, other.length);
    return overwrite(bytes, place(random, bytes.length), other.subarray(from, from + below(random, 4096)));
  },
  'another file behind it': (bytes, random, other) =>
    Buffer.concat([bytes.subarray(0, below(random, bytes.length)), other]),
};
