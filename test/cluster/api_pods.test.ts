import assert from 'node:assert/strict';
import { PODS, type Pod } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { NAMESPACE, cluster, eventually, type Cluster } from './fixture.ts';
import { steadyLoad } from './load.ts';

describe('API replicas that are replaced under load', function () {
  this.timeout(180_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c.close());

  const isReady = ({ metadata, status }: Pod): boolean =>
    metadata.deletionTimestamp === undefined &&
    (status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false);
  const replicas = async () =>
    (await c.kube.listAll(PODS, { namespace: NAMESPACE, labelSelector: `${LABEL.component}=api` })).items;

  it('each is deleted in turn, and every caller gets 200', async () => {
    const origin = await c.origin();
    const { token } = await c.newToken();
    const before = await replicas();
    assert.ok(before.length >= 2, 'more than one replica');
    const load = steadyLoad(4, () => c.probe({ url: `${origin.url}/tiny.mp4` }, { token }));
    try {
      for (const { metadata } of before) {
        const answered = load.answered;
        await c.kube.delete(PODS, metadata.name, {
          namespace: NAMESPACE,
          ...(metadata.uid ? { uid: metadata.uid } : {}),
        });
        await eventually('it is gone, and as many are ready as before', 60, async () => {
          const now = await replicas();
          return (
            now.every(({ metadata: { uid } }) => uid !== metadata.uid) && now.filter(isReady).length === before.length
          );
        });
        await eventually('the load goes on', 30, () => load.answered > answered + 4);
      }
    } finally {
      const wrong = await load.stop();
      assert.deepEqual(wrong, [], `of ${load.answered} requests`);
    }
    console.log(`        ${load.answered} requests were answered meanwhile`);
  });

  it('a request that waits on a terminating replica gets its response from it', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const origin = await c.origin(async (_request, response) => {
      await held;
      response.writeHead(404).end();
    });
    const { token } = await c.newToken();
    const before = await replicas();
    const pending = Promise.all(
      before.map((_, number) => c.probe({ url: `${origin.url}/slow-${number}.mp4` }, { token })),
    );
    await eventually('they run', 60, () => new Set(origin.requests.map(({ path }) => path)).size === before.length);
    for (const { metadata } of before) await c.kube.delete(PODS, metadata.name, { namespace: NAMESPACE });
    await eventually(
      'others are ready in their place',
      60,
      async () => (await replicas()).filter(isReady).length >= before.length,
    );
    release();
    assert.deepEqual(
      (await pending).map(({ status }) => status),
      before.map(() => 404),
    );
    await eventually('the old ones end once they have answered', 30, async () =>
      (await replicas()).every(({ metadata: { deletionTimestamp } }) => deletionTimestamp === undefined),
    );
  });
});
