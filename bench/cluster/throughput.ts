/**
 * Sustained throughput, with many concurrent callers, few tenants and reuse scope `any`, beside a batch/v1 Job per
 * request with the same tool image.
 */
import type { Cluster } from '../../test/cluster/fixture.ts';
import { one, type Measurement, type Row } from '../measurement.ts';
import { summary } from '../statistics.ts';
import { cpuByLabel, cpuUsed } from './cpu.ts';
import { jobsPerSecond, withNamespace } from './plain.ts';
import { ready, readPool, withPool } from './pool.ts';
import { withCluster } from './rig.ts';
import { manyTokens } from './tokens.ts';
import { bareTools } from './tools.ts';

const CALLERS = Number(process.env['BENCH_CALLERS'] ?? 40);
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 20);
const WARM_UP_S = Number(process.env['BENCH_WARM_UP'] ?? 20);

export interface Flood {
  rate: number;
  times: number[];
  statuses: Record<string, number>;
  cpu: [label: string, msPerJob: number][];
}

/** The first seconds are not counted, because pods start and code is compiled. */
export async function flood(
  c: Cluster,
  url: string,
  tokens: readonly string[],
  seconds = SECONDS,
  warmUp = WARM_UP_S,
): Promise<Flood> {
  let counting = false;
  const over = new AbortController();
  let turn = 0;
  const times: number[] = [];
  const statuses: Record<string, number> = {};
  const caller = async () => {
    while (!over.signal.aborted) {
      const token = tokens[turn++ % tokens.length]!;
      const { status, ms } = await c.probe({ url, only: 'ffprobe' }, { token });
      if (!counting) continue;
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status === 200) times.push(ms);
    }
  };
  const callers = Array.from({ length: CALLERS }, caller);
  await new Promise((resolve) => {
    setTimeout(resolve, warmUp * 1000);
  });
  counting = true;
  const before = cpuByLabel();
  const begun = performance.now();
  await new Promise((resolve) => {
    setTimeout(resolve, seconds * 1000);
  });
  counting = false;
  over.abort();
  const rate = times.length / ((performance.now() - begun) / 1000);
  const cpu = cpuUsed(before, cpuByLabel()).map(([label, ms]): [string, number] => [
    label,
    ms / Math.max(1, times.length),
  ]);
  await Promise.all(callers);
  return { rate, times, statuses, cpu };
}

export const cpuLine = (cpu: Flood['cpu']): string => {
  const sum = cpu.reduce((total, [, ms]) => total + ms, 0);
  return `CPU per job ${sum.toFixed(0)} ms: ${cpu
    .slice(0, 7)
    .map(([label, ms]) => `${label} ${ms.toFixed(1)}`)
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
      try {
        const plain = await withNamespace(c, (namespace) =>
          jobsPerSecond(c, namespace, tools['ffprobe']!, url, CALLERS, SECONDS),
        );
        report(`plain Jobs: ${plain.toFixed(1)}/s`);
        const against = { what: 'a batch/v1 Job per request', values: one(plain) };
        for (const scope of ['any', 'account'] as const) {
          // Replacing pods after their number of jobs is a cost of isolation, which is measured with the tenants.
          await withPool(c, { reuse: { scope, maxJobs: 10_000 }, maxPods: 12 }, async () => {
            await ready(c, 1);
            const { rate, times, statuses, cpu } = await flood(c, url, tokens);
            const { status } = await readPool(c);
            report(
              `scope ${scope}: ${rate.toFixed(1)}/s ` +
                `${JSON.stringify(statuses)}, ${status?.replicas} pods; ` +
                `${cpuLine(cpu)}`,
            );
            rows.push(
              {
                name: `throughput-${scope}`,
                what: `sustained, four tokens, scope ${scope}`,
                unit: 'jobs/s',
                values: one(rate),
                against,
                note: `${status?.replicas} pods; ${cpuLine(cpu)}`,
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
      } finally {
        remove();
        await revoke();
      }
      return rows;
    }),
};
