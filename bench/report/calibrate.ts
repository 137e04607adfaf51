/**
 * Whether a correction of the confidence in disputed fields would help. Writes its table into docs/reports/report.md.
 */
import { join } from 'node:path';
import { writePart } from '../../docs/tables/part.ts';
import { learned } from '../../src/media/report/judge.ts';
import { brierScore, calibrationError, chanceOf, CORRECTIONS, crossFitted, spreadOf } from './calibration.ts';
import { examples } from './collect.ts';
import { answersOf, judged } from './evaluate.ts';
import { rowsOf, splitOf } from './rows.ts';

const page = join(import.meta.dirname, '..', '..', 'docs', 'reports', 'report.md');
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

const unseen = examples().filter(({ truth }) => splitOf(truth.number) !== 'train');
const rows = unseen.flatMap(rowsOf).filter(({ agreement }) => agreement === 'disputed');
const answers = answersOf(judged(rows, learned));
const isHeldOut = ({ file }: { file: number }): boolean => splitOf(file) === 'test';
function count(all: typeof answers): string {
  const fields = all.reduce((sum, { weight }) => sum + weight, 0);
  return `${new Set(all.map(({ file }) => file)).size} files with ${fields.toFixed(0)} disputed fields`;
}
const heldOut = answers.filter(isHeldOut);
const others = answers.filter((one) => !isHeldOut(one));

const lines = Object.entries(CORRECTIONS).map(([name, correction]) => {
  const shown = crossFitted(answers, correction).filter(isHeldOut);
  const [low, high] = spreadOf(shown);
  const cells = [
    name,
    percent(calibrationError(shown)),
    `${percent(low)} to ${percent(high)}`,
    percent(chanceOf(shown)),
  ];
  return `| ${[...cells, brierScore(shown).toFixed(3)].join(' | ')} |`;
});
const text = [
  `Held out: ${count(heldOut)}. Validation: ${count(others)}.`,
  '',
  '| correction | error | 5th to 95th percentile over files | by chance alone | Brier score |',
  '|---|---|---|---|---|',
  ...lines,
].join('\n');
console.log(text);
writePart(page, 'calibration', text);
