import assert from 'node:assert/strict';
import pg from 'pg';
import { AGGREGATIONS, rangeProblem } from '../../src/platform/statistics/aggregation.ts';
import { NAMES, type Statistic } from '../../src/platform/statistics/resources.ts';
import { openStore, type Store } from '../../src/platform/store/store.ts';
import { uuidv7 } from '../../src/platform/store/uuid.ts';
import { aCloseInput, anOpenInput, type StoreFixture, startStore } from './fixture.ts';
import { assertEqualsRecount } from './recount.ts';

const STATISTICS = Object.keys(NAMES) as Statistic[];
const SECOND = 1_000;
const DAY = 86_400_000;
const USERS = [701, 702];
const SCHEMES = ['hls', 'dash', 'http', 'https', 's3', 'ftp', 'rtmp', 'rtsp', 'srt'];
const KINDS = ['file', 'msv', 'c2pa', 'compare'] as const;
const ENDS = [
  ['success', 200, 'Completed'],
  ['with-errors', 200, 'Completed'],
  ['error', 429, 'QueueTimeout'],
  ['error', 404, 'OriginUnreachable'],
] as const;

/** Repeatable: the same pseudo-random numbers in every run. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

describe('store: figures equal a recount of the requests', function () {
  this.timeout(120_000);
  let fixture: StoreFixture;
  let store: Store;
  let other: Store;
  let client: pg.Client;

  before(async () => {
    fixture = await startStore({ alone: true });
    store = fixture.store;
    // A session of the controllers' role, as their other replica has: the session of a superuser could not be
    // terminated.
    other = await openStore({ url: fixture.urls.controller, retryMs: 20_000 });
    client = new pg.Client({ connectionString: fixture.server.url });
    await client.connect();
  });
  after(async () => {
    await client.end();
    await other.close();
    await fixture.close();
  });

  async function record(at: Store, time: number, throwDice: (sides: number) => number): Promise<void> {
    const user = USERS[throwDice(USERS.length)] ?? 701;
    const open = anOpenInput(at, {
      id: uuidv7(time),
      submittedAt: new Date(time),
      userId: user,
      tokenId: user * 10 + throwDice(2),
      kind: KINDS[throwDice(4)] ?? 'file',
      scheme: SCHEMES[throwDice(9)] ?? 'https',
    });
    await at.openRequest(open);
    const [state, status, reason] = ENDS[throwDice(4)] ?? ENDS[0];
    const queued = Math.round(2 ** throwDice(18)) - 1;
    await at.closeRequest(
      aCloseInput(open, {
        state,
        status,
        reason,
        ioBytes: throwDice(1_000_000),
        decodedSeconds: throwDice(3) * 100,
        body: null,
        startedAt: new Date(time + queued),
      }),
    );
  }

  const RANGES = (now: number): [Date, Date][] =>
    [
      // Whole; cut at both ends within a minute; within one minute; within an hour; from the middle of one day to the
      // middle of another.
      [now - 3 * DAY, now + DAY],
      [now - 2 * DAY + 1234, now - 77_777],
      [now - 59_000, now - 58_000],
      [now - 3_599_000, now - 1_000],
      [now - 1.5 * DAY - 1, now - 0.3 * DAY],
      [now - 100 * DAY, now],
      [now, now - 0],
      [now - 800 * DAY + 5, now - 0.5 * DAY + 5],
    ].map(([from, to]) => [new Date(from!), new Date(to!)]);

  async function compareAll(now: number): Promise<number> {
    let buckets = 0;
    for (const [from, to] of RANGES(now)) {
      for (const aggregation of AGGREGATIONS) {
        if (rangeProblem(aggregation, { from, to })) continue;
        for (const statistic of STATISTICS) {
          buckets += await assertEqualsRecount(store, client, { statistic, aggregation, from, to, userIds: USERS });
          buckets += await assertEqualsRecount(store, client, {
            statistic,
            aggregation,
            from,
            to,
            userIds: [701],
            tokenIds: [7010],
          });
        }
      }
      const { total } = await store.listLog({
        filter: {
          owners: { userIds: 'everyone', tokenIds: null },
          period: { from, to },
          type: ['file', 'c2pa'],
          status: ['success', 'error'],
        },
        sort: { field: 'send', order: 'desc' },
        offset: 0,
        limit: 1,
      });
      const { rows } = await client.query(
        `select count(*)::integer n from requests where kind in ('file', 'c2pa') and state ` +
          `in ('success', 'error') and submitted_at >= $1 and submitted_at < $2`,
        [from, to],
      );
      assert.deepEqual([{ n: total }], rows);
    }
    return buckets;
  }

  it('for every range and aggregation: not folded, partly folded, fully folded, folded again', async () => {
    const throwDice = dice(7);
    const now = Math.floor(store.clock.now());
    const times = Array.from(
      { length: 240 },
      (_, index) =>
        now -
        (index % 4 === 0
          ? throwDice(60 * SECOND)
          : index % 4 === 1
            ? throwDice(3_600 * SECOND)
            : index % 4 === 2
              ? throwDice(2 * DAY)
              : throwDice(900) * DAY + throwDice(DAY)),
    );
    await Promise.all(times.slice(0, 120).map((time) => record(store, time, throwDice)));
    assert.ok((await compareAll(now)) > 500);
    assert.ok((await store.foldUsage()) > 50);
    assert.ok((await compareAll(now)) > 500);
    await Promise.all(times.slice(120).map((time) => record(other, time, throwDice)));
    assert.ok((await compareAll(now)) > 1000);
    // Everything, even the minute that still goes on: later ends of that minute are added to it.
    await store.foldUsage({ restSeconds: -3_600 });
    assert.deepEqual(await fixture.sql('select count(*)::integer n from usage_minute'), [{ n: 0 }]);
    assert.ok((await compareAll(now)) > 1000);
    await Promise.all(times.slice(60, 120).map((time) => record(store, time, throwDice)));
    assert.ok((await compareAll(now)) > 1000);
    await store.foldUsage({ restSeconds: -3_600 });
    assert.ok((await compareAll(now)) > 1000);
  });

  it('at every moment while requests end, two replicas fold and connections are terminated', async () => {
    const throwDice = dice(99);
    const working = { on: true };
    let killed = 0;
    let looks = 0;
    const folds = { ended: 0 };
    const fold = async (one: typeof store) => {
      await one.foldUsage({ restSeconds: -60 });
      folds.ended++;
    };
    const background = async (work: () => Promise<unknown>) => {
      while (working.on) await work();
    };
    const workers = Array.from({ length: 8 }, async (_, index) => {
      for (let round = 0; round < 60; round++)
        await record(index % 2 ? store : other, Math.floor(store.clock.now()) - throwDice(120) * SECOND, throwDice);
    });
    const others = [
      background(() => fold(store)),
      background(() => fold(other)),
      background(async () => {
        const before = folds.ended;
        const { rowCount } = await client.query(
          'select pg_terminate_backend(pid) from (select pid from pg_stat_activity where ' +
            `application_name = 'probeyard' order by random() limit 2) s`,
        );
        killed += rowCount ?? 0;
        // A fold that is tried again is not hit each time, however slow the machine is.
        do await new Promise((resolve) => setTimeout(resolve, 30));
        while (folds.ended === before && working.on);
      }),
      // One statement sees one state of the record, so both counts in it must agree at any time.
      background(async () => {
        const [row] = await fixture.sql<
          Record<string, number>
        >(`select (select count(*) from requests where state <> 'open')::integer counted,
          (select coalesce(sum(requests), 0) from rollup_day where user_id = 0)::integer + (select
          coalesce(sum(requests), 0) from usage_minute)::integer daily,
          (select coalesce(sum(requests), 0) from rollup_minute where user_id <> 0)::integer + (select
          coalesce(sum(requests), 0) from usage_minute)::integer minutely`);
        assert.deepEqual([row?.['daily'], row?.['minutely']], [row?.['counted'], row?.['counted']]);
        looks++;
      }),
    ];
    const watched = Promise.all(others);
    await Promise.race([Promise.all(workers), watched]);
    working.on = false;
    await watched;
    assert.ok(killed > 5 && looks > 5, `${killed} connections were killed, ${looks} looks`);
    const now = Math.floor(store.clock.now());
    assert.ok((await compareAll(now)) > 1000);
    await store.foldUsage({ restSeconds: -3_600 });
    assert.ok((await compareAll(now)) > 1000);
  });
});
