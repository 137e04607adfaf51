/** Responds to the API with a cluster snapshot: created only on request, at most once per second. */
import { SNAPSHOT_EVERY_MS, type ClusterSnapshot } from '../../../platform/bus/cluster_snapshot.ts';
import type { Bus, Subscribed } from '../../../platform/bus/connect.ts';
import { SUBJECT } from '../../../platform/bus/messages.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import type { Reflector } from '../../../platform/kube/reflector.ts';
import { pause } from '../../../base/retry.ts';
import type { Store } from '../../../platform/store/store.ts';
import type { Recent } from './recent.ts';

const POSTGRES_MS = 500;
/** Servers send a bookmark every 45 to 75 s. */
const WATCH_SILENCE_MS = 100_000;

interface ServeDeps {
  store: Pick<Store, 'healthy'>;
  bus: Bus;
  jobs: Pick<Reflector<ProbeJob>, 'silentMs'>;
  recent: Recent;
  build: () => ClusterSnapshot;
  stillLeading: () => boolean;
}

/** Whether each dependency of the leader responds. */
async function lookAtDependencies({ store, bus, jobs }: ServeDeps): Promise<Parameters<Recent['looked']>[0]> {
  const late = new AbortController();
  const postgres = await Promise.race([store.healthy(), pause(POSTGRES_MS, late.signal).then(() => false)]);
  late.abort();
  return { postgres, nats: bus.connected(), kubernetes: jobs.silentMs() < WATCH_SILENCE_MS };
}

export function serveSnapshots(deps: ServeDeps): Subscribed {
  let last: { made: Promise<ClusterSnapshot>; at: number } | undefined;

  async function make(): Promise<ClusterSnapshot> {
    deps.recent.looked(await lookAtDependencies(deps));
    return deps.build();
  }

  return deps.bus.serve<unknown, ClusterSnapshot>(SUBJECT.cluster, () => {
    if (!deps.stillLeading()) return undefined;
    const now = performance.now();
    if (!last || now - last.at >= SNAPSHOT_EVERY_MS) last = { made: make(), at: now };
    return last.made;
  });
}
