/** Every version of a CRD is served from what is stored as v1alpha1, by the real API server and with kubectl. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { stringify } from 'yaml';
import { customResourceDefinition, DEFINITIONS } from '../../charts/crds.ts';
import {
  CRDS,
  makeClient,
  PROBE_JOBS,
  PROBE_POLICIES,
  PROBE_POOLS,
  PROBE_TOOLS,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from '../../src/platform/kube/client.ts';
import { API_VERSION, GROUP, SERVED_VERSIONS, VERSION } from '../../src/platform/kube/resource.ts';
import { testApiServer, type TestApiServer } from '../kube/apiserver.ts';
import { until } from '../until.ts';

type Json = Record<string, any>;
type Item = KubeObject & { spec: Json; status?: Json };

const OBJECTS: [ResourceType, Json, Json][] = [
  [
    PROBE_JOBS,
    { kind: 'file', source: { url: 'https://origin.example/a.mp4' }, tools: [{ name: 'ffprobe', version: '7.1' }] },
    { attempts: 1, summary: 'done' },
  ],
  [PROBE_TOOLS, { tool: 'ffprobe', version: '7.1', image: 'example/ffprobe:7.1', command: ['{root}/bin/ffprobe'] }, {}],
  [PROBE_POOLS, { serves: { kinds: ['file'] }, minReady: 3 }, { epoch: 4, replicas: 1 }],
  [PROBE_POLICIES, { rules: [{ name: 'wrapper', field: 'container.format', in: ['mp4'] }] }, {}],
];

describe('versions of the custom resources', function () {
  this.timeout(60_000);
  let server: TestApiServer;
  let client: KubeClient;
  let kubeconfig: string;
  const at = (type: ResourceType, version: string): ResourceType => ({ ...type, version });
  const kubectl = (args: string[], input = ''): string => {
    const flags = ['--kubeconfig', kubeconfig, '--namespace', client.namespace ?? ''];
    const done = spawnSync('kubectl', [...flags, ...args], { encoding: 'utf8', input, timeout: 30_000 });
    assert.equal(done.status, 0, done.stderr);
    return done.stdout;
  };

  before(async () => {
    server = await testApiServer({ alone: true });
    ({ kubeconfig } = server);
    client = await makeClient({ kubeconfig, namespace: await server.namespace('versions') });
  });
  after(async () => {
    await client.close();
    await server.stop();
  });

  it('have one schema, are all served, and only one is stored', () => {
    for (const definition of DEFINITIONS) {
      const { conversion, versions } = customResourceDefinition(definition)['spec'] as Json;
      assert.deepEqual(conversion, { strategy: 'None' });
      assert.deepEqual(
        versions.map(({ name, served, storage }: Json) => [name, served, storage]),
        [
          ['v1alpha1', true, true],
          ['v1beta1', true, false],
        ],
      );
      const same = (version: Json) => ({ ...version, name: undefined, storage: undefined });
      for (const version of versions) assert.deepEqual(same(version), same(versions[0]));
    }
  });

  for (const [type, spec, status] of OBJECTS)
    for (const [made, read] of [SERVED_VERSIONS, SERVED_VERSIONS.toReversed()] as [string, string][])
      it(`a ${type.kind} created as ${made} is read, changed and listed as ${read}`, async () => {
        const name = `${type.plural}-${made}`;
        const created = (await client.create(at(type, made), { metadata: { name }, spec } as KubeObject)) as Item;
        assert.equal(created.apiVersion, `${GROUP}/${made}`);
        const seen = (await client.get(at(type, read), name)) as Item;
        assert.equal(seen.apiVersion, `${GROUP}/${read}`);
        assert.deepEqual(seen.spec, created.spec);
        assert.equal(seen.metadata.uid, created.metadata.uid);

        const changed = (await client.mergePatchStatus(at(type, read) as typeof PROBE_JOBS, name, status)) as Item;
        await client.mergePatch(at(type, read), name, { metadata: { labels: { seen: 'yes' } } });
        const back = (await client.get(at(type, made), name)) as Item;
        assert.deepEqual(back.status, changed.status);
        assert.equal(back.metadata.labels?.['seen'], 'yes');
        const { items } = await client.list(at(type, read), { labelSelector: 'seen=yes' });
        assert.ok(items.some(({ metadata }) => metadata.uid === created.metadata.uid));
      });

  for (const version of SERVED_VERSIONS) {
    it(`kubectl applies ${version}, and shows the same row by either version`, () => {
      const name = `by-kubectl-${version}`;
      const spec = { source: { url: 'https://origin.example/a.mp4', display: 'https://origin.example/a.mp4' } };
      kubectl(
        ['apply', '-f', '-'],
        stringify({ apiVersion: `${GROUP}/${version}`, kind: 'ProbeJob', metadata: { name }, spec }),
      );
      const row = (served: string) =>
        kubectl(['get', `probejobs.${served}.${GROUP}`, name])
          .split(/\s+AGE\s+/)
          .at(-1);
      const rows = SERVED_VERSIONS.map((served) => row(served)?.replace(/\d+s/, ''));
      assert.match(rows[0] ?? '', /https:\/\/origin\.example\/a\.mp4/);
      assert.equal(rows[1], rows[0]);
      // Applied again by the other version: nothing changes.
      const other = SERVED_VERSIONS.find((one) => one !== version);
      const again = stringify({ apiVersion: `${GROUP}/${other}`, kind: 'ProbeJob', metadata: { name }, spec });
      assert.match(kubectl(['apply', '-f', '-'], again), /unchanged|configured/);
      assert.equal(kubectl(['diff', '-f', '-'], again), '');
    });
  }

  it('everything is stored as one version, so the other may be left out again', async () => {
    for (const { plural } of DEFINITIONS) {
      const { status } = (await client.get(CRDS, `${plural}.${GROUP}`)) as { status?: { storedVersions?: string[] } };
      assert.deepEqual(status?.storedVersions, [VERSION]);
    }
  });

  it('under a CRD without v1beta1, what was applied as v1beta1 is read, changed and applied', async () => {
    const definition = DEFINITIONS.find(({ kind }) => kind === 'ProbePool')!;
    const crd = customResourceDefinition(definition) as Json;
    const [name] = [`${definition.plural}.${GROUP}`];
    const install = (versions: Json[]) => client.mergePatch(CRDS, name, { spec: { versions } });
    const pool = { metadata: { name: 'applied' }, spec: { serves: { kinds: ['file'] }, minReady: 1 } };
    await client.apply(at(PROBE_POOLS, 'v1beta1'), pool as KubeObject, { fieldManager: 'person', force: true });
    try {
      await install(crd['spec'].versions.slice(0, 1));
      await until('v1beta1 is not served', () =>
        client.get(at(PROBE_POOLS, 'v1beta1'), 'applied').then(
          () => false,
          () => true,
        ),
      );
      assert.equal((await client.get(PROBE_POOLS, 'applied')).spec.minReady, 1);
      const patched = await client.mergePatchStatus(PROBE_POOLS, 'applied', { epoch: 7 });
      assert.equal(patched.status?.epoch, 7);
      const more = { ...pool, spec: { ...pool.spec, minReady: 2 } };
      const applied = await client.apply(PROBE_POOLS, more as never, { fieldManager: 'person', force: true });
      assert.equal(applied.apiVersion, API_VERSION);
      assert.equal(applied.spec.minReady, 2);
    } finally {
      await install(crd['spec'].versions);
      await until('v1beta1 is served', () =>
        client.get(at(PROBE_POOLS, 'v1beta1'), 'applied').then(
          () => true,
          () => false,
        ),
      );
    }
  });
});
