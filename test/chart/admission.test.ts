/** The chart's admission policies on a real API server: what people who use kubectl may write. */
import assert from 'node:assert/strict';
import {
  isKubeError,
  PROBE_BATCHES,
  PROBE_SOURCES,
  PROBE_JOBS,
  PROBE_TOOLS,
  type KubeClient,
} from '../../src/platform/kube/client.ts';
import { kubeClient } from '../kube/kubeconfig.ts';
import type { ProbeJobSpec } from '../../src/platform/kube/probe_job.ts';
import type { ProbeToolSpec } from '../../src/platform/kube/probe_tool.ts';
import { testApiServer } from '../kube/apiserver.ts';
import { until } from '../until.ts';
import { render } from './render.ts';

describe('admission policies', function () {
  this.timeout(120_000);
  let kube: KubeClient;
  const tool = (image: string): ProbeToolSpec => ({ tool: 'ffprobe', version: '1', image, command: ['{root}/a'] });
  const createTool = (name: string, image: string) =>
    kube.create(PROBE_TOOLS, { metadata: { name }, spec: tool(image) });
  const createJob = (name: string, spec: Partial<ProbeJobSpec> = {}) =>
    kube.create(PROBE_JOBS, {
      metadata: { name },
      spec: { kind: 'file', source: { url: 'https://media.example.org/a.mp4' }, ...spec },
    });
  /** The text of the refusal; undefined if it is accepted. */
  const refusal = (call: Promise<unknown>): Promise<string | undefined> =>
    call.then(
      () => undefined,
      (error: unknown) => {
        if (!isKubeError(error, 'forbidden')) throw error;
        return error.message;
      },
    );

  before(async () => {
    const server = await testApiServer({ own: true });
    const namespace = await server.namespace('admission');
    kube = await kubeClient({ kubeconfig: server.kubeconfig, namespace });
    await createTool('before', 'evil.example.com/a:1');
    const values = { tools: { allowedRegistries: ['registry.example/tools', 'one.example/x:1'] } };
    for (const object of render(values, { namespace, release: namespace })) {
      const plural = { ValidatingAdmissionPolicy: 'policies', ValidatingAdmissionPolicyBinding: 'policybindings' };
      const kind = plural[object.kind as keyof typeof plural];
      if (kind === undefined || !/-(jobs|tools|batches)$/.test(object.metadata.name)) continue;
      const path = `/apis/admissionregistration.k8s.io/v1/validatingadmission${kind}`;
      await kube.request({ method: 'POST', path, body: object });
    }
    let tries = 0;
    await until(
      'the policy of tools applies',
      () => refusal(createTool(`try-${tries++}`, 'evil.example.com/a:1')),
      60_000,
    );
    const forged = { status: { attempts: 1 }, spec: { kind: 'file', source: { url: 'https://a.example/b' } } };
    await until(
      'the policy of jobs applies',
      () => refusal(kube.create(PROBE_JOBS, { metadata: { name: `try-${tries++}` }, ...forged } as never)),
      60_000,
    );
  });
  after(() => kube.close());

  for (const [image, taken] of [
    ['registry.example/tools/ffprobe:7.1', true],
    ['one.example/x:1', true],
    ['registry.example/tools-of-others/ffprobe:7.1', false],
    ['registry.example/other:1', false],
    ['evil.example.com/registry.example/tools/a', false],
  ] as const)
    it(`a tool of ${image} is ${taken ? 'accepted' : 'refused'}`, async () => {
      const said = await refusal(createTool(`tool-${Math.random().toString(36).slice(2)}`, image));
      if (taken) assert.equal(said, undefined);
      else assert.match(said ?? '', /not in tools\.allowedRegistries: registry\.example\/tools, one\.example/);
    });

  it('a tool that was there before may be changed, but not its image', async () => {
    const patch = (spec: object) => refusal(kube.mergePatch(PROBE_TOOLS, 'before', { spec }));
    assert.equal(await patch({ latest: true }), undefined);
    assert.match((await patch({ image: 'evil.example.com/b:1' })) ?? '', /evil\.example\.com\/b:1/);
    assert.equal(await patch({ image: 'registry.example/tools/b:1' }), undefined);
  });

  it('only the status of a job that another controller manages may be written', async () => {
    await createJob('ours');
    await createJob('named', { managedBy: 'probeyard.dev/controller' });
    await createJob('theirs', { managedBy: 'example.com/scheduler' });
    const write = (name: string) => refusal(kube.mergePatchStatus(PROBE_JOBS, name, { summary: 'forged' }));
    assert.match((await write('ours')) ?? '', /only the controllers of Probeyard/);
    assert.match((await write('named')) ?? '', /only the controllers of Probeyard/);
    assert.equal(await write('theirs'), undefined);
  });

  it('a batch names its own creator, or none', async () => {
    const create = (name: string, createdBy?: string) =>
      refusal(
        kube.create(PROBE_BATCHES, {
          metadata: { name },
          spec: {
            request: { items: [{ url: 'https://media.example.org/a.mp4' }] },
            ...(createdBy ? { createdBy } : {}),
          },
        }),
      );
    assert.match((await create('theirs', 'alice')) ?? '', /spec\.createdBy: must be your user name, "admin"/);
    assert.equal(await create('own', 'admin'), undefined);
    assert.equal(await create('nameless'), undefined);
  });

  it('a source names its own creator, or none', async () => {
    const create = (name: string, more: { createdBy?: string } = {}) =>
      refusal(
        kube.create(PROBE_SOURCES, { metadata: { name }, spec: { request: { bucket: { url: 's3://a/' } }, ...more } }),
      );
    assert.match((await create('theirs', { createdBy: 'alice' })) ?? '', /must be your user name, "admin"/);
    assert.equal(await create('own', { createdBy: 'admin' }), undefined);
    assert.equal(await create('nameless'), undefined);
  });

  it('a suspended job may be resumed', async () => {
    await createJob('later', { suspend: true });
    assert.equal(await refusal(kube.mergePatch(PROBE_JOBS, 'later', { spec: { suspend: false } })), undefined);
  });
});
