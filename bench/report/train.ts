/**
 * Trains the weights on the files in the cache, and writes them with some of the trainer's own answers for the
 * comparing test.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NUMBERS } from '../../src/media/report/features.ts';
import { Model, type Ensemble, type Weights } from '../../src/media/report/trees.ts';
import { DISPUTED, train, UNDISPUTED, type Sample } from './boost.ts';
import { examples } from './collect.ts';
import { rowsOf, splitOf, type LabelledRow } from './rows.ts';

/** A category in only one or two files teaches nothing. */
const FEWEST_FILES = 4;
/** There are far more undisputed samples than needed. */
const MOST_UNDISPUTED = 30_000;
const ANSWERS = 60;

const flat = (base: number): Ensemble => ({ base, temperature: 1, trees: [] });

export function vocabulary(rows: readonly LabelledRow[]): string[] {
  const files = new Map<string, Set<number>>();
  for (const row of rows) {
    for (const word of [...row.features.shared, ...row.features.words]) {
      const had = files.get(word) ?? new Set();
      files.set(word, had.add(row.file));
    }
  }
  return [...files]
    .filter(([, had]) => had.size >= FEWEST_FILES)
    .map(([word]) => word)
    .sort();
}

export function learn(rows: readonly LabelledRow[]): {
  weights: Weights;
  answers: { of: keyof Weights['ensembles']; features: LabelledRow['features']; probability: number }[];
} {
  const words = vocabulary(rows.filter(({ file }) => splitOf(file) === 'train'));
  const weights: Weights = {
    words,
    numbers: NUMBERS,
    ensembles: { ffprobe: flat(0), mediainfo: flat(0), single: flat(0), agreed: flat(0) },
  };
  const reader = new Model(weights);
  const answers: ReturnType<typeof learn>['answers'] = [];
  const plans: [keyof Weights['ensembles'], LabelledRow['agreement'], (row: LabelledRow) => boolean][] = [
    ['ffprobe', 'disputed', ({ right }) => right.ffprobe],
    ['mediainfo', 'disputed', ({ right }) => right.mediainfo],
    ['single', 'single', ({ right }) => right.ffprobe || right.mediainfo],
    ['agreed', 'agreed', ({ right }) => right.ffprobe || right.mediainfo],
  ];
  for (const [of, agreement, label] of plans) {
    const chosen = rows.filter((row) => row.agreement === agreement);
    const every = Math.ceil(chosen.length / MOST_UNDISPUTED);
    const samples = (split: string) =>
      chosen
        .filter(({ file }, index) => splitOf(file) === split && index % every === 0)
        .map((row): Sample & { from: LabelledRow } => ({
          row: reader.row(row.features),
          label: label(row),
          weight: row.weight,
          from: row,
        }));
    const learned = samples('train');
    const { ensemble, sums } = train(
      learned,
      samples('validation'),
      words.length,
      NUMBERS.length,
      agreement === 'disputed' ? DISPUTED : UNDISPUTED,
    );
    weights.ensembles[of] = ensemble;
    for (
      let index = 0;
      index < learned.length && answers.filter((answer) => answer.of === of).length < ANSWERS / 4;
      index += Math.ceil(learned.length / (ANSWERS / 4))
    ) {
      answers.push({
        of,
        features: learned[index]!.from.features,
        probability: 1 / (1 + Math.exp(-sums[index]! / ensemble.temperature)),
      });
    }
    console.log(`${of}: ${learned.length} rows, ${ensemble.trees.length} trees, temperature ${ensemble.temperature}`);
  }
  return { weights, answers };
}

if (import.meta.main) {
  const rows = examples().flatMap(rowsOf);
  const { weights, answers } = learn(rows);
  const used = compact(weights);
  const root = join(import.meta.dirname, '..', '..');
  writeFileSync(join(root, 'src', 'media', 'report', 'weights.json'), JSON.stringify(used));
  writeFileSync(join(root, 'test', 'report', 'trained_answers.json'), JSON.stringify(answers));
}

/** Keeps only the categories that a tree uses. */
export function compact(weights: Weights): Weights {
  const asked = new Set<number>();
  for (const { trees } of Object.values(weights.ensembles))
    for (const tree of trees) for (const node of tree) if (node.length > 1 && node[0] >= 0) asked.add(node[0]);
  const kept = [...asked].sort((a, b) => a - b);
  const place = new Map(kept.map((word, index) => [word, index]));
  const ensembles = Object.fromEntries(
    Object.entries(weights.ensembles).map(([name, ensemble]) => [
      name,
      {
        ...ensemble,
        trees: ensemble.trees.map((tree) =>
          tree.map((node) => (node.length > 1 && node[0] >= 0 ? [place.get(node[0])!, 0, node[2], node[3]] : node)),
        ),
      },
    ]),
  ) as unknown as Weights['ensembles'];
  return { words: kept.map((word) => weights.words[word]!), numbers: weights.numbers, ensembles };
}
