/** Boosted trees: the weights file, and how it is read. The trainer writes it; nothing here learns. */
import { NUMBERS, type Features } from './features.ts';

/**
 * One tree as a flat list of nodes. A leaf is `[value]`. An inner node is `[feature, threshold, yes, no]`: a word (feature ≥ 0, by its place in `words`) leads to `yes` where
 * it is there; a number (feature < 0, -1 being the first) leads to `yes` where it is known and at most the threshold.
 */
export type Tree = readonly (readonly [number] | readonly [number, number, number, number])[];
export interface Ensemble { base: number; /** Divides the sum: what makes the answer a probability that holds. */ temperature: number; trees: readonly Tree[] }
export interface Weights {
  words: readonly string[];
  numbers: readonly string[];
  ensembles: { ffprobe: Ensemble; mediainfo: Ensemble; single: Ensemble; agreed: Ensemble };
}

export interface Row { words: ReadonlySet<number>; numbers: readonly number[] }

export class Model {
  readonly #places: ReadonlyMap<string, number>;
  readonly weights: Weights;

  constructor(weights: Weights) {
    if (weights.numbers.join() !== NUMBERS.join()) throw new Error('the weights were trained on other numbers: train again');
    this.weights = weights;
    this.#places = new Map(weights.words.map((word, index) => [word, index]));
  }

  row({ words, numbers }: Features): Row {
    const places = new Set<number>();
    for (const word of words) {
      const place = this.#places.get(word);
      if (place !== undefined) places.add(place);
    }
    return { words: places, numbers: NUMBERS.map((name) => numbers[name] ?? NaN) };
  }

  /** The probability that is asked for. */
  ask(of: keyof Weights['ensembles'], row: Row): number {
    return probability(this.weights.ensembles[of], row);
  }
}

export function probability({ base, temperature, trees }: Ensemble, row: Row): number {
  let sum = base;
  for (const tree of trees) sum += leafOf(tree, row);
  return 1 / (1 + Math.exp(-sum / temperature));
}

export function leafOf(tree: Tree, row: Row): number {
  let at = 0;
  for (;;) {
    const node = tree[at]!;
    if (node.length === 1) return node[0];
    const [feature, threshold, yes, no] = node;
    at = (feature >= 0 ? row.words.has(feature) : row.numbers[-1 - feature]! <= threshold) ? yes : no;
  }
}
