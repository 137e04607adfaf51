/** What was measured of far origins, as text. */
import { median, summary } from '../statistics.ts';
import type { Distance, Run } from './far_bed.ts';

export interface Measured {
  name: string;
  distance: Distance;
  bare: readonly Run[];
  now: readonly Run[];
  /** The bare tools without any distance, in plain HTTP. */
  nearMs: number;
}

const MOST_TIME = 0.4;
const MOST_BYTES = 0.5;

const COLUMNS =
  'file, ms, spread, bare ms, ratio, MB, bare MB, ratio, requests, connections, near ms, CPU, outputs'.split(', ');
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
export const HEAD = [COLUMNS, COLUMNS.map(() => '---')].map(row).join('\n');

const of = (runs: readonly Run[], field: 'ms' | 'sent' | 'requests' | 'connections'): number[] =>
  runs.map((run) => run[field]);
const mb = (bytes: number): string => (bytes / 1e6).toFixed(bytes < 1e5 ? 2 : 1);
const ratio = (value: number, most: number, least = 0): string => {
  const missed = value <= most ? '' : least <= most ? ' NO' : ` NO, least ${least.toFixed(2)}`;
  return `${value.toFixed(2)} ×${missed}`;
};

/**
 * A ratio above the aim has a NO, and what nobody can be below: connection, TLS and first answer, or the tools without
 * any distance.
 */
export function rowOf({ name, distance, bare, now, nearMs }: Measured): string {
  const [took, sent] = [summary(of(now, 'ms')), median(of(now, 'sent'))];
  const [bareMs, bareSent] = [median(of(bare, 'ms')), median(of(bare, 'sent'))];
  const equal = now.every(({ outputs }, i) => outputs.every((output, j) => output === bare[i]!.outputs[j]));
  const cells = [
    name,
    took.p50.toFixed(0),
    `${took.least.toFixed(0)} to ${took.most.toFixed(0)}`,
    bareMs.toFixed(0),
    ratio(took.p50 / bareMs, MOST_TIME, Math.max(6 * distance.oneWayMs, nearMs) / bareMs),
    mb(sent),
    mb(bareSent),
    ratio(sent / bareSent, MOST_BYTES),
    `${median(of(now, 'requests'))}`,
    `${median(of(now, 'connections'))}`,
    nearMs.toFixed(0),
    median(now.map(({ cpuMs = Number.NaN, sent: bytes }) => (cpuMs * 1e6) / bytes)).toFixed(1),
    equal ? 'equal' : 'DIFFER',
  ];
  return row(cells);
}

/** Requests that follow one another so closely are one line. */
const TOGETHER_MS = 15;

/** The requests as the origin saw them: half a round trip after they were sent. */
export function timelineOf({ begin, ms, asked }: Run): string {
  const groups: (typeof asked)[] = [];
  for (const one of asked.toSorted((a, b) => a.at - b.at)) {
    const last = groups.at(-1);
    if (last !== undefined && one.at - last[0]!.at < TOGETHER_MS) last.push(one);
    else groups.push([one]);
  }
  const lines = groups.map((group) => {
    const paths = Map.groupBy(group, ({ what }) => what.split(' ')[0]!);
    const ranges = [...paths].map(([path, asks]) => `${path} ${asks.map(rangeText).join(', ')}`);
    const bytes = group.reduce((sum, one) => sum + one.bytes, 0);
    return `${(group[0]!.at - begin).toFixed(0).padStart(6)} ms  ${mb(bytes).padStart(5)} MB  ${ranges.join('; ')}`;
  });
  return [...lines, `${ms.toFixed(0).padStart(6)} ms  the tools have ended`].join('\n');
}

/** In KiB. */
function rangeText({ what, bytes }: Run['asked'][number]): string {
  const from = /bytes=(\d+)-/.exec(what)?.[1];
  const length = `${Math.ceil(bytes / 1024)}`;
  if (from === undefined) return what.includes('bytes=-') ? `last ${length}` : 'all';
  return `${Math.floor(Number(from) / 1024)}+${length}`;
}

/** `loads`: of the machine in the last minute, before and after. */
export function pageOf(results: readonly Measured[], runs: number, loads: readonly number[]): string {
  const tables = [...Map.groupBy(results, ({ distance }) => JSON.stringify(distance)).values()].map((rows) => {
    const { oneWayMs, mbit } = rows[0]!.distance;
    return `## ${2 * oneWayMs} ms, ${mbit} Mbit/s a connection\n\n${HEAD}\n${rows.map(rowOf).join('\n')}\n`;
  });
  const nearest = results[0]!.distance;
  const lines = results
    .filter(({ distance }) => distance === nearest)
    .map(({ name, now }) => `### ${name}\n\n\`\`\`\n${timelineOf(now.at(-1)!)}\n\`\`\`\n`);
  return `# Files of far origins

Made by \`BENCH_PAGE=docs/reports/far-origins.md node bench/source/far.ts ${runs}\`: ffprobe and mediainfo of Debian
side by side on an HTTPS origin at a distance, bare and through the source proxy, in turns. Runs of each: ${runs}; the
figures are medians. No connection is open when a run begins. **ms**: until both tools have ended. **MB**: what left
the origin, which includes what its system buffers for the bare tools. **near ms**: the bare tools without any distance.
**CPU**: of the proxy's process, in ms for each MB that left the origin. The aims are ${MOST_TIME} × the time and
${MOST_BYTES} × the bytes of the bare tools; a ratio above has a NO, and the least that is possible
where the aim is not: a source is read after three round trips (connection, TLS, first answer), and the tools take what
they take without any distance. Two playlists and a segment take five. The load of the machine was
${loads.map((load) => load.toFixed(1)).join(' before and ')} after.

${tables.join('\n')}
## The time lines of requests

Of the last run at ${2 * nearest.oneWayMs} ms and ${nearest.mbit} Mbit/s. Times are those at which the origin has
the request, half a round trip after it was sent. \`512+256\`: 256 KiB from 512 KiB on. Requests within
${TOGETHER_MS} ms are one line.

${lines.join('\n')}`;
}
