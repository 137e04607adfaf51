import assert from 'node:assert/strict';
import pg from 'pg';
import { logCases, statementsOf, statisticsCase, statisticsCases } from '../../bench/store/cases.ts';
import { makeHistory } from '../../bench/store/history.ts';
import { planOf, words, type Read } from '../../bench/store/plans.ts';
import { openDatabase, type Database } from '../../src/platform/store/connection.ts';
import { seek, slices } from '../../src/platform/store/log.ts';
import { type StoreFixture, startStore } from './fixture.ts';
import { assertEqualsRecount } from './recount.ts';

const REQUESTS = 24_000;
const USERS = 60;
const DAY = 86_400_000;

describe('store: rows that queries read of a long history', function () {
  this.timeout(120_000);
  let fixture: StoreFixture;
  let client: pg.Client;
  let database: Database;
  let span: { from: Date; to: Date };
  let user: number;

  before(async () => {
    fixture = await startStore();
    client = new pg.Client({ connectionString: fixture.server.url });
    await client.connect();
    database = openDatabase({ url: fixture.server.url, poolSize: 2 });
    span = await makeHistory(client, { requests: REQUESTS, users: USERS, months: 5 });
    // The smallest of those who have a row for each page below.
    const found = await client.query<{ id: number }>(
      `select user_id::integer id from requests group by 1
        having count(*) >= 150 and count(*) filter (where state = 'error') >= 10 and
          count(*) filter (where kind = 'msv' and state = 'with-errors') >= 1
        order by count(*), 1 limit 1`,
    );
    user = found.rows[0]!.id;
  });
  after(async () => {
    await database.end();
    await client.end();
    await fixture.close();
  });

  it('the rollups of the generated history equal a recount, which the other measurements rely on', async () => {
    for (const statistic of ['usage', 'queue', 'requests', 'sources'] as const) {
      assert.ok(
        (await assertEqualsRecount(fixture.store, client, {
          statistic,
          aggregation: 'daily',
          from: new Date(span.from.getTime() + 7),
          to: new Date(span.to.getTime() - 3 * DAY + 11),
          userIds: [1, user],
        })) > 50,
      );
    }
  });

  const of = (reads: Read[], table: RegExp) => reads.filter((read) => table.test(read.table));

  it('statistics read rollups by key, and requests only for the two partial minutes', async () => {
    for (const one of statisticsCases(span.to).filter(
      ({ whose, what }) => whose === 'any' && what.startsWith('usage'),
    )) {
      for (const query of await statementsOf(one, database, user)) {
        const reads = await planOf(client, query);
        const text = `${one.what}: ${reads.map(words).join('; ')}`;
        for (const read of of(reads, /^rollup/))
          assert.match(
            `${read.how} ${read.index}`,
            /^(Index Scan|Bitmap Index Scan|Bitmap Heap Scan|Index Only Scan) (rollup_(minute|hour|day)_pkey|undefined)$/,
            text,
          );
        const requests = of(reads, /^requests$/);
        assert.ok(
          requests.every(({ how, rows }) => how !== 'Seq Scan' || rows === 0),
          text,
        );
        assert.ok(
          requests.every(({ partitions }) => partitions <= (one.what.includes('secondly') ? 3 : 4)),
          text,
        );
        if (!one.what.includes('secondly')) assert.ok(requests.reduce((sum, { rows }) => sum + rows, 0) <= 8, text);
        // Over two years of days: at most these, and the hours and minutes at both ends.
        if (one.what.includes('daily'))
          assert.ok(of(reads, /^rollup/).reduce((sum, { rows }) => sum + rows, 0) <= 2 * (150 + 46 + 118) * 2, text);
      }
    }
  });

  it('many hours or minutes are read by key alone where those of a user are adjacent', async () => {
    for (const [aggregation, days, table] of [
      ['hourly', 100, 'rollup_hour'],
      ['minutely', 31, 'rollup_minute'],
    ] as const) {
      const one = statisticsCase(
        'queue',
        aggregation,
        '',
        { from: new Date(span.to.getTime() - (days + 2) * DAY + 777), to: new Date(span.to.getTime() - 2 * DAY) },
        'largest',
      );
      const reads = of(
        (await Promise.all((await statementsOf(one, database, 1)).map((query) => planOf(client, query)))).flat(),
        new RegExp(`^${table}$`),
      ).filter(({ rows }) => rows > 100);
      assert.deepEqual(
        reads.map(({ how, index }) => `${how} ${index}`),
        [`Index Only Scan ${table}_pkey`],
      );
    }
  });

  it("a page of the log reads the user's part of an index, and other rows only for what it shows", async () => {
    for (const one of logCases(span.from, span.to, REQUESTS, USERS).filter(({ whose }) => whose === 'any')) {
      const pages = (await statementsOf(one, database, user)).filter(({ name }) => name === 'log_page');
      const reads = (await Promise.all(pages.map((page) => planOf(client, page)))).flat();
      const text = `${one.what}: ${reads.map(words).join('; ')}`;
      assert.ok(
        of(reads, /^requests$/).every(({ how, rows }) => how !== 'Seq Scan' || rows === 0),
        text,
      );
      if (/last day|first page of two years|^a page in the middle/.test(one.what))
        assert.ok(
          of(reads, /^requests$/).every(({ partitions }) => partitions <= 3),
          text,
        );
      if (!one.what.includes('address'))
        assert.ok(
          of(reads, /^requests$/).some(
            ({ how, index }) =>
              how === 'Bitmap Heap Scan' ||
              index?.startsWith('requests_user_id_submitted_at_id') ||
              index?.startsWith('requests_log_user'),
          ),
          text,
        );
    }
  });

  const filter = {
    owners: { userIds: 'everyone', tokenIds: null } as const,
    type: ['file'] as const,
    status: ['success', 'error'] as const,
  };
  for (const order of ['asc', 'desc'] as const) {
    it(`pages start where the rollups say, and equal the rows of the table, ${order}`, async () => {
      const period = { from: new Date(span.from.getTime() + 12_345), to: new Date(span.to.getTime() - DAY - 77) };
      for (const [field, column] of [
        ['send', 'submitted_at'],
        ['status', 'state'],
      ] as const) {
        const direction = field === 'send' ? order : 'desc';
        for (const offset of [0, 99, 101, 199, 200, 201, 1_080, 9_000, 17_777, 20_470, 21_000, 30_000]) {
          const { rows, total } = await fixture.store.listLog({
            filter: { ...filter, period },
            sort: { field, order },
            offset,
            limit: 60,
          });
          const { rows: expected } = await client.query<{ id: string; total: number }>(
            `select id from requests where kind = 'file' and state in ('success', 'error') and submitted_at >= $1 and
            submitted_at < $2
            order by ${column} ${order}, submitted_at ${direction}, id ${direction} limit 60 offset $3`,
            [period.from, period.to, offset],
          );
          assert.deepEqual(
            rows.map(({ id }) => id),
            expected.map(({ id }) => id),
            `by ${field}, offset ${offset}`,
          );
          const {
            rows: [counted],
          } = await client.query<{ n: number }>(
            `select count(*)::integer n from requests where kind = 'file' and state in ` +
              `('success', 'error') and submitted_at >= $1 and submitted_at < $2`,
            [period.from, period.to],
          );
          assert.equal(total, counted?.n);
        }
      }
    });
  }

  it("a page is complete even if the rollups count more rows than exist: a user's data is being deleted", async () => {
    const period = { from: span.from, to: span.to };
    const newest = async () =>
      (
        await client.query<{ id: string }>(
          `select id from requests where kind = 'file' and state in ('success', ` +
            `'error') and submitted_at < $1 order by submitted_at desc limit 10`,
          [span.to],
        )
      ).rows.map(({ id }) => id);
    const listed = async () =>
      (
        await fixture.store.listLog({
          filter: { ...filter, period },
          sort: { field: 'send', order: 'desc' },
          offset: 0,
          limit: 10,
        })
      ).rows.map(({ id }) => id);
    const before = await newest();
    assert.deepEqual(await listed(), before);
    await client.query('begin');
    await client.query(
      'create temporary table gone on commit drop as select * from requests where ' +
        `submitted_at >= (select max(submitted_at) - interval '2 days' from requests)`,
    );
    await client.query('delete from requests r using gone g where r.id = g.id and r.submitted_at = g.submitted_at');
    await client.query('create table kept as select * from gone');
    await client.query('commit');
    try {
      assert.notDeepEqual(await newest(), before);
      assert.deepEqual(await listed(), await newest());
    } finally {
      await client.query('insert into requests select * from kept');
    }
  });
});

