/** What NATS and Postgres say of themselves, from real servers. */
import assert from 'node:assert/strict';
import { Registry } from 'prom-client';
import { connectBus, type Bus } from '../../src/platform/bus/connect.ts';
import { STREAM, SUBJECT } from '../../src/platform/bus/messages.ts';
import { managerOf } from '../../src/platform/bus/results.ts';
import { ensureStreams } from '../../src/platform/bus/streams.ts';
import { transportMetrics } from '../../src/service/controller/metrics.ts';
import { startNats, type NatsServer } from '../servers.ts';
import { startStore, type StoreFixture } from '../store/fixture.ts';

describe('metrics of the streams and the database', function () {
  this.timeout(60_000);
  let nats: NatsServer;
  let stored: StoreFixture;
  let bus: Bus;
  before(async () => {
    [nats, stored] = await Promise.all([startNats({ jetstream: true }), startStore()]);
    bus = await connectBus({ url: nats.url, name: 'test', inboxPrefix: '_INBOX_controller' });
  });
  after(async () => {
    await bus.drain();
    await Promise.all([nats.stop(), stored.close()]);
  });

  const read = async (): Promise<Map<string, number>> => {
    const registry = new Registry();
    transportMetrics(registry, bus, stored.store);
    const text = await registry.metrics();
    return new Map([...text.matchAll(/^(probeyard_\S+) (\S+)$/gm)].map(([, name, value]) => [name!, Number(value)]));
  };

  it('before the streams exist there are no series of them, and the size of the database is known', async () => {
    const found = await read();
    assert.deepEqual([...found.keys()], ['probeyard_postgres_database_bytes']);
    assert.ok(found.get('probeyard_postgres_database_bytes')! > 1_000_000);
  });

  it('counts what waits in each stream, against what it may hold', async () => {
    await ensureStreams(await managerOf(bus));
    await bus.js.publish(SUBJECT.result('a-pod'), 'x'.repeat(1_000));
    const found = await read();
    assert.equal(found.get('probeyard_stream_messages{stream="results"}'), 1);
    assert.equal(found.get('probeyard_stream_messages{stream="chunks"}'), 0);
    assert.ok(found.get('probeyard_stream_bytes{stream="results"}')! >= 1_000);
    const { config } = await (await managerOf(bus)).streams.info(STREAM.results);
    assert.equal(found.get('probeyard_stream_limit_bytes{stream="results"}'), config.max_bytes);
    assert.equal(found.get('probeyard_stream_replicas{stream="results"}'), 1);
    assert.equal(found.get('probeyard_stream_lagging_replicas{stream="results"}'), 0);
  });
});
