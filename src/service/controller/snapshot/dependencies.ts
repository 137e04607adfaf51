/** Checks whether the dependencies of the leader respond. */
import type { SnapshotDependency } from '../../../platform/bus/cluster_snapshot.ts';
import type { Bus } from '../../../platform/bus/connect.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import type { Reflector } from '../../../platform/kube/reflector.ts';
import { pause } from '../../../base/retry.ts';
import type { Store } from '../../../platform/store/store.ts';

const POSTGRES_MS = 500;
/** Servers send a bookmark every 45 to 75 s. */
const WATCH_SILENCE_MS = 100_000;

interface Deps {
  store: Pick<Store, 'healthy'>;
  bus: Pick<Bus, 'connected'>;
  jobs: Pick<Reflector<ProbeJob>, 'silentMs'>;
}

export async function lookAtDependencies({
  store,
  bus,
  jobs,
}: Deps): Promise<Record<SnapshotDependency['name'], boolean>> {
  const late = new AbortController();
  const postgres = await Promise.race([store.healthy(), pause(POSTGRES_MS, late.signal).then(() => false)]);
  late.abort();
  return { postgres, nats: bus.connected(), kubernetes: jobs.silentMs() < WATCH_SILENCE_MS };
}
