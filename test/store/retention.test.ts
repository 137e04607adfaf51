import assert from 'node:assert/strict';
import pg from 'pg';
import { openStore } from '../../src/platform/store/store.ts';
import type { OpenInput } from '../../src/platform/store/records.ts';
import { uuidv7 } from '../../src/platform/store/uuid.ts';
import { aCloseInput, anOpenInput, sha256, type StoreFixture, startStore } from './fixture.ts';

const DAY = 86_400_000;
const MINUTE = 60_000;

describe('store: retention', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  let now: number;

  before(async () => {
    fixture = await startStore();
    now = Math.floor(fixture.store.clock.now());
    // One partition per month of the last two years, as in an installation of that age.
    for (let back = 24; back > 1; back--) {
      const month = (months: number) =>
        new Date(Date.UTC(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth() - months)).toISOString();
      for (const parent of ['requests', 'envelopes'])
        await fixture.sql(
          `create table ${parent}_${month(back).slice(0, 7).replace('-', '')} partition of ` +
            `${parent} for values from ('${month(back)}') to ('${month(back - 1)}')`,
        );
    }
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
  const retainAll = async () => {
    for (let turn = 0; turn < 10; turn++)
      if ((await fixture.store.retain({ envelopeDays: 30, requestMonths: 13 })).done) return;
    assert.fail('not done in ten turns');
  };
  const count = async (table: string) =>
    (await fixture.sql<{ n: number }>(`select count(*)::integer n from ${table}`))[0]?.n;
  const figures = async (store = fixture.store) =>
    (
      await store.usageFigures(
        'usage',
        { userIds: [801], tokenIds: null },
        { from: new Date(now - 800 * DAY + 1), to: new Date(now + 1) },
        'no-aggregation',
      )
    )[0]?.values['request-count'];

  it('deletes results after 30 days to the minute, months of the log after 13, and figures never', async () => {
    const ages = [0, 10, 29.99, 30.02, 31, 45, 100, 390, 460, 500, 700];
    const inputs = new Map<number, OpenInput>();
    for (const age of ages) inputs.set(age, await ended(age * DAY));
    await fixture.store.foldUsage({ restSeconds: -60 });
    assert.equal(await figures(), ages.length);
    assert.equal((await fixture.store.retain({ envelopeDays: 3_650, requestMonths: 1_200 })).done, true);
    assert.deepEqual([await count('envelopes'), await count('requests')], [ages.length, ages.length]);

    await retainAll();
    for (const age of [0, 10, 29.99])
      assert.ok(await fixture.store.readBody(inputs.get(age)!.id, inputs.get(age)!.submittedAt), `${age} days`);
    assert.equal(await count('envelopes'), 3);
    // The first turn announces what will be deleted, so that every replica stops counting it before that.
    assert.equal(await count('requests'), ages.length);
    assert.equal(await figures(), ages.length);
    await retainAll();
    assert.equal(await count('requests'), 8);
    const later = await openStore({ url: fixture.server.url });
    assert.equal(await figures(later), ages.length);
    await later.close();
    assert.equal(await fixture.store.readRequest(inputs.get(460)!.id), null);
    assert.ok(await fixture.store.readRequest(inputs.get(390)!.id));
  });

  it('where the log is deleted, a range counts whole minutes, and the log shows nothing of it', async () => {
    const later = await openStore({ url: fixture.server.url });
    const time = Math.floor((now - 500 * DAY) / MINUTE) * MINUTE;
    const of = (from: number, to: number) =>
      later
        .usageFigures(
          'usage',
          { userIds: [801], tokenIds: null },
          { from: new Date(from), to: new Date(to) },
          'no-aggregation',
        )
        .then((all) => all[0]?.values['request-count'] ?? 0);
    assert.equal(await of(time + 59_999, time + 60_000), 1);
    assert.equal(await of(time + 60_000, time + 120_000), 0);
    const filter = {
      owners: { userIds: 'everyone', tokenIds: null } as const,
      period: { from: new Date(0), to: new Date(now + 1) },
      kinds: [],
      states: [],
      ffprobe: [],
      mediainfo: [],
      report: [],
      policy: [],
      policyNames: [],
      url: null,
      id: null,
    };
    const { rows, total } = await later.listLog({
      filter,
      sort: { field: 'send', order: 'desc' },
      offset: 0,
      limit: 100,
    });
    assert.deepEqual([rows.length, total], [8, 8]);
    await later.close();
  });

  it('a month that is being read is dropped later, and delays no other', async () => {
    const reader = new pg.Client({ connectionString: fixture.server.url });
    await reader.connect();
    const {
      rows: [last],
    } = await reader.query<{ part: string }>(
      `select part::text from month_partitions('envelopes') order by ends limit 1`,
    );
    // A partition older than all others.
    const older = '199901';
    await fixture.sql(
      `create table envelopes_${older} partition of envelopes for values from ('1999-01-01Z') to ('1999-02-01Z')`,
    );
    await fixture.sql(`update settings set value = '"-infinity"' where key = 'envelopes.since'`);
    await reader.query('begin');
    await reader.query(`select count(*) from envelopes_${older}`);
    await fixture.store.retain({ envelopeDays: 30, requestMonths: 13 });
    assert.deepEqual(await fixture.sql(`select to_regclass('envelopes_${older}')::text t`), [
      { t: `envelopes_${older}` },
    ]);
    await reader.query('commit');
    await fixture.sql(`update settings set value = '"-infinity"' where key = 'envelopes.since'`);
    await retainAll();
    assert.deepEqual(await fixture.sql(`select to_regclass('envelopes_${older}')::text t`), [{ t: null }]);
    assert.ok(last);
    await reader.end();
  });

  it('two replicas at once delete once', async () => {
    const other = await openStore({ url: fixture.server.url });
    await Promise.all([
      retainAll(),
      other.retain({ envelopeDays: 30, requestMonths: 13 }),
      other.foldUsage(),
      fixture.store.foldUsage(),
    ]);
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
