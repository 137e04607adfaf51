/** The leader on real servers: which jobs run, in which order, how many at once, and how many writes they cost. */
import assert from 'node:assert/strict';
import { EVENTS, PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { uuidv7 } from '../../src/platform/store/uuid.ts';
import { makeSweep } from '../../src/service/controller/leader/unshown_jobs.ts';
import { anOpenInput } from '../store/fixture.ts';
import { until } from '../until.ts';
import { clusterOfEach, type Submitted } from './cluster_parts.ts';

describe('leader', function () {
  this.timeout(60_000);
  const { start, led, current, ready } = clusterOfEach();

  it('runs a job with at most four writes: create, admit, finish, delete', async () => {
    const { submit, ended, told, job, calls } = await led({}, { env: { PY_FINISHED_MAX: '0' } });
    const { id } = await submit();
    const [record] = await ended(id);
    assert.equal(record?.state, 'success');
    assert.equal(record?.status, 200);
    await until('the caller has its notice', () => told.get(id)?.length === 1);
    await until('the finished job is deleted', () => job(id) === undefined);
    assert.deepEqual(
      calls.filter(({ what }) => what.endsWith('ProbeJob')),
      [
        { what: 'status ProbeJob', name: id },
        { what: 'status ProbeJob', name: id },
        { what: 'delete ProbeJob', name: 'status.batch=1-1' },
      ],
    );
  });

  it('runs the jobs of a token first in, first out, and never more than its limit', async () => {
    const { submit, ended, newToken, runners, most } = await led({ minReady: 4 });
    const token = await newToken(2);
    const jobs: Submitted[] = [];
    for (let i = 0; i < 12; i++) jobs.push(await submit({ token }));
    await ended(...jobs.map(({ id }) => id));
    assert.equal(most(token), 2);
    const order = runners.began.map(({ job }) => jobs.findIndex(({ id }) => id === job));
    // Two jobs submitted at the same time may swap places, no more.
    for (const [place, index] of order.entries()) assert.ok(Math.abs(place - index) <= 1, `order ${order.join(' ')}`);
  });

  it('takes turns between tokens: one job of a quiet token does not wait behind a long queue', async () => {
    const { submit, ended, newToken, runners, term } = await led();
    const [busy, quiet] = [await newToken(50), await newToken(50)];
    const many: Submitted[] = [];
    runners.behaviour.go = () => 'hold';
    for (let i = 0; i < 10; i++) many.push(await submit({ token: busy }));
    await until('the first runs', () => runners.of(many[0]!.id));
    const single = await submit({ token: quiet });
    await until('ten wait', () => term.leader.ledger.waiting === 10);
    runners.behaviour.go = () => ({ ms: 1 });
    await runners.of(many[0]!.id)!.finish();
    await ended(single.id, ...many.map(({ id }) => id));
    const place = runners.began.findIndex(({ job }) => job === single.id);
    assert.ok(place >= 1 && place <= 2, `it ran as number ${place + 1} of 11`);
  });

  it('admits a job that a caller waits for before items of batches that filled the pool earlier', async () => {
    const { submit, ended, newAccount, newToken, runners, term } = await led();
    const [batches, callers] = [await newToken(50, await newAccount()), await newToken(50, await newAccount())];
    runners.behaviour.go = () => 'hold';
    const items: Submitted[] = [];
    for (let i = 0; i < 4; i++) items.push(await submit({ token: batches, spec: { background: true } }));
    await until('the first item runs', () => runners.of(items[0]!.id));
    const asked = [await submit({ token: callers }), await submit({ token: callers })];
    await until('five wait', () => term.leader.ledger.waiting === 5);
    runners.behaviour.go = () => ({ ms: 1 });
    await runners.of(items[0]!.id)!.finish();
    await ended(...[...items, ...asked].map(({ id }) => id));
    assert.deepEqual(
      runners.began.slice(1, 3).map(({ job }) => job),
      asked.map(({ id }) => id),
    );
  });

  it('takes turns between the pools of a token at its limit', async () => {
    const pools = { long: { serves: { kinds: ['msv' as const] }, minReady: 1 }, short: { minReady: 1 } };
    const { submit, ended, controller, newToken, runners } = await start({ pools });
    const { term } = await controller();
    await ready(2);
    const token = await newToken(1);
    runners.behaviour.go = () => 'hold';
    const kinds = new Map<string, string>();
    for (const kind of ['file', 'file', 'file', 'msv', 'msv', 'msv'] as const)
      kinds.set((await submit({ token, kind })).id, kind);
    await until('one runs, five wait', () => term.leader.ledger.waiting === 5 && runners.began.length === 1);
    for (let i = 0; i < 6; i++) {
      const { job } = await until(`number ${i + 1} runs`, () => runners.began[i]);
      await runners.of(job)!.finish();
    }
    await ended(...kinds.keys());
    const order = runners.began.map(({ job }) => kinds.get(job));
    assert.ok(
      order.every((kind, i) => kind !== order[i - 1]),
      order.join(' '),
    );
  });

  for (const who of ['token', 'user'] as const) {
    it(`a lowered limit (of the ${who}) applies from the next admission on`, async () => {
      const { submit, ended, newToken, runners, stored, term, job, reason } = await led({ minReady: 4 });
      const token = await newToken(3);
      runners.behaviour.go = () => 'hold';
      const jobs: Submitted[] = [];
      for (let i = 0; i < 6; i++) jobs.push(await submit({ token }));
      await until('three run, three wait', () => {
        const { held: running, waiting } = term.leader.ledger;
        return running === 3 && waiting === 3 && runners.began.length === 3;
      });
      try {
        await stored.sql(
          who === 'token'
            ? 'update tokens set concurrency = 1 where id = $1'
            : 'update users set concurrency = 1 where id = (select user_id from tokens where id = $1)',
          [token],
        );
        // Both notices use the same server, in this order: once a waiting job shows it, the leader knows.
        await until(
          'the leader knows',
          () =>
            jobs.some(({ id }) =>
              job(id)?.status?.conditions?.some(({ message }) => /runs 3 of at most 1 jobs/.test(message)),
            ) || term.leader.ledger.waiting < 3,
          5_000,
        );
        let most = 0;
        for (const { id } of jobs) {
          await until(`job ${id} runs`, () => runners.of(id));
          await runners.of(id)!.finish();
          await ended(id);
          await until('its slot is free', () => reason(id) === 'Completed');
          if (jobs.findIndex((one) => one.id === id) >= 2) most = Math.max(most, term.leader.ledger.held);
        }
        assert.equal(most, 1);
      } finally {
        await stored.sql('update users set concurrency = 100000');
      }
    });
  }

  it('a job that waits past its queue timeout ends in time, with what it waited for', async () => {
    const { submit, ended, runners, newToken, told, kube, namespace } = await led({});
    const token = await newToken(1);
    runners.behaviour.go = () => 'hold';
    const running = await submit({ token });
    await until('it runs', () => runners.of(running.id));
    // It shows its reason after a second, if it still waits then.
    const { id } = await submit({ token, queueTimeoutMs: 4_000 });
    await until('the job shows TokenAtLimit', () => current().reason(id) === 'TokenAtLimit');
    const [record] = await ended(id);
    assert.deepEqual([record?.status, record?.reason], [429, 'QueueTimeout']);
    assert.match(record?.error ?? '', /waited 4 s in the queue: token \d+ runs 1 of at most 1 jobs/);
    await until('the caller has its notice', () => told.get(id)?.[0]?.status === 429);
    const events = await until('an Event explains it', async () => {
      const { items } = await kube.listAll(EVENTS, { namespace });
      return items.some(({ reason }) => reason === 'QueueTimeout') ? items : undefined;
    });
    assert.deepEqual(
      events.map(({ reason, involvedObject: { kind, name } }) => [reason, kind, name]),
      [['QueueTimeout', 'ProbeJob', id]],
    );
  });

  it('an account runs no more than its limit over all of its tokens, and waiting jobs say so', async () => {
    const { submit, ended, runners, newToken, sql, admin, job, reason } = await led({ minReady: 3, maxPods: 3 });
    await sql('update users set account_concurrency = 2 where id = $1', [admin.userId]);
    try {
      const tokens = await Promise.all([1, 2, 3, 4].map(() => newToken(2)));
      runners.behaviour.go = () => 'hold';
      const jobs = [];
      for (const token of tokens) jobs.push(await submit({ token }));
      const ids = jobs.map(({ id }) => id);
      await until(
        'two run and two say why they wait',
        () =>
          ids.filter((id) => runners.of(id)).length === 2 &&
          ids.filter((id) => reason(id) === 'AccountAtLimit').length === 2,
      );
      const condition = ids
        .map((id) => job(id)?.status?.conditions?.find((one) => one.reason === 'AccountAtLimit'))
        .find((one) => one !== undefined);
      assert.equal(
        condition?.message,
        `account ${admin.userId} runs 2 of at most 2 jobs, over all its users and tokens; 2 jobs wait`,
      );
      // No limit: the leader learns of it at once, and all of them run.
      await sql('update users set account_concurrency = 0 where id = $1', [admin.userId]);
      await until('the third runs', () => ids.filter((id) => runners.of(id)).length === 3);
      runners.behaviour.go = () => ({ ms: 5 });
      await until('every request has an end', async () => {
        for (const id of ids) await runners.of(id)?.finish();
        return (await current().servers.stored.store.endsFor(ids)).length === ids.length;
      });
      await ended(...ids);
    } finally {
      await sql('update users set account_concurrency = null where id = $1', [admin.userId]);
    }
  });

  it('a job that its runner does not end in time is ended by the leader', async () => {
    const { submit, ended, runners } = await led({});
    runners.behaviour.go = () => 'hold';
    const { id } = await submit({ timeoutMs: 100 });
    const runner = await until('it runs', () => runners.of(id));
    const [record] = await ended(id);
    assert.deepEqual([record?.status, record?.reason, record?.hasBody], [200, 'DeadlineExceeded', true]);
    await until('the runner received the cancellation', () => runner.orders.some(({ what }) => what === 'cancel'));
  });

  it('refuses a job that cannot run at once, with the error for its caller', async () => {
    const { submit, ended, kube, namespace, reason } = await led({}, { env: { PY_MAX_QUEUED: '1' } });
    const unknown = await submit({ spec: { tools: [{ name: 'ffprobe', version: '1.1' }] } });
    const unsealed = await submit({ spec: { source: { display: 'x', sealed: 'not.a.jwe' } } });
    const revoked = await submit({ token: 999_999, open: false });
    const [noTool, noSeal] = await ended(unknown.id, unsealed.id);
    assert.deepEqual([noTool?.status, noTool?.reason], [400, 'ToolUnavailable']);
    assert.match(noTool?.error ?? '', /ffprobe: version "1\.1" is not available; available: 7\.0/);
    assert.deepEqual([noSeal?.status, noSeal?.reason], [400, 'InvalidRequest']);
    await until('the job of the revoked token is refused', () => reason(revoked.id) === 'TokenInactive');
    // A job created directly by an administrator has no request id and no row, and must not block other jobs.
    await kube.create(PROBE_JOBS, {
      metadata: { name: 'no-request-id', namespace },
      spec: { kind: 'file', source: { url: 'https://media.example.org/a.mp4' }, token: { id: 1, user: 1 } },
    });
    await until('it is refused', () => reason('no-request-id') === 'InvalidRequest');
    const { id } = await submit();
    const [record] = await ended(id);
    assert.equal(record?.state, 'success');
  });

  it('refuses a job when the queue is full', async () => {
    const { submit, ended, runners, newToken } = await led({}, { env: { PY_MAX_QUEUED: '1' } });
    const token = await newToken(1);
    runners.behaviour.go = () => 'hold';
    const running = await submit({ token });
    await until('it runs', () => runners.of(running.id));
    await submit({ token });
    const third = await submit({ token });
    const [record] = await ended(third.id);
    assert.deepEqual([record?.status, record?.reason], [429, 'QueueFull']);
  });

  it('one account takes at most half of the queue, over all its tokens', async () => {
    const { submit, ended, runners, newAccount, newToken, servers, term } = await led(
      {},
      { env: { PY_MAX_QUEUED: '4' } },
    );
    runners.behaviour.go = () => 'hold';
    const [one, other] = [await newAccount(), await newAccount()];
    for (const account of [one, other])
      await servers.stored.sql('update users set account_concurrency = 1 where id = $1', [account]);
    const tokens = [await newToken(1, one), await newToken(1, one)];
    const running = await submit({ token: tokens[0]! });
    await until('it runs', () => runners.of(running.id));
    for (const token of tokens) await submit({ token });
    await until('two wait', () => term.leader.ledger.waiting === 2);
    const beyond = await submit({ token: tokens[1]! });
    const [record] = await ended(beyond.id);
    assert.deepEqual(
      [record?.status, record?.reason, record?.error],
      [
        429,
        'QueueFull',
        'the account has as many requests in the queue as one account may have, over all its users and tokens; ' +
          'try again later',
      ],
    );
    const token = await newToken(1, other);
    const theirs = await submit({ token });
    await until('the other account runs', () => runners.of(theirs.id));
    await submit({ token });
    await until('its second job waits', () => term.leader.ledger.waiting === 3);
  });

  it('a job created with kubectl runs on the default token and is recorded under its uid', async () => {
    const { kube, namespace, ended, reason } = await led({});
    const { metadata } = await kube.create(PROBE_JOBS, {
      metadata: { name: 'by-hand', namespace },
      spec: {
        kind: 'file',
        source: { url: 'https://media.example.org/a.mp4' },
        tools: [{ name: 'ffprobe', version: 'latest' }],
      },
    });
    const [record] = await ended(metadata.uid ?? '');
    assert.equal(record?.state, 'success');
    await until('the job is Completed', () => reason('by-hand') === 'Completed');
  });

  it('ends an open request whose job was never created, and keeps one whose job exists', async () => {
    const { submit, record, store, admin, log } = await led({});
    const submittedAt = new Date(Math.floor(store.clock.now()) - 100_000);
    const [orphan, fresh] = [uuidv7(submittedAt.getTime()), await submit({ create: false })];
    await store.openRequest(anOpenInput(store, { id: orphan, submittedAt, ...admin }));
    await until('it is ended', async () => (await record(orphan)).state !== 'open');
    assert.deepEqual([(await record(orphan)).reason, (await record(fresh.id)).state], ['Cancelled', 'open']);
    await until('the log says so', () =>
      log.some(({ msg }) => msg === 'ended or took back open requests without a ProbeJob'),
    );
  });

  it('ends an open request without a job behind more older ones than one sweep looks at', async () => {
    const { record, store, sql, admin, term } = await led({});
    // All in one millisecond, as the requests of a chunk.
    const submittedAt = new Date(Math.floor(store.clock.now()) - 100_000);
    const ids = Array.from({ length: 250 }, () => uuidv7(submittedAt.getTime())).toSorted();
    const orphan = ids.pop()!;
    const open = (id: string, queueTimeoutMs: number) =>
      store.openRequest(anOpenInput(store, { id, submittedAt, queueTimeoutMs, ...admin }));
    await Promise.all([...ids.map((id) => open(id, 3_600_000)), open(orphan, 60_000)]);
    const [all] = await sql<{ count: number }>("select count(*)::integer as count from requests where state = 'open'");
    const sweep = makeSweep(term.leader, { behind: async () => {} });
    for (let seen = 0; seen < all!.count; seen += 200) await sweep();
    assert.equal((await record(orphan)).reason, 'Cancelled');
    assert.deepEqual(new Set((await Promise.all(ids.map(record))).map(({ state }) => state)), new Set(['open']));
    await sql('delete from requests where id = any($1)', [ids]);
  });
});
