/** Requests that results of equal ones answer: the API on real servers, and a real host that is asked. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { PROBE_JOBS, PROBE_TOOLS } from '../../../src/platform/kube/client.ts';
import type { ProbeJob } from '../../../src/platform/kube/probe_job.ts';
import { STREAMED_BYTES } from '../../../src/service/result/memory_budget.ts';
import { identityOf } from '../../../src/source/http/identity.ts';
import { sha256 } from '../../store/fixture.ts';
import { pattern, sendFile, startOrigin, type Origin } from '../../source/origin.ts';
import { inFull } from '../../long.ts';
import { until } from '../../until.ts';
import type { Settings } from '../../../src/service/api/deps.ts';
import { batchesOf } from '../batch/fixture.ts';
import { pinTools, startApi, tool, type ApiFixture } from '../fixture.ts';

const HOUR_S = 3_600;

interface Answer {
  success: boolean;
  ffprobe: { format: object };
  metadata: { request_id: string; io_usage: number; cache?: { request_id?: string; age: number } };
}

let api: ApiFixture;
let origin: Origin;
/** By path: the tag and the body, of which tests change one. */
const files = new Map<string, { etag: string; body: Buffer }>();

async function start(change: Partial<Settings> = {}): Promise<void> {
  origin = await startOrigin((request, response, path) => {
    const file = files.get(path.split('?')[0]!);
    if (!file) return void response.writeHead(404).end();
    sendFile(file.body, request, response, { etag: file.etag });
  });
  api = await startApi({ allowSources: [{ cidr: '127.0.0.1/32', port: origin.port }], ...change });
  await pinTools(api);
}
async function stop(): Promise<void> {
  await api.stop();
  await origin.close();
}

let made = 0;
function aFile(change: Partial<{ etag: string; body: Buffer }> = {}): string {
  const path = `/film${++made}.mp4`;
  files.set(path, { etag: '"one"', body: pattern(5_000), ...change });
  return path;
}
const fieldsFor = (path: string, more: object = {}) => ({
  url: `${origin.url}${path}`,
  only: 'ffprobe',
  cache: { max_age: HOUR_S },
  ...more,
});

const ASKED = 'bytes=0-0';
const toOrigin = (path: string) => origin.requests.filter((request) => request.path.split('?')[0] === path);
const asks = (path: string) => toOrigin(path).filter(({ range }) => range === ASKED).length;
const reads = (path: string) => toOrigin(path).filter(({ range }) => range !== ASKED).length;

async function jobsOf(path: string): Promise<ProbeJob[]> {
  const { items } = await api.kube.listAll(PROBE_JOBS, { namespace: api.namespace });
  return items.filter(({ spec }) => spec.source.display?.includes(path) === true);
}
const theJobOf = (path: string, than: readonly string[] = []): Promise<string> =>
  until(`a ProbeJob of ${path}`, async () =>
    (await jobsOf(path)).map(({ metadata }) => metadata.name).find((name) => !than.includes(name)),
  );
const areOpen = (path: string, count: number): Promise<unknown> =>
  until(`${count} requests for ${path} are open`, async () => {
    const [row] = await api.stored.sql<{ n: number }>(
      `select count(*)::integer n from requests where state = 'open' and display like $1`,
      [`%${path}`],
    );
    return row!.n === count;
  });

/** In place of a runner: reads the file, and records what it says. */
async function endRun(id: string, path: string): Promise<void> {
  const read = await fetch(`${origin.url}${path}`, { headers: { range: 'bytes=0-' } });
  const body = Buffer.from(await read.arrayBuffer());
  const etag = read.headers.get('etag') ?? '';
  const digest = createHash('sha256').update(body).update(etag).digest('hex');
  const identity = identityOf({ etag }, body.length);
  const output = JSON.stringify({ format: { tags: { digest } }, streams: [] });
  await api.end(id, {
    result: { tools: [tool('ffprobe', output)], ioUsage: body.length, ...(identity && { identity }) },
    asked: [{ name: 'ffprobe' }],
    close: { startedAt: new Date(), identity, inflatedBytes: 2_000 },
  });
}

