import assert from 'node:assert/strict';
import { SUBJECT, type CancelAnswer, type ItemToCancel } from '../../../src/platform/bus/messages.ts';
import { PROBE_JOBS } from '../../../src/platform/kube/client.ts';
import type { ProbeJob } from '../../../src/platform/kube/probe_job.ts';
import { openSealed } from '../../../src/platform/seal/seal.ts';
import { timeOf } from '../../../src/platform/store/uuid.ts';
import { startApi, type ApiFixture } from '../fixture.ts';
import { until } from '../../until.ts';
import { batchesOf, ONLY, requestsOf } from './fixture.ts';

const FAST = { rate: 1_000_000 };
const QUOTA = 'count/probejobs.probeyard.dev';

describe('batch: chunks', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  let batches: ReturnType<typeof batchesOf>;
  before(async () => {
    api = await startApi();
    batches = batchesOf(api);
    await api.stored.sql('update users set requests_per_minute = 1000000');
  });
  after(() => api.stop());

  const addresses = (host: string, count: number, from = 0): string[] =>
    Array.from({ length: count }, (_, n) => `https://${host}/${from + n}.mp4`);
  const addressesIn = ({ metadata, spec }: ProbeJob): string[] => {
    const binding = { requestId: metadata.name, tokenId: spec.token!.id };
    const text = openSealed(spec.source.sealed!, binding, api.privateKeys);
    return spec.items === undefined ? [text] : (JSON.parse(text) as string[]);
  };
  const remove = ({ metadata }: ProbeJob) => api.kube.delete(PROBE_JOBS, metadata.name, { namespace: api.namespace });
  /** As the leader does, of all requests of a job. */
  const returned = (job: ProbeJob) =>
    api.stored.store.returnItems({ ids: requestsOf(job), submittedAt: timeOf(job.metadata.name)! });
  /** The first job of the host with several items; jobs of one are ended. */
  const chunkOf = (host: string): Promise<ProbeJob> =>
    until(`a chunk of ${host}`, async () => {
      const jobs = await batches.jobs(host);
      const chunk = jobs.find(({ spec }) => spec.items !== undefined);
      if (chunk) return chunk;
      for (const job of jobs) {
        await batches.success(job.metadata.name);
        await remove(job);
      }
      return undefined;
    });

  it('grow while all of their items end; each item is one request, with its own address', async () => {
    const host = 'grow.test';
    const { id } = await batches.create({ items: addresses(host, 60), concurrency: 2, per_host: 8, ...FAST });
    const jobs = new Map<string, ProbeJob>();
    const most = await batches.run(id, host, async ({ metadata: { name }, ...job }) => {
      const found = (await batches.jobs(host)).find((one) => requestsOf(one).includes(name));
      jobs.set(found!.metadata.name, found!);
      assert.equal(job.spec.background, true);
      await batches.success(name);
    });
    assert.ok(most <= 2, String(most));
    const all = [...jobs.values()];
    assert.ok(Math.max(...all.map(({ spec }) => spec.items ?? 1)) >= 8, all.map(({ spec }) => spec.items).join());
    assert.ok(all.length <= 20, String(all.length));
    const items = await batches.items(id, 'limit=100');
    const byRequest = new Map(all.flatMap((job) => requestsOf(job).map((one, at) => [one, addressesIn(job)[at]])));
    for (const { request_id: request, url, state, tries } of items)
      assert.deepEqual([byRequest.get(request!), state, tries], [url, 'success', 1]);
    const logged = await api.stored.sql(`select id from requests where display like '%${host}%' and state = 'success'`);
    assert.equal(logged.length, 60);
    assert.equal((await batches.read(id)).requests, 60);
  });

  it('a host is read by no more of them at once than per_host', async () => {
    const host = 'polite.test';
    const { id } = await batches.create({ items: addresses(host, 20), concurrency: 4, per_host: 1, ...FAST });
    assert.equal(await batches.run(id, host, (job) => batches.success(job.metadata.name)), 1);
  });

  it('the requests of one are made only of what its host and the budget allow', async () => {
    const host = 'budget.test';
    const { id } = await batches.create({ items: addresses(host, 40), concurrency: 1, max_requests: 12, ...FAST });
    await until('it is stopped', async () => {
      for (const job of await batches.jobs(host)) {
        for (const name of requestsOf(job)) await batches.success(name);
        await remove(job);
      }
      return (await api.stored.store.readBatch(id))?.state === 'stopped';
    });
    const { reason, requests } = await batches.read(id);
    assert.deepEqual([reason, requests], ['RequestBudget', 12]);
    await batches.act(id, 'cancel');
  });

  it('what one did not come to begins again, in smaller ones, and no try is used', async () => {
    const host = 'return.test';
    const { id } = await batches.create({ items: addresses(host, 30), concurrency: 1, tries: 1, ...FAST });
    const chunk = await chunkOf(host);
    const [first, ...others] = requestsOf(chunk);
    await batches.success(first!);
    assert.equal(await returned(chunk), others.length);
    await remove(chunk);
    const next = await until('the next job', async () => (await batches.jobs(host))[0]);
    assert.equal(next.spec.items, undefined);
    await batches.run(id, host, (job) => batches.success(job.metadata.name));
    const items = await batches.items(id, 'limit=100');
    assert.deepEqual([...new Set(items.map(({ state, tries }) => `${state} ${tries}`))], ['success 1']);
    assert.equal((await batches.read(id)).requests, 30);
  });

  it('cancel: the job is deleted, what it did not come to is skipped', async () => {
    const host = 'cancel.test';
    const { id } = await batches.create({ items: addresses(host, 30), concurrency: 1, ...FAST });
    const chunk = await chunkOf(host);
    await batches.act(id, 'cancel');
    await until('the job is deleted', async () => (await batches.jobs(host)).length === 0);
    const [first] = requestsOf(chunk);
    await batches.failure(first!, { status: 499, reason: 'Cancelled', error: 'the request was cancelled' });
    await returned(chunk);
    const { counts } = await batches.untilIn(id, 'ended');
    assert.deepEqual([counts['waiting'], counts['running'], counts['error']], [0, 0, 1]);
  });

  it('cancel: without its job all of it is skipped', async () => {
    const host = 'lost.test';
    const { id } = await batches.create({ items: addresses(host, 30), concurrency: 1, ...FAST });
    await remove(await chunkOf(host));
    await batches.act(id, 'cancel');
    const { counts } = await batches.untilIn(id, 'ended');
    assert.deepEqual([counts['running'], counts['error']], [0, 0]);
  });

  it('one request of it can be cancelled: the others go on', async () => {
    const host = 'single.test';
    const { id } = await batches.create({ items: addresses(host, 30), concurrency: 1, ...FAST });
    const chunk = await chunkOf(host);
    const last = requestsOf(chunk).at(-1)!;
    const headers = { Authorization: `Bearer ${api.token}` };
    const answer = await fetch(`${api.url}/v1/probe/${last}/cancel`, { method: 'POST', headers });
    assert.equal(answer.status, 202);
    assert.equal((await batches.jobs(host)).length, 1);
    const standing = await fetch(`${api.url}/v1/probe/${requestsOf(chunk)[0]}`, { headers });
    assert.equal(((await standing.json()) as { state: string }).state, 'queued');
    await batches.run(id, host, async ({ metadata: { name } }) => {
      if (name !== last) await batches.success(name);
    });
    const { counts } = await batches.read(id);
    assert.deepEqual([counts['success'], counts['error']], [29, 1]);
  });

  it('a request of it that ends, or is taken back, before the leader comes to it cannot be cancelled', async () => {
    const host = 'race.test';
    const { id } = await batches.create({ items: addresses(host, 30), concurrency: 1, ...FAST });
    const chunk = await chunkOf(host);
    const [first, second] = requestsOf(chunk);
    const leader = api.bus.serve<ItemToCancel, CancelAnswer>(SUBJECT.cancelItem, async ({ message }) => {
      if (message.id === first) await batches.success(first);
      else await returned(chunk);
      return { ended: false };
    });
    const headers = { Authorization: `Bearer ${api.token}` };
    const said = [];
    for (const request of [first, second]) {
      const answer = await fetch(`${api.url}/v1/probe/${request}/cancel`, { method: 'POST', headers });
      said.push([answer.status, ((await answer.json()) as { error: string }).error]);
    }
    leader.stop();
    assert.deepEqual(said, [
      [409, 'the request has ended'],
      [404, 'the request was taken back before it began: its item waits again'],
    ]);
    await batches.act(id, 'cancel');
  });

  /** Ends each job of the host; returns how many items shared one. */
  async function endAll(id: string, host: string): Promise<number> {
    let shared = 0;
    await until(
      'the batch has ended',
      async () => {
        const { items } = await api.kube.listAll(PROBE_JOBS, { namespace: api.namespace });
        for (const job of items.filter(({ spec }) => spec.source.display?.includes(host))) {
          shared += job.spec.items ?? 0;
          for (const name of requestsOf(job)) await batches.success(name);
          await remove(job);
        }
        return (await api.stored.store.readBatch(id))?.state === 'ended';
      },
      30_000,
    );
    return shared;
  }

  for (const [what, host, change] of [
    ['a query', 'query.test', { items: addresses('query.test', 12).map((url) => `${url}?key=secret`) }],
    ['credentials', 'user.test', { items: addresses('user.test', 12).map((url) => url.replace('//', '//a:b@')) }],
    [
      'a named credential',
      'named.test',
      {
        items: addresses('named.test', 12).map((url) => url.replace('https', 's3')),
        probe: { ...ONLY, credential: 'x' },
      },
    ],
    ['the cache', 'cache.test', { probe: { ...ONLY, cache: { max_age: 60 } } }],
  ] as const)
    it(`none has an address with ${what}`, async () => {
      const { id } = await batches.create({ items: addresses(host, 12), concurrency: 2, ...change, ...FAST });
      assert.equal(await endAll(id, host), 0);
      assert.equal((await batches.read(id)).counts['success'], 12);
    });

  it('none has an address with a query, whatever the record says of it', async () => {
    const host = 'marked.test';
    await api.stored.sql(`create function mark_plain() returns trigger language plpgsql as
      'begin new.plain := true; return new; end'`);
    await api.stored.sql(`create trigger mark_plain before insert on batch_items
      for each row execute function mark_plain()`);
    const items = addresses(host, 32).map((url, n) => (n < 20 || n % 2 ? url : `${url}?key=secret`));
    const { id } = await batches.create({ items, concurrency: 1, ...FAST });
    await api.stored.sql('drop function mark_plain cascade');
    const withQuery = new Set(items.filter((url) => url.includes('?')));
    const shared: string[] = [];
    await batches.run(id, host, async ({ metadata: { name } }) => {
      const found = (await batches.jobs(host)).find((one) => requestsOf(one).includes(name))!;
      if (found.spec.items !== undefined) shared.push(...addressesIn(found));
      await batches.success(name);
    });
    assert.ok(shared.length > 0);
    assert.deepEqual(
      shared.filter((url) => withQuery.has(url)),
      [],
    );
    assert.equal((await batches.read(id)).counts['success'], 32);
  });

  it('no more items that share no job are claimed than begin, also where others have grown chunks', async () => {
    const host = 'mixed.test';
    const [plain, withQuery] = [addresses(host, 30), addresses(host, 60, 30).map((url) => `${url}?key=secret`)];
    const { store } = api.wired.deps;
    const { claimItems } = store;
    const limits: number[] = [];
    store.claimItems = async (claim) => {
      const claimed = await claimItems(claim);
      if (claimed.items.length > 0 && claimed.items.every((item) => !item.plain)) limits.push(claim.limit);
      return claimed;
    };
    const { id } = await batches.create({ items: [...plain, ...withQuery], concurrency: 2, per_host: 8, ...FAST });
    assert.ok((await endAll(id, host)) > 0);
    store.claimItems = claimItems;
    assert.equal((await batches.read(id)).counts['success'], 90);
    // Two jobs, and what is being opened: more only while the size falls.
    assert.ok(limits.filter((limit) => limit > 4).length <= 10, limits.join());
  });

  it('where all items of more hosts than a claim looks at wait, none is looked for again at once', async () => {
    const items = Array.from({ length: 150 }, (_, n) => `https://wait-${n}.test/a.mp4`);
    const { id } = await batches.create({ items, concurrency: 1, ...FAST });
    const running = await until('an item runs', async () => (await batches.items(id, 'state=running'))[0]);
    await api.stored.sql(
      `update batch_items set not_before = now() + interval '1 hour' where batch_id = $1 and state = 'waiting'`,
      [id],
    );
    const { store } = api.wired.deps;
    const { claimItems } = store;
    const last: number[] = [];
    store.claimItems = async (claim) => {
      const claimed = await claimItems(claim);
      if (claim.batch === id && claimed.after === null) last.push(performance.now());
      return claimed;
    };
    await batches.success(running.request_id!);
    await until('the last host was looked at four times', () => last.length >= 4);
    store.claimItems = claimItems;
    // It goes on at once with what followed the item that ran.
    assert.ok(last[3]! - last[1]! > 3_000, last.join());
    await batches.act(id, 'cancel');
  });

  it('with a quota for fewer, as many begin as it allows', async () => {
    const host = 'few.test';
    const { token, id: tokenId } = await api.newToken();
    await api.stored.sql(`update tokens set monthly_quota = '{"request-count": 9}' where id = $1`, [tokenId]);
    const { id } = await batches.create({ items: addresses(host, 40), concurrency: 1, ...FAST }, token);
    await until('it is stopped', async () => {
      for (const job of await batches.jobs(host)) {
        for (const name of requestsOf(job)) await batches.success(name);
        await remove(job);
      }
      return (await api.stored.store.readBatch(id))?.state === 'stopped';
    });
    const { reason, counts } = await batches.read(id);
    assert.deepEqual([reason, counts['success'], counts['waiting']], ['QuotaExceeded', 9, 31]);
    await batches.act(id, 'cancel');
  });

  it('where so many cannot be opened in time, fewer are', async () => {
    const host = 'slow.test';
    const [{ sql } = { sql: '' }] = await api.stored.sql<{ sql: string }>(
      `select pg_get_functiondef('open_items'::regproc) sql`,
    );
    const late = `if cardinality(ids) > 2 then raise exception 'late' using errcode = 'query_canceled'; end if;`;
    await api.stored.sql(sql.replace('\nbegin', `\nbegin ${late}`));
    const { id } = await batches.create({ items: addresses(host, 10), concurrency: 1, ...FAST });
    await batches.run(id, host, (job) => batches.success(job.metadata.name));
    await api.stored.sql(sql);
    assert.equal((await batches.read(id)).counts['success'], 10);
  });

  it('that cannot be created: the first request says why, and the others begin again', async () => {
    const host = 'full.test';
    const { id } = await batches.create({ items: addresses(host, 30), concurrency: 1, ...FAST });
    const chunk = await chunkOf(host);
    const QUOTAS = { group: '', version: 'v1', plural: 'resourcequotas', kind: 'ResourceQuota', namespaced: true };
    const quota = { metadata: { name: 'none', namespace: api.namespace }, spec: { hard: { [QUOTA]: '1' } } };
    await api.kube.create(QUOTAS, quota as never);
    await api.kube.mergePatchStatus(QUOTAS, 'none', { hard: { [QUOTA]: '1' }, used: { [QUOTA]: '1' } } as never, {
      namespace: api.namespace,
    });
    for (const name of requestsOf(chunk)) await batches.success(name);
    await until('a request says so', async () => {
      const rows = await api.stored.sql(
        `select 1 from requests where display like '%${host}%' and reason = 'QueueFull'`,
      );
      return rows.length > 0;
    });
    await api.kube.delete(QUOTAS, 'none', { namespace: api.namespace });
    await remove(chunk);
    const open = await api.stored.sql(`select 1 from requests where display like '%${host}%' and state = 'open'`);
    assert.ok(open.length <= 1, String(open.length));
    await batches.act(id, 'cancel');
  });
});
