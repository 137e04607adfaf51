import assert from 'node:assert/strict';
import { PODS } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { NAMESPACE, RUNNERS, eventually, type Cluster } from '../cluster/fixture.ts';
import { makeClocks, type Clocks } from './clocks.ts';
import { isReady, signal, workingIn } from './injections.ts';
import { assertTold, killPod, moment, settled, underLoad } from './load.ts';
import { unlessLong } from '../long.ts';
import { wholeCluster } from './whole.ts';

const HOUR = 3_600_000;

describe('the clocks of API and controllers jump ahead by an hour, and back', function () {
  this.timeout(600_000);
  let c: Cluster;
  let clocks: Clocks;
  before(async function () {
    unlessLong(this);
    c = await wholeCluster();
    clocks = await makeClocks(c);
    const jumps = { CLOCK_JUMP_MS: HOUR };
    await clocks.set({ api: jumps, controller: jumps });
    // An old pod that answers its last requests still watches the API server.
    await eventually('no old pod is left', 180, async () => (await podsOf('api')).length === 2);
    await settled(c);
  });
  after(async () => {
    if (clocks) {
      await clocks.setBack();
      await clocks.remove();
    }
    await c?.close();
  });

  const podsOf = async (component: string, namespace = NAMESPACE) =>
    (await c.kube.listAll(PODS, { namespace, labelSelector: `${LABEL.component}=${component}` })).items;
  async function jump(): Promise<void> {
    for (const { metadata } of [...(await podsOf('api')), ...(await podsOf('controller'))])
      signal(await workingIn(c, metadata.name), 'SIGUSR2');
  }
  /** How far the clock of each controller is ahead, by its newest log line. */
  const ahead = async (): Promise<number[]> =>
    Promise.all(
      (await podsOf('controller')).map(async ({ metadata }) => {
        const line = await c.kubectl('-n', NAMESPACE, 'logs', metadata.name, '--tail=1');
        return Date.parse((JSON.parse(line) as { time: string }).time) - Date.now();
      }),
    );

  it('every request ends once and in time, runners are accepted, and a controller leads', async () => {
    const startedAt = Date.now();
    const reckoning = await underLoad(c, async () => {
      await jump();
      // New runners authenticate with tokens that the API server has just issued.
      const old = await podsOf('runner', RUNNERS);
      const uids = new Set(old.map(({ metadata }) => metadata.uid));
      for (const { metadata } of old) await killPod(c, RUNNERS, metadata.name);
      await eventually(
        'new runners are ready',
        60,
        async () =>
          (await podsOf('runner', RUNNERS)).filter((pod) => isReady(pod) && !uids.has(pod.metadata.uid)).length >= 2,
      );
      await eventually('both controllers log by the new time', 60, async () =>
        (await ahead()).every((by) => by > HOUR - 120_000),
      );
      await moment(20_000);
      await jump();
      await moment(10_000);
    });
    // A leader cannot tell the jump from a suspended machine, and steps down: a failover takes some seconds.
    assertTold(reckoning, 0.9, { queueTimeouts: true, answered: true });
    const wrong = await c.sql(
      `select count(*) from requests where token_id in (${reckoning.ids.join(',')}) and (
         submitted_at < to_timestamp(${(startedAt - 5_000) / 1000}) or submitted_at > now() + interval '5 s'
         or ended_at < submitted_at or ended_at > now() + interval '5 s' or queue_time_ms > queue_timeout_ms + 10000)`,
    );
    assert.equal(Number(wrong), 0, 'rows whose times cannot be');
    await settled(c);
  });
});