/** A request for a file that runs. */
async function run(path: string, fields: object = fieldsFor(path), init: RequestInit = {}): Promise<Answer> {
  const earlier = (await jobsOf(path)).map(({ metadata }) => metadata.name);
  const waiting = api.post(fields, init);
  await endRun(await theJobOf(path, earlier), path);
  return (await (await waiting).json()) as Answer;
}
async function runQuery(path: string, query: URLSearchParams): Promise<Answer> {
  const earlier = (await jobsOf(path)).map(({ metadata }) => metadata.name);
  const waiting = fetch(`${api.url}/v1/probe/file?${query}`, { headers: { Authorization: `Bearer ${api.token}` } });
  await endRun(await theJobOf(path, earlier), path);
  return (await (await waiting).json()) as Answer;
}
/** A request that is answered from the cache: no job of it comes to be. */
async function hit(fields: object, init: RequestInit = {}): Promise<Answer> {
  const response = await api.post(fields, init);
  const answer = (await response.json()) as Answer;
  assert.equal(response.status, 200, JSON.stringify(answer));
  assert.notEqual(answer.metadata.cache, undefined, 'it was not answered from the cache');
  return answer;
}

describe('the cache of results', function () {
  this.timeout(120_000);
  // What was said moments ago is not taken for true, so that each hit asks.
  before(() => start({ cacheSeenMs: 0 }));
  after(stop);

  it('answers an equal request once the host has said that the file is the same, and names the first one', async () => {
    const path = aFile();
    const first = await run(path);
    assert.equal(first.metadata.cache, undefined);
    assert.deepEqual([reads(path), asks(path)], [1, 0]);
    const second = await hit(fieldsFor(path));
    assert.deepEqual(second.ffprobe, first.ffprobe);
    assert.equal(second.metadata.cache?.request_id, first.metadata.request_id);
    assert.notEqual(second.metadata.request_id, first.metadata.request_id);
    assert.deepEqual([reads(path), asks(path)], [1, 1]);
    assert.ok(second.metadata.io_usage > 0 && second.metadata.io_usage < 1_000, String(second.metadata.io_usage));
    assert.equal((await jobsOf(path)).length, 1);
  });

  it('is read back and logged as an answer from the cache', async () => {
    const path = aFile();
    const first = await run(path);
    const { metadata } = await hit(fieldsFor(path));
    const headers = { Authorization: `Bearer ${api.token}` };
    const back = (await (await fetch(`${api.url}/v1/probe/${metadata.request_id}`, { headers })).json()) as Answer;
    assert.equal(back.metadata.cache?.request_id, first.metadata.request_id);
    const row = await api.stored.store.readLog(metadata.request_id, [api.userId]);
    assert.equal(row?.kind, 'cached');
  });

  for (const [what, change] of [
    ['its tag', { etag: '"two"' }],
    ['its size, under the same tag', { body: pattern(5_001) }],
  ] as const)
    it(`a file that has changed ${what} is read again, and its new result answers`, async () => {
      const path = aFile();
      const first = await run(path);
      files.set(path, { ...files.get(path)!, ...change });
      const second = await run(path);
      assert.equal(second.metadata.cache, undefined);
      assert.notDeepEqual(second.ffprobe, first.ffprobe);
      assert.equal((await hit(fieldsFor(path))).metadata.cache?.request_id, second.metadata.request_id);
    });

  it('answers items of a batch whose template asks for it', async () => {
    const path = aFile();
    await run(path);
    const batches = batchesOf(api);
    const { id } = await batches.create({
      probe: { only: 'ffprobe', cache: { max_age: HOUR_S } },
      items: [`${origin.url}${path}`],
    });
    const { counts } = await batches.untilIn(id, 'ended');
    assert.equal(counts['success'], 1);
    const [item] = await batches.items(id);
    const row = await api.stored.store.readLog(item!.request_id!, [api.userId]);
    assert.deepEqual([row?.kind, reads(path)], ['cached', 1]);
  });

  describe('an earlier batch', () => {
    /** Ends what runs of a batch until it has ended. Returns the files that were read. */
    async function runItems(batch: string): Promise<string[]> {
      const read = new Map<string, string>();
      await until('the batch has ended', async () => {
        const page = await api.stored.store.itemsPage({ batch, after: -1, limit: 10, state: 'running' });
        for (const { requestId, display } of page) {
          if (read.has(requestId!)) continue;
          read.set(requestId!, new URL(display).pathname);
          await endRun(requestId!, new URL(display).pathname);
        }
        return (await api.stored.store.readBatch(batch))?.state === 'ended';
      });
      return [...read.values()].toSorted();
    }

    it('gives what has changed since, and other items are skipped without a request', async () => {
      const batches = batchesOf(api);
      const [same, changed, weak] = [aFile(), aFile(), aFile({ etag: 'W/"one"' })] as const;
      const items = [same, changed, weak].map((path) => `${origin.url}${path}`);
      const first = await batches.create({ probe: { only: 'ffprobe' }, items });
      assert.deepEqual(await runItems(first.id), [same, changed, weak].toSorted());
      const [before] = await batches.items(first.id);

      files.set(changed, { ...files.get(changed)!, etag: '"two"' });
      // The template does not count.
      const again = (batch: string) =>
        batches.create({ probe: { only: 'ffprobe', timeout: 12_345 }, from: { batch, only: 'changed' } });
      const second = await again(first.id);
      assert.deepEqual(await runItems(second.id), [changed, weak].toSorted());
      const { counts } = await batches.read(second.id);
      assert.deepEqual([counts['success'], counts['skipped'], counts['error']], [2, 1, 0]);
      const [skipped, ...others] = await batches.items(second.id);
      assert.deepEqual(
        [skipped!.reason, skipped!.request_id, skipped!.tries],
        ['Unchanged', before!.request_id, 0],
        'its result is the earlier one',
      );
      assert.deepEqual(
        others.map(({ state }) => state),
        ['success', 'success'],
      );
      assert.deepEqual([asks(same), reads(same), asks(changed), reads(changed), asks(weak)], [1, 1, 1, 2, 0]);

      const diff = await (await batches.call(`/${second.id}/diff?against=${first.id}`)).json();
      const {
        pairs,
        states,
        not_compared: unread,
      } = diff as { pairs: number; states: object[]; not_compared: object[] };
      assert.deepEqual([pairs, states], [3, []], 'the earlier result stands for an unchanged file');
      assert.doesNotMatch(JSON.stringify(unread), /no-result/);

      const third = await again(second.id);
      assert.deepEqual(await runItems(third.id), [weak]);
      const end = await batches.read(third.id);
      assert.deepEqual([end.reason, end.counts['success'], end.counts['skipped']], ['Completed', 1, 2]);
      assert.equal((await batches.items(third.id))[0]!.request_id, before!.request_id);
      assert.equal((await batches.post({ from: { batch: third.id } })).status, 400, 'unchanged items have not failed');
    });

    it('waits where there is no memory to read the earlier results', async () => {
      const batches = batchesOf(api);
      const path = aFile();
      const first = await batches.create({ probe: { only: 'ffprobe' }, items: [`${origin.url}${path}`] });
      await runItems(first.id);
      const { memory } = api.wired.deps;
      const count = Math.max(1, Math.floor(memory.totalBytes / 2 / STREAMED_BYTES));
      const want = { inflatedBytes: null, account: api.userId };
      const places = await Promise.all(Array.from({ length: count }, () => memory.reserve(want)));
      const second = await batches.create({ probe: { only: 'ffprobe' }, from: { batch: first.id, only: 'changed' } });
      await until('it waits for memory', () => memory.waiting() > 0);
      await until('it is refused', () => memory.waiting() === 0, 30_000);
      places.forEach(({ release }) => release());
      assert.deepEqual(await runItems(second.id), []);
      assert.ok(!api.log.some((line) => line.includes('cannot begin items') && line.includes(second.id)));
    });

    it('whose results are gone gives all of its items', async () => {
      const batches = batchesOf(api);
      const path = aFile();
      const first = await batches.create({ probe: { only: 'ffprobe' }, items: [`${origin.url}${path}`] });
      await runItems(first.id);
      const [item] = await batches.items(first.id);
      await api.stored.sql('delete from envelopes where id = $1', [item!.request_id]);
      const second = await batches.create({ probe: { only: 'ffprobe' }, from: { batch: first.id, only: 'changed' } });
      assert.deepEqual(await runItems(second.id), [path]);
    });
  });

  it('a weak tag never answers', async () => {
    const path = aFile({ etag: 'W/"one"' });
    await run(path);
    assert.equal((await run(path)).metadata.cache, undefined);
  });

  it('another account, other options, and another query are no equal request', async () => {
    const path = aFile();
    await run(path);
    const token = 'a'.repeat(64);
    const [user] = await api.stored.sql<{ id: string }>(
      `insert into users (email, status, role, permissions)
         values ('stranger@example.org', 'active', 'user', '{read:media,write:media}') returning id`,
    );
    await api.stored.sql('insert into tokens (user_id, name, sha256) values ($1, $2, $3)', [
      user!.id,
      'theirs',
      sha256(token),
    ]);
    const theirs = await run(path, fieldsFor(path), { headers: { Authorization: `Bearer ${token}` } });
    assert.equal(theirs.metadata.cache, undefined);
    for (const fields of [
      fieldsFor(path, { ffprobe: { version: '3.3' } }),
      fieldsFor(`${path}?signature=other`),
      fieldsFor(path, { timeout: 12_345 }),
    ])
      assert.equal((await run(path, fields)).metadata.cache, undefined);
  });

  it('an address with a query answers only the same query', async () => {
    const path = aFile();
    await run(path, fieldsFor(`${path}?signature=mine`));
    assert.notEqual((await hit(fieldsFor(`${path}?signature=mine`))).metadata.cache, undefined);
    const keys = await api.stored.sql<{ kept: string }>(
      `select request::text kept from requests where request ? 'cacheKey'`,
    );
    assert.ok(keys.length > 0 && !JSON.stringify(keys).includes('signature'));
  });

  it('a host that says nothing costs no request', async () => {
    const path = aFile();
    await run(path);
    const file = files.get(path)!;
    files.delete(path);
    const waiting = api.post(fieldsFor(path));
    const [first] = await jobsOf(path);
    const id = await theJobOf(path, [first!.metadata.name]);
    files.set(path, file);
    await endRun(id, path);
    assert.deepEqual([(await waiting).status, asks(path)], [200, 1]);
  });

  it('an answer without a waiting caller comes, too', async () => {
    const path = aFile();
    const first = await run(path);
    const response = await api.post(fieldsFor(path), { headers: { Prefer: 'respond-async' } });
    const { metadata } = (await response.json()) as Answer;
    const headers = { Authorization: `Bearer ${api.token}` };
    const read = await until('its answer', async () => {
      const back = await fetch(`${api.url}/v1/probe/${metadata.request_id}`, { headers });
      return back.status === 200 ? ((await back.json()) as Answer) : undefined;
    });
    assert.equal(read.metadata.cache?.request_id, first.metadata.request_id);
  });

  const NO_PART: [string, object][] = [
    ['headers', { headers: { 'X-Mine': '1' } }],
    ['cookies', { cookies: { mine: '1' } }],
  ];
  for (const [what, more] of NO_PART)
    it(`${what} of the request keep it out, which the answer says`, async () => {
      const path = aFile();
      for (const _ of [1, 2]) {
        const earlier = (await jobsOf(path)).map(({ metadata }) => metadata.name);
        const waiting = api.post(fieldsFor(path, more));
        await endRun(await theJobOf(path, earlier), path);
        assert.equal((await waiting).headers.get('x-ignored-fields'), 'cache');
      }
      assert.equal(asks(path), 0);
    });

  it('a tool whose image has no digest keeps it out', async () => {
    const path = aFile();
    const { kube, namespace } = api;
    const image = (text: string) =>
      kube.mergePatch(PROBE_TOOLS, 'ffprobe-7.0', { spec: { image: text } }, { namespace });
    await image('tools/ffprobe:7.0');
    try {
      await until('the API knows it', () => api.wired.deps.catalog().exactly('ffprobe', '7.0') === undefined);
      const waiting = api.post(fieldsFor(path));
      await endRun(await theJobOf(path), path);
      assert.equal((await waiting).headers.get('x-ignored-fields'), 'cache');
    } finally {
      await pinTools(api);
    }
  });

  it('by default of the account, unless a request says otherwise or has no part in it', async () => {
    const path = aFile();
    const first = await run(path);
    const silent = fieldsFor(path, { cache: {} });
    const age = (seconds: number | null) =>
      api.stored.sql('update users set cache_max_age_s = $2 where id = $1', [api.userId, seconds]);
    const known = (seconds: number) =>
      until('the API knows it', async () => {
        const token = await api.wired.deps.tokens.get(sha256(api.token), '127.0.0.1');
        return token?.limits.cacheMaxAgeS === seconds;
      });
    await age(HOUR_S);
    await known(HOUR_S);
    try {
      assert.equal((await hit(silent)).metadata.cache?.request_id, first.metadata.request_id);
      const off = await run(path, fieldsFor(path, { cache: { max_age: 0 } }));
      assert.equal(off.metadata.cache, undefined);
      // As the doctor asks.
      const query = new URLSearchParams({ url: silent.url, only: 'ffprobe', 'cache[max_age]': '0' });
      assert.equal((await runQuery(path, query)).metadata.cache, undefined);
      const earlier = (await jobsOf(path)).map(({ metadata }) => metadata.name);
      const waiting = api.post({ ...silent, headers: { 'X-Mine': '1' } });
      await endRun(await theJobOf(path, earlier), path);
      assert.equal((await waiting).headers.get('x-ignored-fields'), null);
      const batches = batchesOf(api);
      const items = [silent.url];
      const { id, probe } = await batches.create({ probe: { only: 'ffprobe' }, items });
      assert.deepEqual(probe, { ...probe, cache: { max_age: HOUR_S } });
      // What holds for the batch is decided when it is created.
      await age(null);
      assert.equal((await batches.untilIn(id, 'ended')).counts['success'], 1);
      await known(0);
      const other = await batches.create({ probe: { only: 'ffprobe' }, items });
      await batches.call(`/${other.id}/cancel`, { method: 'POST' });
      assert.deepEqual(other.probe, { ...other.probe, cache: { max_age: 0 } });
    } finally {
      await age(null);
    }
  });

  for (const [age, status] of [
    [-1, 400],
    [30 * 86_400 + 1, 400],
    ['1h', 400],
  ] as const)
    it(`a max_age of ${age} is refused`, async () => {
      const response = await api.post(fieldsFor(aFile(), { cache: { max_age: age } }));
      assert.equal(response.status, status);
      assert.match(await response.text(), /cache\.max_age/);
    });
});

