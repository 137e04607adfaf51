import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { BEFORE_ALL } from '../../src/platform/store/requests.ts';
import { openStore, type Store } from '../../src/platform/store/store.ts';
import { aCloseInput, anOpenInput, sha256, type StoreFixture, startStore } from './fixture.ts';

describe('store: requests', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  let store: Store;
  let other: Store;

  before(async () => {
    fixture = await startStore();
    store = fixture.store;
    other = await openStore({ url: fixture.server.url });
  });
  after(async () => {
    await other.close();
    await fixture.close();
  });

  describe('open', () => {
    it('makes an open row with the time of its id', async () => {
      const input = anOpenInput(store);
      assert.deepEqual(await store.openRequest(input), {
        outcome: 'opened',
        rate: { limit: 0, remaining: 0, resetMs: 0 },
      });
      const record = await store.readRequest(input.id);
      assert.deepEqual(record, {
        id: input.id,
        submittedAt: input.submittedAt,
        tokenId: 1,
        userId: 1,
        kind: 'file',
        display: input.display,
        state: 'open',
        status: null,
        reason: null,
        error: null,
        code: null,
        queueTimeMs: null,
        endedAt: null,
        ioBytes: 0,
        request: input.request,
        hasBody: false,
        policyOutcome: null,
        inflatedBytes: null,
        cachedFrom: null,
        cacheAgeS: null,
      });
      assert.ok(
        (await store.openRows(BEFORE_ALL, new Date(store.clock.now() + 1000), 1000)).some(
          (row) => row.id === input.id && row.queueTimeoutMs === input.queueTimeoutMs,
        ),
      );
    });

    it('usage is that of the tools, the report and the timeline together', async () => {
      const input = anOpenInput(store);
      await store.openRequest(input);
      await store.closeRequest(
        aCloseInput(input, { report: { success: true, usageMs: 100 }, timeline: { usageMs: 1_000 } }),
      );
      const rows = await fixture.sql<{ usage_ms: number }>('select usage_ms from requests where id = $1', [input.id]);
      assert.deepEqual(rows, [{ usage_ms: 30 + 11 + 100 + 1_000 }]);
    });

    it('opening the same id again succeeds and counts once', async () => {
      const input = anOpenInput(store, {
        tokenId: 501,
        requestsPerMinute: 1,
        idempotency: { key: 'same-id', bodySha256: sha256('x') },
      });
      assert.equal((await store.openRequest(input)).outcome, 'opened');
      assert.equal((await store.openRequest(input)).outcome, 'opened');
      assert.equal((await store.openRequest({ ...input, ...store.newRequest() })).outcome, 'rate-limited');
    });

    it('an idempotency key returns the first request for the same body, conflicts for another; per token', async () => {
      const first = anOpenInput(store, { tokenId: 502, idempotency: { key: 'k', bodySha256: sha256('body') } });
      assert.equal((await store.openRequest(first)).outcome, 'opened');
      const again = await other.openRequest({ ...first, ...store.newRequest() });
      assert.equal(again.outcome === 'repeated' && again.id, first.id);
      assert.equal(
        (
          await store.openRequest({
            ...first,
            ...store.newRequest(),
            idempotency: { key: 'k', bodySha256: sha256('other') },
          })
        ).outcome,
        'idempotency-conflict',
      );
      assert.equal((await store.openRequest({ ...first, ...store.newRequest(), tokenId: 503 })).outcome, 'opened');
      const rows = await fixture.sql('select id from requests where token_id = 502');
      assert.deepEqual(rows, [{ id: first.id }]);
    });

    it('of ten concurrent calls with one idempotency key over two stores, one opens and nine get its id', async () => {
      const inputs = Array.from({ length: 10 }, () =>
        anOpenInput(store, { tokenId: 504, idempotency: { key: 'race', bodySha256: sha256('b') } }),
      );
      const answers = await Promise.all(inputs.map((input, index) => (index % 2 ? store : other).openRequest(input)));
      const opened = inputs.filter((_, index) => answers[index]?.outcome === 'opened');
      assert.equal(opened.length, 1);
      for (const answer of answers)
        if (answer.outcome !== 'opened') assert.equal(answer.outcome === 'repeated' && answer.id, opened[0]?.id);
    });

    it('an idempotency key is free again after a day', async () => {
      const first = anOpenInput(store, { tokenId: 505, idempotency: { key: 'old', bodySha256: sha256('b') } });
      await store.openRequest(first);
      await fixture.sql(`update idempotency set created_at = now() - interval '25 hours' where token_id = 505`);
      assert.equal(
        (
          await store.openRequest({
            ...first,
            ...store.newRequest(),
            idempotency: { key: 'old', bodySha256: sha256('c') },
          })
        ).outcome,
        'opened',
      );
    });
  });

  describe('rate limit', () => {
    it("allows a minute's worth at once over two stores, then says when to retry", async () => {
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          (index % 2 ? store : other).openRequest(anOpenInput(store, { tokenId: 510, requestsPerMinute: 10 })),
        ),
      );
      const opened = answers.filter((answer) => answer.outcome === 'opened');
      assert.equal(opened.length, 10);
      assert.deepEqual(
        opened.map((answer) => answer.rate.remaining).sort((a, b) => a - b),
        Array.from({ length: 10 }, (_, index) => index),
      );
      for (const answer of answers) {
        assert.equal(answer.rate.limit, 10);
        if (answer.outcome !== 'rate-limited') continue;
        assert.equal(answer.rate.remaining, 0);
        assert.ok(answer.retryAfterMs > 0 && answer.retryAfterMs <= 6_000, `retry after ${answer.retryAfterMs}`);
        assert.ok(answer.rate.resetMs > 30_000 && answer.rate.resetMs <= 60_000, `reset in ${answer.rate.resetMs}`);
      }
    });

    it('restores one call per step of time', async () => {
      assert.equal((await store.takeRate('token', 511, 1)).allowed, true);
      assert.equal((await store.takeRate('token', 511, 1)).allowed, false);
      await fixture.sql(`update rate_limits set tat = tat - interval '1 minute' where id = 511`);
      assert.deepEqual(await store.takeRate('token', 511, 1).then(({ allowed, rate }) => [allowed, rate.remaining]), [
        true,
        0,
      ]);
      await fixture.sql(`update rate_limits set tat = tat - interval '5 hours' where id = 511`);
      await store.forgetExpired();
      assert.deepEqual(await fixture.sql('select id from rate_limits where id = 511'), []);
    });

    it('counts tokens and users separately', async () => {
      assert.equal((await store.takeRate('token', 512, 1)).allowed, true);
      assert.equal((await store.takeRate('user', 512, 1)).allowed, true);
      assert.equal((await store.takeRate('user', 512, 1)).allowed, false);
    });
  });

  describe('close', () => {
    it('records the end, the envelope and the queue time', async () => {
      const open = anOpenInput(store);
      await store.openRequest(open);
      const close = aCloseInput(open, { state: 'with-errors' });
      assert.deepEqual(await store.closeRequest(close), { closed: true, waiter: 'api-1', queueTimeMs: 7 });
      const record = await store.readRequest(open.id);
      assert.deepEqual(
        [record?.state, record?.status, record?.reason, record?.queueTimeMs, record?.hasBody],
        ['with-errors', 200, 'Completed', 7, true],
      );
      assert.deepEqual(await store.readBody(open.id, open.submittedAt), close.body);
      assert.deepEqual(
        await fixture.sql(
          'select usage_ms, io_bytes::integer io, ffprobe_state, mediainfo_state, ' +
            'report_state, attempt, tools from requests where id = $1',
          [open.id],
        ),
        [
          {
            usage_ms: 41,
            io: 1000,
            ffprobe_state: 'success',
            mediainfo_state: 'error',
            report_state: null,
            attempt: 1,
            tools: close.tools,
          },
        ],
      );
    });

    it('a second end changes nothing and returns the recorded one', async () => {
      const open = anOpenInput(store);
      await store.openRequest(open);
      const first = aCloseInput(open);
      await store.closeRequest(first);
      assert.deepEqual(
        await store.closeRequest(
          aCloseInput(open, { state: 'error', status: 404, startedAt: null, body: null, attempt: 2 }),
        ),
        { closed: false, waiter: 'api-1', queueTimeMs: 7 },
      );
      assert.equal((await store.readRequest(open.id))?.status, 200);
      assert.deepEqual(await store.readBody(open.id, open.submittedAt), first.body);
    });

    it('refuses the end of a request that was never opened', async () => {
      assert.deepEqual(await store.closeRequest(aCloseInput(store.newRequest())), {
        closed: false,
        waiter: null,
        queueTimeMs: 0,
      });
    });

    it('stores only the row if there is no body', async () => {
      const open = anOpenInput(store);
      await store.openRequest(open);
      const answer = await store.closeRequest(
        aCloseInput(open, {
          state: 'error',
          status: 429,
          reason: 'QueueTimeout',
          error: 'not started in time',
          startedAt: null,
          tools: [],
          body: null,
        }),
      );
      assert.equal(answer.closed, true);
      assert.equal(await store.readBody(open.id, open.submittedAt), null);
      assert.deepEqual(await store.endsFor([open.id]), [
        {
          id: open.id,
          submittedAt: open.submittedAt,
          state: 'error',
          status: 429,
          reason: 'QueueTimeout',
          error: 'not started in time',
          code: null,
          queueTimeMs: answer.queueTimeMs,
          hasBody: false,
          ioBytes: 1000,
          cachedFrom: null,
          cacheAgeS: null,
          policyName: null,
          policyRevision: null,
          policyOutcome: null,
          inflatedBytes: null,
        },
      ]);
    });

    it('fifty races of three closers: one of them closes, the usage is counted once', async () => {
      for (let round = 0; round < 50; round++) {
        const open = anOpenInput(store, { tokenId: 520 });
        await store.openRequest(open);
        const answers = await Promise.all([
          store.closeRequest(aCloseInput(open)),
          other.closeRequest(aCloseInput(open)),
          store.closeRequest(aCloseInput(open, { state: 'error', status: 500, reason: 'RunnerLost', body: null })),
        ]);
        assert.equal(answers.filter((answer) => answer.closed).length, 1);
      }
      assert.deepEqual(await fixture.sql('select sum(requests)::integer n from usage_minute where token_id = 520'), [
        { n: 50 },
      ]);
    });

    it('returns the inflated size of a body, null where it is unknown, and the body in slices', async () => {
      for (const inflatedBytes of [5_000_000, undefined]) {
        const open = anOpenInput(store);
        const body = randomBytes(700_000);
        await store.openRequest(open);
        await store.closeRequest(aCloseInput(open, { body, inflatedBytes }));
        assert.deepEqual(
          [(await store.readRequest(open.id))?.inflatedBytes, (await store.endsFor([open.id]))[0]?.inflatedBytes],
          [inflatedBytes ?? null, inflatedBytes ?? null],
        );
        const slices: Buffer[] = [];
        for await (const slice of store.readBodySlices(open.id, open.submittedAt)) slices.push(slice);
        assert.deepEqual([slices.length, Buffer.concat(slices).equals(body)], [3, true]);
      }
      const none = anOpenInput(store);
      await assert.rejects(store.readBodySlices(none.id, none.submittedAt).next(), { code: 'not-ready' });
    });

    it('a body of 20 MB is returned byte for byte', async () => {
      const open = anOpenInput(store);
      await store.openRequest(open);
      const body = randomBytes(20 * 1024 * 1024);
      await store.closeRequest(aCloseInput(open, { body }));
      assert.ok((await store.readBody(open.id, open.submittedAt))?.equals(body));
    });

    it('puts a webhook into the outbox once', async () => {
      const open = anOpenInput(store, { webhookUrl: 'https://hooks.example.org/x', tokenId: 521 });
      await store.openRequest(open);
      await store.closeRequest(aCloseInput(open));
      await store.closeRequest(aCloseInput(open));
      assert.deepEqual(await fixture.sql('select request_id, url, state from webhook_outbox where token_id = 521'), [
        { request_id: open.id, url: 'https://hooks.example.org/x', state: 'pending' },
      ]);
    });

    it('rollups equal a recount', async () => {
      const kinds = ['file', 'msv', 'c2pa'] as const;
      const schemes = ['https', 'hls', 's3'];
      const ends = [
        ['success', 200, 'Completed'],
        ['with-errors', 200, 'Completed'],
        ['error', 429, 'QueueTimeout'],
      ] as const;
      await Promise.all(
        Array.from({ length: 200 }, async (_, index) => {
          const at = index % 2 ? store : other;
          const open = anOpenInput(store, {
            tokenId: 530 + (index % 3),
            kind: kinds[index % 3] ?? 'file',
            scheme: schemes[index % 2] ?? 'https',
          });
          await at.openRequest(open);
          const [state, status, reason] = ends[(index >> 2) % 3] ?? ends[0];
          await at.closeRequest(
            aCloseInput(open, {
              state,
              status,
              reason,
              ioBytes: index,
              startedAt: new Date(open.submittedAt.getTime() + index * 13),
            }),
          );
        }),
      );
      const columns =
        'token_id, kind, scheme, requests, success, with_errors, errors, ' +
        'timed_out, processing_ms, io_bytes, queue_ms, queue_max_ms';
      const rollups =
        await fixture.sql(`select token_id, kind, scheme, sum(requests)::integer requests, sum(success)::integer
        success, sum(with_errors)::integer with_errors, sum(errors)::integer errors,
        sum(timed_out)::integer timed_out, sum(processing_ms)::integer processing_ms, sum(io_bytes)::integer io_bytes,
        sum(queue_ms)::integer queue_ms, max(queue_max_ms) queue_max_ms
        from usage_minute where token_id between 530 and 532 group by 1, 2, 3 order by 1, 2, 3`);
      const recount =
        await fixture.sql(`select ${columns} from (select token_id, kind, scheme, count(*)::integer requests, count(*)
        filter (where state = 'success')::integer success,
        count(*) filter (where state = 'with-errors')::integer with_errors, count(*) filter (where state =
        'error')::integer errors, count(*) filter (where reason = 'QueueTimeout')::integer timed_out,
        sum(usage_ms)::integer processing_ms, sum(io_bytes)::integer io_bytes, sum(queue_time_ms)::integer queue_ms,
        max(queue_time_ms) queue_max_ms
        from requests where token_id between 530 and 532 group by 1, 2, 3 order by 1, 2, 3) r`);
      assert.ok(rollups.length >= 3);
      assert.deepEqual(rollups, recount);
      assert.deepEqual(
        await fixture.sql(
          'select bucket::integer, sum(n)::integer n from usage_minute, unnest(queue_histogram) with ' +
            'ordinality h (n, bucket) where token_id between 530 and 532 and n > 0 group by 1 order by 1',
        ),
        await fixture.sql(
          'select queue_bucket(queue_time_ms) bucket, count(*)::integer n from ' +
            'requests where token_id between 530 and 532 group by 1 order by 1',
        ),
      );
    });

    it('buckets of queue time are ordered and a quarter of an octave wide', async () => {
      const rows = await fixture.sql<{ ms: number; bucket: number }>(
        'select ms, queue_bucket(ms) bucket from unnest(array[0, 1, 2, ' +
          '4, 8, 1024, 60000, 77935, 77936, 2000000000]) ms',
      );
      assert.deepEqual(
        rows.map((row) => row.bucket),
        [1, 2, 6, 10, 14, 42, 65, 66, 67, 67],
      );
    });
  });

  describe('read', () => {
    it('a request is visible to its owner and the user above only', async () => {
      const [parent] = await fixture.sql<{ id: string }>(
        `insert into users (email, status) values ('parent@example.org', 'active') returning id`,
      );
      const [sub] = await fixture.sql<{ id: string }>(
        'insert into users (email, status, role, parent_id, root_id) values ' +
          `('sub@example.org', 'active', 'sub', $1, $1) returning id`,
        [parent?.id],
      );
      const open = anOpenInput(store, { userId: Number(sub?.id) });
      await store.openRequest(open);
      assert.equal((await store.readRequest(open.id, { userId: Number(sub?.id) }))?.id, open.id);
      assert.equal((await store.readRequest(open.id, { userId: Number(parent?.id) }))?.id, open.id);
      assert.equal(await store.readRequest(open.id, { userId: fixture.admin.userId }), null);
      assert.equal((await store.readRequest(open.id, { userId: null }))?.id, open.id);
      assert.equal(await store.readRequest(store.newRequest().id, { userId: null }), null);
    });

    it('a request is visible to its owner and every account above only, at any depth', async () => {
      const ids: number[] = [];
      for (let depth = 0; depth < 4; depth++) {
        const [user] = await fixture.sql<{ id: string }>(
          `insert into users (email, status, role, parent_id) values ('deep' || $2, 'active', 'sub', $1) returning id`,
          [ids.at(-1) ?? null, depth],
        );
        ids.push(Number(user!.id));
      }
      for (const [depth, owner] of ids.entries()) {
        const open = anOpenInput(store, { userId: owner });
        await store.openRequest(open);
        const seen = await Promise.all(
          ids.map(async (userId) => (await store.readRequest(open.id, { userId })) !== null),
        );
        assert.deepEqual(
          seen,
          ids.map((_, reader) => reader <= depth),
          `of account ${depth}`,
        );
        assert.deepEqual(
          seen,
          await Promise.all(ids.map(async (userId) => (await store.usersUnder(userId)).includes(owner))),
          'as lists and figures',
        );
      }
    });

    it('accepts ids that are not UUIDv7, of jobs created with kubectl', async () => {
      const open = anOpenInput(store, {
        id: randomUUID(),
        submittedAt: new Date(Math.floor(store.clock.now()) - 5_000),
      });
      await store.openRequest(open);
      assert.deepEqual(await store.endsFor([open.id]), []);
      await store.closeRequest(aCloseInput(open));
      assert.equal((await store.readRequest(open.id))?.submittedAt.getTime(), open.submittedAt.getTime());
      const ends = await store.endsFor([open.id, store.newRequest().id]);
      assert.deepEqual(
        ends.map(({ id, hasBody }) => ({ id, hasBody })),
        [{ id: open.id, hasBody: true }],
      );
    });

    it('an empty list of ids returns nothing', async () => {
      assert.deepEqual(await store.endsFor([]), []);
    });
  });
});
