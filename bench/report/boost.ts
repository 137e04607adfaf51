/**
 * Gradient-boosted trees on categories and numbers, with logistic loss, second order, and leaves and thresholds rounded
 * as in the written file.
 */
import type { Ensemble, Row, Tree } from '../../src/media/report/trees.ts';

export interface Sample {
  row: Row;
  label: boolean;
  weight: number;
}
export interface Settings {
  rounds: number;
  depth: number;
  rate: number;
  lambda: number;
  least: number;
  patience: number;
}
/**
 * Disputed values are rare, so shallow trees and strong regularisation avoid overfitting. Undisputed ones need few
 * trees.
 */
export const DISPUTED: Settings = { rounds: 110, depth: 3, rate: 0.12, lambda: 3, least: 2.5, patience: 15 };
export const UNDISPUTED: Settings = { rounds: 24, depth: 3, rate: 0.3, lambda: 2, least: 3, patience: 6 };

export interface Trained {
  ensemble: Ensemble;
  /** The trainer's own sums for its training samples. */ sums: Float64Array;
}

const BINS = 24;
const sigmoid = (sum: number): number => 1 / (1 + Math.exp(-sum));
const round = (value: number): number => Number(value.toPrecision(5));
const loss = (label: boolean, sum: number): number => Math.log1p(Math.exp(label ? -sum : sum));

function thresholdsOf(samples: readonly Sample[], numbers: number): number[][] {
  return Array.from({ length: numbers }, (_, index) => {
    const values = samples
      .map(({ row }) => row.numbers[index]!)
      .filter((value) => !Number.isNaN(value))
      .sort((a, b) => a - b);
    return [
      ...new Set(
        Array.from({ length: BINS }, (__, bin) => values[Math.floor((values.length * bin) / BINS)])
          .filter((value) => value !== undefined)
          .map(round),
      ),
    ].sort((a, b) => a - b);
  });
}

