/** `GET cluster`: state of the cluster, as last reported by its leader. */
import Type from 'typebox';
import { oneRun } from '../../../base/turns.ts';
import { ClusterSnapshot, SNAPSHOT_EVERY_MS, SNAPSHOT_STALE_MS } from '../../../platform/bus/cluster_snapshot.ts';
import type { Bus } from '../../../platform/bus/connect.ts';
import { SUBJECT } from '../../../platform/bus/messages.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { endpoint } from '../http/endpoint.ts';

const ANSWER_MS = 1_500;

/** The newest snapshot of the cluster, which the leader creates on request. */
export function newestSnapshot({ bus, store, log }: { bus: Pick<Bus, 'request'> } & Pick<Deps, 'store' | 'log'>) {
  let newest: ClusterSnapshot | undefined;
  const ageOf = ({ at }: ClusterSnapshot): number => Math.max(0, store.clock.now() - Date.parse(at));

  const ask = oneRun(async () => {
    try {
      newest = await bus.request<ClusterSnapshot>(SUBJECT.cluster, {}, ANSWER_MS);
    } catch (error) {
      log.debug({ err: error }, 'no cluster snapshot from the leader');
    }
  });

  return {
    /** Undefined: no leader has answered this replica yet. The age is by the clock of Postgres. */
    async read() {
      if (!newest || ageOf(newest) >= SNAPSHOT_EVERY_MS) await ask();
      return newest && { snapshot: newest, ageMs: ageOf(newest) };
    },
  };
}

const RETRY_AFTER_S = 2;

export const readCluster = endpoint('GET cluster', {
  id: 'readCluster',
  summary: 'What the cluster is doing',
  description:
    'Pools, runners, the queue by account, tool versions and recent faults. The leader makes it when it is asked, ' +
    'at most once a second. It names accounts by the id of their root user, and no source. Each list has a bound; ' +
    '`left-out` counts what did not fit.',
  answer: {
    description: 'The newest snapshot, and its age.',
    schema: Type.Object(
      {
        'age-ms': Type.Integer({ minimum: 0, description: 'How long ago the leader made it.' }),
        stale: Type.Boolean({ description: 'Older than 10 s: there is no leader, or NATS is unreachable.' }),
        ...ClusterSnapshot.properties,
      },
      { title: 'ClusterState' },
    ),
  },
  errors: { 503: 'No leader has answered this replica yet.' },
  async work({ cluster }) {
    const newest = await cluster.read();
    if (!newest)
      throw new ApiError('unavailable', {
        text: 'the leader has not sent a cluster snapshot yet; try again',
        retryAfterS: RETRY_AFTER_S,
      });
    const { snapshot, ageMs } = newest;
    return { 'age-ms': Math.floor(ageMs), stale: ageMs > SNAPSHOT_STALE_MS, ...snapshot };
  },
});
