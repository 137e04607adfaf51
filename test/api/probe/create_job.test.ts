import assert from 'node:assert/strict';
import { pino } from 'pino';
import { createJob, createOrEnd } from '../../../src/service/api/probe/job.ts';
import { KubeError, PROBE_JOBS, type KubeClient, type ResourceType } from '../../../src/platform/kube/client.ts';
import { kubeClient } from '../../kube/kubeconfig.ts';
import type { ProbeJob } from '../../../src/platform/kube/probe_job.ts';
import { testApiServer } from '../../kube/apiserver.ts';
import { until } from '../../until.ts';
import { startApi, type ApiFixture } from '../fixture.ts';

describe('creating a ProbeJob', function () {
  this.timeout(60_000);
  let kube: KubeClient;
  before(async () => {
    const server = await testApiServer({ own: true });
    kube = await kubeClient({ kubeconfig: server.kubeconfig, namespace: await server.namespace('create') });
  });
  after(() => kube?.close());
  const job = (name: string, spec: object = { kind: 'file', source: { url: 'https://media.example.org/a.mp4' } }) =>
    ({ metadata: { name }, spec }) as ProbeJob;
  const options = { withinMs: 5_000, signal: new AbortController().signal };

  it('succeeds if it exists already, because the response to the first try was lost', async () => {
    await createJob(kube, job('twice'), options);
    await createJob(kube, job('twice'), options);
    assert.equal((await kube.listAll(PROBE_JOBS, {})).items.length, 1);
  });

  const createTold = (name: string, announce: (job: ProbeJob) => Promise<boolean>, given: Pick<KubeClient, 'create'>) =>
    createOrEnd(
      { kube: given, announce, store: undefined as never, metrics: { step() {} }, log: undefined as never },
      { id: name, submittedAt: new Date() },
      job(name),
      options,
    );

  it('is left to a leader that has created it', async () => {
    const create = () => assert.fail('the API creates it, too');
    assert.equal(await createTold('led', async () => true, { create } as never), null);
  });

  it('is done if no leader has, of what was described to it', async () => {
    const told: ProbeJob[] = [];
    const announce = async (object: ProbeJob): Promise<boolean> => {
      told.push(object);
      return false;
    };
    assert.equal(await createTold('own', announce, kube), null);
    const { spec } = await kube.get(PROBE_JOBS, 'own');
    const described = job('own').spec;
    assert.deepEqual(told, [job('own')]);
    // kubectl shows a dash where a source has no display.
    assert.deepEqual(spec, { ...described, source: { display: '-', ...described.source } });
  });

  it('is not done for a caller who has disconnected while the leader was asked', async () => {
    const stop = new AbortController();
    const announce = async (): Promise<boolean> => {
      stop.abort(new Error('hung up'));
      return false;
    };
    const create = () => assert.fail('it is created');
    const deps = { kube: { create } as never, announce, store: undefined as never, metrics: { step() {} } };
    await assert.rejects(
      createOrEnd({ ...deps, log: undefined as never }, { id: 'gone', submittedAt: new Date() }, job('gone'), {
        withinMs: 5_000,
        signal: stop.signal,
      }),
      /hung up/,
    );
  });

  it('a chunk without one: the first request has an end, also where the others cannot be returned', async () => {
    const ended: string[] = [];
    const store = {
      returnItems: () => Promise.reject(new Error('no answer')),
      closeRequest: async ({ id }: { id: string }) => ({ closed: ended.push(id) > 0, waiter: null, queueTimeMs: 0 }),
    };
    const deps = { kube: { create: () => Promise.reject(new Error('broken')) }, announce: async () => false, store };
    const first = { id: '0199b2a0-0000-7000-8000-000000000001', submittedAt: new Date() };
    await createOrEnd(
      { ...deps, metrics: { step() {} }, log: pino({ level: 'silent' }) } as never,
      first,
      job('0199b2a0-0000-7000-8000-000000000000', { kind: 'file', source: {}, items: 3 }),
      options,
    );
    assert.deepEqual(ended, [first.id]);
  });

  it('is tried again while the API server cannot evaluate a policy yet', async () => {
    const refused = "ValidatingAdmissionPolicy 'py-fence' denied request: failed to configure policy: not synced";
    let tries = 0;
    const create: KubeClient['create'] = (type, object, given) =>
      tries++ === 0 ? Promise.reject(new KubeError('forbidden', refused)) : kube.create(type, object, given);
    await createJob({ create }, job('not-yet'), options);
    assert.equal(tries, 2);
  });

  it('is not retried after an invalid spec', async () =>
    assert.rejects(createJob(kube, job('bad', { kind: 'none', source: {} }), options), { code: 'invalid' }));
});

const QUOTAS: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'resourcequotas',
  kind: 'ResourceQuota',
  namespaced: true,
};

describe('a request beyond the ResourceQuota of ProbeJobs', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  it('is a 429 that says so, and ends in the record', async () => {
    const { kube, namespace } = api;
    const hard = { 'count/probejobs.probeyard.dev': '1' };
    await kube.create(QUOTAS, { metadata: { name: 'none', namespace }, spec: { hard } } as never);
    // No quota controller runs here: the API server decides by this status.
    await kube.mergePatchStatus(QUOTAS, 'none', { hard, used: hard }, { namespace });
    const refused = await until('the quota applies', async () => {
      const response = await fetch(`${api.url}/v1/probe/file?url=https://quota.test/a.mp4`, {
        headers: { Authorization: `Bearer ${api.token}` },
        signal: AbortSignal.timeout(2_000),
      }).catch(() => null);
      return response?.status === 429 && response;
    });
    assert.deepEqual(
      [refused.headers.get('retry-after'), await refused.json()],
      ['10', { error: 'the queue of the installation is full; try again later' }],
    );
    const record = await api.stored.store.readRequest(refused.headers.get('x-request-id') ?? '');
    assert.deepEqual([record?.state, record?.reason], ['error', 'QueueFull']);
  });
});
