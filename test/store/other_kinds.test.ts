/** Figures of kinds of requests that have no columns of their own in the rollups. */
import assert from 'node:assert/strict';
import pg from 'pg';
import type { Kind } from '../../src/platform/kube/probe_job.ts';
import { migrate } from '../../src/platform/store/migrate.ts';
import { uuidv7 } from '../../src/platform/store/uuid.ts';
import { startPostgres } from '../servers.ts';
import { aCloseInput, anOpenInput, type StoreFixture, startStore } from './fixture.ts';

const HOUR = 3_600_000;
const GRAINS = ['minute', 'hour', 'day'] as const;
const ENDS = ['success', 'with-errors', 'error'] as const;

describe('store: figures of a kind without columns', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  const users: number[] = [];
  before(async () => {
    fixture = await startStore();
    for (const email of ['a@example.org', 'b@example.org']) {
      const [user] = await fixture.sql<{ id: number }>(
        `insert into users (email, status, role) values ($1, 'active', 'user') returning id::integer`,
        [email],
      );
      users.push(user!.id);
    }
  });
  after(() => fixture.close());

  async function record(userId: number, kind: string, state: (typeof ENDS)[number], ageMs: number): Promise<void> {
    const time = Math.floor(fixture.store.clock.now()) - ageMs;
    const input = anOpenInput(fixture.store, {
      id: uuidv7(time),
      submittedAt: new Date(time),
      userId,
      tokenId: userId * 10,
      kind: kind as Kind,
    });
    await fixture.store.openRequest(input);
    await fixture.store.closeRequest(aCloseInput(input, { state, body: null }));
  }

  /** By kind and end: as the rollups have it, and as a recount of the requests gives. */
  async function assertRecount(what: string): Promise<void> {
    const counted = await fixture.sql(
      `select kind || '_' || replace(state, '-', '_') key, count(*)::integer n from requests
        where kind not in ('file', 'msv', 'c2pa', 'compare') group by 1 order by 1`,
    );
    for (const grain of GRAINS)
      for (const owner of ['user_id = 0', 'user_id <> 0'])
        assert.deepEqual(
          await fixture.sql(
            `select key, sum(value::integer)::integer n from rollup_${grain}, jsonb_each_text(other_kinds)
              where ${owner} group by 1 order by 1`,
          ),
          counted,
          `${what}: rollup_${grain}, ${owner}`,
        );
  }

  it('are folded without a search of all rows for each', async () => {
    const rows = 1_000;
    const settings = {
      shared_preload_libraries: 'auto_explain',
      'auto_explain.log_min_duration': '0',
      'auto_explain.log_analyze': 'on',
      'auto_explain.log_nested_statements': 'on',
    };
    const server = await startPostgres({ settings });
    const client = new pg.Client({ connectionString: server.url });
    const plans: string[] = [];
    try {
      await migrate({ url: server.url });
      await client.connect();
      await client.query(
        `insert into usage_minute
          select g, now() - interval '1 hour', 'another', 'https', 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, array[1]
          from generate_series(1, ${rows}) g`,
      );
      client.on('notice', ({ message = '' }) => {
        if (message.includes('insert into rollup_')) plans.push(message);
      });
      await client.query('set client_min_messages = log');
      const folded = await client.query<{ n: number }>(`select fold_usage('0', ${rows}) n`);
      assert.equal(folded.rows[0]?.n, rows);
    } finally {
      await client.end();
      await server.stop();
    }
    assert.equal(plans.length, GRAINS.length);
    // In a loop, each row of one side is compared with many of the other.
    for (const plan of plans)
      for (const [, compared] of plan.matchAll(/Rows Removed by Join Filter: (\d+)/g))
        assert.ok(Number(compared) < rows, plan);
  });

  it('are counted by kind and end, when folded, folded again and erased', async () => {
    let made = 0;
    const recordAll = async () => {
      for (const user of users)
        for (const kind of ['one', 'another', 'file'])
          for (const state of ENDS) await record(user, kind, state, (made++ % 5) * HOUR);
    };
    await recordAll();
    await fixture.store.foldUsage({ restSeconds: -HOUR });
    await assertRecount('folded');
    await recordAll();
    await record(users[0]!, 'one', 'success', 0);
    await fixture.store.foldUsage({ restSeconds: -HOUR });
    await assertRecount('folded again');

    await fixture.store.eraseUser(users[0]!);
    while ((await fixture.store.eraseMore()) > 0);
    const [left] = await fixture.sql<{ n: number }>('select count(*)::integer n from requests');
    assert.equal(left?.n, made / 2);
    await assertRecount('erased');
  });

  it('take no room in rows without such a request', async () => {
    await record(users[1]!, 'file', 'success', 30 * 24 * HOUR);
    await fixture.store.foldUsage({ restSeconds: -HOUR });
    assert.deepEqual(
      await fixture.sql(
        `select other_kinds from rollup_day
          where user_id = $1 and at < now() - interval '20 days' and file_success > 0`,
        [users[1]],
      ),
      [{ other_kinds: null }],
    );
  });
});
