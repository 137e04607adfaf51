/**
 * Source proxies of several checkouts in turns, which differ in how they speak HTTP: CPU of the proxy's process, and
 * time of a job's tools. `node bench/source/clients.ts CHECKOUT...`, ratios are to the first of them, turn by turn.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg, homedir } from 'node:os';
import { join } from 'node:path';
import { withMediaPrograms } from '../../test/media_programs.ts';
import { summary } from '../statistics.ts';
import { Bed, started, TOOLS, type Near } from './far_bed.ts';
import { makeCertificate } from './media.ts';
import { nearFiles } from './near_files.ts';

/** What the tools do with a file: look at it, or read all of it. */
const WORK = {
  ffprobe: TOOLS.slice(0, 1),
  both: TOOLS,
  packets: [started('ffprobe', '-v quiet -count_packets -of json -show_streams'.split(' '))],
};
const PLAN: readonly [where: 'near' | 'tls' | 'far', file: string, work: keyof typeof WORK, turns: number][] = [
  ['near', 'tiny.mp4', 'ffprobe', 300],
  ['near', 'first.mp4', 'ffprobe', 300],
  ['near', 'a.ts', 'ffprobe', 300],
  ['tls', 'a.ts', 'ffprobe', 60],
  ['near', 'a.ts', 'both', 60],
  ['near', 'a.ts', 'packets', 150],
  ['near', 'long.ts', 'packets', 50],
  ['far', 'last.mp4', 'ffprobe', 25],
  ['far', 'a.ts', 'ffprobe', 25],
];
const WARM_UP = 4;

interface Measured extends Near {
  /** CPU of the tools. */
  toolMs: number;
}

const checkouts = process.argv.slice(2);
process.env['PATH'] = withMediaPrograms(process.env['PATH']);
const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'probeyard', 'bench-near');
nearFiles(folder);
writeFileSync(join(folder, 'long.ts'), Buffer.concat(Array<Buffer>(5).fill(readFileSync(join(folder, 'a.ts')))));
const certificate = makeCertificate(join(folder, 'tls'));
const fixtures = join(import.meta.dirname, '../../test/fixtures');

const quarters = (values: readonly number[], digits: number): string => {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): string => sorted[Math.floor((sorted.length - 1) * share)]!.toFixed(digits);
  return `${at(0.5)} (${at(0.25)} to ${at(0.75)})`;
};

function print(measured: readonly (readonly Measured[])[]): void {
  for (const [i, runs] of measured.entries()) {
    const of = (what: keyof Measured): number[] => runs.map((run) => run[what]);
    const ratios = (what: keyof Measured): number[] => runs.map((run, turn) => run[what] / measured[0]![turn]![what]);
    const mean = (what: keyof Measured): string =>
      (of(what).reduce((sum, value) => sum + value, 0) / runs.length).toFixed(1);
    const columns = [
      checkouts[i],
      `${quarters(of('cpuMs'), 2)}, mean ${mean('cpuMs')}`,
      mean('toolMs'),
      quarters(ratios('cpuMs'), 2),
      quarters(of('ms'), 1),
      quarters(ratios('ms'), 2),
      (summary(of('read')).p50 / 1e6).toFixed(2),
      (summary(of('rss')).p90 / 1e6).toFixed(1),
    ];
    console.log(columns.join(' | '));
  }
}

/** CPU of all tools that have ended. */
function toolsCpu(): number {
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]!.split(' ');
  return 10 * (Number(fields[13]) + Number(fields[14]));
}

for (const [where, name, work, turns] of PLAN) {
  const tools = WORK[work];
  const before = loadavg()[0]!;
  const bed = await Bed.start(
    { oneWayMs: 20, mbit: 100 },
    { folder: name === 'tiny.mp4' ? fixtures : folder, ...certificate, checkouts },
  );
  const one = async (proxy: number): Promise<Near> => {
    if (where !== 'far') return bed.nearBy(name, tools, proxy, where === 'tls');
    const { ms, cpuMs = NaN, rss = NaN, delivered } = await bed.run(name, tools, proxy);
    return { ms, cpuMs, rss, read: delivered };
  };
  const measured = checkouts.map((): Measured[] => []);
  try {
    for (let turn = -WARM_UP; turn < turns; turn++) {
      // None always comes behind the same other one.
      const order = turn % 2 === 0 ? [...checkouts.keys()] : [...checkouts.keys()].toReversed();
      for (const proxy of order) {
        const spent = toolsCpu();
        const run = await one(proxy);
        if (turn >= 0) measured[proxy]!.push({ ...run, toolMs: toolsCpu() - spent });
      }
    }
  } finally {
    bed.stop();
  }
  const after = loadavg()[0]!;
  console.log(`\n${where} ${name}, ${work}, ${turns} turns, load ${before.toFixed(1)} to ${after.toFixed(1)}`);
  console.log('checkout | CPU ms: median (quarters) | CPU of tools | ratio | time ms | ratio | MB read | resident MB');
  print(measured);
}
process.exit(0);
