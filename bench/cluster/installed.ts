/**
 * An installation as it comes: the chart's own values, from a pool at rest with its two runners, then in its steady
 * state, where runners are started and replaced as they are in use. Beside it a batch/v1 Job per request.
 */
import type { Cluster } from '../../test/cluster/fixture.ts';
import { one, type Measurement, type Row } from '../measurement.ts';
import { summary } from '../statistics.ts';
import { cpuOfCluster } from './cpu.ts';
import { jobsPerSecond, withNamespace } from './plain.ts';
import { runnerPods } from './pool.ts';
import { atRest } from './rest.ts';
import { withCluster } from './rig.ts';
import { cpuLine, flood } from './throughput.ts';
import { manyTokens } from './tokens.ts';
import { bareTools } from './tools.ts';

const CALLERS = 20;
/** So few that none waits for another: what a replaced runner costs is not hidden by a queue. */
const FEW = 2;
const ACCOUNTS = [1, 4] as const;
const FIRST_S = 20;
const STEADY_S = 40;

/** Each life of each pod is a runner of its own. */
const runnersOf = async (c: Cluster): Promise<Set<string>> =>
  new Set(
    (await runnerPods(c)).map(
      ({ metadata }) => `${metadata.name}_${metadata.annotations?.['probeyard.dev/life'] ?? '0'}`,
    ),
  );

async function rowOfFew(c: Cluster, url: string, report: (line: string) => void): Promise<Row> {
  const { tokens, revoke } = await manyTokens(c, 1, FEW);
  try {
    await atRest(report);
    await flood(c, url, tokens, FIRST_S, 0, FEW);
    const before = await runnersOf(c);
    const { times, statuses } = await flood(c, url, tokens, STEADY_S, 0, FEW);
    const fresh = [...(await runnersOf(c))].filter((name) => !before.has(name)).length;
    const note = `${fresh} of the runners are new; answers ${JSON.stringify(statuses)}`;
    report(`${FEW} callers: ${note}`);
    const what = `a request while runners are replaced, ${FEW} callers of one account`;
    return { name: 'installed-few-time', what, unit: 'ms', values: summary(times), note };
  } finally {
    await revoke();
  }
}

async function rowsOf(
  c: Cluster,
  url: string,
  accounts: number,
  report: (line: string) => void,
): Promise<readonly Row[]> {
  const { tokens, revoke } = await manyTokens(c, accounts, CALLERS);
  const whose = accounts === 1 ? 'one account' : `${accounts} accounts`;
  try {
    await atRest(report);
    const first = await flood(c, url, tokens, FIRST_S, 0, CALLERS);
    const names = new Set((await runnerPods(c)).map(({ metadata }) => metadata.name));
    const before = cpuOfCluster();
    const steady = await flood(c, url, tokens, STEADY_S, 0, CALLERS);
    const cpu = (cpuOfCluster() - before) / steady.times.length;
    const pods = await runnerPods(c);
    const fresh = pods.filter(({ metadata }) => !names.has(metadata.name)).length;
    const note =
      `${pods.length} pods, ${fresh} of them new; answers ${JSON.stringify(steady.statuses)}; ` +
      `${cpuLine(steady.cpu)}; with all that ended meanwhile ${cpu.toFixed(0)} ms; ` +
      `callers and origin ${steady.callersMs.toFixed(1)} ms`;
    report(`${whose}: ${first.rate.toFixed(1)}/s at first, then ${steady.rate.toFixed(1)}/s; ${note}`);
    const name = `installed-${accounts}`;
    return [
      { name: `${name}-first`, what: `the first ${FIRST_S} s, ${whose}`, unit: 'jobs/s', values: one(first.rate) },
      { name, what: `sustained, ${whose}`, unit: 'jobs/s', values: one(steady.rate), note },
      {
        name: `${name}-time`,
        what: `— a request behind ${CALLERS - 1} others, ${whose}`,
        unit: 'ms',
        values: summary(steady.times),
      },
      { name: `${name}-cpu`, what: `— CPU of a job, tools and ended pods too, ${whose}`, unit: 'ms', values: one(cpu) },
    ];
  } finally {
    await revoke();
  }
}

export const installed: Measurement = {
  name: 'installed',
  title: `the chart's own values, ${CALLERS} callers, from a pool at rest, beside plain Jobs`,
  measure: (report) =>
    withCluster(async (c) => {
      const url = `${(await c.origin()).url}/tiny.mp4`;
      const { tools, remove } = await bareTools(c, ['ffprobe']);
      const rows: Row[] = [];
      try {
        rows.push(await rowOfFew(c, url, report));
        for (const accounts of ACCOUNTS) rows.push(...(await rowsOf(c, url, accounts, report)));
        // Last: for minutes its pods are being removed.
        const plain = await withNamespace(c, (namespace) =>
          jobsPerSecond(c, namespace, tools['ffprobe']!, url, CALLERS, FIRST_S),
        );
        report(`plain Jobs: ${plain.toFixed(1)}/s`);
        const against = { what: 'a batch/v1 Job per request', values: one(plain) };
        return rows.map((row) => (row.unit === 'jobs/s' ? { ...row, against } : row));
      } finally {
        remove();
      }
    }),
};
