/**
 * An older version and this one, in turns on one cluster: what a caller waits for, near and far, throughput with the
 * CPU of a job, and many tenants. Each turn installs one of them in place of the other, and the record of requests is
 * lost.
 */
import { MEASURED } from '../../test/older/older.ts';
import { openVersions, type Which } from '../../test/older/versions.ts';
import { ratioOf, type Measurement, type Row } from '../measurement.ts';
import { median, summary } from '../statistics.ts';
import { far } from './far.ts';
import { nearRequests } from './files.ts';
import { atRest } from './rest.ts';
import { tenants } from './tenants.ts';
import { throughput } from './throughput.ts';
import { warm } from './warm.ts';

const TURNS = Number(process.env['BENCH_TURNS'] ?? 3);
/** Some of them: `OF="warm far"`. */
const OF = process.env['OF']?.split(' ');
const IN_TURNS = [warm, nearRequests, far, throughput, tenants].filter(({ name }) => OF?.includes(name) ?? true);

/** The rows of all turns of one version, by what they say. */
type Rows = Map<string, Row[]>;

async function measureInto(rows: Rows, report: (line: string) => void): Promise<void> {
  for (const { name, measure } of IN_TURNS) {
    await atRest(report);
    for (const row of await measure(report)) {
      const what = `${name}: ${row.what.replace(/^— /, '')}`;
      rows.set(what, [...(rows.get(what) ?? []), row]);
    }
  }
}

const medians = (rows: readonly Row[]): number[] => rows.map(({ values }) => values.p50);

/** The median of a version's turns, beside what the row itself is compared with. */
function beside(rows: readonly Row[]): string {
  const ratios = rows.map(ratioOf).filter((ratio) => ratio !== undefined);
  const times = `p99 ${median(rows.map(({ values }) => values.p99)).toFixed(0)}`;
  return ratios.length === 0 ? times : `${median(ratios).toFixed(2)} × ${rows[0]!.against?.what ?? ''}, ${times}`;
}

function rowOf(what: string, newer: readonly Row[], older: readonly Row[]): Row {
  const { name, unit } = newer[0]!;
  const row: Row = { name: `before-${name}`, what, unit, values: summary(medians(newer)) };
  if (older.length === 0) return { ...row, note: beside(newer) };
  return {
    ...row,
    against: { what: MEASURED.version, values: summary(medians(older)) },
    note: `${beside(newer)}; ${MEASURED.version}: ${beside(older)}`,
  };
}

export const before: Measurement = {
  name: 'before',
  title: `${MEASURED.version} and this version, each installed in turn, medians of ${TURNS} turns`,
  replacesRelease: true,
  async measure(report) {
    const versions = await openVersions(MEASURED);
    const rows: Record<Which, Rows> = { older: new Map(), newer: new Map() };
    try {
      for (let index = 0; index < 2 * TURNS; index++) {
        const which = index % 2 === 0 ? 'older' : 'newer';
        report(`turn ${index + 1}, ${which}`);
        await versions.install(which);
        await measureInto(rows[which], report);
      }
    } finally {
      await versions.close();
    }
    return [...rows.newer].map(([what, newer]) => rowOf(what, newer, rows.older.get(what) ?? []));
  },
};
