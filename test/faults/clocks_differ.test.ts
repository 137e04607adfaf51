import assert from 'node:assert/strict';
import { LEASES, PODS } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { NAMESPACE, RUNNERS, eventually, type Cluster } from '../cluster/fixture.ts';
import { makeClocks, type Clocks } from './clocks.ts';
import { killPod, moment, settled, underLoad } from './load.ts';
import { unlessLong } from '../long.ts';
import { wholeCluster } from './whole.ts';

const MINUTE = 60_000;
/** Two minutes between API and controllers; Postgres and the API server lie between them. */
const OFF = { api: MINUTE, controller: -MINUTE } as const;

describe('the clocks of API, controllers and Postgres differ by a minute', function () {
  this.timeout(400_000);
  let c: Cluster;
  let clocks: Clocks;
  before(async function () {
    unlessLong(this);
    c = await wholeCluster();
    clocks = await makeClocks(c);
  });
  after(async () => {
    await clocks?.remove();
    await c?.close();
  });

  it('every request ends once and in time, runners are accepted, and the leader stays the same', async () => {
    const lease = async () =>
      (await c.kube.get(LEASES, 'probeyard-controller', { namespace: NAMESPACE })).spec?.leaseTransitions;
    const startedAt = Date.now();
    let isOff = false;
    let offBy: number[] = [];
    try {
      const { statuses, total, ids, ms, longestGapMs } = await underLoad(c, async () => {
        isOff = true;
        await clocks.set({ api: { CLOCK_SKEW_MS: OFF.api }, controller: { CLOCK_SKEW_MS: OFF.controller } });
        const held = await lease();
        const { items: controllers } = await c.kube.listAll(PODS, {
          namespace: NAMESPACE,
          labelSelector: `${LABEL.component}=controller`,
        });
        const said = await Promise.all(
          controllers
            .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
            .map(({ metadata }) => c.kubectl('-n', NAMESPACE, 'logs', metadata.name, '--tail=1')),
        );
        offBy = said.map((line) => Date.parse((JSON.parse(line) as { time: string }).time) - Date.now());
        // New runners authenticate with tokens that the API server has just issued.
        const { items } = await c.kube.listAll(PODS, {
          namespace: RUNNERS,
          labelSelector: `${LABEL.component}=runner`,
        });
        const old = new Set(items.map(({ metadata }) => metadata.uid));
        for (const { metadata } of items) await killPod(c, RUNNERS, metadata.name);
        await eventually(
          'new runners are ready',
          60,
          async () =>
            (
              await c.kube.listAll(PODS, { namespace: RUNNERS, labelSelector: `${LABEL.component}=runner` })
            ).items.filter(
              ({ metadata, status }) =>
                !old.has(metadata.uid) &&
                status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
            ).length >= 2,
        );
        await moment(8_000);
        assert.equal(await lease(), held, 'the same leader, in the same term');
        isOff = false;
        await clocks.setBack();
      });
      const { 200: good = 0, 500: ours = 0, 503: away = 0, 0: broken = 0, 429: late = 0 } = statuses;
      assert.equal(good + ours + away + broken + late, total, JSON.stringify(statuses));
      assert.ok(good >= total * 0.9, JSON.stringify(statuses));
      assert.ok(
        offBy.length >= 2 && offBy.every((by) => by < -50_000),
        `the controllers' clock was off by ${offBy.join()} ms`,
      );
      const wrong = await c.sql(
        `select count(*) from requests where token_id in
        (${ids.join(',')}) and (submitted_at <
        to_timestamp(${(startedAt - 5_000) / 1000}) or submitted_at > now() + interval '5 s'
         or ended_at < submitted_at or ended_at > now() + interval '5 s' or queue_time_ms > queue_timeout_ms + 10000 or
         abs(('x' || replace(left(id::text, 13), '-', ''))::bit(48)::bigint - extract(epoch from submitted_at) * 1000) >
         2)`,
      );
      assert.equal(Number(wrong), 0, 'rows whose times cannot be');
      console.log(
        `      callers were told ${JSON.stringify(statuses)} in ` +
          `${Math.round(ms / 1000)} s, at most ${Math.round(longestGapMs)} ms without an ` +
          'answer',
      );
    } finally {
      if (isOff) await clocks.setBack();
    }
    await settled(c);
  });
});
