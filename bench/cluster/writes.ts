/** Writes to the API server per warm job, as counted by the server. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster } from '../../test/cluster/fixture.ts';
import { one, type Measurement } from '../measurement.ts';
import { expectOk, paced, withCluster } from './rig.ts';

const JOBS = 100;
/** A token keeps fewer finished jobs. Beyond that as many are deleted as are made. */
const KEPT = 60;
const DELETES = ['DELETE probejobs', 'DELETECOLLECTION probejobs'];
const WRITES = /^(POST|PUT|PATCH|DELETE|DELETECOLLECTION|APPLY)$/;

async function writes(c: Cluster): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const line of (await c.kubectl('get', '--raw', '/metrics')).split('\n')) {
    const match = /^apiserver_request_total\{(.+)\} (\S+)$/.exec(line);
    if (!match) continue;
    const label = (name: string) => new RegExp(`[{,]${name}="([^"]*)"`).exec(`{${match[1]}`)?.[1] ?? '';
    if (!WRITES.test(label('verb'))) continue;
    const key = [label('verb'), label('resource'), label('subresource')].filter((part) => part !== '').join(' ');
    counts.set(key, (counts.get(key) ?? 0) + Number(match[2]));
  }
  return counts;
}

/** Deletes lag behind by a sweep, and earlier ones may still be pending. */
async function settled(c: Cluster): Promise<Map<string, number>> {
  const deletes = (counts: Map<string, number>): number =>
    DELETES.reduce((sum, key) => sum + (counts.get(key) ?? 0), 0);
  for (let last = await writes(c), end = performance.now() + 60_000; ;) {
    await delay(3_000);
    const now = await writes(c);
    if (deletes(now) === deletes(last) || performance.now() > end) return now;
    last = now;
  }
}

const between = (before: Map<string, number>, after: Map<string, number>): Map<string, number> =>
  new Map(
    [...after]
      .map(([key, count]): [string, number] => [key, count - (before.get(key) ?? 0)])
      .filter(([, count]) => count > 0),
  );

export const apiWrites: Measurement = {
  name: 'writes',
  title: `API-server writes per warm job, over ${JOBS} jobs`,
  measure: (report) =>
    withCluster(async (c) => {
      const origin = await c.origin();
      const { token } = await c.newToken();
      const probe = async () => expectOk(await c.probe({ url: `${origin.url}/tiny.mp4`, only: 'ffprobe' }, { token }));
      await paced(KEPT, 0, probe);
      const before = await settled(c);
      await paced(JOBS, 0, probe);
      await settled(c);
      const made = between(before, await writes(c));
      const ours = [...made].filter(([key]) => key.includes('probejobs'));
      // Other clients of the cluster write, too (leases, status of nodes and pods). Their writes are printed but not
      // counted.
      report(
        `all writes meanwhile: ${[...made]
          .sort((a, b) => b[1] - a[1])
          .map(([key, count]) => `${key} ${count}`)
          .join(', ')}`,
      );
      const total = ours.reduce((sum, [, count]) => sum + count, 0);
      return [
        {
          name: 'writes',
          what: 'writes of ProbeJobs per warm job',
          unit: 'writes/job',
          values: one(total / JOBS),
          note: ours.map(([key, count]) => `${key} ${(count / JOBS).toFixed(2)}`).join(', '),
        },
      ];
    }),
};
