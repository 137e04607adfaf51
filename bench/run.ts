/**
 * The measurements on the local cluster, beside the bare tools and plain Jobs: `make bench`, or `node bench/run.ts
 * [name...]`. Prints the tables and writes them to docs/reports/measurements.md, where the tables of other names stay.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gateway } from './api/gateway.ts';
import { batch, besideBatch } from './cluster/batch.ts';
import { before } from './cluster/before.ts';
import { besideChecks } from './cluster/beside.ts';
import { cold } from './cluster/cold.ts';
import { compared } from './compare/cluster.ts';
import { consoleAnswer } from './console/answer.ts';
import { consoleLog } from './console/log.ts';
import { failovers } from './cluster/failover.ts';
import { far } from './cluster/far.ts';
import { nearRequests } from './cluster/files.ts';
import { installed } from './cluster/installed.ts';
import { memory } from './cluster/memory.ts';
import { atRest } from './cluster/rest.ts';
import { tenants } from './cluster/tenants.ts';
import { throughput } from './cluster/throughput.ts';
import { warm } from './cluster/warm.ts';
import { apiWrites } from './cluster/writes.ts';
import { syncTimes } from './disk.ts';
import { largeEnvelope } from './large/envelope.ts';
import type { Measurement, Row } from './measurement.ts';
import { near } from './runner/near.ts';
import { million } from './store/million.ts';
import { readRanges } from './ranges.ts';
import { summaryOf } from './summary.ts';
import { table } from './table.ts';
import { timelines } from './timeline/runner.ts';
import { webhooks } from './webhooks/deliver.ts';
import { fetchMediaPrograms, withMediaPrograms } from '../test/media_programs.ts';

const MEASUREMENTS: readonly Measurement[] = [
  warm,
  nearRequests,
  near,
  far,
  cold,
  installed,
  throughput,
  batch,
  besideBatch,
  million,
  besideChecks,
  tenants,
  failovers,
  memory,
  apiWrites,
  webhooks,
  largeEnvelope,
  gateway,
  compared,
  timelines,
  consoleLog,
  consoleAnswer,
  before,
];

const { positionals } = parseArgs({ allowPositionals: true });
const unknown = positionals.filter((name) => !MEASUREMENTS.some((measurement) => measurement.name === name));
if (unknown.length > 0) {
  console.error(`there is no ${unknown.join(', ')}; there are ${MEASUREMENTS.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}

// Some of them make their media.
await fetchMediaPrograms();
process.env['PATH'] = withMediaPrograms(process.env['PATH']);
const chosen = MEASUREMENTS.filter(({ name, replacesRelease }) =>
  positionals.length === 0 ? !replacesRelease : positionals.includes(name),
);
const ranges = readRanges();
const machine =
  `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GB, ` +
  `Linux ${release()}, Node ${process.version}`;
const load = () => {
  const sync = syncTimes();
  return `load ${loadavg()
    .map((value) => value.toFixed(1))
    .join(' ')}; a sync of 2 KB to disk ${sync.p50.toFixed(1)} ms (p99 ${sync.p99.toFixed(1)})`;
};
const measured = new Map<string, string>();
let failed = false;

for (const { name, title, measure } of chosen) {
  await atRest((line) => console.log(`\n${name}: ${line}`));
  const atFirst = load();
  console.log(`\n== ${name}: ${title} (${atFirst})`);
  try {
    const rows: Row[] = await measure((line) => console.log(`   ${line}`));
    const text = table(rows, ranges);
    console.log(text);
    measured.set(
      name,
      `## ${name}: ${title}\n\n${new Date().toISOString().slice(0, 10)}, ${machine}. ` +
        `Before: ${atFirst}. After: ${load()}.\n\n${text}\n`,
    );
  } catch (error) {
    failed = true;
    console.error(`${name}: could not be measured:`, error);
  }
}

const path = join(import.meta.dirname, '..', 'docs', 'reports', 'measurements.md');
const standing = existsSync(path)
  ? readFileSync(path, 'utf8')
      .split(/^(?=## )/m)
      .slice(1)
  : [];
const nameOf = (section: string): string => /^## ([\w-]+)/.exec(section)?.[1] ?? '';
const sections = [
  ...MEASUREMENTS.flatMap(
    ({ name }) =>
      measured.get(name) ?? standing.find((section) => nameOf(section) === name)?.replace(/\n+$/, '\n') ?? [],
  ),
  ...standing
    .filter((section) => !MEASUREMENTS.some(({ name }) => name === nameOf(section)) && nameOf(section) !== 'Aims')
    .map((section) => section.replace(/\n+$/, '\n')),
];
writeFileSync(
  path,
  '# Measurements\n\nEach on one machine of two cores and 24 GB, which API server, etcd, Postgres, NATS, runners, ' +
    'origin and callers share. Made by `make bench`, which changes only the sections that it measures; ' +
    'bench/ranges.yaml has the aims.\n\n' +
    'CPU of a job leaves out the tools (6 to 7 ms) in rows measured before 2026-11-26, and pods that ended meanwhile ' +
    'in all of them; the rows of `throughput-any`, `throughput-account` and `before` keep their runners, which an ' +
    'installation does not. Figures of 16 cores are a model: the CPU measured here, on more cores.\n\n' +
    `${summaryOf(sections)}\n${sections.join('\n')}`,
);
console.log(`\nwritten to ${path}`);
process.exit(failed ? 1 : 0);
