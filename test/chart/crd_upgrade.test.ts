import assert from 'node:assert/strict';
import { customResourceDefinition } from '../../charts/crds.ts';
import { CRDS, isKubeError, makeClient, PROBE_JOBS, type KubeClient } from '../../src/platform/kube/client.ts';
import { PROBE_JOB, type ProbeJobStatus } from '../../src/platform/kube/probe_job.ts';
import { testApiServer, type TestApiServer } from '../kube/apiserver.ts';
import { until } from '../until.ts';

type Json = Record<string, any>;

const newer = customResourceDefinition(PROBE_JOB) as Json;

/**
 * The CRD of version 0.1: v1alpha1 alone, tools identified by name alone, an owner for each field, and no comparisons.
 */
function olderDefinition(): Json {
  const crd = structuredClone(newer);
  crd['spec'].versions.length = 1;
  const { spec, status } = crd['spec'].versions[0].schema.openAPIV3Schema.properties;
  delete spec['x-kubernetes-map-type'];
  delete status['x-kubernetes-map-type'];
  spec.properties.kind.enum = ['file', 'msv', 'c2pa'];
  delete spec.properties.source.properties.display.pattern;
  Object.assign(spec.properties.tools, { maxItems: 4, 'x-kubernetes-list-map-keys': ['name'] });
  spec['x-kubernetes-validations'] = spec['x-kubernetes-validations'].slice(0, 1);
  Object.assign(status.properties.tools, { maxItems: 8, 'x-kubernetes-list-map-keys': ['name'] });
  return crd;
}

/** What the API server notes of the owners of spec and status: their members, or `{}` for an owner of all. */
function ownedFields({ metadata }: { metadata: object }): Json[] {
  const { managedFields = [] } = metadata as { managedFields?: { fieldsV1: Json }[] };
  return managedFields.flatMap(({ fieldsV1 }) =>
    ['f:spec', 'f:status'].flatMap((part) => (fieldsV1[part] === undefined ? [] : [{ [part]: fieldsV1[part] }])),
  );
}
const WHOLE = [{ 'f:spec': {} }, { 'f:status': {} }];

const source = { url: 'https://origin.example/a.mp4' };
const FILE = { kind: 'file', source, tools: [{ name: 'ffprobe', version: '7.1' }, { name: 'mediainfo' }] };
const COMPARISON = {
  kind: 'compare',
  source,
  tools: [
    { name: 'ffprobe', version: '4.4' },
    { name: 'ffprobe', version: '7.1' },
  ],
};
const ended = (tools: NonNullable<ProbeJobStatus['tools']>): ProbeJobStatus => ({
  attempts: 1,
  tools,
  summary: 'done',
});
const BOTH = [
  { name: 'ffprobe', version: '4.4', success: true },
  { name: 'ffprobe', version: '7.1', success: false },
] as const;

describe('upgrade of the ProbeJob CRD', function () {
  this.timeout(60_000);
  let client: KubeClient;
  let server: TestApiServer;
  let count = 0;
  const create = (spec: Json) => client.create(PROBE_JOBS, { metadata: { name: `job-${++count}` }, spec } as never);
  const takesComparisons = () =>
    create(COMPARISON).then(
      () => true,
      (error: unknown) => {
        if (!isKubeError(error, 'invalid')) throw error;
        return false;
      },
    );

  async function install(crd: Json, comparisons: boolean): Promise<void> {
    await client.mergePatch(CRDS, 'probejobs.probeyard.dev', { spec: crd['spec'] });
    await until('the API server uses the definition', async () => (await takesComparisons()) === comparisons);
  }

  before(async () => {
    server = await testApiServer({ alone: true });
    client = await makeClient({ kubeconfig: server.kubeconfig, namespace: await server.namespace('upgrade') });
  });
  after(async () => {
    await client.close();
    await server.stop();
  });

  it('jobs of the older CRD are read, admitted and ended under the newer one', async () => {
    await install(olderDefinition(), false);
    const waiting = await create(FILE);
    // What newer definitions refuse to create.
    const running = await create({ ...FILE, source: { sealed: 'x', display: 'https://origin.example/\u202ea.mp4' } });
    await client.mergePatchStatus(PROBE_JOBS, running.metadata.name, {
      attempts: 1,
      tools: [
        { name: 'ffprobe', version: '7.1' },
        { name: 'mediainfo', version: '24.06' },
      ],
    });
    assert.ok('f:kind' in ownedFields(running)[0]!['f:spec']);
    await install(newer, true);

    const read = await client.get(PROBE_JOBS, waiting.metadata.name);
    assert.deepEqual(read.spec, waiting.spec);
    for (const { metadata } of [waiting, running]) {
      const tools = [
        { name: 'ffprobe', version: '7.1', success: true },
        { name: 'mediainfo', version: '24.06', success: true },
      ] as const;
      const written = await client.mergePatchStatus(PROBE_JOBS, metadata.name, ended([...tools]));
      assert.deepEqual(written.status?.tools, tools);
      assert.deepEqual(ownedFields(written), WHOLE);
    }
  });

  it('a job’s spec has one owner, its status has one, and a patch of the status keeps its other members', async () => {
    await install(newer, true);
    const made = await create(FILE);
    assert.deepEqual(ownedFields(made), WHOLE.slice(0, 1));
    await client.mergePatchStatus(PROBE_JOBS, made.metadata.name, { attempts: 1, queueTimeMs: 7 });
    const { metadata, spec, status } = await client.mergePatchStatus(PROBE_JOBS, made.metadata.name, ended([...BOTH]));
    assert.deepEqual(ownedFields({ metadata }), WHOLE);
    assert.deepEqual(spec, made.spec);
    assert.deepEqual(status, { ...ended([...BOTH]), queueTimeMs: 7 });
  });

  it('a comparison keeps both versions in spec and status', async () => {
    await install(newer, true);
    const made = await create(COMPARISON);
    const written = await client.mergePatchStatus(PROBE_JOBS, made.metadata.name, ended([...BOTH]));
    assert.deepEqual(written.status?.tools, BOTH);
    assert.deepEqual(written.spec.tools, COMPARISON.tools);
  });

  it('back under the older CRD: jobs of both kinds are read and deleted, but only file jobs are ended', async () => {
    await install(newer, true);
    const file = await create(FILE);
    const waiting = await create(COMPARISON);
    const ran = await create(COMPARISON);
    await client.mergePatchStatus(PROBE_JOBS, ran.metadata.name, ended([...BOTH]));
    await install(olderDefinition(), false);

    const { items } = await client.list(PROBE_JOBS);
    for (const { metadata } of [file, waiting, ran])
      assert.ok(items.some(({ metadata: { name } }) => name === metadata.name));
    assert.deepEqual((await client.get(PROBE_JOBS, ran.metadata.name)).status?.tools, BOTH);

    const afterwards = await client.mergePatchStatus(PROBE_JOBS, file.metadata.name, ended([{ ...BOTH[0] }]));
    assert.equal(afterwards.status?.summary, 'done');
    // The older leader has no pool for this kind. It ends such a job in the queue and in Postgres, but cannot write its
    // status.
    await assert.rejects(client.mergePatchStatus(PROBE_JOBS, waiting.metadata.name, { summary: 'QueueTimeout' }), {
      code: 'invalid',
    });
    for (const { metadata } of [file, waiting, ran]) await client.delete(PROBE_JOBS, metadata.name);
  });
});
