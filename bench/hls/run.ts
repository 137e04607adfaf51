/** Measures the HLS validator beside others in the same run, and writes the tables of docs/reports/hls.md. */
import { execFileSync } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { writePart } from '../../docs/tables/part.ts';
import { foreignSamples, ownSamples, type Sample } from './corpus.ts';
import { HOSTILE, judgeHostile } from './hostile.ts';
import { hlsParser, m3u8Parser, m3u8parse, ours } from './validators.ts';

const root = join(import.meta.dirname, '../..');
const row = (cells: (string | number)[]): string => `| ${cells.join(' | ')} |`;
const table = (head: string[], rows: (string | number)[][]): string =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');

async function corpusTable(): Promise<string> {
  const validators = [ours, await hlsParser(), await m3u8Parser(), await m3u8parse()];
  const [own, foreign] = [ownSamples(), foreignSamples()];
  const part = (list: Sample[], bad: boolean): Sample[] => list.filter(({ faults }) => faults.length > 0 === bad);
  const sets: [string, Sample[]][] = [
    ['known faults, our examples', part(own, true)],
    ['known faults, others’ playlists', part(foreign, true)],
    ['good, our examples', part(own, false)],
    ['good, others’ playlists', part(foreign, false)],
  ];
  const quiet = console.error;
  console.error = () => {};
  const rows = validators.map((validator) => [
    validator.name,
    ...sets.map(([, samples]) => {
      let [reported, right] = [0, 0];
      for (const { bytes, faults } of samples) {
        const found = validator.judge(bytes);
        if (found.length > 0) reported++;
        if (validator === ours && faults.every((fault) => found.includes(fault))) right++;
      }
      const known = validator === ours && samples[0] !== undefined && samples[0].faults.length > 0;
      return `${reported} of ${samples.length}${known ? ` (${right} with every known fault named)` : ''}`;
    }),
  ]);
  console.error = quiet;
  return table(['something reported in', ...sets.map(([name]) => name)], rows);
}

function speedTable(): string {
  const names = {
    ours: 'Probeyard',
    hlsParser: 'hls-parser (strict)',
    m3u8Parser: 'm3u8-parser',
    m3u8parse: 'm3u8parse',
  };
  const runs = new Map<string, { ms: number; peakMb: number; beforeMb: number }[]>();
  // In turns, so that other load affects all of them.
  for (let round = 0; round < 5; round++) {
    for (const name of Object.keys(names)) {
      const out = execFileSync(process.execPath, [join(import.meta.dirname, 'big.ts'), name, '100000'], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      runs.set(name, [...(runs.get(name) ?? []), JSON.parse(out) as { ms: number; peakMb: number; beforeMb: number }]);
    }
  }
  return table(
    [
      '100,000 segments',
      'processor time (ms), best and worst of 5',
      'memory at its highest (MB)',
      'of it for the playlist (MB)',
    ],
    Object.entries(names).map(([name, shown]) => {
      const list = runs.get(name) ?? [];
      const times = list.map(({ ms }) => Math.round(ms));
      const peak = Math.min(...list.map(({ peakMb }) => peakMb));
      return [
        shown,
        `${Math.min(...times)} – ${Math.max(...times)}`,
        Math.round(peak),
        Math.round(peak - Math.min(...list.map(({ beforeMb }) => beforeMb))),
      ];
    }),
  );
}

async function hostileTable(): Promise<string> {
  const rows: (string | number)[][] = [];
  for (const name of Object.keys(HOSTILE)) {
    const { ms, peakMb, said } = await judgeHostile(name);
    console.log(`${name}: ${Math.round(ms)} ms, ${Math.round(peakMb)} MB: ${said.slice(0, 160)}`);
    rows.push([name, (ms / 1000).toFixed(1), Math.round(peakMb), said.slice(0, 140).replaceAll('|', '\\|')]);
  }
  return table(['what it is sent', 'seconds', 'MB', 'what it says'], rows);
}

const machine = (): string => `${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} while it was measured.`;

const page = join(root, 'docs/reports/hls.md');
function write(name: string, text: string): void {
  writePart(page, name, text);
  console.log(`${name}\n${text}\n`);
}

const wanted = process.argv.slice(2);
const want = (name: string): boolean => wanted.length === 0 || wanted.includes(name);
if (want('corpus')) write('corpus', await corpusTable());
if (want('speed')) write('speed', `${speedTable()}\n\n${machine()}`);
if (want('hostile')) write('hostile', `${await hostileTable()}\n\n${machine()}`);
