/** ProbeJobs in the namespaces of tenants: whose they are, and that nothing of one namespace is taken for another's. */
import assert from 'node:assert/strict';
import { EVENTS, PROBE_JOBS, type KubeClient } from '../../src/platform/kube/client.ts';
import { conditionOf } from '../../src/platform/kube/conditions.ts';
import type { ProbeJob, ProbeJobSpec } from '../../src/platform/kube/probe_job.ts';
import { nameOf, ServedNamespaces } from '../../src/platform/kube/served_namespaces.ts';
import { until } from '../until.ts';
import { startCluster, stateOf, type Cluster } from './cluster_parts.ts';

const SPEC: ProbeJobSpec = {
  kind: 'file',
  source: { url: 'https://media.example.org/a.mp4' },
  tools: [{ name: 'ffprobe', version: 'latest' }],
};

describe('served namespaces', () => {
  const served = new ServedNamespaces({ namespace: 'home', tenantNamespaces: [{ name: 'team-a', account: 7 }] });
  const job = (namespace: string, token?: { id: number; user: number }) =>
    ({ metadata: { name: 'x', namespace }, spec: { ...SPEC, ...(token ? { token } : {}) } }) as ProbeJob;

  it('without tenants the namespace of the release alone is watched, otherwise all', () => {
    assert.equal(new ServedNamespaces({ namespace: 'home', tenantNamespaces: [] }).watched, 'home');
    assert.equal(served.watched, null);
  });

  for (const [namespace, serves, account, key] of [
    ['home', true, undefined, 'x'],
    ['team-a', true, 7, 'team-a/x'],
    ['team-b', false, undefined, 'team-b/x'],
  ] as const)
    it(`${namespace}: ${serves ? 'served' : 'not served'}, and the key of a job leads back to it`, () => {
      assert.equal(served.serves(job(namespace)), serves);
      assert.equal(served.bindingOf(job(namespace))?.account, account);
      assert.equal(served.keyOf(job(namespace)), key);
      assert.equal(nameOf(key), 'x');
      assert.equal(served.cacheKeyOf(key), `${namespace}/x`);
    });

  it('only a job in the namespace of the release keeps its token', () => {
    const token = { id: 1, user: 1 };
    assert.deepEqual(served.received(job('home', token)).spec.token, token);
    assert.equal(served.received(job('team-a', token)).spec.token, undefined);
  });
});

