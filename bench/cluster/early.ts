/**
 * Tools that begin before the admission: the same warm requests with `jobs.earlyStart` and without, in turns, each
 * beside the bare tools.
 */
import type { Measurement, Row } from '../measurement.ts';
import { summary } from '../statistics.ts';
import { openRelease } from '../../test/cluster/helm.ts';
import { besideBare, withCluster } from './rig.ts';
import { bareTools } from './tools.ts';

const TURNS = Number(process.env['BENCH_TURNS'] ?? 4);
const COUNT = Number(process.env['BENCH_COUNT'] ?? 40);
const WARM_UP = 10;

const ASKED = [
  { name: 'ffprobe', tools: ['ffprobe'], only: { only: 'ffprobe' } },
  { name: 'both', tools: ['ffprobe', 'mediainfo'], only: {} },
] as const;

export const earlyStart: Measurement = {
  name: 'early',
  title: 'tools that begin before the admission, with and without, in turns',
  measure: (report) =>
    withCluster(async (c) => {
      const release = await openRelease(c.kubeconfig);
      const url = `${(await c.origin()).url}/tiny.mp4`;
      const { token } = await c.newToken();
      const { tools, remove } = await bareTools(c, ['ffprobe', 'mediainfo']);
      const taken = { with: new Map<string, number[]>(), without: new Map<string, number[]>() };
      const bare = new Map<string, number[]>();
      const add = (to: Map<string, number[]>, name: string, ms: number) => to.set(name, [...(to.get(name) ?? []), ms]);
      try {
        for (let turn = 0; turn < 2 * TURNS; turn++) {
          const how = turn % 2 === 0 ? 'with' : 'without';
          await release.upgrade(`jobs.earlyStart=${how === 'with'}`);
          for (const { name, ...asked } of ASKED) {
            const requests = await besideBare(c, tools, { url, token, ...asked }, COUNT, WARM_UP);
            for (const { answer, bareMs } of requests) {
              add(bare, name, bareMs);
              add(taken[how], name, answer.ms);
            }
          }
          const soFar = ASKED.map(({ name }) => summary(taken[how].get(name) ?? []).p50.toFixed(1));
          report(`turn ${turn + 1}, ${how}: p50 ${soFar.join(' and ')} ms`);
        }
      } finally {
        remove();
        await release.upgrade();
        await release.close();
      }
      return ASKED.flatMap(({ name }): Row[] => {
        const [on, off] = [summary(taken.with.get(name) ?? []), summary(taken.without.get(name) ?? [])];
        const against = { what: 'bare, same binaries', values: summary(bare.get(name) ?? []) };
        return [
          {
            name: `early-${name}`,
            what: `${name}, begun before the admission`,
            unit: 'ms',
            values: on,
            against: { what: 'begun after it', values: off },
          },
          { name: `early-${name}-bare`, what: `— the same`, unit: 'ms', values: on, against },
          { name: `early-${name}-after`, what: '— begun after it', unit: 'ms', values: off, against },
        ];
      });
    }),
};
