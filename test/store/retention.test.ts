import assert from 'node:assert/strict';
import pg from 'pg';
import { rangeProblem } from '../../src/platform/statistics/aggregation.ts';
import { openStore } from '../../src/platform/store/store.ts';
import type { LogPage } from '../../src/platform/store/log.ts';
import type { OpenInput } from '../../src/platform/store/records.ts';
import { uuidv7 } from '../../src/platform/store/uuid.ts';
import { aCloseInput, anOpenInput, sha256, type StoreFixture, startStore } from './fixture.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;

const PAGE: LogPage = {
  filter: {
    owners: { userIds: 'everyone', tokenIds: null },
    period: { from: new Date(0), to: new Date(0) },
  },
  sort: { field: 'send', order: 'desc' },
  offset: 0,
  limit: 100,
};

describe('store: retention', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  let now: number;

  before(async () => {
    fixture = await startStore();
    now = Math.floor(fixture.store.clock.now());
    // Partitions as in an installation of two years. The default one has figures by minute of before 20 months.
    const month = (back: number) =>
      new Date(Date.UTC(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth() - back)).toISOString();
    const day = (back: number) => new Date(Math.floor(now / DAY - back) * DAY).toISOString();
    const make = (parent: string, from: string, to: string, digits: number) =>
      fixture.sql(
        `create table ${parent}_${from.replaceAll('-', '').slice(0, digits)} partition of ${parent} ` +
          `for values from ('${from}') to ('${to}')`,
      );
    for (let back = 24; back > 1; back--) await make('requests', month(back), month(back - 1), 6);
    for (let back = 20; back > 1; back--) await make('rollup_minute', month(back), month(back - 1), 6);
    for (let back = 50; back > 1; back--) await make('envelopes', day(back), day(back - 1), 8);
  });
  after(() => fixture.close());

  async function ended(ago: number, change: Partial<OpenInput> = {}): Promise<OpenInput> {
    const time = now - ago;
    const open = anOpenInput(fixture.store, {
      id: uuidv7(time),
      submittedAt: new Date(time),
      userId: 801,
      tokenId: 8010,
      ...change,
    });
    await fixture.store.openRequest(open);
    await fixture.store.closeRequest(aCloseInput(open));
    return open;
  }
  const KEPT = { envelopeDays: 30, requestMonths: 13, minuteDays: 90 };
  const retainAll = async () => assert.equal((await fixture.store.retain(KEPT)).done, true);
  const partsOf = async (table: string) =>
    (await fixture.sql<{ part: string }>(`select part::text from time_parts('${table}') order by ends`)).map(
      ({ part }) => part,
    );
  const count = async (table: string) =>
    (await fixture.sql<{ n: number }>(`select count(*)::integer n from ${table}`))[0]?.n;
  const figures = async (store = fixture.store, from = now - 800 * DAY + 1, to = now + 1) =>
    (
      await store.usageFigures(
        'usage',
        { userIds: [801], tokenIds: null },
        { from: new Date(from), to: new Date(to) },
        'no-aggregation',
      )
    )[0]?.values['request-count'] ?? 0;

  it('deletes days of results after 30, months of the log after 13, and figures by hour never', async () => {
    const ages = [0, 10, 29.99, 31.02, 32, 45, 100, 390, 460, 500, 700];
    const inputs = new Map<number, OpenInput>();
    for (const age of ages) inputs.set(age, await ended(age * DAY));
    await fixture.store.foldUsage({ restSeconds: -60 });
    assert.equal(await figures(), ages.length);
    assert.equal(
      (await fixture.store.retain({ envelopeDays: 3_650, requestMonths: 1_200, minuteDays: 3_650 })).done,
      true,
    );
    for (const table of ['envelopes', 'requests', 'rollup_minute where user_id > 0'])
      assert.equal(await count(table), ages.length, table);
    const days = (await partsOf('envelopes')).length;

    await retainAll();
    for (const age of [0, 10, 29.99])
      assert.ok(await fixture.store.readBody(inputs.get(age)!.id, inputs.get(age)!.submittedAt), `${age} days`);
    assert.equal(await count('envelopes'), 3);
    assert.equal((await partsOf('envelopes')).length, days - 20, 'every day before is dropped');
    // The first turn announces what will be deleted, so that every replica stops counting it before that.
    assert.equal(await count('requests'), ages.length);
    assert.equal(await figures(), ages.length);
    await retainAll();
    assert.equal(await count('requests'), 8);
    assert.ok([6, 7].includes((await count('rollup_minute where user_id > 0'))!));
    const later = await openStore({ url: fixture.server.url });
    assert.equal(await figures(later), ages.length);
    // Cut within an hour: counted from the requests where minutes are deleted, and to whole hours without either.
    const at = (age: number) => now - age * DAY;
    const hour = (time: number) => Math.floor(time / 3_600_000) * 3_600_000;
    assert.deepEqual(
      [
        await figures(later, at(390), at(390) + 1),
        await figures(later, at(390) + 1, at(390) + 2),
        await figures(later, hour(at(390)) - 7_200_001, at(390) + 1),
        await figures(later, at(700) + 1, at(700) + 2),
        await figures(later, hour(at(700)) + 3_600_000, hour(at(700)) + 7_200_000),
      ],
      [1, 0, 1, 1, 0],
    );
    const { minutes, requests } = await later.keptSince();
    assert.ok(requests < minutes && minutes <= now - 90 * DAY);
    assert.equal(
      rangeProblem('minutely', { from: new Date(minutes - 1), to: new Date(minutes) }, minutes)?.text,
      `minutely begins at ${new Date(minutes).toISOString()}; use hourly`,
    );
    await later.close();
    assert.equal(await fixture.store.readRequest(inputs.get(460)!.id), null);
    assert.ok(await fixture.store.readRequest(inputs.get(390)!.id));
  });

  it('where the log is deleted, a range counts whole hours, and the log shows nothing of it', async () => {
    const later = await openStore({ url: fixture.server.url });
    const time = Math.floor((now - 500 * DAY) / HOUR) * HOUR;
    const of = (from: number, to: number) =>
      later
        .usageFigures(
          'usage',
          { userIds: [801], tokenIds: null },
          { from: new Date(from), to: new Date(to) },
          'no-aggregation',
        )
        .then((all) => all[0]?.values['request-count'] ?? 0);
    assert.equal(await of(time + HOUR - 1, time + HOUR), 1);
    assert.equal(await of(time + HOUR, time + 2 * HOUR), 0);
    const from = async (begins: number) => {
      const period = { from: new Date(begins), to: new Date(now + 1) };
      const { rows, total } = await later.listLog({ ...PAGE, filter: { ...PAGE.filter, period } });
      return [rows.length, total];
    };
    assert.deepEqual(await from(0), [8, 8]);
    // Counted by rollups, but for the part of an hour whose minutes are deleted.
    assert.deepEqual(await from(now - 390 * DAY), [8, 8]);
    assert.deepEqual(await from(now - 390 * DAY + 1), [7, 7]);
    await later.close();
  });

  it('a part that is being read is dropped later, and delays no other', async () => {
    const reader = new pg.Client({ connectionString: fixture.server.url });
    await reader.connect();
    for (const day of ['01', '02'])
      await fixture.sql(
        `create table envelopes_199901${day} partition of envelopes
          for values from ('1999-01-${day}Z') to ('1999-01-${day} 23:59Z')`,
      );
    const old = async () => (await partsOf('envelopes')).filter((part) => part.startsWith('envelopes_1999'));
    await reader.query('begin');
    await reader.query('select count(*) from envelopes_19990101');
    await retainAll();
    assert.deepEqual(await old(), ['envelopes_19990101']);
    await reader.query('commit');
    await retainAll();
    assert.deepEqual(await old(), []);
    await reader.end();
  });

  it('two replicas at once delete once', async () => {
    const other = await openStore({ url: fixture.server.url });
    await Promise.all([retainAll(), other.retain(KEPT), other.foldUsage(), fixture.store.foldUsage()]);
    assert.equal(await count('envelopes'), 3);
    await other.close();
  });
});