describe('equal requests at the same time', function () {
  this.timeout(120_000);
  before(() => start());
  after(stop);

  const MANY = inFull() ? 1_000 : 200;
  it(`of ${MANY} that wait one runs: the file is read once, and its host is not even asked`, async () => {
    const path = aFile();
    const waiting = Array.from({ length: MANY }, () => api.post(fieldsFor(path)));
    const id = await theJobOf(path);
    await areOpen(path, MANY);
    await endRun(id, path);
    const answers = (await Promise.all((await Promise.all(waiting)).map((one) => one.json()))) as Answer[];
    assert.equal(answers.filter(({ metadata }) => metadata.cache?.request_id === id).length, MANY - 1);
    assert.deepEqual([(await jobsOf(path)).length, reads(path), asks(path)], [1, 1, 0]);
  });

  it('if the caller of the one that runs goes away, the next of those that wait runs', async () => {
    const path = aFile();
    const gone = new AbortController();
    const first = api.post(fieldsFor(path), { signal: gone.signal }).catch(() => undefined);
    const id = await theJobOf(path);
    const others = [api.post(fieldsFor(path)), api.post(fieldsFor(path))];
    await areOpen(path, 3);
    gone.abort();
    await first;
    await until('its job is deleted', async () => (await jobsOf(path)).length === 0);
    // As the leader does.
    await api.end(id, { close: { status: 499, reason: 'Cancelled', error: 'cancelled' } });
    const next = await theJobOf(path, [id]);
    await endRun(next, path);
    const answers = (await Promise.all((await Promise.all(others)).map((one) => one.json()))) as Answer[];
    const [ran] = answers.filter(({ metadata }) => metadata.cache === undefined);
    const [cached] = answers.filter(({ metadata }) => metadata.cache !== undefined);
    assert.deepEqual([ran?.metadata.request_id, cached?.metadata.cache?.request_id], [next, next]);
    assert.equal((await jobsOf(path)).length, 1);
  });

  it('if the one that runs fails, each of the others runs', async () => {
    const path = aFile();
    const waiting = [api.post(fieldsFor(path)), api.post(fieldsFor(path))];
    const id = await theJobOf(path);
    await areOpen(path, 2);
    await api.end(id, { close: { status: 404, reason: 'OriginUnreachable', error: 'gone' } });
    await endRun(await theJobOf(path, [id]), path);
    const statuses = (await Promise.all(waiting)).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), [200, 404]);
  });

  it('one that is cancelled while it waits never runs', async () => {
    const path = aFile();
    const first = api.post(fieldsFor(path));
    const id = await theJobOf(path);
    const accepted = await api.post(fieldsFor(path), { headers: { Prefer: 'respond-async' } });
    const { metadata } = (await accepted.json()) as Answer;
    await areOpen(path, 2);
    const headers = { Authorization: `Bearer ${api.token}` };
    const cancelled = await fetch(`${api.url}/v1/probe/${metadata.request_id}/cancel`, { method: 'POST', headers });
    assert.equal(cancelled.status, 202);
    await api.end(id, { close: { status: 404, reason: 'OriginUnreachable', error: 'gone' } });
    assert.equal((await first).status, 404);
    await run(path);
    const jobs = (await jobsOf(path)).map(({ metadata: { name } }) => name);
    assert.deepEqual([jobs.length, jobs.includes(metadata.request_id)], [2, false]);
  });
});

describe('an installation without a cache of results', function () {
  this.timeout(60_000);
  before(() => start({ cacheEnabled: false }));
  after(stop);

  it('runs each request, and says that the field has no effect', async () => {
    const path = aFile();
    for (const _ of [1, 2]) {
      const earlier = (await jobsOf(path)).map(({ metadata }) => metadata.name);
      const waiting = api.post(fieldsFor(path));
      await endRun(await theJobOf(path, earlier), path);
      assert.equal((await waiting).headers.get('x-ignored-fields'), 'cache');
    }
    assert.deepEqual([reads(path), asks(path)], [2, 0]);
  });
});
