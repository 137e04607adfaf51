/** The snapshot from a leader on real servers, requested over NATS like the API does. */
import assert from 'node:assert/strict';
import { pino } from 'pino';
import { newestSnapshot } from '../../src/service/api/cluster/cluster_endpoint.ts';
import { ClusterSnapshot } from '../../src/platform/bus/cluster_snapshot.ts';
import { PROBE_POOLS } from '../../src/platform/kube/client.ts';
import { conformsTo } from '../conforms.ts';
import { until } from '../until.ts';
import { startCluster, type Cluster, type ClusterOptions } from './cluster_parts.ts';

type NewestSnapshot = ReturnType<typeof newestSnapshot>;

const isSnapshot = conformsTo(ClusterSnapshot);

describe('snapshot of a leader', function () {
  this.timeout(60_000);
  let cluster: Cluster;
  afterEach(() => cluster?.stop());
  const start = async (options: ClusterOptions = {}): Promise<NewestSnapshot> => {
    cluster = await startCluster(options);
    const { bus, stored } = cluster.servers;
    return newestSnapshot({ bus, store: stored.store, log: pino({ level: 'silent' }) });
  };
  const when = (newest: NewestSnapshot, what: string, isSo: (snapshot: ClusterSnapshot) => boolean) =>
    until(what, async () => {
      const read = await newest.read();
      return read && isSo(read.snapshot) ? read.snapshot : undefined;
    });

  it('agrees with the cluster: pools, runners with their jobs, the queue by account, tools', async () => {
    const newest = await start({ pools: { short: { minReady: 2, maxPods: 2 } } });
    const { runners, controller, newToken, newAccount, submit, servers, kube, namespace } = cluster;
    runners.behaviour.go = () => 'hold';
    await controller({ epoch: 5 });
    const account = await newAccount();
    const token = await newToken(1, account);
    const ids: string[] = [];
    for (let index = 0; index < 3; index++) ids.push((await submit({ token })).id);
    const own = (await submit()).id;
    await until('two run', () => runners.of(ids[0]!) && runners.of(own));
    const snapshot = await when(newest, 'two are busy', ({ pools }) => pools[0]?.busy === 2);
    isSnapshot(snapshot);

    assert.equal(snapshot.leader.epoch, 5);
    const [pool] = snapshot.pools;
    assert.deepEqual([pool?.name, pool?.ready, pool?.busy, pool?.max, pool?.waiting], ['short', 0, 2, 2, 2]);
    assert.equal(pool?.short, 'all 2 runners that the pool may have are in use');
    const busy = snapshot.runners.filter(({ state }) => state === 'busy');
    assert.deepEqual(
      busy.map((runner) => [runner.account, runner.job, runner['request-id']]).toSorted(),
      [
        [account, ids[0], ids[0]],
        [servers.stored.admin.userId, own, own],
      ].toSorted(),
    );
    assert.deepEqual(
      busy.map(({ pod }) => pod).toSorted(),
      (await cluster.pods()).map(({ metadata }) => metadata.name).toSorted(),
    );
    const { accounts, ...queue } = snapshot.queue;
    assert.deepEqual([queue.waiting, queue.running], [2, 2]);
    assert.ok((queue['oldest-wait-ms'] ?? 0) > 0);
    const [first] = accounts;
    assert.deepEqual([first?.account, first?.waiting, first?.running], [account, 2, 1]);
    assert.deepEqual(
      snapshot.tools.map(({ tool, version, latest, state }) => [tool, version, latest, state]),
      [
        ['ffprobe', '7.0', true, 'ready'],
        ['mediainfo', '24.06', true, 'ready'],
      ],
    );
    const shown = await until('kubectl shows the same', async () => {
      const { status } = await kube.get(PROBE_POOLS, 'short', { namespace });
      return status?.busy === 2 ? status : undefined;
    });
    assert.deepEqual([shown.ready, shown.busy, shown.starting], [pool?.ready, pool?.busy, pool?.starting]);
    assert.doesNotMatch(JSON.stringify(snapshot), /media\.example\.org|@example/);
    for (const id of [ids[0]!, own]) await runners.of(id)!.finish();
  });

  it('has a lost attempt and the state of its dependencies', async () => {
    const newest = await start({ pools: { short: { minReady: 1, maxPods: 2 } } });
    const { runners, controller, submit } = cluster;
    runners.behaviour.go = ({ attempt }) => (attempt === 1 ? 'silent' : { ms: 5 });
    await controller();
    const { id } = await submit();
    await cluster.ended(id);
    const { faults } = await when(newest, 'an attempt was lost', (one) => one.faults['attempts-lost'] > 0);
    assert.equal(faults['jobs-lost'], 0);
    const [event] = faults.events.filter(({ kind }) => kind === 'ProbeJob');
    assert.deepEqual([event?.object, event?.reason], [id, 'Retrying']);
    assert.deepEqual(
      faults.dependencies.map(({ name, up }) => [name, up]),
      [
        ['postgres', true],
        ['nats', true],
        ['kubernetes', true],
      ],
    );
  });

  it('a leader without a valid lease sends none, and the next leader sends one with its epoch', async () => {
    const newest = await start();
    const first = await cluster.controller({ epoch: 3 });
    await when(newest, 'the first answers', ({ leader }) => leader.epoch === 3);
    first.lease.ageMs = 60_000;
    const held = await until('its snapshot grows old', async () => {
      const read = await newest.read();
      return read && read.ageMs > 1_500 ? read : undefined;
    });
    assert.equal(held.snapshot.leader.epoch, 3);
    await first.stop();
    await cluster.controller({ epoch: 4 });
    const { leader } = await when(newest, 'the second answers', (one) => one.leader.epoch === 4);
    assert.ok(Date.parse(leader.since) > Date.parse(held.snapshot.leader.since));
  });

  it('without a leader: undefined, and many readers cause one request', async () => {
    const newest = await start();
    const asked: string[] = [];
    const heard = cluster.servers.bus.subscribe('py.cluster', ({ subject }) => void asked.push(subject));
    await cluster.servers.bus.flush();
    const reads = await Promise.all(Array.from({ length: 20 }, () => newest.read()));
    assert.deepEqual([...new Set(reads)], [undefined]);
    assert.equal(asked.length, 1);
    heard.stop();
  });
});
