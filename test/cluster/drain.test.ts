/** What kubectl drain does to runners: it evicts them through the API, and no job is lost. */
import assert from 'node:assert/strict';
import { PODS } from '../../src/kube/client.ts';
import { LABEL } from '../../src/kube/resources.ts';
import { RUNNERS, cluster, eventually, type Cluster } from './fixture.ts';

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

  it('every runner has a controller, as kubectl drain asks', async () => {
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
    // The jobs are short: whichever runner goes, busy or about to be, none of them may fail.
    const [running] = await eventually('there are runners', 60, async () => {
      const found = await runners();
      return found.length > 0 ? found : undefined;
    });
    const name = running?.metadata.name ?? '';
    await c.kube.request({
      method: 'POST',
      path: `/api/v1/namespaces/${RUNNERS}/pods/${name}/eviction`,
      what: 'evict the runner',
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: RUNNERS } },
    });
    assert.deepEqual(
      (await Promise.all(probes)).map(({ status }) => status),
      [200, 200, 200, 200],
    );
    await eventually('the runner is gone', 100, async () =>
      (await c.kube.listAll(PODS, { namespace: RUNNERS })).items.every(({ metadata }) => metadata.name !== name),
    );
  });
});