export function train(
  samples: readonly Sample[],
  validation: readonly Sample[],
  words: number,
  numbers: number,
  settings: Settings,
): Trained {
  const total = samples.reduce((sum, { weight }) => sum + weight, 0);
  const positive = samples.reduce((sum, { weight, label }) => sum + (label ? weight : 0), 0);
  const base = round(Math.log((positive + 0.5) / (total - positive + 0.5)));
  const thresholds = thresholdsOf(samples, numbers);
  const lists = samples.map(({ row }) => [...row.words.keys()].filter((word) => row.words[word] === 1));
  const bins = samples.map(({ row }) =>
    row.numbers.map((value, index) =>
      Number.isNaN(value) ? -1 : thresholds[index]!.findIndex((threshold) => value <= threshold),
    ),
  );
  const sums = new Float64Array(samples.length).fill(base);
  const held = new Float64Array(validation.length).fill(base);
  const trees: Tree[] = [];
  let best = { at: 0, loss: Infinity };
  const snapshots: Float64Array[] = [];
  for (let at = 0; at < settings.rounds; at++) {
    const gradient = samples.map(({ label, weight }, index) => weight * (sigmoid(sums[index]!) - (label ? 1 : 0)));
    const hessian = samples.map(
      ({ weight }, index) => weight * Math.max(1e-6, sigmoid(sums[index]!) * (1 - sigmoid(sums[index]!))),
    );
    const tree: number[][] = [];
    const grow = (members: number[], depth: number): number => {
      const place = tree.length;
      tree.push([]);
      let [g, h, w] = [0, 0, 0];
      for (const index of members) {
        g += gradient[index]!;
        h += hessian[index]!;
        w += samples[index]!.weight;
      }
      const leaf = () => {
        const value = round((-g / (h + settings.lambda)) * settings.rate);
        for (const index of members) sums[index]! += value;
        tree[place] = [value];
        return place;
      };
      if (depth === 0 || w < 2 * settings.least) return leaf();
      const [wordG, wordH, wordW] = [new Float64Array(words), new Float64Array(words), new Float64Array(words)];
      const binG = thresholds.map((list) => new Float64Array(list.length));
      const binH = thresholds.map((list) => new Float64Array(list.length));
      const binW = thresholds.map((list) => new Float64Array(list.length));
      for (const index of members) {
        for (const word of lists[index]!) {
          wordG[word]! += gradient[index]!;
          wordH[word]! += hessian[index]!;
          wordW[word]! += samples[index]!.weight;
        }
        for (let number = 0; number < numbers; number++) {
          const bin = bins[index]![number]!;
          if (bin >= 0) {
            binG[number]![bin]! += gradient[index]!;
            binH[number]![bin]! += hessian[index]!;
            binW[number]![bin]! += samples[index]!.weight;
          }
        }
      }
      const score = (a: number, b: number) => (a * a) / (b + settings.lambda);
      let split = { gain: 1e-4, feature: 0, threshold: 0, found: false };
      const consider = (feature: number, threshold: number, yesG: number, yesH: number, yesW: number) => {
        if (yesW < settings.least || w - yesW < settings.least) return;
        const gain = score(yesG, yesH) + score(g - yesG, h - yesH) - score(g, h);
        if (gain > split.gain) split = { gain, feature, threshold, found: true };
      };
      for (let word = 0; word < words; word++)
        if (wordW[word]! > 0) consider(word, 0, wordG[word]!, wordH[word]!, wordW[word]!);
      for (let number = 0; number < numbers; number++) {
        let [yesG, yesH, yesW] = [0, 0, 0];
        for (const [bin, threshold] of thresholds[number]!.entries()) {
          yesG += binG[number]![bin]!;
          yesH += binH[number]![bin]!;
          yesW += binW[number]![bin]!;
          consider(-1 - number, threshold, yesG, yesH, yesW);
        }
      }
      if (!split.found) return leaf();
      const goes = (index: number) =>
        split.feature >= 0
          ? samples[index]!.row.words[split.feature] === 1
          : samples[index]!.row.numbers[-1 - split.feature]! <= split.threshold;
      const yes = grow(members.filter(goes), depth - 1);
      const no = grow(
        members.filter((index) => !goes(index)),
        depth - 1,
      );
      tree[place] = [split.feature, split.threshold, yes, no];
      return place;
    };
    grow(
      samples.map((_, index) => index),
      settings.depth,
    );
    trees.push(tree as unknown as Tree);
    snapshots.push(sums.slice());
    let held_loss = 0;
    for (const [index, { row, label, weight }] of validation.entries()) {
      held[index]! += leafAt(tree, row);
      held_loss += weight * loss(label, held[index]!);
    }
    if (held_loss < best.loss - 1e-6) best = { at: at + 1, loss: held_loss };
    if (at + 1 - best.at >= settings.patience) break;
  }
  const kept = trees.slice(0, best.at);
  const ensemble: Ensemble = { base, temperature: 1, trees: kept };
  return {
    ensemble: { ...ensemble, temperature: temperatureOf(ensemble, validation) },
    sums: snapshots[best.at - 1] ?? new Float64Array(samples.length).fill(base),
  };
}

function leafAt(tree: number[][], row: Row): number {
  let at = 0;
  while (tree[at]!.length > 1) {
    const [feature = 0, threshold = 0, yes = 0, no = 0] = tree[at]!;
    at = (feature >= 0 ? row.words[feature] === 1 : row.numbers[-1 - feature]! <= threshold) ? yes : no;
  }
  return tree[at]![0]!;
}

/** Fitted on files outside the training set, as the divisor of the sums that makes 8 of 10 mean 8 of 10. */
function temperatureOf({ base, trees }: Ensemble, validation: readonly Sample[]): number {
  const sums = validation.map(({ row }) =>
    trees.reduce((sum, tree) => sum + leafAt(tree as unknown as number[][], row), base),
  );
  let best = { temperature: 1, loss: Infinity };
  for (let step = 0; step <= 40; step++) {
    const temperature = round(0.5 * 1.06 ** step);
    const total = validation.reduce(
      (sum, { label, weight }, index) => sum + weight * loss(label, sums[index]! / temperature),
      0,
    );
    if (total < best.loss) best = { temperature, loss: total };
  }
  return best.temperature;
}
