import assert from 'node:assert/strict';
import pg from 'pg';
import { MOST_OF_CHUNK } from '../../src/base/limits.ts';
import { startClock } from '../../src/platform/store/clock.ts';
import {
  chunkFrom,
  chunkOf,
  isUuid,
  placeInChunk,
  requestOfChunk,
  timeOf,
  uuidv7,
} from '../../src/platform/store/uuid.ts';
import { aCloseInput, anOpenInput, type StoreFixture, startStore } from './fixture.ts';

describe('store: request ids', () => {
  it('carry their time, to the millisecond', () => {
    for (const time of [0, 1, 1_790_000_000_123, 2 ** 48 - 1]) assert.equal(timeOf(uuidv7(time))?.getTime(), time);
  });

  it('are UUIDs of version 7 and variant 10, ordered by time, and unique', () => {
    const ids = Array.from({ length: 1000 }, (_, index) => uuidv7(1_790_000_000_000 + index));
    for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.deepEqual([...ids].sort(), ids);
    assert.equal(new Set(Array.from({ length: 1000 }, () => uuidv7(5))).size, 1000);
  });

  it('of a chunk differ in the last byte, and are those of no other request', () => {
    const chunk = chunkFrom(uuidv7(1_790_000_000_000));
    const ids = Array.from({ length: MOST_OF_CHUNK }, (_, at) => requestOfChunk(chunk, at + 1));
    assert.equal(new Set(ids).size, MOST_OF_CHUNK);
    assert.deepEqual([...ids].sort(), ids);
    for (const [at, id] of ids.entries()) {
      assert.deepEqual([chunkOf(id), placeInChunk(id)], [chunk, at + 1]);
      assert.equal(timeOf(id)?.getTime(), 1_790_000_000_000);
    }
    for (let n = 0; n < 1000; n++) assert.equal(chunkOf(uuidv7(5)), undefined);
    assert.equal(chunkOf('9b2f5a4e-6f0c-4d0e-8a53-0f6a4a3c2b1d'), undefined);
  });

  const others = [
    '9b2f5a4e-6f0c-4d0e-8a53-0f6a4a3c2b1d',
    '',
    'x',
    '0190163d-8694-739b-aea5-966c26f8ad9',
    '0190163d-8694-739b-aea5-966c26f8ad91x',
  ];
  for (const id of others) it(`no time in "${id}"`, () => assert.equal(timeOf(id), null));
  it('recognises UUIDs', () => assert.deepEqual([isUuid(others[0] ?? ''), isUuid('x')], [true, false]));
});

describe('store: clock', () => {
  it('uses the sample with the shortest round trip', async () => {
    let monotonic = 1_000;
    const roundTrips = [80, 10, 200];
    // A store whose clock is 500,000 ahead of ours, with responses of different delay.
    const clock = await startClock(
      async () => {
        const roundTrip = roundTrips.shift() ?? 0;
        const time = monotonic + 500_000 + roundTrip * 0.9;
        monotonic += roundTrip;
        return time;
      },
      { samples: 3, monotonic: () => monotonic },
    );
    clock.stop();
    assert.equal(clock.uncertaintyMs(), 5);
    assert.ok(Math.abs(clock.now() - (monotonic + 500_000)) <= 5);
    monotonic += 1234;
    assert.ok(Math.abs(clock.now() - (monotonic + 500_000)) <= 5);
  });

  it('keeps its offset when a refresh fails', async () => {
    let fail = false;
    const clock = await startClock(
      async () => {
        if (fail) throw new Error('no answer');
        return 42_000;
      },
      { monotonic: () => 0 },
    );
    clock.stop();
    fail = true;
    await assert.rejects(clock.refresh());
    assert.equal(clock.now(), 42_000);
  });
});