describe("store: deleting a user's data", function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  before(async () => {
    fixture = await startStore();
  });
  after(() => fixture.close());

  async function aUser(email: string, parent: number | null = null): Promise<{ id: number; token: number }> {
    const [user] = await fixture.sql<{ id: string }>(
      `insert into users (email, status, role, parent_id, root_id) values ($1, 'active', 'user', $2, $2) returning id`,
      [email, parent],
    );
    const [token] = await fixture.sql<{ id: string }>(
      'insert into tokens (user_id, sha256) values ($1, $2) returning id',
      [user?.id, sha256(email)],
    );
    return { id: Number(user?.id), token: Number(token?.id) };
  }

  it('its webhooks go in steps, as a batch may leave a million', async () => {
    const { id } = await aUser('webhooks@example.org');
    await fixture.sql(
      `insert into webhook_outbox (request_id, submitted_at, token_id, user_id, url)
        select gen_random_uuid(), now(), 0, $1, '' from generate_series(1, 10)`,
      [id],
    );
    await fixture.store.eraseUser(id, { withinMs: 0 });
    await fixture.sql('select erase_step($1, 7)', [id]);
    const left = () => fixture.sql('select count(*)::integer n from webhook_outbox where user_id = $1', [id]);
    assert.deepEqual(await left(), [{ n: 3 }]);
    await fixture.store.eraseMore();
    assert.deepEqual(await left(), [{ n: 0 }]);
  });

  it('deletes it everywhere, with the sub-users, and of no other user; running requests leave nothing', async () => {
    const [gone, stays] = [await aUser('gone@example.org'), await aUser('stays@example.org')];
    const sub = await aUser('sub@example.org', gone.id);
    const open = async (who: { id: number; token: number }, change: Partial<OpenInput> = {}) => {
      const input = anOpenInput(fixture.store, {
        userId: who.id,
        tokenId: who.token,
        requestsPerMinute: 1_000,
        webhookUrl: 'https://hooks.example.org/',
        idempotency: { key: String(Math.random()), bodySha256: sha256('b') },
        ...change,
      });
      await fixture.store.openRequest(input);
      return input;
    };
    await fixture.store.takeRate('user', gone.id, 10);
    for (const who of [gone, stays, sub, gone, stays]) await fixture.store.closeRequest(aCloseInput(await open(who)));
    await fixture.store.foldUsage({ restSeconds: -60 });
    for (const who of [gone, stays, sub]) await fixture.store.closeRequest(aCloseInput(await open(who)));
    const running = await open(gone);

    assert.deepEqual((await fixture.store.eraseUser(gone.id)).sort(), [gone.id, sub.id].sort());
    assert.equal(await fixture.store.findToken(sha256('gone@example.org')), null);
    // Its runner sends a result afterwards; a replica with the token in its cache opens one more.
    assert.equal((await fixture.store.closeRequest(aCloseInput(running))).closed, false);
    await fixture.store.closeRequest(aCloseInput(await open(sub)));
    assert.equal(await fixture.store.eraseMore(), 1);
    assert.equal(await fixture.store.eraseMore(), 0);

    const ids = [gone.id, sub.id];
    for (const table of [
      'requests',
      'usage_minute',
      'rollup_minute',
      'rollup_hour',
      'rollup_day',
      'webhook_outbox',
      'tokens',
    ]) {
      assert.deepEqual(
        await fixture.sql(
          'select count(*) filter (where user_id = any($1))::integer gone, ' +
            `(count(*) filter (where user_id = $2) > 0) stays from ${table}`,
          [ids, stays.id],
        ),
        [{ gone: 0, stays: true }],
        table,
      );
    }
    assert.deepEqual(await fixture.sql('select count(*)::integer n from users where id = any($1)', [ids]), [{ n: 0 }]);
    assert.deepEqual(
      await fixture.sql(
        'select (select count(*) from envelopes)::integer envelopes, (select count(*) ' +
          'from requests)::integer requests, (select count(*) from idempotency)::integer ' +
          'keys, (select count(*) from rate_limits)::integer rates',
      ),
      [{ envelopes: 3, requests: 3, keys: 3, rates: 1 }],
    );
    // The figures of all users are without this one, and still equal a recount.
    const now = fixture.store.clock.now();
    const today = { from: new Date(now - DAY), to: new Date(now + DAY) };
    const everyone = { userIds: 'everyone', tokenIds: null } as const;
    const [figures] = await fixture.store.usageFigures('usage', everyone, today, 'no-aggregation');
    assert.equal(figures?.values['request-count'], 3);
    assert.deepEqual(
      await fixture.sql(
        'select requests, file_success, https, processing_ms::integer ms, ' +
          'queue_histogram from rollup_day where user_id = 0',
      ),
      await fixture.sql(
        'select requests, file_success, https, processing_ms::integer ms, ' +
          'queue_histogram from rollup_day where user_id = $1',
        [stays.id],
      ),
    );
  });

  it('what was used in finished months stays in the totals alone, and the log does not count it', async () => {
    const gone = await aUser('billed@example.org');
    const now = fixture.store.clock.now();
    const lastMonth = Date.UTC(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth() - 1, 3);
    for (const time of [lastMonth + 1, lastMonth + 2, lastMonth + DAY, now]) {
      const open = anOpenInput(fixture.store, {
        id: uuidv7(Math.floor(time)),
        submittedAt: new Date(Math.floor(time)),
        userId: gone.id,
        tokenId: gone.token,
      });
      await fixture.store.openRequest(open);
      await fixture.store.closeRequest(aCloseInput(open));
    }
    await fixture.store.foldUsage({ restSeconds: -60 });
    const everyone = { userIds: 'everyone', tokenIds: null } as const;
    const month = { from: new Date(lastMonth - 2 * DAY), to: new Date(lastMonth + 20 * DAY) };
    const totals = () => fixture.store.usageFigures('usage', everyone, month, 'monthly');
    const before = await totals();
    assert.equal(before[0]?.values['request-count'], 3);
    const since = { from: month.to, to: new Date(now + 1) };
    const thisMonth = async () =>
      Number(
        (await fixture.store.usageFigures('usage', everyone, since, 'no-aggregation'))[0]?.values['request-count'],
      );
    const running = await thisMonth();

    await fixture.store.eraseUser(gone.id);
    await fixture.store.eraseMore();
    assert.deepEqual(await totals(), before);
    assert.equal(await thisMonth(), running - 1);
    assert.deepEqual(
      await fixture.sql('select token_id::integer token, requests from rollup_day where user_id = -1 order by at'),
      [
        { token: 0, requests: 2 },
        { token: 0, requests: 1 },
      ],
    );
    assert.deepEqual(await fixture.sql('select 1 from rollup_day where user_id = $1', [gone.id]), []);
    const { total } = await fixture.store.listLog({ ...PAGE, filter: { ...PAGE.filter, period: month } });
    assert.equal(total, 0);
  });

  it('deletes a large amount in steps that continue in upkeep', async () => {
    const much = await aUser('much@example.org');
    for (let index = 0; index < 30; index++) {
      const input = anOpenInput(fixture.store, { userId: much.id, tokenId: much.token });
      await fixture.store.openRequest(input);
      await fixture.store.closeRequest(aCloseInput(input));
    }
    assert.deepEqual(await fixture.store.eraseUser(much.id, { withinMs: 0 }), [much.id]);
    assert.deepEqual(await fixture.sql('select count(*)::integer n from requests where user_id = $1', [much.id]), [
      { n: 30 },
    ]);
    await fixture.sql('select erase_step($1, 7)', [much.id]);
    assert.deepEqual(await fixture.sql('select count(*)::integer n from requests where user_id = $1', [much.id]), [
      { n: 23 },
    ]);
    assert.equal(await fixture.store.eraseMore(), 1);
    assert.deepEqual(await fixture.sql('select count(*)::integer n from requests where user_id = $1', [much.id]), [
      { n: 0 },
    ]);
    await fixture.sql(`update erasures set asked_at = now() - interval '25 hours'`);
    await fixture.store.eraseMore();
    assert.deepEqual(await fixture.sql('select count(*)::integer n from erasures'), [{ n: 0 }]);
  });

  it('does nothing for an unknown user', async () => assert.deepEqual(await fixture.store.eraseUser(999_999), []));
});
