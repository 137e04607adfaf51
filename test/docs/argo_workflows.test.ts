/** The WorkflowTemplate of docs/guides/argo-workflows.md: as Argo Workflows reads it, and against the API server. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parse } from 'yaml';
import { PROBE_BATCHES } from '../../src/platform/kube/client.ts';
import type { ProbeBatch } from '../../src/platform/kube/probe_batch.ts';
import { batchesOf } from '../api/batch/fixture.ts';
import { startApi, type ApiFixture } from '../api/fixture.ts';
import { binary, testApiServer } from '../kube/apiserver.ts';
import { buildParts, isBuilt } from '../node/build.ts';
import { startOrigin, type Origin } from '../source/origin.ts';
import { until } from '../until.ts';
import { blocksOf } from './blocks.ts';

interface Step {
  name: string;
  resource?: { successCondition: string; failureCondition: string; manifest: string };
  outputs?: { parameters: { name: string; valueFrom: { jsonPath: string } }[] };
}

const [guide] = blocksOf('guides/argo-workflows.md');
const template = parse(guide!.code) as { spec: { templates: Step[] } };
const { resource, outputs } = template.spec.templates.find(({ name }) => name === 'probe')!;

describe('Argo Workflows: the template of the guide', function () {
  this.timeout(120_000);
  let api: ApiFixture | undefined;
  let origin: Origin | undefined;
  let program: string;

  before(async function () {
    if (!(await isBuilt(['argo']))) {
      console.log('      skipped: `node test/node/build.ts argo` builds what it needs of Argo Workflows');
      return this.skip();
    }
    program = join((await buildParts(['argo'])).get('argo')!, 'argo');
    origin = await startOrigin((_request, response) => {
      response.end(`url\n${origin!.url}/film.mp4\n${origin!.url}/gone.mp4\n`);
    });
    api = await startApi({ allowSources: [{ cidr: '127.0.0.1/32' }] });
    await api.stored.makeDefault(api.tokenId);
  });
  after(async () => {
    await api?.stop();
    await origin?.close();
  });

  function argo(args: string[], input: string): string {
    const { stdout, stderr, status } = spawnSync(program, args, { input, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    return stdout.trim();
  }
  const judged = (object: ProbeBatch): string =>
    argo(['conditions', resource!.successCondition, resource!.failureCondition], JSON.stringify(object));

  it('its own validation accepts it', () => {
    assert.equal(argo(['lint'], guide!.code), '1 valid');
    const wrong = guide!.code.replace('steps.probe.outputs.parameters.failed}} > 0', 'steps.none.outputs.result}} > 0');
    assert.equal(spawnSync(program, ['lint'], { input: wrong }).status, 1);
  });

  it('the step waits until the batch has ended, and hands on its id and failed items', async () => {
    const { kube, namespace } = api!;
    const { success, failure, run } = batchesOf(api!);
    const object = parse(resource!.manifest.replace('https://media.example.com', origin!.url)) as ProbeBatch;
    const { metadata } = await kube.create(PROBE_BATCHES, { ...object, metadata: { ...object.metadata, namespace } });
    const read = () => kube.get(PROBE_BATCHES, metadata.name, { namespace });
    assert.equal(judged(await read()), 'waiting');
    const { status } = await until('it runs', async () => {
      const found = await read();
      return found.status?.state === 'Running' ? found : undefined;
    });
    assert.equal(judged(await read()), 'waiting');
    await run(status!.id!, new URL(origin!.url).host, (job) =>
      job.spec.source.display?.includes('gone')
        ? failure(job.metadata.name, { status: 404, reason: 'OriginUnreachable', error: 'gone' })
        : success(job.metadata.name),
    );
    await until('the step succeeds', async () => judged(await read()) === 'succeeded');
    // As the executor does.
    const { kubeconfig } = await testApiServer({ own: true });
    const values = outputs!.parameters.map(({ name, valueFrom: { jsonPath } }) => {
      const which = ['-n', namespace, 'get', `probebatch.probeyard.dev/${metadata.name}`, '-o', `jsonpath=${jsonPath}`];
      const { stdout, stderr } = spawnSync(binary('kubectl'), ['--kubeconfig', kubeconfig, ...which], {
        encoding: 'utf8',
      });
      assert.equal(stderr, '');
      return [name, stdout];
    });
    assert.deepEqual(values, [
      ['failed', '1'],
      ['id', status!.id!],
    ]);
  });

  for (const [what, state, request] of [
    ['refused', 'Refused', { items: [{ url: 'no-scheme://late.example/film.mp4' }] }],
    ['past its deadline', 'DeadlineExceeded', { items: [{ url: 'https://late.example/film.mp4' }], deadline: 1 }],
  ] as const)
    it(`${what}: the step fails`, async () => {
      const { kube, namespace } = api!;
      const { jobs, failure } = batchesOf(api!);
      const name = state.toLowerCase();
      await kube.create(PROBE_BATCHES, { metadata: { name, namespace }, spec: { request } });
      const object = await until('the step fails', async () => {
        for (const job of await jobs('late.example'))
          await failure(job.metadata.name, { status: 499, reason: 'Cancelled', error: 'cancelled' });
        const found = await kube.get(PROBE_BATCHES, name, { namespace });
        return judged(found) === 'failed' ? found : undefined;
      });
      assert.equal(object.status?.state, state);
    });
});
