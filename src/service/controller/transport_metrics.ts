/** What only the servers know: how full the streams are, which replicas of them lag, and the size of the database. */
import type { Registry } from 'prom-client';
import type { Bus } from '../../platform/bus/connect.ts';
import { STREAM } from '../../platform/bus/messages.ts';
import { managerOf } from '../../platform/bus/results.ts';
import { oneLook, readAtScrape, readOne, type Sample } from '../../platform/metrics/read_at_scrape.ts';
import type { Store } from '../../platform/store/store.ts';

const STREAMS = { everyMs: 5_000, waitMs: 500 };
/** Postgres reads the size of every file for it. */
const SIZE = { everyMs: 5 * 60_000, waitMs: 500 };

type StreamFigures = Awaited<ReturnType<typeof lookAt>>;

async function lookAt(bus: Bus, name: string, stream: string) {
  const { config, state, cluster } = await (await managerOf(bus)).streams.info(name);
  return {
    stream,
    messages: state.messages,
    bytes: state.bytes,
    limit: config.max_bytes,
    replicas: config.num_replicas,
    lagging: (cluster?.replicas ?? []).filter(({ current, offline }) => !current || offline === true).length,
  };
}

export function transportMetrics(registry: Registry, bus: Bus, store: Pick<Store, 'databaseBytes'>): void {
  const look = oneLook(
    () => Promise.all([lookAt(bus, STREAM.results, 'results'), lookAt(bus, STREAM.chunks, 'chunks')]),
    STREAMS,
  );
  const read = (name: string, help: string, value: (figures: StreamFigures) => number): void =>
    readAtScrape(registry, { name, help, labelNames: ['stream'] }, async () =>
      ((await look()) ?? []).map((figures): Sample => ({ labels: { stream: figures.stream }, value: value(figures) })),
    );
  read(
    'probeyard_stream_messages',
    'Messages in the stream: results that wait for a collector, or their chunks',
    (of) => of.messages,
  );
  read('probeyard_stream_bytes', 'Bytes in the stream', ({ bytes }) => bytes);
  read(
    'probeyard_stream_limit_bytes',
    'Bytes that the stream may hold; a full one refuses results',
    ({ limit }) => limit,
  );
  read('probeyard_stream_replicas', 'Copies of the stream that are configured', ({ replicas }) => replicas);
  read(
    'probeyard_stream_lagging_replicas',
    "Copies of the stream beside the leader's that are offline or behind",
    ({ lagging }) => lagging,
  );
  const size = oneLook(() => store.databaseBytes(), SIZE);
  readOne(registry, 'probeyard_postgres_database_bytes', 'Size of the database, read every five minutes', size);
}
