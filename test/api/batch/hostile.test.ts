/** Batches that are made to harm others, or that lose what they stand on, on real servers. */
import assert from 'node:assert/strict';
import { until } from '../../until.ts';
import { startApi, type ApiFixture } from '../fixture.ts';
import { batchesOf, type BatchAnswer, ONLY } from './fixture.ts';

const addresses = (host: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `https://${host}/${n}.mp4`);

describe('batch: a hostile one', function () {
  this.timeout(180_000);
  let api: ApiFixture;
  let batches: ReturnType<typeof batchesOf>;
  let other: { token: string; tokenId: number; userId: number };
  before(async () => {
    api = await startApi();
    batches = batchesOf(api);
    other = await batches.account('beside');
  });
  after(() => api.stop());

  const runningOf = async (id: string): Promise<number> => (await api.stored.store.readBatch(id))!.counts.running;
  const untilRunning = (id: string, count: number) =>
    until(`${count} run`, async () => (await runningOf(id)) === count && (await openOf(id)).length === count);
  const openOf = async (id: string) =>
    api.stored.sql<{ id: string; display: string }>(
      `select r.id, r.display from requests r join batch_items i on i.request_id = r.id
        where i.batch_id = $1 and r.state = 'open'`,
      [id],
    );
  const endAll = async (id: string): Promise<void> => {
    for (const { id: request } of await openOf(id)) await batches.success(request);
  };
  /** Ends what runs, as a leader does whose jobs were deleted. */
  const cancelled = async (id: string): Promise<void> => {
    await batches.act(id, 'cancel');
    await until('it has ended', async () => {
      for (const { id: request } of await openOf(id))
        await batches.failure(request, { status: 499, reason: 'Cancelled', error: 'cancelled' });
      return (await api.stored.store.readBatch(id))?.state === 'ended';
    });
  };

  it('10,000 times one address: as polite to its host as ever, and another account goes on', async () => {
    const lines = [
      { probe: ONLY, concurrency: 10 },
      ...Array.from({ length: 10_000 }, () => 'https://same.test/a.mp4'),
    ];
    const response = await batches.call('', {
      method: 'POST',
      body: lines.map((line) => JSON.stringify(line)).join('\n'),
      headers: { 'Content-Type': 'application/x-ndjson' },
    });
    const { id } = (await response.json()) as BatchAnswer;
    await untilRunning(id, 4);
    const beside = await batches.create({ items: addresses('beside.test', 8) }, other.token);
    await batches.run(beside.id, 'beside.test', ({ metadata }) => batches.success(metadata.name));
    assert.equal(await runningOf(id), 4);
    await cancelled(id);
    const { counts } = await batches.read(id);
    assert.deepEqual([counts['skipped'], counts['error']], [9_996, 4]);
  });

  it('on a host that never answers: others of the account go on, to other hosts', async () => {
    const stuck = await batches.create({ items: addresses('never.test', 50), concurrency: 10, per_host: 8 });
    const more = await batches.create({ items: addresses('never.test', 50), concurrency: 10, per_host: 8 });
    await until('eight run', async () => (await runningOf(stuck.id)) + (await runningOf(more.id)) === 8);
    const { id } = await batches.create({ items: addresses('quick.test', 8) });
    await batches.run(id, 'quick.test', ({ metadata }) => batches.success(metadata.name));
    assert.equal((await runningOf(stuck.id)) + (await runningOf(more.id)), 8);
    for (const one of [stuck, more]) await cancelled(one.id);
  });

  it('a paused one: what runs of it counts for its host and its account', async () => {
    const paused = await batches.create({ items: addresses('held.test', 20), concurrency: 8, per_host: 8 });
    await untilRunning(paused.id, 8);
    await batches.act(paused.id, 'pause');
    const items = [...addresses('held.test', 4), ...addresses('free.test', 1)];
    const { id } = await batches.create({ items, per_host: 8 });
    await api.job('free.test');
    const [first] = await openOf(paused.id);
    assert.equal(await runningOf(id), 1);
    await batches.success(first!.id);
    await untilRunning(id, 2);
    for (const batch of [id, paused.id]) await cancelled(batch);
  });

  it('a paused one leaves its account no more than half of what it may run', async () => {
    const account = await batches.account('halves');
    await api.stored.sql('update users set account_concurrency = 4 where id = $1', [account.userId]);
    const paused = await batches.create({ items: addresses('half.test', 4), concurrency: 2 }, account.token);
    await untilRunning(paused.id, 2);
    await batches.act(paused.id, 'pause', undefined, account.token);
    const next = await batches.create({ items: addresses('whole.test', 2) }, account.token);
    const [first] = await openOf(paused.id);
    await batches.success(first!.id);
    await untilRunning(next.id, 1);
    assert.equal(await runningOf(paused.id), 1);
  });

  const PRIVATE = [
    'http://127.0.0.1/a',
    'http://[::1]/a',
    'http://169.254.169.254/latest/meta-data',
    'http://10.0.0.1/a',
    'http://0x7f.1/a',
    'file:///etc/passwd',
    'ftp://10.0.0.1/a',
    'rtmp://[fd00::1]/live/a',
  ];
  it('private addresses are refused with the words of a single request', async () => {
    for (const url of PRIVATE) {
      const [one, all] = await Promise.all([api.post({ url }), batches.post({ items: [url] })]);
      const [single, batch] = (await Promise.all([one.json(), all.json()])) as { error: string }[];
      assert.deepEqual([all.status, batch!.error], [one.status, `items.0.${single!.error}`], url);
      assert.equal(all.status, 400);
    }
  });

  it('an address that is refused later fails alone', async () => {
    const account = await batches.account('later');
    await api.stored.sql('update users set account_concurrency = 2 where id = $1', [account.userId]);
    const first = await batches.create({ items: addresses('first.test', 1) }, account.token);
    await untilRunning(first.id, 1);
    // The account runs as much as it may.
    const items = ['https://93.184.216.34/a', ...addresses('fine.test', 2)];
    const { id } = await batches.create({ items }, account.token);
    const denied = api.wired.deps.settings.denyCidrs as string[];
    denied.push('93.184.216.0/24');
    await endAll(first.id);
    await batches.run(id, 'fine.test', ({ metadata }) => batches.success(metadata.name));
    denied.length = 0;
    const rows = await api.stored.sql(
      'select state, code, reason, request_id is null "none", tries from batch_items where batch_id = $1 order by n',
      [id],
    );
    const done = { state: 'success', code: null, reason: 'Completed', none: false, tries: 1 };
    assert.deepEqual(rows, [
      { state: 'error', code: 'source-forbidden', reason: 'InvalidRequest', none: true, tries: 0 },
      done,
      done,
    ]);
    const { requests, reason } = (await api.stored.store.readBatch(id))!;
    assert.deepEqual([requests, reason], [2, 'Completed']);
  });

  it('a cell of CSV that begins as a formula is text', async () => {
    const refs = ['=1+1', '+1', '-1', '@SUM(A1)', '＝1', '＠A1', '=HYPERLINK("https://evil.test";"a,b")', "'=1", '"=1'];
    const { id } = await batches.create({ items: refs.map((ref, n) => ({ url: `https://cells.test/${n}`, ref })) });
    await cancelled(id);
    const csv = (await (await batches.call(`/${id}/results?format=csv`)).text()).trimEnd().split('\n').slice(1);
    const cells = csv.map((line) => /^\d+,[^,]+,("(?:[^"]|"")*"|[^,]*),/.exec(line)![1]!);
    assert.deepEqual(
      cells.map((cell) => (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)),
      refs.map((ref) => (/^[=+\-@＝＠]/.test(ref) ? `'${ref}` : ref)),
    );
  });

  for (const ref of ['a\u0000b', 'a\nb', '\ud800', 'x'.repeat(1_025)])
    it(`a ref is refused: ${JSON.stringify(ref).slice(0, 12)}`, async () => {
      const response = await batches.post({ items: [{ url: 'https://ref.test/a', ref }] });
      assert.equal(response.status, 400);
      assert.match(((await response.json()) as { error: string }).error, /^items\.0\.ref: /);
    });

  it('20 at once: the first item of another account begins in its turn', async () => {
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, n) => batches.create({ items: addresses(`many${n}.test`, 50), concurrency: 10 })),
    );
    await until('they run', async () => (await api.stored.store.runningItems()).length >= 10);
    const { id } = await batches.create({ items: addresses('few.test', 1) }, other.token);
    await api.job('few.test');
    const order = await api.stored.sql<{ mine: boolean }>(
      `select batch_id = $1 mine from batch_items where submitted_at >= (select created_at from batches where id = $1)
        order by submitted_at`,
      [id],
    );
    // The items of a round are opened together.
    assert.ok(order.findIndex(({ mine }) => mine) <= 16, JSON.stringify(order));
    for (const one of [...all, { id }]) await cancelled(one.id);
  });

  it('one that is paused, resumed and cancelled at random under load: each item ends once', async () => {
    let seed = 5;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const ids = await Promise.all(
      Array.from({ length: 6 }, async (_, n) => {
        const { id } = await batches.create({ items: addresses(`wild${n}.test`, 25), concurrency: 10, per_host: 8 });
        return id;
      }),
    );
    const moves = ['pause', 'resume', 'resume', 'resume'];
    const finished = async (): Promise<boolean> =>
      (await Promise.all(ids.map((id) => api.stored.store.readBatch(id)))).every((batch) => batch?.state === 'ended');
    let turns = 0;
    await until(
      'all have ended',
      async () => {
        const id = ids[random(ids.length)]!;
        await batches.act(id, ++turns % 60 === 0 ? 'cancel' : moves[random(moves.length)]!);
        for (const one of ids)
          for (const { id: request } of await openOf(one))
            if (random(3) > 0) await batches.success(request);
            else await batches.failure(request, { reason: 'OriginUnreachable', status: 404, error: 'gone' });
        return finished();
      },
      120_000,
    );
    for (const id of ids) {
      const [row] = await api.stored.sql<Record<string, number>>(
        `select count(*)::int items, count(*) filter (where state in ('waiting', 'running'))::int live,
            coalesce(sum(tries), 0)::int tries, count(sealed)::int kept,
            count(*) filter (where state = 'skipped')::int skipped,
            (select count(*)::int from requests where display like $2) requests
          from batch_items where batch_id = $1`,
        [id, `%wild${ids.indexOf(id)}.test%`],
      );
      const { counts, requests } = (await api.stored.store.readBatch(id))!;
      const { skipped, tries } = row!;
      assert.deepEqual(row, { items: 25, live: 0, tries, kept: 0, skipped: counts.skipped, requests: tries });
      assert.deepEqual([requests, 25 - skipped!], [tries, counts.success + counts.error]);
    }
  });

  it('a token revoked in the middle: nothing more begins, and what ran has its end', async () => {
    const account = await batches.account('revoked');
    const { id } = await batches.create({ items: addresses('gone.test', 20) }, account.token);
    await untilRunning(id, 4);
    await api.stored.sql('update tokens set revoked_at = now() where id = $1', [account.tokenId]);
    await endAll(id);
    await until('it is stopped', async () => (await api.stored.store.readBatch(id))?.state === 'stopped');
    await until('what ran is settled', async () => (await runningOf(id)) === 0);
    const { reason, counts, requests } = (await api.stored.store.readBatch(id))!;
    assert.equal(reason, 'TokenInactive');
    assert.deepEqual([counts.success, counts.waiting], [requests, 20 - requests]);
    // Nobody can read or cancel it but another token of its user; its deadline ends it.
    await api.stored.sql('update batches set deadline_at = now() where id = $1', [id]);
    await until('it has ended', async () => (await api.stored.store.readBatch(id))?.state === 'ended');
  });

  it('an account erased in the middle: nothing of it is left, and others go on', async () => {
    const account = await batches.account('erased');
    const { id } = await batches.create({ items: addresses('erased.test', 200), concurrency: 10 }, account.token);
    await untilRunning(id, 4);
    await api.stored.store.eraseUser(account.userId);
    await until('nothing is left', async () => {
      await api.stored.store.eraseMore();
      const [row] = await api.stored.sql<{ rows: number }>(
        `select (select count(*) from batch_items where batch_id = $1) + (select count(*) from batches where id = $1)
          + (select count(*) from requests where user_id = $2) as rows`,
        [id, account.userId],
      );
      return Number(row!.rows) === 0;
    });
    const beside = await batches.create({ items: addresses('survivor.test', 4) });
    await batches.run(beside.id, 'survivor.test', ({ metadata }) => batches.success(metadata.name));
  });

  it('huge sources: what is over the budget of bytes ends, and no more begins', async () => {
    const { id } = await batches.create({ items: addresses('huge.test', 20), concurrency: 2, max_bytes: 1_000_000 });
    await untilRunning(id, 2);
    for (const { id: request } of await openOf(id))
      await batches.failure(request, {
        reason: 'SourceTooLarge',
        status: 403,
        error: 'too large',
        ioBytes: 10_000_000,
      });
    const { reason, counts } = await batches.untilIn(id, 'stopped');
    assert.deepEqual([reason, counts['error'], counts['running']], ['ByteBudget', 2, 0]);
    await cancelled(id);
  });
});
