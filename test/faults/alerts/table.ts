/**
 * Which alert each fault raises, on the running cluster: `node test/faults/alerts/table.ts [name...]`. A real
 * Prometheus beside the cluster scrapes its pods, with the chart's own rules, shortened. Each fault is held for longer
 * than the window of its alert, and then for less. Writes docs/reports/alerts.md; with names, only their rows change.
 */
import { join } from 'node:path';
import { rowsOf, writePart } from '../../../docs/tables/part.ts';
import { only, render } from '../../chart/render.ts';
import { cluster, eventually, type Cluster } from '../../cluster/fixture.ts';
import { podTargets } from '../../prometheus/pod_targets.ts';
import { openPrometheus, type Programs } from '../../prometheus/programs.ts';
import { startPrometheus, type RunningPrometheus } from '../../prometheus/server.ts';
import { moment } from '../load.ts';
import { ROWS, healed, type Row } from './rows.ts';

const document = join(import.meta.dirname, '..', '..', '..', 'docs', 'reports', 'alerts.md');
const COLUMNS = ['fault', 'alert', 'time to fire', 'also', 'shorter', 'raised'];
const HEADER = `| ${COLUMNS.join(' | ')} |\n|${'---|'.repeat(COLUMNS.length)}`;
const LOOK_MS = 250;

function rules(factor: number): object[] {
  const objects = render({ metrics: { prometheusRule: { enabled: true, timeFactor: factor } } });
  return (only(objects, 'PrometheusRule', 'probeyard')['spec'] as { groups: object[] }).groups;
}

/** A little of everything, so that rates exist: requests at a steady pace, without waiting for each. */
function load(c: Cluster, token: string, url: string): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const underWay = new Set<Promise<unknown>>();
  const timer = setInterval(() => {
    if (underWay.size > 100) return;
    const one: Promise<unknown> = c
      .probe({ url: `${url}/tiny.mp4` }, { token, signal: stopping.signal })
      .catch(() => {})
      .finally(() => underWay.delete(one));
    underWay.add(one);
  }, 500);
  return {
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await Promise.all(underWay);
    },
  };
}

/** The alerts that fire meanwhile, with the seconds since the begin of the fault. */
async function firing(prometheus: RunningPrometheus, work: () => Promise<void>): Promise<Map<string, number>> {
  const fired = new Map<string, number>();
  const began = performance.now();
  const over = new AbortController();
  const looking = (async () => {
    while (!over.signal.aborted) {
      for (const { alert, state } of await prometheus.alerts().catch(() => []))
        if (state === 'firing' && !fired.has(alert)) fired.set(alert, (performance.now() - began) / 1_000);
      await moment(LOOK_MS);
    }
  })();
  try {
    await work();
    // What was pending at the end must not become firing by the tail of the fault alone.
    await moment(3_000);
  } finally {
    over.abort();
    await looking;
  }
  return fired;
}

async function runRow(c: Cluster, programs: Programs, row: Row): Promise<{ line: string; problems: string[] }> {
  const remove = await row.prepare?.(c);
  await healed(c);
  const prometheus = await startPrometheus({ programs, targets: await podTargets(c), groups: rules(row.factor) });
  const over = new AbortController();
  const following = (async () => {
    while (!over.signal.aborted) {
      // The API server may be what stands still.
      const found = await podTargets(c).catch(() => undefined);
      if (found !== undefined) await prometheus.target(found);
      await moment(1_000);
    }
  })();
  const origin = await c.origin();
  const { token } = await c.newToken(10);
  const steady = load(c, token, origin.url);
  const calm = () =>
    eventually('no alert fires', 400, async () => (await prometheus.alerts()).every(({ state }) => state !== 'firing'));
  try {
    await eventually(
      'every target is scraped',
      60,
      async () => (await prometheus.query('min(up) == 1 and count(up) >= 4')).length > 0,
    );
    await calm();
    const short = await firing(prometheus, () => row.short(c));
    await healed(c);
    await calm();
    const held = await firing(prometheus, () => row.held(c));
    await healed(c);
    const time = held.get(row.alert);
    const others = [...held.keys()].filter((alert) => alert !== row.alert).sort();
    const raised = short.has(row.alert);
    const problems = [
      ...(time === undefined ? [`${row.alert} did not fire`] : []),
      ...others.filter((alert) => !row.also.includes(alert)).map((alert) => `${alert} fired, and is no consequence`),
      ...(raised ? [`${row.alert} fired for a short fault`] : []),
    ];
    const cells = [
      `${row.fault} \`${row.name}\``,
      row.alert,
      time === undefined ? '**none**' : `${time.toFixed(0)} s (× ${(1 / row.factor).toFixed(0)})`,
      others.join(', '),
      row.shortFault,
      raised ? `**${row.alert}**` : 'no',
    ];
    return { line: `| ${cells.join(' | ')} |`, problems };
  } finally {
    over.abort();
    await following;
    await steady.stop();
    await prometheus.stop();
    await remove?.();
  }
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !ROWS.some((row) => row.name === name));
if (unknown.length > 0) {
  console.error(`no row ${unknown.join(', ')}: there are ${ROWS.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}
const programs = await openPrometheus();
if (typeof programs === 'string') {
  console.error(programs);
  process.exit(2);
}
const c = await cluster();
try {
  for (const row of ROWS.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
    console.log(`== ${row.name}: ${row.fault}`);
    const { line, problems } = await runRow(c, programs, row);
    console.log(line);
    for (const problem of problems) console.error(`  ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
    // After each row, so that an interrupted run keeps its rows.
    const rows = rowsOf(document, 'table').set(row.name, line);
    writePart(document, 'table', [HEADER, ...ROWS.flatMap(({ name }) => rows.get(name) ?? [])].join('\n'));
  }
} finally {
  await c.close();
}
