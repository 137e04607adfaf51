/** Metrics of a process's connections to Postgres and NATS: the same in every role that has them. */
import { Counter, type Registry } from 'prom-client';
import type { Bus } from '../bus/connect.ts';
import type { Store } from '../store/store.ts';
import { oneLook, readAtScrape, readOne } from './read_at_scrape.ts';

export interface Connections {
  store: Pick<Store, 'healthy' | 'connections'>;
  bus: Pick<Bus, 'connected' | 'onStatus'>;
}

/** Postgres answers in a millisecond; later is as good as not at all. */
const POSTGRES = { everyMs: 1_000, waitMs: 500 };

export function connectionMetrics(registry: Registry, { store, bus }: Connections): void {
  const healthy = oneLook(() => store.healthy(), POSTGRES);
  readOne(registry, 'probeyard_postgres_up', '1 if Postgres answers this process within half a second', async () =>
    (await healthy()) === true ? 1 : 0,
  );
  readAtScrape(
    registry,
    {
      name: 'probeyard_postgres_connections',
      help: "Connections of this process's pool to Postgres",
      labelNames: ['state'],
    },
    () => {
      const { total, idle } = store.connections();
      return [
        { labels: { state: 'used' }, value: total - idle },
        { labels: { state: 'idle' }, value: idle },
      ];
    },
  );
  readOne(
    registry,
    'probeyard_postgres_connections_max',
    'Size of the pool of this process',
    () => store.connections().max,
  );
  readOne(
    registry,
    'probeyard_postgres_waiting',
    'Queries that wait for a connection of the pool',
    () => store.connections().waiting,
  );
  readOne(registry, 'probeyard_nats_connected', '1 while this process is connected to NATS', () =>
    bus.connected() ? 1 : 0,
  );
  const lost = new Counter({
    name: 'probeyard_nats_disconnects_total',
    help: 'Lost connections to NATS',
    registers: [registry],
  });
  bus.onStatus((status) => {
    if (status === 'disconnected') lost.inc();
  });
}
