import assert from 'node:assert/strict';
import { createJob } from '../../../src/api/probe/create_job.ts';
import { makeClient, PROBE_JOBS, type KubeClient } from '../../../src/kube/client.ts';
import type { ProbeJob } from '../../../src/kube/probe_job.ts';
import { testApiServer } from '../../kube/apiserver.ts';

describe('creating a ProbeJob', function () {
  this.timeout(60_000);
  let kube: KubeClient;
  before(async () => {
    const server = await testApiServer();
    kube = await makeClient({ kubeconfig: server.kubeconfig, namespace: await server.namespace('create') });
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

  it('is not retried after an invalid spec', async () =>
    assert.rejects(createJob(kube, job('bad', { kind: 'none', source: {} }), options), { code: 'invalid' }));
});
