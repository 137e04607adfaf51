/** 200 tenants on 20 pods for each reuse scope, to measure the cost of isolation with many tenants. */
import { one, type Measurement, type Row } from '../measurement.ts';
import { summary } from '../statistics.ts';
import { ready, readPool, withPool } from './pool.ts';
import { withCluster } from './rig.ts';
import { cpuLine, flood } from './throughput.ts';
import { manyTokens } from './tokens.ts';

const TENANTS = 200;
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 20);

export const tenants: Measurement = {
  name: 'tenants',
  title: `${TENANTS} tenants in turn on 20 pods, by reuse scope`,
  measure: (report) =>
    withCluster(async (c) => {
      const origin = await c.origin();
      const { tokens, revoke } = await manyTokens(c, TENANTS);
      const rows: Row[] = [];
      try {
        for (const scope of ['any', 'account', 'token', 'job'] as const) {
          await withPool(c, { reuse: { scope }, maxPods: 20 }, async () => {
            await ready(c, 1);
            const { rate, times, statuses, cpu } = await flood(c, `${origin.url}/tiny.mp4`, tokens, SECONDS, 10);
            const { status } = await readPool(c);
            report(
              `scope ${scope}: ${rate.toFixed(1)}/s ` +
                `${JSON.stringify(statuses)}, ${status?.replicas} pods; ` +
                `${cpuLine(cpu)}`,
            );
            rows.push(
              {
                name: `tenants-${scope}`,
                what: `${TENANTS} tenants, scope ${scope}`,
                unit: 'jobs/s',
                values: one(rate),
                note: `answers ${JSON.stringify(statuses)}; ${cpuLine(cpu)}`,
              },
              {
                name: `tenants-${scope}-time`,
                what: `— a request, scope ${scope}`,
                unit: 'ms',
                values: summary(times.length > 0 ? times : [Number.NaN]),
              },
            );
          });
        }
      } finally {
        await revoke();
      }
      return rows;
    }),
};
