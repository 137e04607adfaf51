/** The catalog on a real API server: what it changes, and what it leaves alone. */
import assert from 'node:assert/strict';
import { stringify } from 'yaml';
import { overridden, VULNERABILITIES, warningText } from '../../src/service/controller/catalog/apply.ts';
import {
  CONFIG_MAPS,
  PROBE_POOLS,
  PROBE_TOOLS,
  type KubeObject,
  type ResourceType,
} from '../../src/platform/kube/client.ts';
import type { Meta } from '../../src/platform/kube/resource.ts';
import { until } from '../until.ts';
import { POOL, TOOLS, startCluster, type Cluster } from './cluster_parts.ts';
import type { Controller } from './controller_part.ts';

describe('catalog', function () {
  this.timeout(90_000);
  let cluster: Cluster;
  afterEach(() => cluster?.stop());
  /** What the chart has now. */
  const catalog = async (pools: Record<string, object>, tools: readonly object[] = TOOLS): Promise<void> => {
    const lists = {
      catalog: tools,
      pools: Object.entries(pools).map(([name, change]) => ({ name, ...POOL, ...change })),
      policies: [],
    };
    for (const [name, list] of Object.entries(lists))
      await cluster.kube.apply(
        CONFIG_MAPS,
        { metadata: { name: `probeyard-${name}` }, data: { [`${name}.yaml`]: stringify(list) } },
        { fieldManager: 'helm', force: true },
      );
  };
  const withCatalog = async (
    pools: Record<string, object>,
    options: Parameters<Cluster['controller']>[0] = {},
  ): Promise<Controller> => {
    await catalog(pools);
    return cluster.controller(options);
  };
  const applied = (log: { msg: string }[]) =>
    until('the catalog is applied', () => log.some(({ msg }) => msg === 'catalog applied'), 20_000);
  const pool = (name: string) => cluster.kube.get(PROBE_POOLS, name);

  /** The request of kubectl scale. */
  const scale = async (name: string, replicas: number): Promise<void> => {
    const path = `/apis/probeyard.dev/v1alpha1/namespaces/${cluster.namespace}/probepools/${name}/scale`;
    const is = await cluster.kube.request<{ spec: object }>({ method: 'GET', path, what: 'read the scale' });
    await cluster.kube.request({
      method: 'PUT',
      path,
      query: { fieldManager: 'kubectl' },
      body: { ...is, spec: { replicas } },
      what: 'scale the pool',
    });
  };
  const overriddenIn = async (name: string) =>
    (await pool(name)).status?.conditions?.find(({ type }) => type === 'Overridden')?.message;

  it('keeps the scale of a pool across terms and chart changes, and lists it as Overridden', async () => {
    cluster = await startCluster({ pools: {} });
    const first = await withCatalog({ short: { minReady: 1, maxPods: 4 } });
    await applied(first.log);
    await scale('short', 3);
    await first.stop();
    const second = await withCatalog({ short: { minReady: 1, maxPods: 4 } }, { epoch: 2 });
    await applied(second.log);
    assert.equal((await pool('short')).spec.minReady, 3);
    await until(
      'the status lists it',
      async () => (await overriddenIn('short')) === 'differs from the chart: spec.minReady',
    );
    await second.stop();
    const third = await withCatalog({ short: { minReady: 2, maxPods: 5 } }, { epoch: 3 });
    await applied(third.log);
    assert.deepEqual([(await pool('short')).spec.minReady, (await pool('short')).spec.maxPods], [3, 5]);
  });

  it("a scale that was set back to the chart's value follows the chart again", async () => {
    cluster = await startCluster({ pools: {} });
    const { log } = await withCatalog({ short: { minReady: 1, maxPods: 4 } });
    await applied(log);
    await scale('short', 3);
    await scale('short', 1);
    await catalog({ short: { minReady: 0, maxPods: 5 } });
    await until('the chart is followed', async () => (await pool('short')).spec.maxPods === 5, 20_000);
    assert.equal((await pool('short')).spec.minReady, 0);
    // It belongs to the chart alone, so its next value arrives, too.
    await catalog({ short: { minReady: 2, maxPods: 5 } });
    await until('the chart is followed', async () => (await pool('short')).spec.minReady === 2, 20_000);
  });

  it('a pool or tool that was deleted comes back within the term', async () => {
    cluster = await startCluster({ pools: {} });
    const { log } = await withCatalog({ short: { minReady: 0 } });
    await applied(log);
    const uid = (await pool('short')).metadata.uid;
    await cluster.kube.delete(PROBE_POOLS, 'short');
    await cluster.kube.delete(PROBE_TOOLS, 'ffprobe-7.0');
    const find = <T extends KubeObject>(type: ResourceType<T>, name: string) =>
      until(`${name} is back`, () => cluster.kube.get(type, name).catch(() => undefined), 5_000);
    assert.notEqual((await find(PROBE_POOLS, 'short')).metadata.uid, uid);
    await find(PROBE_TOOLS, 'ffprobe-7.0');
  });

  it('a pool that leaves the chart and returns within the term is served again', async () => {
    cluster = await startCluster({ pools: {}, runners: { go: () => 'hold' } });
    const { log } = await withCatalog({ short: { minReady: 1, maxPods: 1 } });
    await applied(log);
    await cluster.ready(1, 20_000);
    const running = await cluster.submit();
    const runner = await until('it runs', () => cluster.runners.of(running.id));
    const state = async () =>
      (await pool('short')).status?.conditions?.find(({ type }) => type === 'Ready')?.reason ?? '';
    await catalog({});
    await until('it drains', async () => (await state()) === 'Draining', 20_000);
    await catalog({ short: { minReady: 1, maxPods: 2 } });
    await until('it serves', async () => (await state()) !== 'Draining', 20_000);
    await runner.finish();
    assert.equal((await cluster.ended(running.id))[0]?.state, 'success');
  });

  it('writes nothing in a new term whose catalog is unchanged', async () => {
    cluster = await startCluster({ pools: {} });
    const first = await withCatalog({ short: {} });
    await applied(first.log);
    await first.stop();
    const versions = async () =>
      (await cluster.kube.listAll(PROBE_TOOLS)).items.map(({ metadata }) => metadata.generation);
    const before = [await versions(), (await pool('short')).metadata.generation];
    const second = await withCatalog({ short: {} }, { epoch: 2 });
    await applied(second.log);
    assert.deepEqual([await versions(), (await pool('short')).metadata.generation], before);
  });

  it('a pool removed from the chart finishes its job, takes no other and is deleted', async () => {
    cluster = await startCluster({ pools: {}, runners: { go: () => 'hold' } });
    const first = await withCatalog({ old: { minReady: 2, maxPods: 2 } });
    await applied(first.log);
    await cluster.ready(2, 20_000);
    const running = await cluster.submit();
    const runner = await until('it runs', () => cluster.runners.of(running.id));
    await first.stop();
    const second = await withCatalog({ other: { minReady: 0, maxPods: 1, serves: { kinds: ['c2pa'] } } }, { epoch: 2 });
    await applied(second.log);
    await until('its idle runner is gone', async () => (await cluster.pods()).length === 1, 20_000);
    await until(
      'it shows that it drains',
      async () => (await pool('old')).status?.conditions?.find(({ type }) => type === 'Ready')?.reason === 'Draining',
    );
    const later = await cluster.submit({ queueTimeoutMs: 1_500 });
    assert.equal((await cluster.ended(later.id))[0]?.reason, 'QueueTimeout');
    await runner.finish();
    assert.equal((await cluster.ended(running.id))[0]?.state, 'success');
    await until(
      'the pool is gone',
      async () => (await cluster.kube.listAll(PROBE_POOLS)).items.every(({ metadata }) => metadata.name !== 'old'),
      20_000,
    );
  });

  it('a removed pool that the API server does not let go ends no leader, and goes later', async () => {
    cluster = await startCluster({ pools: {} });
    const first = await withCatalog({ old: { minReady: 0 } });
    await applied(first.log);
    await first.stop();
    const name = `${cluster.namespace}-keeps-pools`;
    const admission = '/apis/admissionregistration.k8s.io/v1';
    const policy = `${admission}/validatingadmissionpolicies`;
    const binding = `${admission}/validatingadmissionpolicybindings`;
    const rule = {
      apiGroups: ['probeyard.dev'],
      apiVersions: ['*'],
      operations: ['DELETE'],
      resources: ['probepools'],
    };
    const expression = `oldObject.metadata.namespace != '${cluster.namespace}'`;
    const make = (path: string, spec: object) =>
      cluster.kube.request({ method: 'POST', path, body: { metadata: { name }, spec }, what: 'make a policy' });
    await make(policy, { matchConstraints: { resourceRules: [rule] }, validations: [{ expression }] });
    await make(binding, { policyName: name, validationActions: ['Deny'] });
    try {
      const path = `/apis/probeyard.dev/v1alpha1/namespaces/${cluster.namespace}/probepools/old`;
      const tried = () =>
        cluster.kube.request({ method: 'DELETE', path, query: { dryRun: 'All' }, what: 'try' }).then(
          () => false,
          () => true,
        );
      await until('the policy is in force', tried, 20_000);
      const second = await withCatalog({}, { epoch: 2 });
      const says = () => second.log.filter(({ msg }) => msg === 'cannot carry out the plan of a pool').length > 1;
      await until('it tries again', says, 20_000);
    } finally {
      await cluster.kube.request({ method: 'DELETE', path: `${binding}/${name}`, what: 'end a binding' });
      await cluster.kube.request({ method: 'DELETE', path: `${policy}/${name}`, what: 'end a policy' });
    }
    await until('it is gone', async () => (await cluster.kube.listAll(PROBE_POOLS)).items.length === 0, 20_000);
  });

  it('a leader of an older version applies what the release has now, and removes nothing of it', async () => {
    cluster = await startCluster({ pools: {} });
    const added = { ...TOOLS[0]!, version: '7.1', latest: false };
    const names = async () => (await cluster.kube.listAll(PROBE_TOOLS)).items.map(({ metadata }) => metadata.name);
    const first = await withCatalog({ short: {} });
    await applied(first.log);
    await first.stop();
    // The upgrade: Helm writes the ConfigMaps, the new version leads, and then once more a pod of the old one.
    await catalog({ short: {}, added: { minReady: 0, serves: { kinds: ['c2pa'] } } }, [...TOOLS, added]);
    for (const epoch of [2, 3]) {
      const leader = await cluster.controller({ epoch });
      await applied(leader.log);
      assert.ok((await names()).includes('ffprobe-7.1'), `term ${epoch}`);
      assert.equal(
        (await pool('added')).status?.conditions?.find(({ reason }) => reason === 'Draining'),
        undefined,
      );
      await leader.stop();
    }
  });

  it('a catalog that an older version cannot read changes nothing', async () => {
    cluster = await startCluster({ pools: {} });
    await applied((await withCatalog({ short: {} })).log);
    await catalog({}, [{ ...TOOLS[0]!, tool: 'a-tool-of-the-future' }]);
    const older = await cluster.controller({ epoch: 2 });
    await until('it says so', () => older.log.some(({ msg }) => msg.startsWith('cannot apply the catalog')));
    assert.equal((await cluster.kube.listAll(PROBE_TOOLS)).items.length, TOOLS.length);
    assert.equal((await pool('short')).metadata.name, 'short');
  });

  it("only the chart's own pools are removed: no copy, none of another release, none with its label", async () => {
    cluster = await startCluster({ pools: {} });
    const first = await withCatalog({ short: { minReady: 0 } });
    await applied(first.log);
    await first.stop();
    const { metadata, spec } = await pool('short');
    const { labels = {}, annotations = {}, ownerReferences: [owner] = [] } = metadata;
    const map = await cluster.kube.get(CONFIG_MAPS, 'probeyard-pools');
    assert.deepEqual([owner?.kind, owner?.name, owner?.uid], ['ConfigMap', 'probeyard-pools', map.metadata.uid]);
    const content = Object.keys(annotations).find((name) => name.endsWith('/content'))!;
    const ofOther = { ...owner!, uid: '00000000-0000-4000-8000-000000000000' };
    const strangers: Record<string, Omit<Meta, 'name'>> = {
      copy: { labels, annotations, ownerReferences: [owner!] },
      staging: { labels, annotations: { [content]: 'staging@{}' }, ownerReferences: [ofOther] },
      labelled: { labels },
    };
    for (const [name, meta] of Object.entries(strangers))
      await cluster.kube.create(PROBE_POOLS, { metadata: { name, ...meta }, spec });
    const second = await withCatalog({ other: { minReady: 0 } }, { epoch: 2 });
    await applied(second.log);
    assert.deepEqual(second.log.find(({ msg }) => msg === 'catalog applied')?.['removed'], ['short']);
    for (const name of Object.keys(strangers)) assert.equal((await pool(name)).metadata.deletionTimestamp, undefined);
  });

  it('warns of known vulnerabilities in the status of tools, if the operator wants it', async () => {
    cluster = await startCluster({ pools: {} });
    const warnings = async () =>
      Object.fromEntries(
        (await cluster.kube.listAll(PROBE_TOOLS)).items.map(({ spec, status }) => [
          `${spec.tool} ${spec.version}`,
          status?.warning,
        ]),
      );
    const first = await withCatalog({}, { env: { PY_SHOW_VULNERABILITIES: 'true' } });
    await applied(first.log);
    const shown = await warnings();
    for (const [name, known] of Object.entries(VULNERABILITIES))
      if (name in shown) assert.equal(shown[name], warningText(known), name);
    assert.ok(Object.values(shown).some((warning) => warning !== undefined));
    await first.stop();
    const second = await withCatalog({}, { epoch: 2 });
    await applied(second.log);
    assert.deepEqual(
      Object.values(await warnings()).filter((warning) => warning !== undefined),
      [],
    );
  });

  for (const [what, known, text] of [
    [
      'affected, and others open',
      { affected: ['CVE-1', 'CVE-2'], unclear: 3 },
      /^affected by CVE-1, CVE-2; of 3 others/,
    ],
    ['only open ones', { affected: [], unclear: 3 }, /^no vulnerability is known for certain; of 3 others/],
    ['nothing', { affected: [], unclear: 0 }, /^no vulnerability is known for certain\. From Debian.*not complete/],
  ] as const)
    it(`the warning never says that a version is safe: ${what}`, () => assert.match(warningText(known), text));

  it('compares by field, and lists regardless of order', () => {
    assert.deepEqual(overridden({ a: 1, b: { c: [1, 2], d: 'x' } }, { a: 1, b: { c: [2, 1], d: 'y' }, e: 3 }), [
      'spec.b.d',
    ]);
    assert.deepEqual(overridden({ b: { c: 1 } }, {}), ['spec.b.c']);
  });
});
