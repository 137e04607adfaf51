import assert from 'node:assert/strict';
import type { ItemsOpening } from '../../src/platform/store/batch_items.ts';
import { openStore, type Store } from '../../src/platform/store/store.ts';
import type { OpenInput } from '../../src/platform/store/records.ts';
import { chunkFrom, requestOfChunk } from '../../src/platform/store/uuid.ts';
import { aBatch, someItems } from './batch_fixture.ts';
import { aCloseInput, anOpenInput, type StoreFixture, startStore } from './fixture.ts';

describe('store: chunks', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  let store: Store;
  /** As a controller connects. */
  let controller: Store;
  let epoch: number;

  before(async () => {
    fixture = await startStore();
    ({ store } = fixture);
    controller = await openStore({ url: fixture.urls.controller, poolSize: 10 });
    epoch = (await store.takeDriver({ holder: 'api-1', seconds: 600 }))!;
  });
  after(async () => {
    await controller.close();
    await fixture.close();
  });

  async function create(items: number): Promise<string> {
    const created = await store.createBatch(aBatch(store, { userId: fixture.admin.userId }), someItems(items), {
      most: { rootUserId: fixture.admin.userId, batches: 1_000, items: 1_000_000 },
      idempotency: null,
    });
    assert.ok('batch' in created, created.outcome);
    return created.batch.id;
  }
  interface Opening extends ItemsOpening {
    ids: string[];
    submittedAt: Date;
  }
  function opening(batch: string, ns: number[], change: Partial<OpenInput> = {}, attempt = 1): Opening {
    const { id, submittedAt } = store.newRequest();
    const ids = ns.map((_, at) => requestOfChunk(chunkFrom(id), at + 1));
    const items = ns.map((n, at) => ({
      n,
      attempt,
      open: anOpenInput(store, { userId: fixture.admin.userId, id: ids[at]!, submittedAt, ...change }),
    }));
    return { epoch, batch, items, ids, submittedAt };
  }
  const itemsOf = async (batch: string) =>
    (await store.itemsPage({ batch, after: -1, limit: 1_000 })).map(({ n, state, tries, requestId }) => [
      n,
      state,
      tries,
      requestId,
    ]);
  const waits = (n: number) => [n, 'waiting', 0, null];

  it('all items run and all requests are open, each as its own', async () => {
    const batch = await create(4);
    const chunk = opening(batch, [0, 1, 3]);
    assert.equal(await store.openItems(chunk), 'opened');
    const [a, b, c] = chunk.ids;
    assert.deepEqual(await itemsOf(batch), [
      [0, 'running', 1, a],
      [1, 'running', 1, b],
      waits(2),
      [3, 'running', 1, c],
    ]);
    const { display, state } = (await store.readRequest(b!))!;
    assert.deepEqual([display, state], ['https://example.org/a.mp4', 'open']);
    assert.deepEqual(await controller.openOfChunk(chunk), { id: a, isWanted: true });
  });

  it('once, of fifty races of chunks that overlap, and of single items', async () => {
    const batch = await create(100);
    for (let n = 0; n < 50; n++) {
      const outcomes = await Promise.all([
        store.openItems(opening(batch, [2 * n, 2 * n + 1])),
        store.openItems(opening(batch, [2 * n + 1, 2 * n])),
        store.openItems(opening(batch, [2 * n + 1])),
      ]);
      assert.equal(outcomes.filter((one) => one === 'opened').length, 1, `${n}: ${outcomes.join()}`);
    }
    const [{ open, running } = { open: 0, running: 1 }] = await fixture.sql<{ open: number; running: number }>(
      `select count(r.id)::integer open, count(*)::integer running from batch_items i
        left join requests r on r.id = i.request_id and r.state = 'open' where i.batch_id = $1 and i.state = 'running'`,
      [batch],
    );
    assert.equal(open, running);
  });

  it('again after a lost answer, and not with another request', async () => {
    const batch = await create(2);
    const chunk = opening(batch, [0, 1]);
    assert.deepEqual([await store.openItems(chunk), await store.openItems(chunk)], ['opened', 'opened']);
    assert.equal(await store.openItems(opening(batch, [0, 1])), 'not-waiting');
    assert.deepEqual(
      (await itemsOf(batch)).map(([, , tries]) => tries),
      [1, 1],
    );
  });

  it('none if one does not wait, the batch is paused, or another replica drives', async () => {
    const batch = await create(3);
    assert.equal(await store.openItems(opening(batch, [1])), 'opened');
    const chunk = opening(batch, [0, 1, 2]);
    assert.equal(await store.openItems(chunk), 'not-waiting');
    assert.equal(await store.openItems(opening(batch, [0, 2], {}, 2)), 'not-waiting');
    assert.equal(await store.openItems({ ...opening(batch, [0, 2]), epoch: epoch - 1 }), 'not-driver');
    await store.moveBatch({ id: batch, from: ['running'], to: 'paused', reason: null });
    assert.equal(await store.openItems(opening(batch, [0, 2])), 'not-running');
    assert.equal(await store.readRequest(chunk.ids[0]!), null);
    assert.deepEqual([(await itemsOf(batch))[0], (await itemsOf(batch))[2]], [waits(0), waits(2)]);
  });

  it('none if a quota is too small for all of them', async () => {
    const batch = await create(3);
    const [{ count } = { count: 0 }] = await fixture.sql<{ count: number }>(
      `select count(*)::integer count from requests where state = 'open'`,
    );
    const quotas = {
      of: [{ scope: 'account', limits: { 'request-count': count + 2 } } as const],
      rootUserId: fixture.admin.userId,
    };
    const chunk = opening(batch, [0, 1, 2], { quotas });
    assert.equal(await store.openItems(chunk), 'over-quota');
    assert.deepEqual(await itemsOf(batch), [waits(0), waits(1), waits(2)]);
    for (const id of chunk.ids) assert.equal(await store.readRequest(id), null);
  });

  it('quotas are judged once for all of them', async () => {
    await fixture.sql('create sequence judged');
    await fixture.sql('grant usage on sequence judged to public');
    await fixture.sql(`do $$ begin execute
      replace(pg_get_functiondef('quota_exceeded'::regproc), E'\nbegin', E'\nbegin perform nextval(''judged'');');
    end $$`);
    const of = [{ scope: 'account', limits: { 'request-count': 1_000_000 } } as const];
    const quotas = { of, rootUserId: fixture.admin.userId };
    assert.equal(await store.openItems(opening(await create(9), [0, 1, 2, 3, 4, 5, 6, 7, 8], { quotas })), 'opened');
    assert.deepEqual(await fixture.sql('select last_value::integer, is_called from judged'), [
      { last_value: 1, is_called: true },
    ]);
  });

  it('of sixteen chunks at once, as many open as a quota has room for', async () => {
    const { rootUserId } = { rootUserId: fixture.admin.userId };
    const [{ count } = { count: 0 }] = await fixture.sql<{ count: number }>('select count(*)::integer from requests');
    const quotas = { of: [{ scope: 'account', limits: { 'request-count': count + 1_250 } } as const], rootUserId };
    const [{ judging } = { judging: '' }] = await fixture.sql<{ judging: string }>(
      `select pg_get_functiondef('quota_exceeded'::regproc) judging`,
    );
    const ns = Array.from({ length: 100 }, (_, n) => n);
    const batches = await Promise.all(Array.from({ length: 16 }, () => create(100)));
    const driver = await openStore({ url: fixture.urls.api, poolSize: 16 });
    try {
      // All of them look before the first one is seen.
      await fixture.sql(judging.replace('\nbegin', '\nbegin perform pg_sleep(0.2);'));
      const outcomes = await Promise.all(batches.map((batch) => driver.openItems(opening(batch, ns, { quotas }))));
      assert.deepEqual(
        outcomes.toSorted(),
        Array.from({ length: 16 }, (_, at) => (at < 12 ? 'opened' : 'over-quota')),
      );
    } finally {
      await fixture.sql(judging);
      await driver.close();
    }
  });

  it('what a chunk did not come to leaves no trace, and waits with no try used; what has an end keeps it', async () => {
    const batch = await create(4);
    const chunk = opening(batch, [0, 1, 2, 3]);
    await store.openItems(chunk);
    const [first, second] = chunk.items;
    await controller.closeRequest(aCloseInput(first!.open));
    await controller.closeRequest(aCloseInput(second!.open, { state: 'error', status: 500, reason: 'RunnerLost' }));
    assert.equal((await controller.openOfChunk(chunk))?.id, chunk.ids[2]);
    assert.equal(await controller.returnItems(chunk), 2);
    assert.equal(await controller.openOfChunk(chunk), null);
    assert.equal(await controller.returnItems(chunk), 0);
    assert.deepEqual((await itemsOf(batch)).slice(2), [waits(2), waits(3)]);
    assert.equal(await store.readRequest(chunk.ids[2]!), null);
    // A result that comes after all is of no request.
    const late = await controller.closeRequest(aCloseInput(chunk.items[2]!.open));
    assert.deepEqual([late.closed, late.waiter], [false, null]);
    const ended = (await store.endedItems(1_000)).filter((one) => one.batch === batch);
    assert.deepEqual(ended.map(({ n, attempt }) => [n, attempt]).toSorted(), [
      [0, 1],
      [1, 1],
    ]);
    assert.equal(await store.openItems(opening(batch, [2, 3])), 'opened');
  });

  it('a request of no batch is never taken back', async () => {
    const single = anOpenInput(store);
    await store.openRequest(single);
    assert.equal(await controller.returnItems({ ids: [single.id], submittedAt: single.submittedAt }), 0);
    assert.equal((await store.readRequest(single.id))?.state, 'open');
  });

  it('those that would not run at once wait for a while', async () => {
    const batch = await create(2);
    const chunk = opening(batch, [0, 1]);
    await store.openItems(chunk);
    await controller.returnItems({ ...chunk, afterMs: 60_000 });
    assert.deepEqual((await store.claimItems({ batch, full: [], after: null, limit: 10 })).items, []);
    const soon = opening(await create(1), [0]);
    await store.openItems(soon);
    await controller.returnItems(soon);
    assert.equal((await store.claimItems({ batch: soon.batch, full: [], after: null, limit: 10 })).items.length, 1);
  });

  it('an end and a return at once: one of both', async () => {
    const batch = await create(50);
    const chunk = opening(
      batch,
      Array.from({ length: 50 }, (_, n) => n),
    );
    await store.openItems(chunk);
    const [returned, ...closes] = await Promise.all([
      controller.returnItems(chunk),
      ...chunk.items.map(({ open }) => controller.closeRequest(aCloseInput(open))),
    ]);
    assert.equal(returned + closes.filter(({ closed }) => closed).length, 50);
  });

  for (const [to, reason, isWanted] of [
    ['paused', null, false],
    ['cancelling', 'Cancelled', false],
    ['stopped', 'ByteBudget', false],
    ['stopped', 'TokenInactive', false],
    ['stopped', 'QuotaExceeded', true],
  ] as const)
    it(`are ${isWanted ? '' : 'not '}wanted once their batch is ${to}${reason ? `, ${reason}` : ''}`, async () => {
      const batch = await create(2);
      const chunk = opening(batch, [0, 1]);
      await store.openItems(chunk);
      await store.moveBatch({ id: batch, from: ['running'], to, reason });
      assert.equal((await controller.openOfChunk(chunk))?.isWanted, isWanted);
    });
});
