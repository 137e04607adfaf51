/** Batches on real servers; the test acts as the controller. */
import assert from 'node:assert/strict';
import { parquetReadObjects } from 'hyparquet';
import { startApi, type ApiFixture } from '../fixture.ts';
import { until } from '../../until.ts';
import { batchesOf, type BatchAnswer, ONLY } from './fixture.ts';

describe('batch', function () {
  this.timeout(120_000);
  let api: ApiFixture;
  let batches: ReturnType<typeof batchesOf>;
  before(async () => {
    api = await startApi();
    batches = batchesOf(api);
  });
  after(() => api.stop());

  const addresses = (host: string, count: number): string[] =>
    Array.from({ length: count }, (_, n) => `https://user:geheim@${host}/${n}.mp4?sig=topsecret`);
  const errorOf = async (response: Response): Promise<[number, string]> => [
    response.status,
    ((await response.json()) as { error: string }).error,
  ];

  it('runs each item once, never more than its concurrency, and ends', async () => {
    const host = 'whole.test';
    const items = addresses(host, 12).map((url, n) => ({ url, ref: `ref ${n}` }));
    const { id, counts, probe } = await batches.create({ items, concurrency: 3 });
    assert.deepEqual([counts['waiting'], probe.ffprobe.version], [12, '7.0']);
    await until('its jobs are in the background', async () =>
      (await batches.jobs(host)).some(({ spec }) => spec.background),
    );
    const most = await batches.run(id, host, ({ metadata }) => batches.success(metadata.name));
    assert.ok(most > 0 && most <= 3, `${most} at once`);
    const ended = await batches.read(id);
    assert.deepEqual([ended.reason, ended.counts['success'], ended.requests, ended.errors], ['Completed', 12, 12, []]);
    const shown = await batches.items(id);
    assert.deepEqual(
      shown.map(({ n, ref, state, tries }) => ({ n, ref, state, tries })),
      items.map(({ ref }, n) => ({ n, ref, state: 'success', tries: 1 })),
    );
    assert.equal(new Set(shown.map(({ request_id: request }) => request)).size, 12);
    const logged = await api.stored.sql('select id from requests where display like $1', [`%${host}%`]);
    assert.equal(logged.length, 12);
  });

  it('no part of an address is stored or logged but what the log shows', async () => {
    const [row] = await api.stored.sql<{ all: string }>(
      `select (select string_agg(i::text, '') from batch_items i) || (select string_agg(b::text, '') from batches b)
        || (select string_agg(r::text, '') from requests r) "all"`,
    );
    const hex = Buffer.from('topsecret').toString('hex');
    for (const secret of ['topsecret', 'geheim', hex])
      assert.ok(!row!.all.includes(secret) && !api.log.join('').includes(secret));
    const [kept] = await api.stored.sql<{ n: number }>(
      `select count(*)::integer n from batch_items where sealed is not null and state not in ('waiting', 'running')`,
    );
    assert.equal(kept!.n, 0);
  });

  it('from an earlier batch: what failed, or all, as far as the address is known', async () => {
    const host = 'again.test';
    const url = (name: string): string => `https://${host}/${name}`;
    const { id } = await batches.create({
      items: [
        { url: url('good.mp4'), ref: 'g' },
        { url: url('bad.mp4'), ref: 'b' },
        url('bad.mp4?sig=topsecret'),
        `https://user:geheim@${host}/bad.mp4`,
      ],
      tries: 1,
    });
    await batches.run(id, host, ({ metadata, spec }) =>
      spec.source.display!.includes('good')
        ? batches.success(metadata.name)
        : batches.failure(metadata.name, { state: 'error', status: 404, reason: 'OriginUnreachable', error: 'gone' }),
    );
    const again = async (from: object): Promise<[number, number, [string, string | null][]]> => {
      const made = await batches.create({ from });
      const items = await batches.items(made.id);
      await batches.act(made.id, 'cancel');
      return [made.items, (made as { left_out?: number }).left_out ?? 0, items.map((item) => [item.url, item.ref])];
    };
    assert.deepEqual(await again({ batch: id }), [1, 2, [[url('bad.mp4'), 'b']]]);
    const [count, left, [first]] = await again({ batch: id, only: 'all' });
    assert.deepEqual([count, left, first], [2, 2, [url('good.mp4'), 'g']]);
    await api.stored.sql(`update batch_items set display = '', ref = null where batch_id = $1 and ref = 'b'`, [id]);
    const other = await batches.account('from');
    for (const [fields, error, token] of [
      [{ from: { batch: id } }, /^from: leaves no items: 3 of them had an address with a credential/, api.token],
      [
        { from: { batch: id }, items: ['https://a.test/'] },
        /^items, items_url, from and bucket: only one of them/,
        api.token,
      ],
      [{ from: { batch: id, only: 'new' } }, /^from\.only: /, api.token],
      [{ from: { batch: 'x' } }, /^from\.batch: /, api.token],
      [{ from: { batch: id, only: 'all' } }, /^from\.batch: there is no such batch$/, other.token],
    ] as const) {
      const [status, text] = await errorOf(await batches.post(fields, {}, token));
      assert.equal(status, token === api.token ? 400 : 404, text);
      assert.match(text, error);
    }
  });

  it('is read from lines as from JSON', async () => {
    const lines = [
      { probe: ONLY, name: 'lines' },
      'https://lines.test/a.mp4',
      { url: 'https://lines.test/b.mp4', ref: 'b' },
    ];
    const response = await batches.call('', {
      method: 'POST',
      body: `${lines.map((line) => JSON.stringify(line)).join('\n\n')}\n`,
      headers: { 'Content-Type': 'application/x-ndjson' },
    });
    const { id } = (await response.json()) as BatchAnswer;
    assert.deepEqual([response.status, response.headers.get('location')], [201, `/v1/batch/${id}`]);
    assert.deepEqual(
      (await batches.items(id)).map(({ url, ref }) => [url, ref]),
      [
        ['https://lines.test/a.mp4', null],
        ['https://lines.test/b.mp4', 'b'],
      ],
    );
    await batches.act(id, 'cancel');
  });

  it('all or nothing: each wrong item is named, and none of its address is repeated', async () => {
    const items = [
      'https://good.test/a',
      'nonsense-secret',
      { ref: 'x' },
      7,
      'http://127.0.0.1/x',
      { url: 'https://a.test/', more: 1 },
    ];
    const [status, error] = await errorOf(await batches.post({ items }));
    assert.equal(status, 400);
    for (const place of [
      'items.1.url must begin',
      'items.2.url: is required',
      'items.3: must be',
      'items.4.url: ',
      'items.5.more: ',
    ])
      assert.ok(error.includes(place), `${place} in ${error}`);
    assert.ok(!error.includes('nonsense') && !error.includes('items.0'));
    const bad = await errorOf(await batches.post({ items: Array.from({ length: 100 }, () => 'x') }));
    assert.equal(bad[1].split('; ').filter((one) => one.startsWith('items.')).length, 20);
  });

  const refused: [what: string, fields: object, error: RegExp][] = [
    ['no items', {}, /^items: is required$/],
    ['an empty list', { items: [] }, /^items: must have at least 1 value$/],
    ['items that are no list', { items: 'https://a.test/' }, /^items: must be a list$/],
    ['an unknown field', { items: ['https://a.test/'], limit: 1 }, /^limit: is unknown/],
    [
      'an unknown field of the template',
      { items: ['https://a.test/'], probe: { url: 'x' } },
      /^probe\.url: is unknown/,
    ],
    ['headers', { items: ['https://a.test/'], probe: { headers: {} } }, /^probe\.headers: is unknown/],
    [
      'a version that is not there',
      { items: ['https://a.test/'], probe: { ffprobe: { version: '1.0' } } },
      /^probe\.ffprobe\.version: /,
    ],
    ['a policy that is not there', { items: ['https://a.test/'], probe: { policy: 'none' } }, /^probe\.policy: /],
    ['an inline policy', { items: ['https://a.test/'], probe: { policy: { rules: [] } } }, /^probe\.policy: must be/],
    [
      'no tool',
      {
        items: ['https://a.test/'],
        probe: { ffprobe: { enabled: false }, mediainfo: { enabled: false }, probe_report: { enabled: false } },
      },
      /^probe: all tools are disabled$/,
    ],
    [
      'a credential for another scheme',
      { items: ['https://a.test/'], probe: { credential: 'x' } },
      /^items\.0\.credential: has no effect/,
    ],
    ['a concurrency of 0', { items: ['https://a.test/'], concurrency: 0 }, /^concurrency: must be at least 1$/],
  ];
  for (const [what, fields, error] of refused)
    it(`is refused: ${what}`, async () => {
      const [status, text] = await errorOf(await batches.post(fields));
      assert.equal(status, 400);
      assert.match(text, error);
    });

  for (const [what, body, error] of [
    ['a first line that is not JSON', 'x\n', /^body: the first line is not valid JSON/],
    ['no lines', '', /^body: the first line is not valid JSON/],
    ['a line that is not JSON', '{}\nx', /^items\.0: is not valid JSON$/],
    [
      'a line that is too long',
      `{}\n"https://a.test/${'x'.repeat(10_000)}"`,
      /^items\.0: must have at most 9216 characters$/,
    ],
    [
      'a repeated name',
      '{}\n{"url":"https://a.test/","url":"https://b.test/"}',
      /^items\.0\.url: is given more than once$/,
    ],
    ['too many empty lines', `{}${'\n'.repeat(10_002)}`, /^body: has more than 10000 empty lines$/],
    ['too many', `{}\n${'"https://a.test/"\n'.repeat(10_001)}`, /^items: must have at most 10000 values/],
  ] as const)
    it(`lines are refused: ${what}`, async () => {
      const response = await batches.call('', {
        method: 'POST',
        body,
        headers: { 'Content-Type': 'application/x-ndjson' },
      });
      const [status, text] = await errorOf(response);
      assert.equal(status, 400);
      assert.match(text, error);
    });

  it('an Idempotency-Key: the same body gets the first batch, another one is refused', async () => {
    const key = { 'Idempotency-Key': 'batch-1' };
    const fields = { probe: ONLY, items: ['https://key.test/a'] };
    const ids: string[] = [];
    for (let n = 0; n < 2; n++) ids.push(((await (await batches.post(fields, key)).json()) as BatchAnswer).id);
    assert.equal(ids[0], ids[1]);
    const [status, text] = await errorOf(await batches.post({ ...fields, name: 'x' }, key));
    assert.deepEqual([status, text], [400, 'Idempotency-Key: was used with another body']);
    await batches.act(ids[0]!, 'cancel');
  });

  it('of another user: there is none', async () => {
    const { id } = await batches.create({ items: ['https://mine.test/a'] });
    const other = await batches.account('other');
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/items'],
      ['GET', '/results'],
      ['POST', '/pause'],
      ['POST', '/resume'],
      ['POST', '/cancel'],
    ] as const)
      assert.equal((await batches.call(`/${id}${path}`, { method }, other.token)).status, 404, `${method} ${path}`);
    const listed = (await (await batches.call('', {}, other.token)).json()) as object;
    assert.deepEqual(listed, { batches: [], next: null });
    await batches.act(id, 'cancel');
  });

  it('temporary failures are tried again after a pause, others are not', async () => {
    const host = 'retry.test';
    const { id } = await batches.create({ items: addresses(host, 2), tries: 2, concurrency: 2 });
    const unreachable = { state: 'error', status: 404, reason: 'OriginUnreachable', error: 'gone' } as const;
    const tools = (code: string) => [
      { name: 'ffprobe' as const, version: '7.0', success: false, code, durationMs: 0, usageMs: 0 },
    ];
    const seen = new Map<string, number>();
    await batches.run(id, host, async ({ metadata: { name }, spec }) => {
      const address = spec.source.display!;
      seen.set(address, (seen.get(address) ?? 0) + 1);
      const code = address.includes('/0.mp4') ? 'dns' : 'http-404';
      await batches.failure(name, { ...unreachable, tools: tools(code) });
      // Not five seconds for the next try.
      await until('it is settled', async () =>
        (await api.stored.store.runningItems()).every(({ requestId }) => requestId !== name),
      );
      await api.stored.sql(`update batch_items set not_before = now() where batch_id = $1 and state = 'waiting'`, [id]);
    });
    assert.deepEqual([...seen.values()].toSorted(), [1, 2]);
    assert.deepEqual(
      (await batches.items(id)).map(({ state, tries, code }) => [state, tries, code]),
      [
        ['error', 2, 'dns'],
        ['error', 1, 'http-404'],
      ],
    );
    const { errors, requests } = await batches.read(id);
    assert.deepEqual([errors.length, requests], [2, 3]);
    assert.equal((await batches.items(id, 'code=dns')).length, 1);
  });

  it('pause: what runs goes on, and nothing is begun until it is resumed', async () => {
    const host = 'pause.test';
    const { id } = await batches.create({ items: addresses(host, 4), concurrency: 1 });
    const { name } = (await api.job(host)).metadata;
    assert.equal((await batches.act(id, 'pause')).status, 202);
    assert.equal((await batches.act(id, 'pause')).status, 202);
    await batches.success(name);
    await until('it is settled', async () => (await api.stored.store.readBatch(id))?.counts.success === 1);
    assert.deepEqual((await batches.read(id)).counts['waiting'], 3);
    assert.equal((await batches.jobs(host)).length, 1);
    assert.equal((await batches.act(id, 'resume')).status, 202);
    await batches.run(id, host, (job) => batches.success(job.metadata.name));
    assert.equal((await batches.read(id)).counts['success'], 4);
    const [status, text] = await errorOf(await batches.act(id, 'pause'));
    assert.deepEqual([status, text], [409, 'the batch is ended and cannot be paused']);
  });

  it('cancel: what waits is skipped, the job of what runs is deleted, and it ends', async () => {
    const host = 'cancel.test';
    const { id } = await batches.create({ items: addresses(host, 5), concurrency: 2 });
    const running = await until('two run', async () => {
      const jobs = await batches.jobs(host);
      return jobs.length === 2 ? jobs : undefined;
    });
    assert.equal((await batches.act(id, 'cancel')).status, 202);
    await until('the jobs are deleted', async () => (await batches.jobs(host)).length === 0);
    for (const { metadata } of running)
      await batches.failure(metadata.name, { status: 499, reason: 'Cancelled', error: 'the request was cancelled' });
    const { counts, reason } = await batches.untilIn(id, 'ended');
    assert.deepEqual([reason, counts['skipped'], counts['error']], ['Cancelled', 3, 2]);
    assert.equal((await batches.act(id, 'cancel')).status, 202);
    assert.equal((await batches.act(id, 'resume')).status, 409);
  });

  it('a budget of requests stops it, and a larger one lets it go on', async () => {
    const host = 'budget.test';
    const { id } = await batches.create({ items: addresses(host, 3), concurrency: 2, max_requests: 2 });
    for (let n = 0; n < 2; n++) await batches.success((await api.job(host)).metadata.name);
    const { reason, text, requests } = await batches.untilIn(id, 'stopped');
    assert.deepEqual([reason, requests], ['RequestBudget', 2]);
    assert.match(text ?? '', /^max_requests is used up; /);
    assert.equal((await batches.act(id, 'resume', { max_requests: null })).status, 202);
    await batches.run(id, host, (job) => batches.success(job.metadata.name));
    assert.equal((await batches.read(id)).counts['success'], 3);
  });

  it('a quota that is used up stops it, and no try is used', async () => {
    const { token, id: tokenId } = await api.newToken();
    await api.stored.sql(`update tokens set monthly_quota = '{"request-count": 1}' where id = $1`, [tokenId]);
    const host = 'quota.test';
    const { id } = await batches.create({ items: addresses(host, 2), concurrency: 1 }, token);
    await batches.success((await api.job(host)).metadata.name);
    const { reason, counts } = await batches.untilIn(id, 'stopped');
    assert.deepEqual([reason, counts['success'], counts['waiting']], ['QuotaExceeded', 1, 1]);
    assert.deepEqual(
      (await batches.items(id, 'state=waiting')).map(({ tries }) => tries),
      [0],
    );
    await batches.act(id, 'cancel');
  });

  it('a token that is revoked stops it', async () => {
    const { token, id: tokenId } = await api.newToken();
    const { id } = await batches.create({ items: addresses('revoked.test', 2), concurrency: 1 }, token);
    await api.job('revoked.test');
    await api.stored.sql('update tokens set revoked_at = now() where id = $1', [tokenId]);
    const { reason } = await batches.untilIn(id, 'stopped');
    assert.equal(reason, 'TokenInactive');
    await batches.act(id, 'cancel');
  });

  it('a policy judges all items by the revision of the moment of creation', async () => {
    const host = 'policy.test';
    const save = (format: string) =>
      fetch(`${api.url}/v1/policy/of-batches`, {
        method: 'PUT',
        headers: { Authorization: `Bearer ${api.token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ rules: [{ name: 'wrapper', field: 'container.format', is: format }] }),
      });
    assert.equal((await save('mp4')).status, 200);
    const probe = { ...ONLY, policy: 'of-batches' };
    const { id } = await batches.create({ probe, items: addresses(host, 2), concurrency: 1 });
    const first = await api.job(host);
    assert.equal((await save('mkv')).status, 200);
    await batches.success(first.metadata.name);
    const second = await api.job(host);
    assert.deepEqual(
      [first, second].map(({ spec }) => [spec.policy?.name, spec.policy?.revision]),
      [
        ['of-batches', 1],
        ['of-batches', 1],
      ],
    );
    await batches.act(id, 'cancel');
  });

  it('a deadline cancels it', async () => {
    const { id } = await batches.create({ items: addresses('late.test', 2), concurrency: 1, deadline: 1 });
    const { reason } = await until('it ends', async () => {
      for (const { metadata } of await batches.jobs('late.test'))
        await batches.failure(metadata.name, { status: 499, reason: 'Cancelled', error: 'cancelled' });
      const batch = await api.stored.store.readBatch(id);
      return batch?.state === 'ended' ? batch : undefined;
    });
    assert.equal(reason, 'DeadlineExceeded');
  });

  it('items of one host are at most as many as per_host', async () => {
    const items = [...addresses('one.test', 4), ...addresses('two.test', 1)];
    const { id } = await batches.create({ items, concurrency: 5, per_host: 1 });
    await until('one of each runs', async () =>
      (await Promise.all(['one.test', 'two.test'].map((host) => batches.jobs(host)))).every(
        (jobs) => jobs.length === 1,
      ),
    );
    assert.equal((await batches.read(id)).counts['running'], 2);
    await batches.act(id, 'cancel');
  });

  it('results are exported as lines of JSON, as CSV and as Parquet', async () => {
    const items = [{ url: 'https://out.test/a,b.mp4', ref: '=1+1' }, { url: 'https://out.test/c.mp4' }];
    const { id } = await batches.create({ items });
    await batches.act(id, 'pause');
    const lines = (await (await batches.call(`/${id}/results`)).text()).trimEnd().split('\n');
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { n: number }).n),
      [0, 1],
    );
    const csv = await batches.call(`/${id}/results?format=csv`);
    assert.match(csv.headers.get('content-type') ?? '', /^text\/csv/);
    const [head, first] = (await csv.text()).split('\n');
    assert.ok(head!.startsWith('n,url,ref,state,'));
    assert.ok(first!.startsWith(`0,"https://out.test/a,b.mp4",'=1+1,`), first);
    const parquet = await batches.call(`/${id}/results?format=parquet`);
    assert.equal(parquet.headers.get('content-type'), 'application/vnd.apache.parquet');
    assert.deepEqual(
      (await parquetReadObjects({ file: await parquet.arrayBuffer() })).map(({ n, url, ref }) => [n, url, ref]),
      [
        [0, 'https://out.test/a,b.mp4', '=1+1'],
        [1, 'https://out.test/c.mp4', null],
      ],
    );
    await batches.act(id, 'cancel');
  });

  it('pages: of batches and of items', async () => {
    const { id } = await batches.create({ items: addresses('pages.test', 5) });
    await batches.act(id, 'pause');
    const read = async (path: string) =>
      (await (await batches.call(path)).json()) as { next: number; items: { n: number }[] };
    const first = await read(`/${id}/items?limit=3`);
    assert.deepEqual([first.items.map(({ n }) => n), first.next], [[0, 1, 2], 2]);
    const last = await read(`/${id}/items?limit=3&after=${first.next}`);
    assert.deepEqual([last.items.map(({ n }) => n), last.next], [[3, 4], null]);
    const list = (await (await batches.call('?limit=1')).json()) as { batches: BatchAnswer[]; next: string };
    assert.deepEqual([list.batches[0]!.id, list.next], [id, id]);
    const rest = (await (await batches.call(`?before=${list.next}`)).json()) as { batches: BatchAnswer[] };
    assert.ok(rest.batches.length > 1 && rest.batches.every((one) => one.id < id));
    await batches.act(id, 'cancel');
  });
});
