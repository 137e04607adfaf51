/** The newest snapshot of the cluster, which the leader creates on request. */
import { SNAPSHOT_EVERY_MS, type ClusterSnapshot } from '../../../platform/bus/cluster_snapshot.ts';
import type { Bus } from '../../../platform/bus/connect.ts';
import { SUBJECT } from '../../../platform/bus/messages.ts';
import type { Logger } from '../../../base/log.ts';
import type { Store } from '../../../platform/store/store.ts';

/** During an upgrade the leader may be of a release that had no terms in its snapshot. */
type FromAnyRelease = Omit<ClusterSnapshot, 'terms'> & Partial<Pick<ClusterSnapshot, 'terms'>>;

const ANSWER_MS = 1_500;

export interface NewestSnapshot {
  /** Undefined: no leader has answered this replica yet. */
  read(): Promise<{ snapshot: ClusterSnapshot; ageMs: number } | undefined>;
  /** By the clock of Postgres. */
  ageMs(): number | undefined;
}

interface NewestDeps {
  bus: Pick<Bus, 'request'>;
  store: Pick<Store, 'clock'>;
  log: Logger;
}

export function newestSnapshot({ bus, store, log }: NewestDeps): NewestSnapshot {
  let newest: ClusterSnapshot | undefined;
  let asking: Promise<void> | undefined;

  const ageMs = (): number | undefined => newest && Math.max(0, store.clock.now() - Date.parse(newest.at));

  /** Concurrent readers share one request. */
  const ask = (): Promise<void> =>
    (asking ??= bus
      .request<FromAnyRelease>(SUBJECT.cluster, {}, ANSWER_MS)
      .then(
        (snapshot) => {
          newest = { ...snapshot, terms: snapshot.terms ?? [] };
        },
        (error: unknown) => log.debug({ err: error }, 'no cluster snapshot from the leader'),
      )
      .finally(() => {
        asking = undefined;
      }));

  return {
    ageMs,
    async read() {
      if ((ageMs() ?? Infinity) >= SNAPSHOT_EVERY_MS) await ask();
      return newest && { snapshot: newest, ageMs: ageMs() ?? 0 };
    },
  };
}
