/**
 * 2,000 items of batches beside as many single requests: the rate of each, and the CPU of the platform per request; and
 * what a probe takes beside a batch. ITEMS: other than 2,000 in batches, of which as many as are needed run together.
 */
import { batchEnded, createdBatch } from '../../test/cluster/batches.ts';
import { leaderPod } from '../../test/faults/load.ts';
import { one, type Measurement } from '../measurement.ts';
import { summary } from '../statistics.ts';
import { openCallers } from './callers.ts';
import type { PartCost } from './capacity.ts';
import { cpuByLabel, cpuUsed } from './cpu.ts';
import { ready, withPool } from './pool.ts';
import { atRest } from './rest.ts';
import { expectOk, paced, withCluster } from './rig.ts';
import { cpuLine, PODS } from './throughput.ts';
import { manyTokens } from './tokens.ts';

const SINGLE = 2_000;
const ITEMS = Number(process.env['ITEMS'] ?? SINGLE);
const MOST_OF_BATCH = 10_000;
/** What one host of a batch may have, and an account of all its batches. */
const AT_ONCE = 8;
const LONGEST_S = 1_800;
const MANY = 8_000;

export const batch: Measurement = {
  name: 'batch',
  title: `${ITEMS} items of batches, beside ${SINGLE} single requests, ${AT_ONCE} at once`,
  measure: (report) =>
    withCluster(async (c) => {
      const origin = await c.origin();
      const url = `${origin.url}/tiny.mp4`;
      const { tokens, revoke } = await manyTokens(c, 1, 4 * AT_ONCE);
      const token = tokens[0]!;
      const measured = async (what: string, count: number, work: () => Promise<void>) => {
        await atRest(report);
        const leader = await leaderPod(c);
        const before = cpuByLabel(leader);
        const begun = performance.now();
        await work();
        const rate = count / ((performance.now() - begun) / 1000);
        const cpu = cpuUsed(before, cpuByLabel(leader)).map(({ label, ms, threadMs }): PartCost => ({
          label,
          msPerJob: ms / count,
          threadMs: threadMs / count,
        }));
        report(`${what}: ${rate.toFixed(1)}/s; ${cpuLine(cpu)}`);
        return { rate, note: cpuLine(cpu) };
      };
      const single = async (): Promise<void> => {
        const open = openCallers(c.url);
        let left = SINGLE;
        const caller = async (): Promise<void> => {
          while (left-- > 0) {
            const { status } = await open.probe(url, token);
            if (status !== 200) throw new Error(`a single request ended with ${status}`);
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, caller)).finally(() => open.close());
      };
      const inBatches = async (): Promise<void> => {
        const ids: string[] = [];
        for (let left = ITEMS; left > 0; left -= MOST_OF_BATCH) {
          const items = Array.from({ length: Math.min(left, MOST_OF_BATCH) }, () => url);
          const limits = { concurrency: AT_ONCE, per_host: AT_ONCE, rate: 1_000_000 };
          ids.push((await createdBatch(c, token, { probe: { only: 'ffprobe' }, items, ...limits })).id);
        }
        for (const id of ids) {
          const { counts, items } = await batchEnded(c, token, id, LONGEST_S);
          if (counts.success !== items) throw new Error(`a batch ended with ${JSON.stringify(counts)}`);
        }
      };
      try {
        return await withPool(
          c,
          { reuse: { scope: 'any', maxJobs: 10_000 }, minReady: PODS, maxPods: PODS },
          async () => {
            await ready(c, PODS);
            const alone = await measured('single requests', SINGLE, single);
            const together = await measured('batches', ITEMS, inBatches);
            return [
              {
                name: 'batch',
                what: `items of batches, ${AT_ONCE} at once`,
                unit: 'jobs/s' as const,
                values: one(together.rate),
                against: { what: `single requests, ${AT_ONCE} at once; ${alone.note}`, values: one(alone.rate) },
                note: together.note,
              },
            ];
          },
        );
      } finally {
        await revoke();
      }
    }),
};

const PROBES = 200;
const WARM_UP = 20;
const TURNS = 2;

/** Batches by their own defaults, on the pool as the chart makes it. */
export const besideBatch: Measurement = {
  name: 'beside-batch',
  title: 'probes of one account, one at a time, while the batch of another one runs',
  measure: (report) =>
    withCluster(async (c) => {
      const origin = await c.origin();
      const url = `${origin.url}/tiny.mp4`;
      const { tokens, revoke } = await manyTokens(c, 2);
      const [caller, owner] = [tokens[0]!, tokens[1]!];
      const probes = (): Promise<number[]> =>
        paced(PROBES, WARM_UP, async () => expectOk(await c.probe({ url, only: 'ffprobe' }, { token: caller })).ms);
      const [alone, beside]: [number[], number[]] = [[], []];
      try {
        for (let turn = 0; turn < TURNS; turn++) {
          await atRest(report);
          alone.push(...(await probes()));
          const items = Array.from({ length: MANY }, () => url);
          const { id } = await createdBatch(c, owner, { probe: { only: 'ffprobe' }, items, rate: 1_000_000 });
          beside.push(...(await probes()));
          const { status, json } = await c.probe({}, { token: owner, path: `/v1/batch/${id}/cancel` });
          if (status !== 202) throw new Error(`the batch could not be cancelled: ${status}`);
          const { counts } = json as unknown as { counts: Record<string, number> };
          report(`${counts['success']} items of the batch have ended meanwhile`);
          if (counts['waiting'] === 0) throw new Error('the batch ended before the probes did');
          await batchEnded(c, owner, id, LONGEST_S);
        }
      } finally {
        await revoke();
      }
      const [before, during] = [summary(alone), summary(beside)];
      return [
        {
          name: 'beside-batch',
          what: 'a probe beside the batch of another account; ratio of the 99th percentiles',
          unit: 'ms',
          values: during,
          against: { what: `without the batch, p99 ${before.p99.toFixed(0)}`, values: before },
          ratio: during.p99 / before.p99,
        },
      ];
    }),
};
