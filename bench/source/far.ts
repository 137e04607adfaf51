import { homedir, loadavg } from 'node:os';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { median } from '../statistics.ts';
import { Bed, TOOLS, type Distance, type Run } from './far_bed.ts';
import { pageOf, rowOf, HEAD, timelineOf, type Measured } from './far_page.ts';
import { files, makeCertificate, makeMedia, makeMoreMedia, moreFiles } from './media.ts';

/**
 * Both tools on an HTTPS origin at a distance, bare and through the source proxy, in turns. The proxy is a process of
 * its own behind the listener, as in a pod, and has no open connection to the origin when a run begins. `node
 * bench/source/far.ts [runs] [file …]`.
 *
 * BENCH_ONE_WAY_MS=75: 150 ms away. BENCH_MBIT=1000: 1 Gbit/s a connection. BENCH_BEFORE=CHECKOUT: the proxy of another
 * checkout takes turns, too. BENCH_TIMELINE=1: the requests of the last run, as the origin saw them. BENCH_PAGE=FILE:
 * all four distances, written as a page.
 */

const runs = Number(process.argv[2] ?? 5);
const chosen = process.argv.length > 3 ? process.argv.slice(3) : [...files, ...moreFiles];
const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'probeyard', 'bench-media');
const page = process.env['BENCH_PAGE'];
const here = join(import.meta.dirname, '../..');
const before = process.env['BENCH_BEFORE'];
const distances: Distance[] =
  page === undefined
    ? [{ oneWayMs: Number(process.env['BENCH_ONE_WAY_MS'] ?? 20), mbit: Number(process.env['BENCH_MBIT'] ?? 100) }]
    : [20, 75].flatMap((oneWayMs) => [100, 1000].map((mbit) => ({ oneWayMs, mbit })));

makeMedia(folder);
makeMoreMedia(folder);
const tls = makeCertificate(join(folder, 'tls'));

const loadBefore = loadavg()[0]!;
const results: Measured[] = [];
for (const distance of distances) {
  const bed = await Bed.start(distance, {
    folder,
    ...tls,
    checkouts: [here, ...(before === undefined ? [] : [before])],
  });
  console.log(`${runs} runs, ${2 * distance.oneWayMs} ms away, ${distance.mbit} Mbit/s a connection\n${HEAD}`);
  try {
    for (const name of chosen) {
      const [bare, now, old, alone]: [Run[], Run[], Run[], number[]] = [[], [], [], []];
      for (let i = 0; i < runs; i++) {
        bare.push(await bed.run(name, TOOLS));
        now.push(await bed.run(name, TOOLS, 0));
        if (before !== undefined) old.push(await bed.run(name, TOOLS, 1));
        alone.push(await bed.near(name, TOOLS));
      }
      const measured: Measured = { name, distance, bare, now, nearMs: median(alone) };
      results.push(measured);
      console.log(rowOf(measured));
      if (old.length > 0) console.log(rowOf({ ...measured, name: `— ${before}`, now: old }));
      if (process.env['BENCH_TIMELINE'] !== undefined)
        console.log(`bare:\n${timelineOf(bare.at(-1)!)}\nproxied:\n${timelineOf(now.at(-1)!)}`);
    }
  } finally {
    bed.stop();
  }
}
if (page !== undefined) writeFileSync(page, pageOf(results, runs, [loadBefore, loadavg()[0]!]));