describe('store: position of a page', () => {
  const days = [
    { at: 0, count: 3 },
    { at: DAY, count: 2 },
    { at: 3 * DAY, count: 0 },
    { at: 5 * DAY, count: 4 },
  ];
  const range = { from: 1_000, to: 5 * DAY + 9 };
  const last = { from: 5 * DAY, to: range.to };
  for (const [order, offset, limit, expected] of [
    ['asc', 0, 3, { range: { from: 1_000, to: DAY }, offset: 0 }],
    ['asc', 2, 1, { range: { from: 1_000, to: DAY }, offset: 2 }],
    ['asc', 2, 2, { range: { from: 1_000, to: 2 * DAY }, offset: 2 }],
    ['asc', 3, 2, { range: { from: DAY, to: 2 * DAY }, offset: 0 }],
    ['asc', 3, 3, { range: { from: DAY, to: range.to }, offset: 0 }],
    ['asc', 8, 1, { range: last, offset: 3 }],
    ['asc', 8, 100, { range: last, offset: 3 }],
    ['asc', 0, 100, { range, offset: 0 }],
    ['desc', 0, 100, { range, offset: 0 }],
    ['desc', 0, 4, { range: last, offset: 0 }],
    ['desc', 3, 1, { range: last, offset: 3 }],
    ['desc', 3, 2, { range: { from: DAY, to: range.to }, offset: 3 }],
    ['desc', 4, 2, { range: { from: DAY, to: 2 * DAY }, offset: 0 }],
    ['desc', 8, 1, { range: { from: 1_000, to: DAY }, offset: 2 }],
    ['asc', 9, 1, null],
    ['desc', 99, 1, null],
    ['asc', 0, 0, null],
  ] as const)
    it(`${limit} from ${offset}, ${order}`, () =>
      assert.deepEqual(seek(days, range, { offset, limit, order }), expected));

  const counted = [
    { at: 0, counts: [1, 5] },
    { at: DAY, counts: [2, 0] },
  ];
  const whole = { from: 0, to: 2 * DAY };
  const [first, second] = [
    { from: 0, to: DAY },
    { from: DAY, to: 2 * DAY },
  ];
  for (const [byState, offset, limit, expected] of [
    [null, 1, 10, [{ state: null, range: whole, offset: 1, limit: 7 }]],
    [null, 2, 2, [{ state: null, range: first, offset: 0, limit: 2 }]],
    [[0, 1], 0, 2, [{ state: 0, range: second, offset: 0, limit: 2 }]],
    [
      [0, 1],
      1,
      4,
      [
        { state: 0, range: whole, offset: 1, limit: 2 },
        { state: 1, range: first, offset: 0, limit: 2 },
      ],
    ],
    [[1, 0], 5, 9, [{ state: 0, range: whole, offset: 0, limit: 3 }]],
    [[1, 0], 7, 9, [{ state: 0, range: first, offset: 0, limit: 1 }]],
    [[0, 1], 8, 9, []],
  ] as const)
    it(`${limit} from ${offset}, ${byState ? `by state ${byState.join(', ')}` : 'all states'}`, () =>
      assert.deepEqual(slices(counted, whole, { offset, limit, order: 'desc', byState }), expected));
});
