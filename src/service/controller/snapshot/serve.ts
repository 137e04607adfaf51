/** Responds to the API with a cluster snapshot: created only on request, at most once per second. */
import { SNAPSHOT_EVERY_MS, type ClusterSnapshot } from '../../../platform/bus/cluster_snapshot.ts';
import type { Bus, Subscribed } from '../../../platform/bus/connect.ts';
import { SUBJECT } from '../../../platform/bus/messages.ts';
import type { Recent } from './recent.ts';

export interface ServeDeps {
  bus: Bus;
  recent: Recent;
  build: () => ClusterSnapshot;
  /** Whether each dependency of the leader responds. */
  look: () => Promise<Parameters<Recent['looked']>[0]>;
  stillLeading: () => boolean;
}

export function serveSnapshots({ bus, recent, build, look, stillLeading }: ServeDeps): Subscribed {
  let last: { made: Promise<ClusterSnapshot>; at: number } | undefined;

  async function make(): Promise<ClusterSnapshot> {
    recent.looked(await look());
    return build();
  }

  return bus.serve<unknown, ClusterSnapshot>(SUBJECT.cluster, () => {
    if (!stillLeading()) return undefined;
    const now = performance.now();
    if (!last || now - last.at >= SNAPSHOT_EVERY_MS) last = { made: make(), at: now };
    return last.made;
  });
}
