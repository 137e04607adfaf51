/**
 * Sustained throughput, with many concurrent callers, few tenants and reuse scope `any`, beside a batch/v1 Job per
 * request with the same tool image.
 */
import type { Cluster } from '../../test/cluster/fixture.ts';
import { leaderPod } from '../../test/faults/load.ts';
import { one, type Measurement, type Row } from '../measurement.ts';
import { median, summary } from '../statistics.ts';
import { openCallers } from './callers.ts';
import { capacity, type PartCost, scaledRate } from './capacity.ts';
import { cpuByLabel, cpuUsed } from './cpu.ts';
import { jobsPerSecond, withNamespace } from './plain.ts';
import { ready, runnerPods, withPool } from './pool.ts';
import { atRest } from './rest.ts';
import { paced, withCluster } from './rig.ts';
import { manyTokens } from './tokens.ts';
import { bareTools } from './tools.ts';

const CALLERS = Number(process.env['BENCH_CALLERS'] ?? 40);
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 20);
export const PODS = 12;
const WARM_UP_S = Number(process.env['BENCH_WARM_UP'] ?? 20);
/** Runs of the bare tool, alone, by which the rate is scaled. */
const BARE_RUNS = 30;
const SCOPES = ['any', 'account'] as const;
const sustained = (scope: string): string => `throughput-${scope}`;
const SUSTAINED = new Set<string>(SCOPES.map(sustained));
/** Of the larger node that the measured CPU is applied to. */
const CORES = 16;

export interface Flood {
  rate: number;
  times: number[];
  statuses: Record<string, number>;
  cpu: PartCost[];
  /** CPU of a job outside the cluster: callers and origin, which are this process. */
  callersMs: number;
}

/** The first seconds are not counted, because pods start and code is compiled. */
export async function flood(
  c: Cluster,
  url: string,
  tokens: readonly string[],
  seconds = SECONDS,
  warmUp = WARM_UP_S,
  count = CALLERS,
): Promise<Flood> {
  let counting = false;
  const over = new AbortController();
  let turn = 0;
  const times: number[] = [];
  const statuses: Record<string, number> = {};
  const open = openCallers(c.url);
  const caller = async () => {
    while (!over.signal.aborted) {
      const { status, ms } = await open.probe(url, tokens[turn++ % tokens.length]!);
      if (!counting) continue;
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status === 200) times.push(ms);
    }
  };
  const callers = Array.from({ length: count }, caller);
  await new Promise((resolve) => {
    setTimeout(resolve, warmUp * 1000);
  });
  counting = true;
  const leader = await leaderPod(c);
  const before = cpuByLabel(leader);
  const own = process.cpuUsage();
  const begun = performance.now();
  await new Promise((resolve) => {
    setTimeout(resolve, seconds * 1000);
  });
  counting = false;
  over.abort();
  const rate = times.length / ((performance.now() - begun) / 1000);
  const jobs = Math.max(1, times.length);
  const { user, system } = process.cpuUsage(own);
  const cpu = cpuUsed(before, cpuByLabel(leader)).map(({ label, ms, threadMs }) => ({
    label,
    msPerJob: ms / jobs,
    threadMs: threadMs / jobs,
  }));
  await Promise.all(callers);
  open.close();
  return { rate, times, statuses, cpu, callersMs: (user + system) / 1000 / jobs };
}

export const cpuLine = (cpu: Flood['cpu']): string => {
  const sum = cpu.reduce((total, { msPerJob }) => total + msPerJob, 0);
  return `CPU per job ${sum.toFixed(0)} ms: ${cpu
    .slice(0, 9)
    .map(({ label, msPerJob }) => `${label} ${msPerJob.toFixed(1)}`)
    .join(', ')}`;
};

export const throughput: Measurement = {
  name: 'throughput',
  title: `${CALLERS} callers for ${SECONDS} s, four tokens, beside plain Jobs`,
  measure: (report) =>
    withCluster(async (c) => {
      const origin = await c.origin();
      const url = `${origin.url}/tiny.mp4`;
      const { tools, remove } = await bareTools(c, ['ffprobe']);
      const { tokens, revoke } = await manyTokens(c, 4);
      const rows: Row[] = [];
      const bareMs = async (): Promise<number> =>
        median(
          await paced(BARE_RUNS, 5, async () => {
            const begun = performance.now();
            await tools['ffprobe']!.run(url);
            return performance.now() - begun;
          }),
        );
      try {
        for (const scope of SCOPES) {
          // All pods are there when it begins, and stay. Replacing them after their number of jobs is a cost of
          // isolation, which is measured with the tenants.
          await withPool(c, { reuse: { scope, maxJobs: 10_000 }, minReady: PODS, maxPods: PODS }, async () => {
            await ready(c, PODS);
            await atRest(report);
            const bareBefore = await bareMs();
            const { rate, times, statuses, cpu, callersMs } = await flood(c, url, tokens);
            await atRest(report);
            // The machine is as fast as in its better moment.
            const bare = Math.min(bareBefore, await bareMs());
            const pods = (await runnerPods(c)).length;
            const larger = capacity(cpu, CORES);
            report(
              `scope ${scope}: ${rate.toFixed(1)}/s (bare ffprobe ${bare.toFixed(1)} ms) ` +
                `${JSON.stringify(statuses)}, ${pods} pods; ` +
                `${cpuLine(cpu)}; callers and origin ${callersMs.toFixed(1)} ms; ` +
                `${CORES} cores: ${larger.rate.toFixed(0)}/s, limited by ${larger.bound}`,
            );
            rows.push(
              {
                name: sustained(scope),
                what: `sustained, four tokens, scope ${scope}`,
                unit: 'jobs/s',
                values: one(rate),
                note: `${pods} pods; ${cpuLine(cpu)}; callers and origin ${callersMs.toFixed(1)}`,
              },
              {
                name: `throughput-cpu-${scope}`,
                what: `— CPU of a job, all processes of the cluster, scope ${scope}`,
                unit: 'ms',
                values: one(cpu.reduce((sum, { msPerJob }) => sum + msPerJob, 0)),
              },
              {
                name: `throughput-${scope}-scaled`,
                what: `— on a machine whose bare ffprobe takes 12 ms, scope ${scope}`,
                unit: 'jobs/s',
                values: one(scaledRate(rate, bare)),
                note: `it takes ${bare.toFixed(1)} ms here`,
              },
              {
                name: `throughput-${scope}-larger`,
                what: `— at most, by the same CPU per job on ${CORES} cores, scope ${scope}`,
                unit: 'jobs/s',
                values: one(larger.rate),
                note: `limited by ${larger.bound}`,
              },
              {
                name: `throughput-${scope}-time`,
                what: `— a request among ${CALLERS} at once, scope ${scope}`,
                unit: 'ms',
                values: summary(times),
              },
            );
          });
        }
        // Last: for minutes its pods are being removed.
        const plain = await withNamespace(c, (namespace) =>
          jobsPerSecond(c, namespace, tools['ffprobe']!, url, CALLERS, SECONDS),
        );
        report(`plain Jobs: ${plain.toFixed(1)}/s`);
        const against = { what: 'a batch/v1 Job per request', values: one(plain) };
        return rows.map((row) => (SUSTAINED.has(row.name) ? { ...row, against } : row));
      } finally {
        remove();
        await revoke();
      }
    }),
};
