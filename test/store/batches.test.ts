import assert from 'node:assert/strict';
import type { ItemToOpen } from '../../src/platform/store/batch_items.ts';
import type { Batch, NewBatch, NewItem } from '../../src/platform/store/batches.ts';
import type { CloseInput, OpenInput } from '../../src/platform/store/records.ts';
import { openStore, type Store } from '../../src/platform/store/store.ts';
import { uuidv7 } from '../../src/platform/store/uuid.ts';
import { until } from '../until.ts';
import { aBatch, someItems } from './batch_fixture.ts';
import { aCloseInput, anOpenInput, sha256, type StoreFixture, startStore } from './fixture.ts';

const DAY = 86_400_000;
const ROOM = { batches: 1_000, items: 1_000_000 };

describe('store: batches', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  let store: Store;
  let other: Store;
  let epoch: number;

  before(async () => {
    fixture = await startStore();
    ({ store } = fixture);
    other = await openStore({ url: fixture.urls.api, poolSize: 20 });
    epoch = (await store.takeDriver({ holder: 'api-1', seconds: 600 }))!;
  });
  after(async () => {
    await other.close();
    await fixture.close();
  });

  async function create(items: NewItem[] | number, change: Partial<NewBatch> = {}, most = ROOM): Promise<Batch> {
    const created = await store.createBatch(
      aBatch(store, { userId: fixture.admin.userId, ...change }),
      typeof items === 'number' ? someItems(items) : items,
      { most: { rootUserId: fixture.admin.userId, ...most }, idempotency: null },
    );
    assert.ok('batch' in created, created.outcome);
    return created.batch;
  }
  const opening = ({ id }: { id: string }, n: number, change: Partial<ItemToOpen> = {}) => {
    const open = change.open ?? anOpenInput(store, { userId: fixture.admin.userId });
    return { epoch, batch: id, items: [{ n, attempt: 1, ...change, open }], open };
  };
  const open = async (batch: { id: string }, n: number, attempt = 1): Promise<OpenInput> => {
    const input = opening(batch, n, { attempt });
    assert.equal(await store.openItems(input), 'opened');
    return input.open;
  };
  const ended = async (batch: { id: string }) =>
    (await store.endedItems(1_000)).filter(({ batch: id }) => id === batch.id);
  const close = (input: OpenInput, change: Partial<CloseInput> = {}) => store.closeRequest(aCloseInput(input, change));
  const settle = async (batch: { id: string }) =>
    store.settleItems((await ended(batch)).map((end) => ({ ...end, next: { to: 'end' } })));
  const item = async (batch: { id: string }, n: number) =>
    (await store.itemsPage({ batch: batch.id, after: n - 1, limit: 1 }))[0]!;
  const counts = async ({ id }: { id: string }) => (await store.readBatch(id))!.counts;
  const RAN = { name: 'ffprobe', version: '7.0', success: true, durationMs: 1, usageMs: 1 } as const;
  const NONE = { waiting: 0, running: 0, success: 0, 'with-errors': 0, error: 0, skipped: 0 };

  describe('are created', () => {
    it('with all items, which wait', async () => {
      const batch = await create(1_203, { name: 'films', maxRequests: 5_000, deadlineAt: new Date('2100-01-01') });
      assert.equal(batch.state, 'running');
      assert.deepEqual(batch.counts, { ...NONE, waiting: 1_203 });
      assert.deepEqual(await store.readBatch(batch.id), batch);
      assert.deepEqual([batch.name, batch.maxRequests, batch.maxBytes], ['films', 5_000, null]);
      const page = await store.itemsPage({ batch: batch.id, after: 1_199, limit: 100 });
      assert.deepEqual(
        page.map(({ n, state, tries, notBefore, ref }) => ({ n, state, tries, notBefore, ref })),
        [1_200, 1_201, 1_202].map((n) => ({ n, state: 'waiting', tries: 0, notBefore: null, ref: `ref ${n}` })),
      );
    });

    it('not at all if an item cannot be stored', async () => {
      const batch = aBatch(store, { userId: fixture.admin.userId });
      const twice = [...someItems(600), ...someItems(1)];
      await assert.rejects(
        store.createBatch(batch, twice, {
          most: { rootUserId: fixture.admin.userId, ...ROOM },
          idempotency: null,
        }),
      );
      assert.equal(await store.readBatch(batch.id), null);
    });

    it('with what is written beside them, or not at all', async () => {
      const batch = aBatch(store, { userId: fixture.admin.userId });
      const most = { rootUserId: fixture.admin.userId, ...ROOM };
      await assert.rejects(
        store.together('create and fail', async (calls) => {
          const made = await calls.createBatch(batch, someItems(3), { most, idempotency: null });
          assert.equal(made.outcome, 'created');
          throw new Error('no entry');
        }),
        /no entry/,
      );
      assert.equal(await store.readBatch(batch.id), null);
    });

    it('once, when the answer was lost, and once under a key for a day', async () => {
      const most = { rootUserId: fixture.admin.userId, ...ROOM };
      const make = (batch: NewBatch, key: string, body = 'body') =>
        store.createBatch(batch, someItems(2), { most, idempotency: { key, bodySha256: sha256(body) } });
      const batch = aBatch(store, { userId: fixture.admin.userId });
      const made = await make(batch, 'k');
      assert.deepEqual(await make(batch, 'k'), made);
      const repeated = await make(aBatch(store, { userId: fixture.admin.userId }), 'k');
      assert.deepEqual(repeated, { ...made, outcome: 'repeated' });
      assert.deepEqual(await make(aBatch(store, { userId: fixture.admin.userId }), 'k', 'another'), {
        outcome: 'idempotency-conflict',
      });
      await fixture.sql(`update batches set created_at = now() - interval '25 hours' where id = $1`, [batch.id]);
      assert.equal((await make(aBatch(store, { userId: fixture.admin.userId }), 'k', 'another')).outcome, 'created');
    });

    it('as many as fit, of ten at once', async () => {
      const [user] = await fixture.sql<{ id: string }>(
        `insert into users (email, status, role) values ('bounds@example.org', 'active', 'user') returning id`,
      );
      const userId = Number(user!.id);
      const make = (most: { batches: number; items: number }) =>
        Promise.all(
          Array.from({ length: 10 }, async (_, index) => {
            const from = index % 2 === 0 ? store : other;
            const options = { most: { rootUserId: userId, ...most }, idempotency: null };
            return (await from.createBatch(aBatch(store, { userId }), someItems(10), options)).outcome;
          }),
        );
      const tally = (outcomes: string[]) =>
        Object.fromEntries(
          Object.entries(Object.groupBy(outcomes, (o) => o)).map(([outcome, all]) => [outcome, all!.length]),
        );
      assert.deepEqual(tally(await make({ batches: 3, items: 1_000 })), { created: 3, 'too-many-batches': 7 });
      assert.deepEqual(tally(await make({ batches: 100, items: 55 })), { created: 2, 'too-many-items': 8 });
    });

    it('and listed to their user alone, the newest first, in pages', async () => {
      const userId = 4_711;
      const made: Batch[] = [];
      for (let time = 0; time < 5; time++)
        made.push(await create(1, { userId, id: uuidv7(Math.floor(store.clock.now()) + time) }));
      const first = await store.listBatches({ userId, before: null, limit: 3 });
      const second = await store.listBatches({ userId, before: first.at(-1)!.id, limit: 3 });
      assert.deepEqual([...first, ...second], made.toReversed());
      assert.equal(second.length, 2);
    });
  });

  describe('have one driver', () => {
    it('which stays it while it renews, and each change raises the epoch', async () => {
      assert.equal(await store.takeDriver({ holder: 'api-1', seconds: 600 }), epoch);
      assert.equal(await other.takeDriver({ holder: 'api-2', seconds: 600 }), null);
      const batch = await create(3);
      const old = await open(batch, 0);
      await store.leaveDriver('api-1');
      const next = (await other.takeDriver({ holder: 'api-2', seconds: 600 }))!;
      assert.equal(next, epoch + 1);
      assert.equal(await store.takeDriver({ holder: 'api-1', seconds: 600 }), null);
      assert.equal(await store.openItems(opening(batch, 1)), 'not-driver');
      assert.equal((await item(batch, 1)).state, 'waiting');
      epoch = next;
      assert.equal(await other.openItems(opening(batch, 1)), 'opened');
      // The new one finds what the old one had opened.
      assert.deepEqual(
        (await other.runningItems())
          .filter(({ batch: id }) => id === batch.id)
          .map(({ n, requestId }) => [n, requestId])[0],
        [0, old.id],
      );
      await fixture.sql(`update batch_driver set until = now() - interval '1 s'`);
      epoch = (await store.takeDriver({ holder: 'api-1', seconds: 600 }))!;
      assert.equal(epoch, next + 1);
    });

    it('one of twenty that ask at once', async () => {
      await store.leaveDriver('api-1');
      const epochs = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          (index % 2 ? store : other).takeDriver({ holder: `r-${index}`, seconds: 600 }),
        ),
      );
      assert.deepEqual(
        epochs.filter((one) => one !== null),
        [epoch + 1],
      );
      await fixture.sql('update batch_driver set until = now()');
      epoch = (await store.takeDriver({ holder: 'api-1', seconds: 600 }))!;
    });

    it('which sees what runs and what is cancelled, with its key and account', async () => {
      const [running, paused, cancelling] = [await create(1), await create(1), await create(1, { userId: 999_999 })];
      await store.moveBatch({ id: paused.id, from: ['running'], to: 'paused', reason: null });
      await store.moveBatch({ id: cancelling.id, from: ['running'], to: 'cancelling', reason: 'Cancelled' });
      const driven = new Map((await store.drivenBatches()).map((one) => [one.id, one]));
      assert.equal(driven.has(paused.id), false);
      const { sealedKey, rootUserId, ...batch } = driven.get(running.id)!;
      assert.deepEqual(batch, running);
      assert.deepEqual([sealedKey, rootUserId], [Buffer.from('key'), fixture.admin.userId]);
      assert.deepEqual([driven.get(cancelling.id)!.state, driven.get(cancelling.id)!.rootUserId], ['cancelling', null]);
    });

    it('which sees batches of each user, however many another one has', async () => {
      const last = await create(1);
      await fixture.sql(`insert into batches select (jsonb_populate_record(b, jsonb_build_object('user_id', 999998,
        'id', '00000000-0000-7000-8000-' || lpad(n::text, 12, '0')))).* from batches b, generate_series(1, 1100) n
        where b.id = '${last.id}'`);
      await fixture.sql(`update batches set state = 'cancelling' where user_id = 999998 and id::text like '%1100'`);
      const driven = new Set((await store.drivenBatches()).map(({ id }) => id));
      assert.equal(driven.size, 1_000);
      assert.ok(driven.has(last.id));
      assert.ok(driven.has('00000000-0000-7000-8000-000000001100'), 'what is cancelled comes first');
      await fixture.sql('delete from batches where user_id = 999998');
    });

    it('which is told of new batches, and of those that go on or are cancelled', async () => {
      let heard = 0;
      const listener = store.listenBatches(() => heard++);
      const waits = (least: number) => until(`${least} notices`, () => heard >= least);
      await waits(1);
      const { id } = await create(1);
      await waits(2);
      await store.moveBatch({ id, from: ['running'], to: 'paused', reason: null });
      await store.moveBatch({ id, from: ['paused'], to: 'running', reason: null });
      await waits(3);
      await listener.stop();
      assert.equal(heard, 3);
    });
  });

  describe('open their items', () => {
    it('once, of fifty races', async () => {
      const batch = await create(50);
      for (let n = 0; n < 50; n++) {
        const outcomes = await Promise.all(
          [store, other, store, other].map((from) => from.openItems(opening(batch, n))),
        );
        assert.deepEqual(outcomes.toSorted(), ['not-waiting', 'not-waiting', 'not-waiting', 'opened'], `item ${n}`);
      }
      const [{ requests } = { requests: 0 }] = await fixture.sql<{ requests: number }>(
        `select count(*)::integer requests from batch_items i join requests r on r.id = i.request_id
          where i.batch_id = $1 and i.state = 'running' and r.state = 'open'`,
        [batch.id],
      );
      assert.equal(requests, 50);
      assert.deepEqual(await counts(batch), { ...NONE, running: 50 });
    });

    it('with a request that a quota refuses: the item waits on, and no try is used', async () => {
      const batch = await create(1);
      const quotas = {
        of: [{ scope: 'account', limits: { 'request-count': 0 } } as const],
        rootUserId: fixture.admin.userId,
      };
      const input = opening(batch, 0, { open: anOpenInput(store, { userId: fixture.admin.userId, quotas }) });
      assert.equal(await store.openItems(input), 'over-quota');
      assert.equal(await store.readRequest(input.open.id), null);
      const { state, tries, requestId } = await item(batch, 0);
      assert.deepEqual({ state, tries, requestId }, { state: 'waiting', tries: 0, requestId: null });
      assert.equal(await store.openItems(opening(batch, 0)), 'opened');
    });

    it('not for another attempt, and not beyond the end of the list', async () => {
      const batch = await create(1);
      assert.equal(await store.openItems(opening(batch, 0, { attempt: 2 })), 'not-waiting');
      assert.equal(await store.openItems(opening(batch, 1)), 'not-waiting');
      assert.equal(await store.openItems(opening({ id: uuidv7(1) }, 0)), 'not-running');
    });

    const isWaitedFor = (what: string, statement: string) =>
      until(`${what} waits for the open that is under way`, async () => {
        const text = `select from pg_stat_activity where wait_event_type = 'Lock' and query like $1`;
        return (await fixture.sql(text, [`%${statement}%`])).length > 0;
      });

    it('before a pause or after it, never beside it', async () => {
      const batch = await create(2);
      let isPaused = false;
      const pausing = await store.together('open', async (calls) => {
        assert.equal(await calls.openItems(opening(batch, 0)), 'opened');
        const moved = other.moveBatch({ id: batch.id, from: ['running'], to: 'paused', reason: null }).then((after) => {
          isPaused = true;
          return after;
        });
        await isWaitedFor('the pause', 'select pg_advisory_xact_lock');
        assert.equal(isPaused, false);
        return { moved };
      });
      const paused = await pausing.moved;
      assert.deepEqual([paused?.state, await counts(batch)], ['paused', { ...NONE, running: 1, waiting: 1 }]);
      assert.equal(await store.openItems(opening(batch, 1)), 'not-running');
    });

    it('before another replica drives or not at all', async () => {
      const batch = await create(2);
      await store.leaveDriver('api-1');
      const taking = await store.together('open', async (calls) => {
        assert.equal(await calls.openItems(opening(batch, 0)), 'opened');
        const taken = other.takeDriver({ holder: 'api-2', seconds: 600 });
        await isWaitedFor('the other replica', 'select * from take_driver');
        return { taken };
      });
      assert.equal(await taking.taken, epoch + 1);
      assert.equal(await store.openItems(opening(batch, 1)), 'not-driver');
      await other.leaveDriver('api-2');
      epoch = (await store.takeDriver({ holder: 'api-1', seconds: 600 }))!;
    });
  });

  describe('settle their items', () => {
    it('with the end of their request, once', async () => {
      const batch = await create(4);
      const [first, second, third] = [await open(batch, 0), await open(batch, 1), await open(batch, 2)];
      assert.deepEqual(await ended(batch), []);
      await close(first, { tools: [{ ...RAN, tagged: 'written' }, RAN] });
      await close(second, { state: 'with-errors', policy: 'fail', tools: [RAN] });
      await close(third, {
        state: 'error',
        status: 400,
        reason: 'OriginUnreachable',
        error: 'no such host',
        tools: [{ ...RAN, success: false, code: 'dns', tagged: 'http-403' }],
        ioBytes: 7,
        body: null,
      });
      const ends = await ended(batch);
      assert.deepEqual(
        ends.find(({ n }) => n === 2),
        {
          batch: batch.id,
          n: 2,
          attempt: 1,
          requestId: third.id,
          submittedAt: third.submittedAt,
          state: 'error',
          reason: 'OriginUnreachable',
          code: 'dns',
          status: 400,
          policyOutcome: null,
          ioBytes: 7,
          tagged: 'http-403',
          facets: null,
        },
      );
      const settled = ends.map((end) => ({ ...end, next: { to: 'end' as const } }));
      assert.deepEqual(
        (await Promise.all([store.settleItems(settled), other.settleItems(settled)])).toSorted(),
        [0, 3],
      );
      assert.equal(await store.settleItems(settled), 0);
      assert.deepEqual(await counts(batch), { ...NONE, waiting: 1, success: 1, 'with-errors': 1, error: 1 });
      const { requests, ioBytes, tags } = (await store.readBatch(batch.id))!;
      assert.deepEqual([requests, ioBytes, tags], [3, 2_007, { written: 1, 'http-403': 1 }]);
      const { state, status, reason, code, requestId, endedAt } = await item(batch, 2);
      assert.deepEqual([state, status, reason, code, requestId], ['error', 400, 'OriginUnreachable', 'dns', third.id]);
      assert.ok(endedAt);
      assert.deepEqual(
        await fixture.sql('select n from batch_items where batch_id = $1 and sealed is not null', [batch.id]),
        [{ n: 3 }],
      );
    });

    it('with the facets of what was read, each item once', async () => {
      const batch = await create(4);
      const film = { container: ['matroska'], video_codec: ['hevc'], audio_codec: ['aac', 'ac3'], hdr: ['HDR10'] };
      const opened = [await open(batch, 0), await open(batch, 1), await open(batch, 2)];
      const facets = [film, { container: ['mp4'], audio_codec: ['aac'] }, { container: ['avi'] }];
      for (const [at, input] of opened.entries())
        await close(input, {
          tools: [
            { ...RAN, facets: facets[at]! },
            { ...RAN, facets: { container: ['flv'] } },
          ],
        });
      const [again, ...ends] = (await ended(batch)).toSorted((a, b) => b.n - a.n);
      await store.settleItems([{ ...again!, next: { to: 'waiting', afterMs: 0, isTry: true } }]);
      const settled = ends.map((end) => ({ ...end, next: { to: 'end' as const } }));
      await Promise.all([store.settleItems(settled), other.settleItems(settled)]);
      const { facets: counted } = await store.batchFound(batch.id);
      assert.deepEqual(counted, {
        'container:matroska': 1,
        'container:mp4': 1,
        'video_codec:hevc': 1,
        'audio_codec:aac': 2,
        'audio_codec:ac3': 1,
        'hdr:HDR10': 1,
      });
      assert.deepEqual(await Promise.all([0, 1, 2].map(async (n) => (await item(batch, n)).facets)), [
        facets[0],
        facets[1],
        null,
      ]);
      const having = async (asked: object, after = -1) =>
        (await store.itemsPage({ batch: batch.id, after, limit: 10, facets: asked })).map(({ n }) => n);
      assert.deepEqual(await having({ audio_codec: 'aac' }), [0, 1]);
      assert.deepEqual(await having({ audio_codec: 'ac3', hdr: 'HDR10' }), [0]);
      assert.deepEqual(await having({ audio_codec: 'aac' }, 0), [1]);
      assert.deepEqual(await having({ container: 'matroska', hdr: 'SDR' }), []);
      assert.deepEqual(await having({ container: 'mp4' }, 2_147_483_647), []);
    });

    it('with at most 100 values of a facet, and the others together', async () => {
      const add = async (had: object, facets: object[]) => {
        const [row] = await fixture.sql<{ counts: Record<string, number> }>(
          'select add_facets($1, array(select jsonb_array_elements($2))) counts',
          [JSON.stringify(had), JSON.stringify(facets)],
        );
        return row!.counts;
      };
      const values = (count: number, from = 0) => Array.from({ length: count }, (_, n) => String(n + from));
      const some = await add({}, [{ rule: values(99) }, { hdr: ['PQ'] }]);
      assert.deepEqual([Object.keys(some).length, some['rule:']], [100, undefined]);
      const full = await add(some, [{ rule: values(10, 95) }, { rule: ['104'], hdr: ['HLG'] }]);
      // Of those that are new, the most frequent one has the last place.
      assert.deepEqual([full['rule:98'], full['rule:104'], full['rule:99'], full['rule:']], [2, 2, undefined, 5]);
      assert.deepEqual([full['hdr:HLG'], (await add(full, [{ rule: ['x', '98'] }]))['rule:']], [1, 6]);
    });

    it('with another try, not before its time', async () => {
      const batch = await create(1);
      const failed = await open(batch, 0);
      await close(failed, {
        state: 'error',
        status: 500,
        reason: 'RunnerLost',
        body: null,
        tools: [{ ...RAN, tagged: 'changed' }],
        ioBytes: 5,
      });
      const [end] = await ended(batch);
      assert.equal(await store.settleItems([{ ...end!, next: { to: 'waiting', afterMs: 3_600_000, isTry: true } }]), 1);
      assert.deepEqual(await counts(batch), { ...NONE, waiting: 1 });
      assert.deepEqual((await store.readBatch(batch.id))!.tags, {});
      const waits = await item(batch, 0);
      assert.deepEqual([waits.state, waits.reason, waits.tries, waits.endedAt], ['waiting', 'RunnerLost', 1, null]);
      assert.ok(waits.notBefore!.getTime() > store.clock.now() + 3_500_000);
      const claim = { batch: batch.id, full: [], after: null, limit: 5 };
      assert.deepEqual((await store.claimItems(claim)).items, []);
      await fixture.sql('update batch_items set not_before = now() where batch_id = $1', [batch.id]);
      const [claimed] = (await store.claimItems(claim)).items;
      assert.deepEqual([claimed!.n, claimed!.attempt], [0, 2]);
      // The end of the first request does not end the second.
      const again = await open(batch, 0, 2);
      assert.equal(await store.settleItems([{ ...end!, next: { to: 'end' } }]), 0);
      await close(again);
      assert.equal(await settle(batch), 1);
      assert.deepEqual(await counts(batch), { ...NONE, success: 1 });
      const { requests, ioBytes } = (await store.readBatch(batch.id))!;
      assert.deepEqual([requests, ioBytes], [2, 1_005]);
      const last = await item(batch, 0);
      assert.deepEqual([last.ioBytes, last.tries, last.reason], [1_005, 2, 'Completed']);
    });

    it('with a request that never ran, which is no try', async () => {
      const batch = await create(1);
      for (const id of ['first', 'second']) {
        await close(await open(batch, 0), { state: 'error', status: 429, reason: 'QueueTimeout', body: null });
        const [end] = await ended(batch);
        assert.equal(end!.attempt, 1, id);
        await store.settleItems([{ ...end!, next: { to: 'waiting', afterMs: 0, isTry: false } }]);
        const { state, tries } = await item(batch, 0);
        assert.deepEqual([state, tries], ['waiting', 0], id);
      }
      assert.equal((await store.readBatch(batch.id))!.requests, 2);
    });

    it('without a request if none can be made of it, once, and only while its batch runs', async () => {
      const batch = await create(2);
      const refused = { state: 'error', status: 400, reason: 'InvalidRequest', code: 'refused' } as const;
      const refuse = (n: number, attempt = 1) => store.endUnopened({ batch: batch.id, n, attempt, ...refused });
      await open(batch, 1);
      assert.deepEqual(
        [await refuse(0, 2), await refuse(0), await refuse(0), await refuse(1)],
        [false, true, false, false],
      );
      const { state, status, code, requestId, tries } = await item(batch, 0);
      assert.deepEqual([state, status, code, requestId, tries], ['error', 400, 'refused', null, 0]);
      assert.deepEqual(await counts(batch), { ...NONE, running: 1, error: 1 });
      const paused = await create(1);
      await store.moveBatch({ id: paused.id, from: ['running'], to: 'paused', reason: null });
      assert.equal(await store.endUnopened({ batch: paused.id, n: 0, attempt: 1, ...refused }), false);
    });

    it('as unchanged, with the verdict and facets of the earlier request', async () => {
      const before = await create(1);
      const judged = { policy: { name: 'shared/web-mp4', revision: 1 } };
      const request = anOpenInput(store, { userId: fixture.admin.userId, request: judged });
      assert.equal(await store.openItems(opening(before, 0, { open: request })), 'opened');
      await close(request, { policy: 'warn', tools: [{ ...RAN, facets: { container: ['mp4'] } }] });
      const { id, submittedAt } = request;
      const batch = await create([{ ...someItems(1)[0]!, earlier: { id, submittedAt } }]);
      const end = { state: 'skipped', status: null, reason: 'Unchanged', code: null } as const;
      assert.equal(await store.endUnopened({ batch: batch.id, n: 0, attempt: 1, ...end }), true);
      const { state, requestId, policyOutcome } = await item(batch, 0);
      assert.deepEqual([state, requestId, policyOutcome], ['skipped', id, 'warn']);
      assert.deepEqual((await store.batchFound(batch.id)).facets, { 'container:mp4': 1, 'policy:warn': 1 });
    });

    it('each with one end, while all of it goes on at once', async () => {
      const batch = await create(120);
      const drive = async (from: Store, seed: number): Promise<void> => {
        const deadline = performance.now() + 40_000;
        for (let turn = 0; performance.now() < deadline; turn++) {
          const { items } = await from.claimItems({ batch: batch.id, full: [], after: null, limit: 6 });
          await Promise.all(
            items.map(async ({ n, attempt }) => {
              const input = opening(batch, n, {
                attempt,
                open: anOpenInput(store, { userId: fixture.admin.userId, tokenId: 777 }),
              });
              const outcome = await from.openItems(input);
              if (outcome === 'opened')
                await from.closeRequest(
                  aCloseInput(input.open, (n + attempt) % 3 === 0 ? { state: 'error', reason: 'RunnerLost' } : {}),
                );
            }),
          );
          const ends = (await from.endedItems(500)).filter(({ batch: id }) => id === batch.id);
          await from.settleItems(
            ends.map((end) => ({
              ...end,
              next:
                end.state === 'error' && end.attempt < 3 ? { to: 'waiting', afterMs: 0, isTry: true } : { to: 'end' },
            })),
          );
          if (turn % 7 === seed) {
            await from.moveBatch({ id: batch.id, from: ['running'], to: 'paused', reason: null });
            await from.moveBatch({ id: batch.id, from: ['paused'], to: 'running', reason: null });
          }
          await from.endBatches();
          if ((await from.readBatch(batch.id))!.state === 'ended') return;
        }
      };
      await Promise.all([drive(store, 0), drive(other, 3), drive(other, 5)]);
      const read = (await store.readBatch(batch.id))!;
      assert.deepEqual([read.state, read.reason], ['ended', 'Completed']);
      const [recount] = await fixture.sql(
        `select count(*) filter (where state = 'success')::integer success,
          count(*) filter (where state = 'error')::integer error, sum(tries)::integer requests,
          sum(io_bytes)::integer "ioBytes" from batch_items where batch_id = $1`,
        [batch.id],
      );
      const { success, error } = read.counts;
      assert.deepEqual({ success, error, requests: read.requests, ioBytes: read.ioBytes }, recount);
      assert.equal(success + error, 120);
      // No request but one for each try, and no open one.
      assert.deepEqual(
        await fixture.sql(
          `select count(*)::integer requests, count(*) filter (where state = 'open')::integer open
            from requests where token_id = 777`,
        ),
        [{ requests: read.requests, open: 0 }],
      );
    });
  });

  describe('move', () => {
    it('only from a state that is given, and get a larger budget', async () => {
      const { id } = await create(1, { maxRequests: 10, maxBytes: 100 });
      const stopped = await store.moveBatch({ id, from: ['running'], to: 'stopped', reason: 'BudgetUsedUp' });
      assert.deepEqual([stopped?.state, stopped?.reason], ['stopped', 'BudgetUsedUp']);
      assert.equal(await store.moveBatch({ id, from: ['running'], to: 'paused', reason: null }), null);
      const resumed = await store.moveBatch({
        id,
        from: ['paused', 'stopped'],
        to: 'running',
        reason: null,
        raise: { maxRequests: 20, maxBytes: null },
      });
      assert.deepEqual(
        [resumed?.state, resumed?.reason, resumed?.maxRequests, resumed?.maxBytes],
        ['running', null, 20, null],
      );
      assert.equal(await store.moveBatch({ id: uuidv7(1), from: ['running'], to: 'paused', reason: null }), null);
    });

    it('to their end: what waits is skipped in steps, what runs ends by its request', async () => {
      const batch = await create(25);
      const running = await open(batch, 3);
      assert.equal(await store.skipItems({ batch: batch.id, limit: 10 }), 0);
      await store.moveBatch({ id: batch.id, from: ['running'], to: 'cancelling', reason: 'Cancelled' });
      const steps = [];
      for (let step = 0; step < 4; step++) steps.push(await store.skipItems({ batch: batch.id, limit: 10 }));
      assert.deepEqual(steps, [10, 10, 4, 0]);
      assert.deepEqual(
        (await store.endBatches()).filter(({ id }) => id === batch.id),
        [],
      );
      await close(running, { state: 'error', status: 499, reason: 'Cancelled', body: null });
      await settle(batch);
      assert.deepEqual(
        (await store.endBatches()).filter(({ id }) => id === batch.id),
        [{ id: batch.id, reason: 'Cancelled' }],
      );
      const read = (await store.readBatch(batch.id))!;
      assert.deepEqual([read.state, read.counts], ['ended', { ...NONE, error: 1, skipped: 24 }]);
      assert.ok(read.endedAt);
      assert.equal((await item(batch, 0)).reason, 'Cancelled');
      assert.deepEqual(
        await fixture.sql(
          `select (select count(*)::integer from batch_items where batch_id = b.id and sealed is not null) items,
            sealed_key from batches b where id = $1`,
          [batch.id],
        ),
        [{ items: 0, sealed_key: null }],
      );
    });

    it('when their deadline is over', async () => {
      const past = new Date(store.clock.now() - 1_000);
      const [late, paused] = [await create(1, { deadlineAt: past }), await create(1, { deadlineAt: past })];
      await store.moveBatch({ id: paused.id, from: ['running'], to: 'paused', reason: null });
      const soon = await create(1, { deadlineAt: new Date(store.clock.now() + 60_000) });
      assert.deepEqual((await store.expireBatches()).toSorted(), [late.id, paused.id].toSorted());
      assert.deepEqual(await store.expireBatches(), []);
      const { state, reason } = (await store.readBatch(late.id))!;
      assert.deepEqual([state, reason], ['cancelling', 'DeadlineExceeded']);
      assert.equal((await store.readBatch(soon.id))!.state, 'running');
    });

    it('to completed, if their last items end while they are paused', async () => {
      const batch = await create(1);
      const last = await open(batch, 0);
      await store.moveBatch({ id: batch.id, from: ['running'], to: 'paused', reason: null });
      await close(last);
      await settle(batch);
      await store.endBatches();
      const { state, reason } = (await store.readBatch(batch.id))!;
      assert.deepEqual([state, reason], ['ended', 'Completed']);
    });
  });

  describe('are claimed', () => {
    const claimed = async (batch: Batch, change: { full?: bigint[]; after?: bigint | null; limit?: number } = {}) => {
      const { items, after } = await store.claimItems({ batch: batch.id, full: [], after: null, limit: 6, ...change });
      return { hosts: items.map(({ host }) => host), n: items.map(({ n }) => n), after };
    };

    it('from hosts in turn, and from none at its limit', async () => {
      const batch = await create(someItems(9, (n) => [-(2n ** 63n), 5n, 2n ** 63n - 1n][Math.floor(n / 3)]!));
      const [low, mid, high] = [-(2n ** 63n), 5n, 2n ** 63n - 1n];
      assert.deepEqual(await claimed(batch), {
        hosts: [low, mid, high, low, mid, high],
        n: [0, 3, 6, 1, 4, 7],
        after: null,
      });
      assert.deepEqual((await claimed(batch, { full: [low, high], limit: 3 })).n, [3, 4, 5]);
      assert.deepEqual(await claimed(batch, { limit: 2 }), { hosts: [low, mid], n: [0, 3], after: mid });
      assert.deepEqual((await claimed(batch, { limit: 2, after: mid })).n, [6, 7]);
      assert.deepEqual(await claimed(batch, { full: [low, mid, high] }), { hosts: [], n: [], after: null });
      assert.deepEqual(
        (await store.claimItems({ batch: batch.id, full: [], after: null, limit: 1 })).items.map(
          ({ sealed, plain }) => [sealed, plain],
        ),
        [[Buffer.from('sealed 0'), true]],
      );
    });

    it('from each of many hosts before one gets a second turn', async () => {
      const batch = await create(someItems(750, (n) => BigInt(n % 250)));
      const turns = new Map<bigint, number>();
      let after: bigint | null = null;
      for (let call = 0; call < 250 / 5; call++) {
        const { items, after: next } = await store.claimItems({ batch: batch.id, full: [], after, limit: 5 });
        for (const { host } of items) turns.set(host, (turns.get(host) ?? 0) + 1);
        after = next;
      }
      assert.deepEqual([turns.size, Math.max(...turns.values())], [250, 1]);
    });

    it('past hosts that wait for another try', async () => {
      const batch = await create(someItems(150, BigInt));
      await fixture.sql(
        `update batch_items set not_before = now() + interval '1 hour' where batch_id = $1 and host < 120`,
        [batch.id],
      );
      const first = await claimed(batch);
      assert.deepEqual(first, { hosts: [], n: [], after: 99n });
      assert.deepEqual((await claimed(batch, { after: first.after })).n, [120, 121, 122, 123, 124, 125]);
    });
  });

  it('list their items by state and by code', async () => {
    const batch = await create(6);
    const ends = ['dns', 'dns', null, 'timeout-origin', undefined];
    for (const [n, code] of ends.entries()) {
      const tools = [{ name: 'ffprobe' as const, version: '7.0', success: false, durationMs: 1, usageMs: 1 }];
      const input = await open(batch, n);
      if (code === undefined) await close(input);
      else
        await close(input, {
          state: 'error',
          reason: 'OriginUnreachable',
          tools: tools.map((tool) => (code === null ? tool : { ...tool, code })),
        });
    }
    await settle(batch);
    const listed = async (change: object) =>
      (await store.itemsPage({ batch: batch.id, after: -1, limit: 10, ...change })).map(({ n }) => n);
    assert.deepEqual(await listed({}), [0, 1, 2, 3, 4, 5]);
    assert.deepEqual(await listed({ after: 1, limit: 2 }), [2, 3]);
    assert.deepEqual(await listed({ state: 'error', after: 0 }), [1, 2, 3]);
    assert.deepEqual(await listed({ state: 'waiting' }), [5]);
    assert.deepEqual(await listed({ code: 'dns' }), [0, 1]);
    assert.deepEqual(await listed({ code: 'OriginUnreachable', state: 'error' }), [2]);
    assert.deepEqual(await listed({ code: 'dns', state: 'with-errors' }), []);
    const { codes } = await store.batchFound(batch.id);
    assert.deepEqual(codes, { dns: 2, OriginUnreachable: 1, 'timeout-origin': 1 });
  });

  describe('are removed', () => {
    it('with their user, in steps, and nothing of them runs on', async () => {
      const [user] = await fixture.sql<{ id: string }>(
        `insert into users (email, status, role) values ('gone@example.org', 'active', 'user') returning id`,
      );
      const userId = Number(user!.id);
      const [gone, stays] = [await create(30, { userId }), await create(2)];
      await open(gone, 0);
      assert.deepEqual(await store.eraseUser(userId, { withinMs: 0 }), [userId]);
      await fixture.sql('select erase_step($1, 7)', [userId]);
      assert.equal(await store.openItems(opening(gone, 20)), 'not-running');
      assert.deepEqual(
        await fixture.sql(
          `select count(*)::integer n, (select sealed_key from batches where id = $1)
            from batch_items where batch_id = $1`,
          [gone.id],
        ),
        [{ n: 23, sealed_key: null }],
      );
      await store.eraseMore();
      assert.deepEqual(
        await fixture.sql(
          `select (select count(*)::integer from batch_items where batch_id = $1) items,
            (select count(*)::integer from batches where user_id = $2) batches,
            (select count(*)::integer from batch_items where batch_id = $3) others`,
          [gone.id, userId, stays.id],
        ),
        [{ items: 0, batches: 0, others: 2 }],
      );
    });

    it('one item with its request, unless it waits for another try', async () => {
      const batch = await create(2);
      const [done, again] = [await open(batch, 0), await open(batch, 1)];
      for (const input of [done, again]) await close(input);
      const ends = await ended(batch);
      assert.equal(await store.eraseRequest(done.id, 'everyone'), 'open', 'its item has not ended');
      await store.settleItems(
        ends.map((end) => ({ ...end, next: end.n === 0 ? { to: 'end' } : { to: 'waiting', afterMs: 1, isTry: true } })),
      );
      for (const { id } of [done, again]) assert.equal(await store.eraseRequest(id, 'everyone'), 'erased');
      const rows = await fixture.sql(
        'select display, ref, sealed is null as empty, state from batch_items where batch_id = $1 order by n',
        [batch.id],
      );
      assert.deepEqual(rows, [
        { display: '', ref: null, empty: true, state: 'success' },
        { display: 'https://example.org/1.mp4', ref: 'ref 1', empty: false, state: 'waiting' },
      ]);
    });

    it('by whole months of their age', async () => {
      const now = store.clock.now();
      const monthOf = (time: number) =>
        new Date(Date.UTC(new Date(time).getUTCFullYear(), new Date(time).getUTCMonth()));
      const starts = monthOf(now - 450 * DAY);
      const ends = monthOf(starts.getTime() + 32 * DAY);
      const part = `batch_items_${starts.toISOString().slice(0, 7).replace('-', '')}`;
      await fixture.sql(
        `create table ${part} partition of batch_items
          for values from ('${starts.toISOString()}') to ('${ends.toISOString()}')`,
      );
      const at = (time: number) => ({ id: uuidv7(Math.floor(time)) });
      const [old, kept] = [await create(3, at(starts.getTime() + DAY)), await create(3, at(now - 300 * DAY))];
      const limits = { envelopeDays: 30, requestMonths: 13, minuteDays: 90 };
      await store.retain(limits);
      assert.equal(await store.readBatch(old.id), null);
      await store.retain(limits);
      assert.deepEqual(await fixture.sql('select to_regclass($1) part', [part]), [{ part: null }]);
      assert.deepEqual((await store.readBatch(kept.id))?.counts, { ...NONE, waiting: 3 });
      assert.equal((await store.itemsPage({ batch: kept.id, after: -1, limit: 9 })).length, 3);
    });
  });
});