describe('store: time and partitions in Postgres', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  before(async () => {
    fixture = await startStore();
  });
  after(() => fixture.close());

  it("the store's clock is that of Postgres", async () => {
    const before = fixture.store.clock.now();
    const [row] = await fixture.sql<{ ms: number }>('select (extract(epoch from clock_timestamp()) * 1000)::float8 ms');
    const after = fixture.store.clock.now();
    const slack = fixture.store.clock.uncertaintyMs() + 1;
    assert.ok(row && row.ms >= before - slack && row.ms <= after + slack, `${before} ${row?.ms} ${after}`);
  });

  it('this month, the last and the next two have partitions, of results two weeks of days', async () => {
    const parts = (table: string) =>
      fixture.sql<{ days: number }>(`select extract(day from ends - starts)::integer days from time_parts('${table}')`);
    for (const table of ['requests', 'rollup_minute', 'batch_items'])
      assert.deepEqual(
        (await parts(table)).map(({ days }) => days >= 28),
        [true, true, true, true],
        table,
      );
    assert.deepEqual(
      (await parts('envelopes')).map(({ days }) => days),
      Array.from({ length: 16 }, () => 1),
    );
    assert.equal(await fixture.store.ensurePartitions(), 0);
  });

  it('accepts a request of any time, and moves its rows when the partition of its month is created', async () => {
    const open = anOpenInput(fixture.store, {
      id: '9b2f5a4e-6f0c-4d0e-8a53-0f6a4a3c2b1d',
      submittedAt: new Date(
        Date.UTC(
          new Date(fixture.store.clock.now()).getUTCFullYear(),
          new Date(fixture.store.clock.now()).getUTCMonth() + 3,
          15,
        ),
      ),
    });
    await fixture.store.openRequest(open);
    await fixture.store.closeRequest(aCloseInput(open, { startedAt: open.submittedAt }));
    const where = () =>
      fixture.sql<{ r: string; e: string }>(
        'select (select tableoid::regclass::text from requests where id = $1) r, ' +
          '(select tableoid::regclass::text from envelopes where id = $1) e',
        [open.id],
      );
    assert.deepEqual(await where(), [{ r: 'requests_default', e: 'envelopes_default' }]);
    const day = open.submittedAt.toISOString().slice(0, 10).replaceAll('-', '');
    await fixture.sql('select ensure_partitions(20)');
    assert.deepEqual(await where(), [{ r: `requests_${day.slice(0, 6)}`, e: `envelopes_${day}` }]);
    assert.equal((await fixture.store.readRequest(open.id))?.state, 'success');
  });

  it('while a backup reads everything, partitions are made later, and no request waits for long', async () => {
    const reader = new pg.Client({ connectionString: fixture.server.url });
    await reader.connect();
    await reader.query('begin; lock table envelopes, envelopes_default, requests_default in access share mode');
    const made = async () =>
      (await fixture.sql<{ made: number }>('select ensure_partitions(22) made'))[0]?.made ?? Number.NaN;
    const [blocked] = await Promise.all([
      made(),
      (async () => {
        const open = anOpenInput(fixture.store);
        await fixture.store.openRequest(open);
        assert.equal((await fixture.store.closeRequest(aCloseInput(open))).closed, true);
      })(),
    ]);
    assert.equal(blocked, 0);
    await reader.query('commit');
    await reader.end();
    assert.equal(await made(), 2 + 2 + 2 + 14);
  });

  it('a read by id touches one partition only', async () => {
    const { id, submittedAt } = fixture.store.newRequest();
    const plan = await fixture.sql<Record<string, string>>(
      `explain select * from requests where id = '${id}' and submitted_at = '${submittedAt.toISOString()}'`,
    );
    const text = plan.map((row) => row['QUERY PLAN']).join('\n');
    // The planner may choose any of the partition's indexes that start with these two columns.
    assert.match(text, /Index Scan using requests_\d{6}_\w+ on requests_\d{6} /);
    assert.doesNotMatch(text, /Append/);
  });

  it('bodies are stored uncompressed by Postgres: the column is external in every partition', async () => {
    assert.deepEqual(
      await fixture.sql(
        'select distinct attstorage from pg_attribute a join pg_class c on c.oid = a.attrelid where ' +
          `attname = 'body' and relname like 'envelopes%' and relkind in ('r', 'p')`,
      ),
      [{ attstorage: 'e' }],
    );
  });
});
