/** From one term to the next: what the next leader waits for before it admits. */
import assert from 'node:assert/strict';
import type { KubeClient } from '../../src/platform/kube/client.ts';
import { until } from '../until.ts';
import { clusterOfEach } from './cluster_parts.ts';

describe('handover to another leader', function () {
  this.timeout(60_000);
  const { start, led } = clusterOfEach();

  it('a replica that is elected knows tools, pools and jobs that have ended, and lists none', async () => {
    const { candidate, kube, submit, ended, reason } = await start({ pools: { short: { minReady: 1, maxPods: 1 } } });
    const first = await candidate();
    await until('the first leads', () => first.candidacy.term()?.leader.ready === true);
    const listed: string[] = [];
    const jobs: string[] = [];
    const list: KubeClient['list'] = async (type, options) => {
      listed.push(type.plural);
      const page = await kube.list(type, options);
      if (type.plural === 'probejobs') jobs.push(...page.items.map(({ metadata }) => metadata.name));
      return page;
    };
    const { id: over } = await submit();
    await until('a job has ended', () => reason(over) === 'Completed');
    const next = await candidate({ kube: { ...kube, list } });
    await until('its caches are filled', () => ['probetools', 'probepools'].every((kind) => listed.includes(kind)));
    listed.length = 0;
    jobs.length = 0;
    await first.stop();
    const { id } = await submit();
    await ended(id);
    assert.equal(next.candidacy.term()?.leader.ready, true);
    assert.ok(!jobs.includes(over), 'it is in the cache');
    await until('it is to be deleted at its time', () => next.candidacy.term()?.finishedJobs.size() === 2);
    assert.deepEqual(
      listed.filter((kind) => kind === 'probetools' || kind === 'probepools'),
      [],
    );
  });

  it('a runner that does not report holds up nobody', async () => {
    const { submit, ended, controller, runners, leader } = await led({ minReady: 2, maxPods: 2 });
    runners.behaviour.go = () => 'hold';
    const { id: held } = await submit();
    const runner = await until('it runs', () => runners.of(held));
    runner.mute = true;
    await leader.stop();
    runners.behaviour.go = () => ({ ms: 5 });
    const { id } = await submit();
    await controller({ epoch: 2 });
    await ended(id);
    assert.equal(runners.of(held)?.uid, runner.uid);
  });

  it('many jobs that may run at once are admitted in several turns of the event loop', async () => {
    const { submit, newToken, leader, runners, sql } = await led({ minReady: 60, maxPods: 60 });
    runners.behaviour.go = () => 'hold';
    const token = await newToken(1);
    await Promise.all(Array.from({ length: 60 }, () => submit({ token })));
    const { ledger } = leader.term.leader;
    await until('59 wait', () => ledger.waiting === 59);
    let before = ledger.held;
    let most = 0;
    const look = (): void => {
      most = Math.max(most, ledger.held - before);
      before = ledger.held;
      if (before < 60) setImmediate(look);
    };
    look();
    await sql('update tokens set concurrency = 100 where id = $1', [token]);
    await leader.term.leader.tokensChanged([token]);
    // The first fifty are admitted, and something else changes in the same turn.
    leader.term.leader.schedule('short');
    await until('all run', () => before === 60);
    assert.ok(most <= 50, `${most} in one turn`);
  });
});
