/** The same draws in every run, because files are identified by their seed. */
export interface Random {
  next(): number;
  pick<T>(from: readonly T[]): T;
  chance(of: number): boolean;
  between(low: number, high: number): number;
}

export function random(seed: number): Random {
  let state = (seed * 2_654_435_761 + 0x9e37_79b9) >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    next,
    pick: (from) => from[Math.floor(next() * from.length)]!,
    chance: (of) => next() < of,
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
  };
}
