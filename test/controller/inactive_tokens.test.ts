/**
 * Jobs whose token is revoked or expired, belongs to a suspended account or has used up its quota: queued ones end,
 * running ones go on.
 */
import assert from 'node:assert/strict';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import type { ProbeJobSpec } from '../../src/platform/kube/probe_job.ts';
import { until } from '../until.ts';
import { clusterOfEach } from './cluster_parts.ts';

describe('jobs of inactive tokens', function () {
  this.timeout(60_000);
  const { led, start, current } = clusterOfEach({ go: () => 'hold' });

  /** A new account with a token of one slot: one job runs, another waits. */
  async function oneRunsOneWaits() {
    const { newAccount, newToken, submit, runners } = current();
    const user = await newAccount();
    const token = await newToken(1, user);
    const running = await submit({ token });
    await until('the first runs', () => runners.of(running.id));
    const waiting = await submit({ token });
    await until('the second waits', () => current().reason(waiting.id) === 'TokenAtLimit');
    return { user, token, running, waiting };
  }

  const CHANGES = [
    {
      what: 'token revoked',
      sql: 'update tokens set revoked_at = now() where id = $1',
      error: 'the token was revoked',
    },
    {
      what: 'token expired',
      sql: "update tokens set expires_at = now() - interval '1 minute' where id = $1",
      error: 'the token has expired',
    },
    {
      what: 'user suspended',
      sql: "update users set status = 'suspended' where id = (select user_id from tokens where id = $1)",
      error: 'the account is suspended',
    },
  ];
  for (const { what, sql, error } of CHANGES) {
    it(`${what}: a queued job ends with TokenInactive, a running one goes on`, async () => {
      const { ended, runners, stored, reason } = await led({ minReady: 2 });
      const { token, running, waiting } = await oneRunsOneWaits();
      await stored.sql(sql, [token]);
      const [refused] = await ended(waiting.id);
      assert.deepEqual(
        [refused?.state, refused?.status, refused?.reason, refused?.error],
        ['error', 403, 'TokenInactive', error],
      );
      await until('the job shows TokenInactive', () => reason(waiting.id) === 'TokenInactive');
      assert.equal(reason(running.id), 'Running');
      await runners.of(running.id)?.finish();
      assert.equal((await ended(running.id))[0]?.state, 'success');
    });

    it(`${what} before a takeover: a queued job ends, a running one goes on under the next leader`, async () => {
      const { controller, ended, runners, stored, reason, leader: first } = await led({ minReady: 2 });
      const { token, running, waiting } = await oneRunsOneWaits();
      await first.stop();
      await stored.sql(sql, [token]);
      const { term } = await controller({ epoch: 2 });
      assert.equal((await ended(waiting.id))[0]?.reason, 'TokenInactive');
      await until('the next leader knows only the running job', () => [...term.leader.jobs.allTaken()].length === 1);
      assert.equal(reason(running.id), 'Running');
      await runners.of(running.id)?.finish();
      assert.equal((await ended(running.id))[0]?.state, 'success');
    });
  }

  it('token revoked while it is read for the first time: its job ends', async () => {
    const { controller, ended, newAccount, newToken, servers, sql, submit } = await start({
      pools: { short: { minReady: 1 } },
    });
    const { store } = servers.stored;
    const token = await newToken(1, await newAccount());
    const opened = Promise.withResolvers<void>();
    let reads = 0;
    const heard: unknown[] = [];
    await controller({
      store: {
        ...store,
        // The answer of the first read comes late.
        async tokenLimits(ids) {
          const found = await store.tokenLimits(ids);
          if (ids.includes(token) && reads++ === 0) await opened.promise;
          return found;
        },
        listenTokens: (onChange) =>
          store.listenTokens((change) => {
            onChange(change);
            if ('token' in change) heard.push(change.token);
          }),
      },
    });
    const { id } = await submit({ token });
    await until('its token is read', () => reads === 1);
    await sql('update tokens set revoked_at = now() where id = $1', [token]);
    await until('the leader has heard of it', () => heard.includes(token));
    opened.resolve();
    const [refused] = await ended(id);
    assert.deepEqual([refused?.reason, refused?.error], ['TokenInactive', 'the token was revoked']);
  });

  it('token revoked while the record cannot be read: its queued job ends once it can', async () => {
    const { controller, ended, ready, servers, sql } = await start({ pools: { short: { minReady: 2 } } });
    const { store } = servers.stored;
    let failures = 0;
    let revoked = 0;
    await controller({
      store: {
        ...store,
        async tokenLimits(ids) {
          if (ids.includes(revoked) && failures++ === 0) throw new Error('no answer');
          return store.tokenLimits(ids);
        },
      },
    });
    await ready(2);
    const { token, waiting } = await oneRunsOneWaits();
    revoked = token;
    await sql('update tokens set revoked_at = now() where id = $1', [token]);
    assert.equal((await ended(waiting.id))[0]?.reason, 'TokenInactive');
  });

  it('account above suspended: a queued job ends', async () => {
    const { ended, newToken, sql } = await led({ minReady: 2 });
    const { user, waiting } = await oneRunsOneWaits();
    const parent = await current().newAccount();
    await sql("update users set parent_id = $1, role = 'sub' where id = $2", [parent, user]);
    await sql("update users set status = 'suspended' where id = $1", [parent]);
    const [record] = await ended(waiting.id);
    assert.deepEqual([record?.reason, record?.error], ['TokenInactive', 'the account is suspended']);
    const later = await current().submit({ token: await newToken(1, user) });
    assert.equal((await ended(later.id))[0]?.reason, 'TokenInactive');
  });

  it('token that expires while its job is queued: the job ends when its turn comes', async () => {
    const { ended, runners, sql, store } = await led({ minReady: 2 });
    const { token, running, waiting } = await oneRunsOneWaits();
    const [row] = await sql<{ expires_at: Date }>(
      "update tokens set expires_at = now() + interval '500 milliseconds' where id = $1 returning expires_at",
      [token],
    );
    await until('it has expired', () => store.clock.now() > row!.expires_at.getTime() + 10);
    await runners.of(running.id)?.finish();
    const [first, second] = await ended(running.id, waiting.id);
    assert.deepEqual(
      [first?.state, second?.reason, second?.error],
      ['success', 'TokenInactive', 'the token has expired'],
    );
    assert.deepEqual(
      runners.began.filter(({ job }) => job === waiting.id),
      [],
    );
  });

  describe('created with kubectl', () => {
    const spec: Partial<ProbeJobSpec> & Pick<ProbeJobSpec, 'kind' | 'source'> = {
      kind: 'file',
      source: { url: 'https://media.example.org/a.mp4' },
      tools: [{ name: 'ffprobe', version: 'latest' }],
    };
    const make = (name: string) =>
      current().kube.create(PROBE_JOBS, { metadata: { name, namespace: current().namespace }, spec });

    /** Runs `work` with a default token in an account of its own. */
    async function withDefault(work: (token: number) => Promise<void>): Promise<void> {
      const { makeDefault, admin } = current().servers.stored;
      const token = await current().newToken(1, await current().newAccount());
      await makeDefault(token);
      try {
        await work(token);
      } finally {
        await makeDefault(admin.tokenId);
      }
    }

    it('default token revoked: a queued job ends, a running one goes on under this leader and the next', async () => {
      const { controller, runners, reason, sql, leader: first } = await led({ minReady: 2 });
      await withDefault(async (token) => {
        await make('one');
        await until('the first runs', () => runners.of('one'));
        await make('two');
        await until('the second waits', () => reason('two') === 'TokenAtLimit');
        await sql('update tokens set revoked_at = now() where id = $1', [token]);
        await until('the second has ended', () => reason('two') === 'TokenInactive');
        await first.stop();
        const { term } = await controller({ epoch: 2 });
        await until('the next leader knows the job', () => [...term.leader.jobs.allTaken()].length === 1);
        assert.equal(reason('one'), 'Running');
        await runners.of('one')?.finish();
        await until('it has ended', () => reason('one') === 'Completed');
      });
    });

    it('the quota of the default token applies to new jobs, not to a running one', async () => {
      const { controller, runners, reason, job, sql, leader: first } = await led({ minReady: 2 });
      await withDefault(async (token) => {
        await sql('update tokens set concurrency = 5, monthly_quota = $2 where id = $1', [
          token,
          JSON.stringify({ 'request-count': 1 }),
        ]);
        await make('within');
        await until('the first runs', () => runners.of('within'));
        await make('beyond');
        await until('the second is refused', () => reason('beyond') === 'QuotaExceeded');
        const message = job('beyond')?.status?.conditions?.find(({ type }) => type === 'Succeeded')?.message;
        assert.equal(
          message,
          'the monthly quota of the default token, its user or their account is used up: request-count',
        );
        await first.stop();
        const { term } = await controller({ epoch: 2 });
        await until('the next leader knows the job', () => [...term.leader.jobs.allTaken()].length === 1);
        await runners.of('within')?.finish();
        await until('it has ended', () => reason('within') === 'Completed');
        assert.equal(job('within')?.status?.attempts, 1);
      });
    });
  });
});
