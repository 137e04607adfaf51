/** The pool under measurement, which is changed for a while and restored. */
import { PODS, PROBE_POOLS, type Pod } from '../../src/platform/kube/client.ts';
import type { ProbePool } from '../../src/platform/kube/probe_pool.ts';
import { NAMESPACE, RUNNERS, eventually, type Cluster } from '../../test/cluster/fixture.ts';

const POOL = 'short';

const readPool = (c: Cluster): Promise<ProbePool> => c.kube.get(PROBE_POOLS, POOL, { namespace: NAMESPACE });

export async function runnerPods(c: Cluster): Promise<Pod[]> {
  const { items } = await c.kube.listAll(PODS, {
    namespace: RUNNERS,
    labelSelector: `app.kubernetes.io/component=runner,probeyard.dev/pool=${POOL}`,
  });
  return items;
}

/** Restores every field of the change to its former value, or removes it if there was none. */
function undo(
  spec: Readonly<Record<string, unknown>>,
  change: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(change).map(([name, value]) => {
      const was = spec[name];
      return [
        name,
        value !== null && typeof value === 'object' && was !== null && typeof was === 'object'
          ? undo(was as Record<string, unknown>, value as Record<string, unknown>)
          : (was ?? null),
      ];
    }),
  );
}

export async function withPool<T>(c: Cluster, change: Record<string, unknown>, work: () => Promise<T>): Promise<T> {
  const before = await readPool(c);
  const back = undo(before.spec as unknown as Record<string, unknown>, change);
  await c.kube.mergePatch(PROBE_POOLS, POOL, { spec: change }, { namespace: NAMESPACE });
  try {
    return await work();
  } finally {
    await c.kube.mergePatch(PROBE_POOLS, POOL, { spec: back }, { namespace: NAMESPACE });
  }
}

export async function empty(c: Cluster): Promise<void> {
  await c.kubectl(
    '-n',
    RUNNERS,
    'delete',
    'pods',
    '-l',
    `app.kubernetes.io/component=runner,probeyard.dev/pool=${POOL}`,
    '--grace-period=1',
    '--wait=true',
  );
  await eventually('no runner of the pool is left', 60, async () => (await runnerPods(c)).length === 0);
}

/** Waits for the current generation of the pool, because a change of its pods rolls them. */
export async function ready(c: Cluster, count: number): Promise<void> {
  await eventually(`${count} runners are ready`, 180, async () => {
    const { metadata, status } = await readPool(c);
    return (
      status?.observedGeneration === metadata.generation &&
      (status?.ready ?? 0) >= count &&
      (status?.starting ?? 0) === 0
    );
  });
}
