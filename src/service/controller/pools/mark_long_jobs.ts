/** Writes to runner pods whether they may be evicted. */
import { PODS, isKubeError } from '../../../platform/kube/client.ts';
import { runnerFields } from '../../../base/log.ts';
import { holdPatch, type Change, type Seen } from './evictions.ts';
import { now, type PoolsState } from './pools_state.ts';
import { drainSeconds, holdsNodes } from './runner_settings.ts';

export async function markLongJobs(pools: PoolsState): Promise<void> {
  const { kube, config, log, runners, stillLeading } = pools.deps;
  if (!stillLeading() || pools.marking) return;
  const holdMs = ({ pool: name }: Seen): number => {
    const pool = pools.byName.get(name)?.pool;
    return pool !== undefined && holdsNodes(pool.spec) ? drainSeconds(pool.spec) * 1_000 : 0;
  };
  const mark = async (change: Change): Promise<void> => {
    try {
      await kube.mergePatch(PODS, change.pod, holdPatch(change), {
        namespace: config.runnerNamespace,
        deadlineMs: 5_000,
      });
      pools.evictions.seen(change.uid, change.hold);
    } catch (error) {
      // Gone, or another pod by now.
      if (isKubeError(error, 'not-found', 'conflict', 'invalid')) return;
      log.debug({ err: error, ...runnerFields(change) }, 'cannot mark the long job of a runner, will retry');
    }
  };
  pools.marking = true;
  await Promise.all(pools.evictions.due(runners.all(), holdMs, now()).map(mark));
  pools.marking = false;
}
