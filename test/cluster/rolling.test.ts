import assert from 'node:assert/strict';
import { PODS, PROBE_POOLS, PROBE_TOOLS, isKubeError } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import type { ProbePool } from '../../src/platform/kube/probe_pool.ts';
import type { ProbeTool } from '../../src/platform/kube/probe_tool.ts';
import { NAMESPACE, RUNNERS, cluster, eventually, type Cluster } from './fixture.ts';
import { steadyLoad, type Load } from './load.ts';

const POOL = 'short';
/** Not a number, so that any image of the tool passes its proof. */
const EXTRA = 'nightly';
const REMOVED = 'ffprobe-4.1';

const isAvailable = ({ status }: ProbeTool): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Available' && value === 'True') ?? false;
const isOk = (envelope: Record<string, unknown>): boolean =>
  (envelope['ffprobe'] as { success?: boolean } | undefined)?.success === true;

describe('changes of tools and pools under load', function () {
  this.timeout(180_000);
  let c: Cluster;
  let source: string;
  let token: string;
  let load: Load;
  let removed: ProbeTool;
  let poolBefore: ProbePool;

  const pool = (): Promise<ProbePool> => c.kube.get(PROBE_POOLS, POOL, { namespace: NAMESPACE });
  const ask = (version: string) => c.probe({ url: source, only: 'ffprobe', ffprobe: { version } }, { token });
  const deleteExtra = (): Promise<unknown> =>
    c.kube.delete(PROBE_TOOLS, `ffprobe-${EXTRA}`, { namespace: NAMESPACE }).catch((error: unknown) => {
      if (!isKubeError(error, 'not-found')) throw error;
    });

  /** The pool has another generation, its pods have it, and no pod of an older one is left. */
  async function rolledFrom(before: string | undefined): Promise<void> {
    const generation = await eventually('the pool names another generation', 60, async () => {
      const now = (await pool()).status?.generation;
      return now !== undefined && now !== before && now;
    });
    await eventually('only pods of it are left', 90, async () => {
      const { items } = await c.kube.listAll(PODS, { namespace: RUNNERS, labelSelector: `${LABEL.pool}=${POOL}` });
      const ready = items.filter(({ status }) =>
        status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
      );
      return (
        ready.length >= (poolBefore.spec.minReady ?? 0) &&
        items.every(({ metadata }) => metadata.labels?.[LABEL.generation] === generation)
      );
    });
  }

  before(async () => {
    c = await cluster();
    source = `${(await c.origin()).url}/tiny.mp4`;
    ({ token } = await c.newToken());
    await deleteExtra();
    removed = await c.kube.get(PROBE_TOOLS, REMOVED, { namespace: NAMESPACE });
    poolBefore = await pool();
    assert.equal((await c.probe({ url: source }, { token })).status, 200);
  });
  beforeEach(() => {
    load = steadyLoad(3, (caller) =>
      c.probe({ url: source, ffprobe: { version: ['latest', '5.1', '4.3'][caller] } }, { token }),
    );
  });
  afterEach(async function () {
    const wrong = await load.stop();
    assert.deepEqual(wrong, [], `${wrong.length} of ${load.answered} requests`);
    assert.ok(load.answered >= 10, `${load.answered} requests`);
    console.log(`        ${load.answered} requests were answered meanwhile`);
  });
  after(async () => {
    await deleteExtra();
    await c.kube.mergePatch(
      PROBE_POOLS,
      POOL,
      { spec: { resources: poolBefore.spec.resources ?? null } },
      { namespace: NAMESPACE },
    );
    await eventually('the pool is as it was', 90, async () => {
      const { status, metadata } = await pool();
      return (
        isAvailable(await c.kube.get(PROBE_TOOLS, REMOVED, { namespace: NAMESPACE })) &&
        status?.observedGeneration === metadata.generation &&
        status?.generation === poolBefore.status?.generation
      );
    });
    await c.close();
  });

  it('an added version is proven, reaches every warm pod, and runs', async () => {
    const before = (await pool()).status?.generation;
    const { spec } = await c.kube.get(PROBE_TOOLS, 'ffprobe-5.1', { namespace: NAMESPACE });
    await c.kube.create(PROBE_TOOLS, {
      metadata: { name: `ffprobe-${EXTRA}`, namespace: NAMESPACE },
      spec: { ...spec, version: EXTRA, latest: false },
    });
    await rolledFrom(before);
    const { status, json, text } = await ask(EXTRA);
    assert.equal(status, 200, text);
    assert.ok(isOk(json), text);
  });

  it('a removed version is refused with the available ones, and leaves the warm pods', async () => {
    const before = (await pool()).status?.generation;
    await deleteExtra();
    const refused = await eventually('it is refused', 15, async () => {
      const answer = await ask(EXTRA);
      return answer.status !== 200 && answer;
    });
    assert.equal(refused.status, 400, refused.text);
    // Refused by the API, or by the leader if the API has not seen the change yet.
    for (const words of [/"nightly" is not available/, /\b9\.0\b/, /\b4\.3\b/])
      assert.match(refused.json.error ?? '', words);
    await rolledFrom(before);
  });

  it('a version of the catalog that is deleted comes back, is proven anew, and runs', async () => {
    await c.kube.delete(PROBE_TOOLS, REMOVED, { namespace: NAMESPACE });
    await eventually('it is there again', 60, async () => {
      const now = await c.kube.get(PROBE_TOOLS, REMOVED, { namespace: NAMESPACE }).catch((error: unknown) => {
        if (!isKubeError(error, 'not-found')) throw error;
      });
      return now !== undefined && now.metadata.uid !== removed.metadata.uid && isAvailable(now);
    });
    await eventually(
      'the same tools are the same generation',
      60,
      async () => (await pool()).status?.generation === poolBefore.status?.generation,
    );
    const { status, json, text } = await ask('4.1');
    assert.equal(status, 200, text);
    assert.ok(isOk(json), text);
  });

  it('changed resources of a pool reach its pods', async () => {
    const before = (await pool()).status?.generation;
    await c.kube.mergePatch(
      PROBE_POOLS,
      POOL,
      { spec: { resources: { tools: { limits: { memory: '900Mi' } } } } },
      { namespace: NAMESPACE },
    );
    await rolledFrom(before);
    const { items } = await c.kube.listAll(PODS, { namespace: RUNNERS, labelSelector: `${LABEL.pool}=${POOL}` });
    for (const { spec } of items)
      assert.equal(spec?.containers.find(({ name }) => name === 'tools')?.resources?.limits?.['memory'], '900Mi');
  });
});
