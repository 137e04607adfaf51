/** kubectl drain evicts runners through the API, and no job is lost. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { PODS, PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { vod } from '../hls/examples/playlists.ts';
import { serveFile } from '../node/origin.ts';
import { NAMESPACE, RUNNERS, cluster, eventually, fixtures, jobOf, stateOf, type Cluster } from './fixture.ts';

/**
 * A playlist whose end comes when the test says so. Comments before it keep the source from being considered silent.
 */
async function serveSlowly(response: ServerResponse, end: Promise<void>): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/vnd.apple.mpegurl' });
  const [first, ...rest] = vod().split('\n');
  response.write(`${first}\n`);
  const timer = setInterval(() => response.write(`# ${'.'.repeat(1_000)}\n`), 1_000);
  response.once('close', () => clearInterval(timer));
  await end;
  clearInterval(timer);
  response.end(rest.join('\n'));
}

describe('eviction of runners', function () {
  this.timeout(240_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c.close());

  const runners = async () =>
    (await c.kube.listAll(PODS, { namespace: RUNNERS, labelSelector: `${LABEL.component}=runner` })).items.filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );

  it('every runner has a controller, which kubectl drain requires', async () => {
    const all = await eventually('there are runners', 60, async () => {
      const found = await runners();
      return found.length > 0 ? found : undefined;
    });
    for (const { metadata } of all)
      assert.equal(
        metadata.ownerReferences?.find(({ controller }) => controller)?.name,
        'probeyard-runners',
        metadata.name,
      );
  });

  it('a job whose runner is evicted ends with its result', async () => {
    const { token } = await c.newToken();
    const source = await c.origin();
    const probes = Array.from({ length: 4 }, () => c.probe({ url: `${source.url}/tiny.mp4` }, { token }));
    // The jobs are short. None may fail, whether its runner was busy or about to be.
    // One that served another account may end meanwhile, and is not found: then it is the next one.
    const name = await eventually('a runner is evicted', 60, async () => {
      const [running] = await runners();
      if (running === undefined) return undefined;
      const { name: chosen } = running.metadata;
      await c.kube.request({
        method: 'POST',
        path: `/api/v1/namespaces/${RUNNERS}/pods/${chosen}/eviction`,
        what: 'evict the runner',
        body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: chosen, namespace: RUNNERS } },
      });
      return chosen;
    });
    assert.deepEqual(
      (await Promise.all(probes)).map(({ status }) => status),
      [200, 200, 200, 200],
    );
    await eventually('the runner is gone', 100, async () =>
      (await c.kube.listAll(PODS, { namespace: RUNNERS })).items.every(({ metadata }) => metadata.name !== name),
    );
  });

  it('kubectl drain: a short job ends on its runner, and so does a long one, for which the drain waits', async () => {
    const [short, long] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const origin = await c.origin(async (request, response) => {
      if (request.url?.startsWith('/long.m3u8')) return serveSlowly(response, long.promise);
      await short.promise;
      await serveFile(fixtures, request, response);
    });
    const { id, token } = await c.newToken();
    const probe = async (path: string, kind: ProbeJob['spec']['kind'], body: object) => {
      const answer = c.probe(body, { token, path });
      answer.catch(() => {});
      const job = await eventually(`a ${kind} job runs`, 60, async () => {
        const labelSelector = `probeyard.dev/token=${id}`;
        const { items } = await c.kube.list(PROBE_JOBS, { namespace: NAMESPACE, labelSelector });
        return items.find((one) => one.spec.kind === kind && stateOf(one) === 'Running');
      });
      return { answer, name: job.metadata.name, pod: job.status?.runner?.pod ?? '' };
    };
    const hls = await probe('/v1/probe/mediastreamvalidator', 'msv', { url: `${origin.url}/long.m3u8` });
    const runnerPod = async (name: string) =>
      (await c.kube.listAll(PODS, { namespace: RUNNERS })).items.find(({ metadata }) => metadata.name === name);
    await eventually(
      'the long job holds its node',
      30,
      async () => (await runnerPod(hls.pod))?.metadata.labels?.[LABEL.longJob] === 'true',
    );
    // Only now: its source is silent until the drain, and would be given up after 20 s.
    const file = await probe('/v1/probe/file', 'file', { url: `${origin.url}/tiny.mp4`, only: 'ffprobe' });
    const nodeOf = async (pod: string) => (await c.kube.get(PODS, pod, { namespace: RUNNERS })).spec?.nodeName ?? '';
    const nodes = [...new Set([await nodeOf(file.pod), await nodeOf(hls.pod)])];
    const onlyRunners = ['--pod-selector', `${LABEL.component}=runner`];
    const drained = c.kubectl('drain', ...nodes, ...onlyRunners, '--delete-emptydir-data', '--timeout=150s');
    drained.catch(() => {});
    try {
      await eventually(
        'the runner at the short job is being deleted',
        30,
        async () => (await runnerPod(file.pod))?.metadata.deletionTimestamp !== undefined,
      );
      assert.equal((await runnerPod(hls.pod))?.metadata.deletionTimestamp, undefined, 'the eviction was refused');
      short.resolve();
      assert.equal((await file.answer).status, 200);
      const { status } = await jobOf(c.kube, file.name);
      assert.deepEqual([status?.attempts, status?.runner?.pod], [1, file.pod], 'the short job ended where it ran');
      assert.equal((await runnerPod(hls.pod))?.metadata.deletionTimestamp, undefined);
      long.resolve();
      assert.equal((await hls.answer).status, 200);
      await drained;
    } finally {
      short.resolve();
      long.resolve();
      await c.kubectl('uncordon', ...nodes);
    }
    const { status } = await jobOf(c.kube, hls.name);
    assert.deepEqual([status?.attempts, status?.runner?.pod], [1, hls.pod], 'the long job ended where it ran');
  });
});
