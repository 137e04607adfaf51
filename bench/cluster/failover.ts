/** Failover: the time from the end of the leader until the next admission, with continuous requests. */
import { setTimeout as delay } from 'node:timers/promises';
import { PODS, type Pod } from '../../src/platform/kube/client.ts';
import { NAMESPACE, eventually, type Cluster } from '../../test/cluster/fixture.ts';
import { leaderPod, pidsOf } from '../../test/faults/load.ts';
import type { Measurement, Row } from '../measurement.ts';
import { summary } from '../statistics.ts';
import { withCluster } from './rig.ts';

const COUNT = Number(process.env['BENCH_FAILOVERS'] ?? 3);

const SELECTOR = 'app.kubernetes.io/component=controller';
const restartsOf = ({ status }: Pod): number => status?.containerStatuses?.[0]?.restartCount ?? 0;
const isReady = ({ status }: Pod): boolean =>
  (status?.conditions ?? []).some(({ type, status: value }) => type === 'Ready' && value === 'True');

/** `killed` is ready again only as its successor: until the kubelet notices the exit, it shows the former state. */
async function wholeAgain(c: Cluster, killed?: Pod): Promise<void> {
  await eventually('two controllers are ready', 180, async () => {
    const { items } = await c.kube.listAll(PODS, { namespace: NAMESPACE, labelSelector: SELECTOR });
    const same = items.find(({ metadata }) => metadata.uid === killed?.metadata.uid);
    if (killed && same && restartsOf(same) <= restartsOf(killed)) return false;
    return items.length === 2 && items.every(isReady);
  });
  await delay(3_000);
}

async function failover(c: Cluster, token: string, url: string, signal: 'SIGKILL' | 'SIGTERM'): Promise<number> {
  const leader = await leaderPod(c);
  const pod = await c.kube.get(PODS, leader, { namespace: NAMESPACE });
  const pids = pidsOf('PY_POD_NAME', leader);
  if (pids.length === 0) throw new Error('the leader has no process on this machine');
  const warm = await c.probe({ url, only: 'ffprobe' }, { token });
  if (warm.status !== 200) throw new Error(`${warm.status} ${warm.text}`);
  const endedAt = Date.now();
  for (const pid of pids) process.kill(pid, signal);
  // One request every 50 ms. After a SIGKILL, the first admitted one is measured. A leader that is terminated normally
  // still admits some, so the longest waiting one is measured there.
  const requests: Promise<{ sentAt: number; queued: number }>[] = [];
  const stop = performance.now() + 500;
  while (performance.now() < stop) {
    const sentAt = Date.now();
    requests.push(
      c
        .probe({ url, only: 'ffprobe' }, { token })
        .then(({ status, json }) => ({ sentAt, queued: status === 200 ? (json.metadata?.queue_time ?? 0) : Infinity })),
    );
    await delay(50);
  }
  const admitted = (await Promise.all(requests)).filter(({ queued }) => queued < Infinity);
  await wholeAgain(c, pod);
  if (admitted.length === 0) throw new Error('no request was answered');
  return signal === 'SIGKILL'
    ? Math.min(...admitted.map(({ sentAt, queued }) => sentAt + queued)) - endedAt
    : Math.max(...admitted.map(({ queued }) => queued));
}

export const failovers: Measurement = {
  name: 'failover',
  title: 'the leader ends, until the next job is admitted',
  measure: (report) =>
    withCluster(async (c) => {
      const origin = await c.origin();
      const { token } = await c.newToken(100);
      const rows: Row[] = [];
      await wholeAgain(c);
      for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
        const times: number[] = [];
        for (let index = 0; index < COUNT; index++) {
          times.push(await failover(c, token, `${origin.url}/tiny.mp4`, signal));
          report(`${signal}: ${Math.round(times.at(-1) ?? 0)} ms`);
        }
        rows.push({
          name: `failover-${signal.toLowerCase()}`,
          what: `leader ended by ${signal}, until the next job is admitted`,
          unit: 'ms',
          values: summary(times),
        });
      }
      return rows;
    }),
};
