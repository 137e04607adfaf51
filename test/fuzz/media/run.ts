/**
 * `make fuzz-media` (CASES=, SEED=; ONLY=qc: content checks and the ffprobe that they need): the long form. Writes its
 * summary into docs/reports/fuzzing.md.
 */
import { existsSync } from 'node:fs';
import { corpus, decoding, fuzzMedia, type Summary } from './fuzz.ts';
import { writeSummary } from '../summary.ts';

const cases = Number(process.env['CASES'] || 1000);
const seed = Number(process.env['SEED'] || Math.floor(Math.random() * 2 ** 32));
if (!existsSync(corpus)) console.log('the corpus is not here: one small file stands for it');
console.log(`seed ${seed}, ${cases} cases`);
const isDecoding = process.env['ONLY'] === 'qc';
const begun = performance.now();
const summary = await fuzzMedia({
  seed,
  cases,
  ...(isDecoding ? { which: decoding } : {}),
  progress: (done) => console.log(`${done} done after ${Math.round((performance.now() - begun) / 1000)} s`),
});
const text = render(summary);
console.log(text);
writeSummary(isDecoding ? 'fuzz-media-qc' : 'fuzz-media', text);
process.exitCode = summary.problems.length === 0 ? 0 : 1;

function render(found: Summary): string {
  const { seed: used, cases: done, files, kinds, byTool, memory, problems, slowestMs } = found;
  const outcomes = [...new Set([...byTool.values()].flatMap((counts) => [...counts.keys()]))].sort();
  return [
    isDecoding ? '## Broken media, decoded' : '## Broken media',
    '',
    `\`make fuzz-media${isDecoding ? ' ONLY=qc' : ''} SEED=${used} CASES=${done}\`: ${done} damaged files ` +
      `made of ${files} real ones (${kinds.join(', ')}), ` +
      'each read by every tool below through the launcher and the source proxy.',
    'They are truncated, cut, doubled, spliced, their bits flipped, their lengths made ' +
      'huge or zero. Every 50 files a good one is read with the same runner.',
    '',
    `| tool | ${outcomes.join(' | ')} | most memory, MB of 1024 |`,
    `|---|${outcomes.map(() => '---').join('|')}|---|`,
    ...[...byTool].map(
      ([name, counts]) =>
        `| ${name} | ${outcomes.map((outcome) => counts.get(outcome) ?? 0).join(' | ')} | ${memory.get(name) ?? '–'} |`,
    ),
    '',
    'Without an answer, without a message, or a runner that did not go on: ' +
      `${problems.length}. The slowest file took ${slowestMs} ms for all tools.`,
    ...problems.slice(0, 20).map((problem) => `- ${problem}`),
  ].join('\n');
}