describe("leader: jobs in tenants' namespaces", function () {
  this.timeout(90_000);
  let cluster: Cluster;
  let kube: KubeClient;
  let [teamA, teamB, other]: string[] = [];
  let accounts: number[];
  let tokens: number[];

  beforeEach(async () => {
    cluster = await startCluster({ pools: { short: { minReady: 3, maxPods: 3 } } });
    ({ kube } = cluster);
    const { api } = cluster.servers;
    [teamA, teamB, other] = await Promise.all(['team-a', 'team-b', 'other'].map((name) => api.namespace(name)));
    accounts = [await cluster.newAccount(), await cluster.newAccount()];
    tokens = [await cluster.newToken(1, accounts[0]), await cluster.newToken(5, accounts[1])];
  });
  afterEach(() => cluster?.stop());

  const start = async (more: { epoch?: number } = {}) => {
    const bound = [
      { name: teamA, account: accounts[0] },
      { name: teamB, account: accounts[1], token: tokens[1] },
    ];
    const made = await cluster.controller({ ...more, env: { PY_TENANT_NAMESPACES: JSON.stringify(bound) } });
    await cluster.ready(3);
    return made;
  };
  const create = (namespace: string | undefined, name: string, spec: Partial<ProbeJobSpec> = {}) =>
    kube.create(PROBE_JOBS, { metadata: { name, namespace: namespace! }, spec: { ...SPEC, ...spec } });
  const finish = async (namespace: string | undefined, name: string) => {
    await until('its runner has it', () => cluster.runners.of(`${namespace}/${name}`));
    await cluster.runners.of(`${namespace}/${name}`)!.finish();
  };
  const read = (namespace: string | undefined, name: string) => kube.get(PROBE_JOBS, name, { namespace });
  const has = (namespace: string | undefined, name: string, state: string) =>
    until(`${namespace}/${name} is ${state}`, async () => stateOf(await read(namespace, name)) === state, 20_000);

  it('jobs of one name in three namespaces run, each on its own account, and are recorded as that one’s', async () => {
    await start();
    const made = await Promise.all([
      create(cluster.namespace, 'film'),
      create(teamA, 'film', { createdBy: 'alice@example.org' }),
      create(teamB, 'film'),
    ]);
    const records = await cluster.ended(...made.map(({ metadata }) => metadata.uid ?? ''));
    const { admin } = cluster.servers.stored;
    const byHand = await cluster.servers.stored.store.defaultToken();
    assert.deepEqual(
      records.map(({ state, tokenId, userId }) => ({ state, tokenId, userId })),
      [
        { state: 'success', tokenId: byHand?.id, userId: admin.userId },
        { state: 'success', tokenId: tokens[0], userId: accounts[0] },
        { state: 'success', tokenId: tokens[1], userId: accounts[1] },
      ],
    );
    const [{ request } = { request: {} }] = await cluster.servers.stored.sql<{ request: object }>(
      'select request from requests where id = $1',
      [made[1].metadata.uid],
    );
    assert.deepEqual(request, { options: { kubectl: `${teamA}/film`, 'created-by': 'alice@example.org' } });
    for (const namespace of [cluster.namespace, teamA, teamB]) await has(namespace, 'film', 'Completed');
  });

  it('a suspended job waits there, and runs on its account when it is resumed', async () => {
    await start();
    const { metadata } = await create(teamA, 'later', { suspend: true });
    const suspended = async () => conditionOf((await read(teamA, 'later')).status, 'Suspended')?.status === 'True';
    await until('it is suspended', suspended, 20_000);
    await create(cluster.namespace, 'later');
    await has(cluster.namespace, 'later', 'Completed');
    assert.equal(await suspended(), true, 'the one of its name did not resume it');
    await kube.mergePatch(PROBE_JOBS, 'later', { spec: { suspend: false } }, { namespace: teamA });
    const [record] = await cluster.ended(metadata.uid ?? '');
    assert.deepEqual([record?.state, record?.tokenId], ['success', tokens[0]]);
    await has(teamA, 'later', 'Completed');
  });

  it('the limit of the account’s token holds there, under the next leader, too', async () => {
    const { runners } = cluster;
    runners.behaviour.go = () => 'hold';
    const first = await start();
    await create(teamA, 'one');
    await has(teamA, 'one', 'Running');
    await create(teamA, 'two');
    await has(teamA, 'two', 'TokenAtLimit');
    await create(teamB, 'two');
    await has(teamB, 'two', 'Running');
    await first.stop();
    const next = await start({ epoch: 2 });
    await until('the new leader has all', () => [...next.term.leader.jobs.allTaken()].length === 3);
    assert.equal(next.term.leader.ledger.held, 2);
    const tenants = [runners.of(`${teamA}/one`), runners.of(`${teamB}/two`)].map((runner) => runner?.uid);
    assert.equal(new Set(tenants).size, 2);
    assert.equal(stateOf(await read(teamA, 'two')), 'TokenAtLimit');
    await finish(teamA, 'one');
    await has(teamA, 'two', 'Running');
    assert.equal((await read(teamB, 'two')).status?.attempts, 1);
    await finish(teamA, 'two');
    await finish(teamB, 'two');
  });

  it('deleting one cancels it, and no job of its name elsewhere', async () => {
    const { runners } = cluster;
    runners.behaviour.go = () => 'hold';
    await start();
    const [gone] = await Promise.all([create(teamA, 'film'), create(teamB, 'film')]);
    for (const namespace of [teamA, teamB]) await has(namespace, 'film', 'Running');
    await kube.delete(PROBE_JOBS, 'film', { namespace: teamA });
    const [record] = await cluster.ended(gone.metadata.uid ?? '');
    assert.equal(record?.reason, 'Cancelled');
    assert.equal(stateOf(await read(teamB, 'film')), 'Running');
    await finish(teamB, 'film');
    await has(teamB, 'film', 'Completed');
  });

  it('a job in a namespace that is not bound is left alone', async () => {
    const { term } = await start();
    await create(other, 'film');
    await create(teamA, 'film');
    await has(teamA, 'film', 'Completed');
    assert.equal((await read(other, 'film')).status, undefined);
    assert.ok(!term.deps.jobs.list().some(({ metadata }) => metadata.namespace === other));
  });

  it('a token that is named there is not believed, and a sealed source is not opened', async () => {
    const { runners, submit } = cluster;
    runners.behaviour.go = () => 'hold';
    await start();
    // The name of another account's request, which runs.
    const { id } = await submit();
    await until('it runs', () => runners.of(id));
    const forged = await create(teamA, id, { token: { id: tokens[1]!, user: accounts[1]! } });
    await has(teamA, id, 'Running');
    await finish(teamA, id);
    const [record] = await cluster.ended(forged.metadata.uid ?? '');
    assert.equal(record?.tokenId, tokens[0]);
    assert.equal((await cluster.record(id)).state, 'open');
    const { sealed } = (await kube.get(PROBE_JOBS, id)).spec.source;
    await create(teamA, 'sealed', { source: { sealed: sealed! } });
    await has(teamA, 'sealed', 'InvalidRequest');
    await runners.of(id)!.finish();
    await cluster.ended(id);
  });

  it('an account without an API token is named in the end of the job', async () => {
    await cluster.servers.stored.sql('update tokens set revoked_at = now() where id = any($1)', [tokens]);
    await start();
    await Promise.all([create(teamA, 'film'), create(teamB, 'film')]);
    for (const [namespace, says] of [
      [teamA, `bound to account ${accounts[0]}, whose root user has no API token`],
      [teamB, `bound to account ${accounts[1]}, which has no API token ${tokens[1]}`],
    ] as const) {
      await has(namespace, 'film', 'InvalidRequest');
      assert.ok((await read(namespace, 'film')).status?.summary?.includes(says));
    }
  });

  it('one namespace cannot use up the jobs a minute of another', async () => {
    const bound = JSON.stringify([teamA, teamB].map((name, at) => ({ name, account: accounts[at] })));
    await cluster.controller({ env: { PY_TENANT_NAMESPACES: bound, PY_BY_HAND_PER_MINUTE: '1' } });
    await cluster.ready(3);
    await create(teamA, 'one');
    await has(teamA, 'one', 'Completed');
    await create(teamA, 'two');
    await has(teamA, 'two', 'RateLimited');
    await create(teamB, 'one');
    await has(teamB, 'one', 'Completed');
  });

  it('the rate of the account’s token counts them', async () => {
    const { sql } = cluster.servers.stored;
    await sql('update tokens set requests_per_minute = 1 where id = $1', [tokens[0]]);
    await start();
    await create(teamA, 'one');
    await has(teamA, 'one', 'Completed');
    await create(teamA, 'two');
    await has(teamA, 'two', 'RateLimited');
  });

  it('finished ones are deleted, and Events stand beside the job', async () => {
    const { runners } = cluster;
    runners.behaviour.go = () => 'hold';
    const bound = JSON.stringify([{ name: teamA, account: accounts[0] }]);
    const env = { PY_TENANT_NAMESPACES: bound, PY_FINISHED_MAX: '0', PY_FINISHED_BY_HAND_SECONDS: '0' };
    await cluster.controller({ env });
    await cluster.ready(3);
    await create(teamA, 'slow', { timeoutMs: 1 });
    const event = async () =>
      (await kube.listAll(EVENTS, { namespace: teamA })).items.find(({ reason }) => reason === 'DeadlineExceeded');
    assert.equal((await until('an Event says so', event, 30_000)).involvedObject.name, 'slow');
    const gone = async () => (await kube.listAll(PROBE_JOBS, { namespace: teamA })).items.length === 0;
    await until('it is deleted', gone, 30_000);
  });
});
