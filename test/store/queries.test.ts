import assert from 'node:assert/strict';
import pg from 'pg';
import { logCases, statisticsCases } from '../../bench/store/cases.ts';
import { makeHistory } from '../../bench/store/history.ts';
import { planOf, words, type Read } from '../../bench/store/plans.ts';
import { seek } from '../../src/store/log.ts';
import { type StoreFixture, startStore } from './fixture.ts';
import { assertEqualsRecount } from './recount.ts';

const REQUESTS = 24_000;
const USERS = 60;
const DAY = 86_400_000;

describe('store: what queries read of a long history', function () {
  this.timeout(120_000);
  let fixture: StoreFixture;
  let client: pg.Client;
  let span: { from: Date; to: Date };
  let user: number;

  before(async () => {
    fixture = await startStore();
    client = new pg.Client({ connectionString: fixture.server.url });
    await client.connect();
    span = await makeHistory(client, { requests: REQUESTS, users: USERS, months: 5 });
    user = USERS / 2;
  });
  after(async () => {
    await client.end();
    await fixture.close();
  });

  it('the history\'s own rollups are right, or nothing that is measured on them is', async () => {
    for (const statistic of ['usage', 'queue', 'requests', 'sources'] as const) {
      assert.ok(await assertEqualsRecount(fixture.store, client, { statistic, aggregation: 'daily', from: new Date(span.from.getTime() + 7), to: new Date(span.to.getTime() - 3 * DAY + 11), userIds: [1, user] }) > 50);
    }
  });

  const of = (reads: Read[], table: RegExp) => reads.filter((read) => table.test(read.table));

  it('statistics read rollups by their key, and of the requests at most the two broken minutes', async () => {
    for (const one of statisticsCases(span.to).filter(({ whose, what }) => whose === 'any' && what.startsWith('usage'))) {
      for (const query of one.queries(user)) {
        const reads = await planOf(client, query);
        const text = `${one.what}: ${reads.map(words).join('; ')}`;
        for (const read of of(reads, /^rollup/)) assert.match(`${read.how} ${read.index}`, /^(Index Scan|Bitmap Index Scan|Bitmap Heap Scan|Index Only Scan) (rollup_(minute|hour|day)_pkey|undefined)$/, text);
        const requests = of(reads, /^requests$/);
        assert.ok(requests.every(({ how, rows }) => how !== 'Seq Scan' || rows === 0), text);
        assert.ok(requests.every(({ partitions }) => partitions <= (one.what.includes('secondly') ? 3 : 4)), text);
        if (!one.what.includes('secondly')) assert.ok(requests.reduce((sum, { rows }) => sum + rows, 0) <= 8, text);
        // In two years of days: at most those, the hours and minutes at the ends.
        if (one.what.includes('daily')) assert.ok(of(reads, /^rollup/).reduce((sum, { rows }) => sum + rows, 0) <= 2 * (150 + 46 + 118) * 2, text);
      }
    }
  });

  it('a page of the log reads one user\'s part of an index, and of the rest only the rows it shows', async () => {
    for (const one of logCases(span.from, span.to, REQUESTS, USERS).filter(({ whose }) => whose === 'any')) {
      const [page] = one.queries(user);
      const reads = await planOf(client, page!);
      const text = `${one.what}: ${reads.map(words).join('; ')}`;
      assert.ok(of(reads, /^requests$/).every(({ how, rows }) => how !== 'Seq Scan' || rows === 0), text);
      if (one.what.includes('last day')) assert.ok(of(reads, /^requests$/).every(({ partitions }) => partitions <= 3), text);
      if (!one.what.includes('address')) assert.ok(of(reads, /^requests$/).some(({ how, index }) => how === 'Bitmap Heap Scan' || index?.startsWith('requests_user_id_submitted_at_id') || index?.startsWith('requests_log_user')), text);
    }
  });

  for (const order of ['asc', 'desc'] as const) {
    it(`deep pages begin where the rollups say, and are the same rows, ${order}`, async () => {
      const filter = { owners: { userIds: 'everyone', tokenIds: null } as const, period: { from: new Date(span.from.getTime() + 12_345), to: new Date(span.to.getTime() - DAY - 77) }, kinds: ['file'] as const, states: ['success', 'error'] as const, ffprobe: [], mediainfo: [], report: [], url: null, id: null };
      for (const offset of [99, 101, 199, 200, 201, 9_000, 17_777, 21_000, 30_000]) {
        const { rows, total } = await fixture.store.listLog({ filter, sort: { field: 'send', order }, offset, limit: 5 });
        const { rows: expected } = await client.query<{ id: string; total: number }>(`select id from requests where kind = 'file' and state in ('success', 'error') and submitted_at >= $1 and submitted_at < $2 order by submitted_at ${order}, id ${order} limit 5 offset $3`, [filter.period.from, filter.period.to, offset]);
        assert.deepEqual(rows.map(({ id }) => id), expected.map(({ id }) => id), `offset ${offset}`);
        const { rows: [counted] } = await client.query<{ n: number }>(`select count(*)::integer n from requests where kind = 'file' and state in ('success', 'error') and submitted_at >= $1 and submitted_at < $2`, [filter.period.from, filter.period.to]);
        assert.equal(total, counted?.n);
      }
    });
  }
});

describe('store: where a deep page begins', () => {
  const days = [{ at: 0, count: 3 }, { at: DAY, count: 2 }, { at: 5 * DAY, count: 4 }];
  const range = { from: 1_000, to: 5 * DAY + 9 };
  for (const [order, offset, expected] of [
    ['asc', 0, { range, offset: 0 }], ['asc', 2, { range, offset: 2 }], ['asc', 3, { range: { from: DAY, to: range.to }, offset: 0 }], ['asc', 8, { range: { from: 5 * DAY, to: range.to }, offset: 3 }],
    ['desc', 0, { range, offset: 0 }], ['desc', 3, { range, offset: 3 }], ['desc', 4, { range: { from: range.from, to: 2 * DAY }, offset: 0 }], ['desc', 8, { range: { from: range.from, to: DAY }, offset: 2 }],
    ['asc', 9, { range: { from: range.to, to: range.to }, offset: 0 }], ['desc', 99, { range: { from: range.to, to: range.to }, offset: 0 }],
  ] as const) it(`${order} ${offset}`, () => assert.deepEqual(seek(days, range, offset, order), expected));
});
