import assert from 'node:assert/strict';
import { Registry } from 'prom-client';
import { connectionMetrics } from '../../src/platform/metrics/connections.ts';
import { oneLook, readAtScrape, readOne, type Sample } from '../../src/platform/metrics/read_at_scrape.ts';
import type { BusStatus } from '../../src/platform/bus/connect.ts';
import { until } from '../until.ts';

const seriesOf = async (registry: Registry): Promise<string[]> =>
  (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

describe('metrics: values read at a scrape', function () {
  this.timeout(30_000);
  it('a series disappears with what it describes', async () => {
    const registry = new Registry();
    let found: Sample[] = [
      { labels: { pool: 'short' }, value: 1 },
      { labels: { pool: 'long' }, value: 2 },
    ];
    readAtScrape(registry, { name: 'a', help: 'x', labelNames: ['pool'] }, () => found);
    assert.deepEqual(await seriesOf(registry), ['a{pool="short"} 1', 'a{pool="long"} 2']);
    found = [{ labels: { pool: 'long' }, value: 3 }];
    assert.deepEqual(await seriesOf(registry), ['a{pool="long"} 3']);
    found = [];
    assert.deepEqual(await seriesOf(registry), []);
  });

  it('an unknown value has no series, and is not 0', async () => {
    const registry = new Registry();
    let value: number | undefined;
    readOne(registry, 'a', 'x', () => value);
    assert.deepEqual(await seriesOf(registry), []);
    value = 0;
    assert.deepEqual(await seriesOf(registry), ['a 0']);
    value = undefined;
    assert.deepEqual(await seriesOf(registry), []);
  });

  it('a value that cannot be read costs no other', async () => {
    const registry = new Registry();
    readOne(registry, 'bad', 'x', () => Promise.reject(new Error('no')));
    readOne(registry, 'worse', 'x', () => {
      throw new Error('no');
    });
    readOne(registry, 'good', 'x', () => 7);
    assert.deepEqual(await seriesOf(registry), ['good 7']);
  });

  it('there is one look at a time, however many scrapes wait for it', async () => {
    let begun = 0;
    let answer = (_value: number): void => {};
    const look = oneLook(
      () =>
        new Promise<number>((resolve) => {
          begun += 1;
          answer = resolve;
        }),
      { everyMs: 0, waitMs: 20 },
    );
    assert.deepEqual(await Promise.all([look(), look(), look()]), [undefined, undefined, undefined]);
    assert.equal(await look(), undefined);
    assert.equal(begun, 1);
    answer(5);
    await until('the look has ended', async () => (await look()) === undefined && begun === 2);
    answer(6);
  });

  it('a look is repeated after its pause at the earliest, and its value stands meanwhile', async () => {
    let begun = 0;
    const look = oneLook(async () => (begun += 1), { everyMs: 60_000, waitMs: 1_000 });
    assert.deepEqual([await look(), await look(), await look()], [1, 1, 1]);
  });

  it('connections: an unreachable Postgres is 0, and a lost connection to NATS counts once', async () => {
    const registry = new Registry();
    let healthy: () => Promise<boolean> = async () => true;
    let connected = true;
    let become = (_status: BusStatus): void => {};
    connectionMetrics(registry, {
      store: { healthy: () => healthy(), connections: () => ({ total: 3, idle: 1, waiting: 4, max: 10 }) },
      bus: {
        connected: () => connected,
        onStatus: (callback) => {
          become = callback;
          return () => true;
        },
      },
    });
    const first = await seriesOf(registry);
    assert.deepEqual(first, [
      'probeyard_postgres_up 1',
      'probeyard_postgres_connections{state="used"} 2',
      'probeyard_postgres_connections{state="idle"} 1',
      'probeyard_postgres_connections_max 10',
      'probeyard_postgres_waiting 4',
      'probeyard_nats_connected 1',
      'probeyard_nats_disconnects_total 0',
    ]);
    healthy = () => new Promise(() => {});
    connected = false;
    become('disconnected');
    become('connected');
    await until('Postgres counts as away', async () => (await seriesOf(registry)).includes('probeyard_postgres_up 0'));
    const last = await seriesOf(registry);
    assert.ok(last.includes('probeyard_nats_connected 0'));
    assert.ok(last.includes('probeyard_nats_disconnects_total 1'));
  });
});
