/**
 * Boosted trees: the format of the weights file, and its evaluation. The trainer writes the file; nothing is learned
 * here.
 */
import type { ReportTool } from '../tools/probe_report.ts';
import { NUMBERS, type Features } from './features.ts';
import { sides } from './side.ts';

/**
 * One tree as a flat list of nodes. A leaf is `[value]`. An inner node is `[feature, threshold, yes, no]`: a word
 * (feature ≥ 0, its index in `words`) leads to `yes` if present; a number (feature < 0, -1 being the first) leads to
 * `yes` if it is known and at most the threshold.
 */
export type Tree = readonly (readonly [number] | readonly [number, number, number, number])[];
export interface Ensemble {
  base: number;
  /** Divides the sum, which calibrates the resulting probability. */
  temperature: number;
  trees: readonly Tree[];
}
/** Whether a tool is right in a dispute, or whether a value is right that only one tool has, or both. */
export type Question = ReportTool | 'single' | 'agreed';
export interface Weights {
  words: readonly string[];
  numbers: readonly string[];
  ensembles: Record<Question, Ensemble>;
}

/** `words`: 1 for each word of the weights that is present. */
export interface Row {
  words: Uint8Array;
  numbers: readonly number[];
}

export class Model {
  readonly #places: ReadonlyMap<string, number>;
  /** Words shared by all fields of a part, looked up once. */
  readonly #shared = new WeakMap<readonly string[], Uint8Array>();
  readonly weights: Weights;
  readonly #compiled: Readonly<Record<Question, Compiled>>;
  readonly #scratch: Uint8Array;

  constructor(weights: Weights) {
    if (weights.numbers.join() !== NUMBERS.join())
      throw new Error('weights.json does not fit the features: train again');
    this.weights = weights;
    const { single, agreed } = weights.ensembles;
    this.#compiled = {
      ...sides((tool) => compile(weights.ensembles[tool])),
      single: compile(single),
      agreed: compile(agreed),
    };
    this.#scratch = new Uint8Array(weights.words.length);
    this.#places = new Map(weights.words.map((word, index) => [word, index]));
  }

  row({ shared, words, numbers }: Features, into: Uint8Array = new Uint8Array(this.weights.words.length)): Row {
    let begun = this.#shared.get(shared);
    if (!begun) this.#shared.set(shared, (begun = this.#mark(new Uint8Array(this.weights.words.length), shared)));
    into.set(begun);
    return { words: this.#mark(into, words), numbers };
  }

  /** The probability for one field. Its row is overwritten by the next call. */
  of(question: Question, features: Features): number {
    return this.ask(question, this.row(features, this.#scratch));
  }

  #mark<T extends Uint8Array>(places: T, words: readonly string[]): T {
    for (const word of words) {
      const place = this.#places.get(word);
      if (place !== undefined) places[place] = 1;
    }
    return places;
  }

  /** The probability for a row. */
  ask(of: Question, row: Row): number {
    return probability(this.#compiled[of], row);
  }
}

/**
 * The trees of an ensemble in flat arrays: they are read a thousand times per report, four times as fast as the lists
 * of the file.
 */
interface Compiled {
  base: number;
  temperature: number;
  roots: number[];
  feature: Int32Array;
  value: Float64Array;
  yes: Int32Array;
  no: Int32Array;
}
const LEAF = 0x7fff_ffff;

function compile({ base, temperature, trees }: Ensemble): Compiled {
  const nodes = trees.flat();
  const compiled: Compiled = {
    base,
    temperature,
    roots: [],
    feature: new Int32Array(nodes.length),
    value: new Float64Array(nodes.length),
    yes: new Int32Array(nodes.length),
    no: new Int32Array(nodes.length),
  };
  let first = 0;
  for (const tree of trees) {
    compiled.roots.push(first);
    for (const [at, node] of tree.entries()) {
      compiled.feature[first + at] = node.length === 1 ? LEAF : node[0];
      compiled.value[first + at] = node.length === 1 ? node[0] : node[1];
      if (node.length === 1) continue;
      compiled.yes[first + at] = first + node[2];
      compiled.no[first + at] = first + node[3];
    }
    first += tree.length;
  }
  return compiled;
}

function probability({ base, temperature, roots, feature, value, yes, no }: Compiled, { words, numbers }: Row): number {
  let sum = base;
  for (let at of roots) {
    for (let asked = feature[at]!; asked !== LEAF; asked = feature[at]!)
      at = (asked >= 0 ? words[asked] === 1 : numbers[-1 - asked]! <= value[at]!) ? yes[at]! : no[at]!;
    sum += value[at]!;
  }
  return 1 / (1 + Math.exp(-sum / temperature));
}
