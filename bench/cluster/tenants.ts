/**
 * 200 tenants on 20 pods for each reuse scope, and with renewed runners in place of new pods, to measure the cost of
 * isolation with many tenants.
 */
import { one, type Measurement, type Row } from '../measurement.ts';
import { summary } from '../statistics.ts';
import { ready, runnerPods, withPool } from './pool.ts';
import { atRest } from './rest.ts';
import { withCluster } from './rig.ts';
import { cpuLine, flood } from './throughput.ts';
import { manyTokens } from './tokens.ts';

const TENANTS = 200;
const PODS = 20;
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 30);

const CASES = [
  { scope: 'any' },
  { scope: 'account' },
  { scope: 'account', renew: 'process' },
  { scope: 'token' },
  { scope: 'token', renew: 'process' },
  { scope: 'job' },
  { scope: 'job', renew: 'process' },
] as const;
/** Some of them: `account account-process`. */
const ONLY = process.env['BENCH_SCOPE']?.split(' ');

export const tenants: Measurement = {
  name: 'tenants',
  title: `${TENANTS} tenants in turn on ${PODS} pods, by reuse scope and by what is new between two tenants`,
  measure: (report) =>
    withCluster(async (c) => {
      const origin = await c.origin();
      const { tokens, revoke } = await manyTokens(c, TENANTS);
      const rows: Row[] = [];
      try {
        for (const reuse of CASES) {
          const renew = 'renew' in reuse ? reuse.renew : 'pod';
          const name = renew === 'pod' ? reuse.scope : `${reuse.scope}-${renew}`;
          const what = renew === 'pod' ? `scope ${reuse.scope}` : `scope ${reuse.scope}, renewed`;
          if (ONLY?.includes(name) === false) continue;
          // All of them are there when it begins: what a pool costs while it grows is another question.
          await withPool(c, { reuse: { scope: reuse.scope, renew }, minReady: PODS, maxPods: PODS }, async () => {
            await ready(c, PODS);
            await atRest(report);
            const { rate, times, statuses, cpu } = await flood(c, `${origin.url}/tiny.mp4`, tokens, SECONDS, 10);
            const pods = (await runnerPods(c)).length;
            report(`${what}: ${rate.toFixed(1)}/s ${JSON.stringify(statuses)}, ${pods} pods; ${cpuLine(cpu)}`);
            const withPods = rows.find((row) => renew === 'process' && row.name === `tenants-${reuse.scope}`);
            rows.push(
              {
                name: `tenants-${name}`,
                what: `${TENANTS} tenants, ${what}`,
                unit: 'jobs/s',
                values: one(rate),
                ...(withPods ? { against: { what: 'a new pod for each', values: withPods.values } } : {}),
                note: `answers ${JSON.stringify(statuses)}; ${cpuLine(cpu)}`,
              },
              {
                name: `tenants-${name}-time`,
                what: `— a request, ${what}`,
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
