/** Failures around a waiting request: it ends once, and its caller gets the true outcome. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { until } from '../until.ts';
import { ADMIN } from '../store/fixture.ts';
import { startApi, tool, type ApiFixture } from './fixture.ts';

const result = { tools: [tool('ffprobe', '{}')], ioUsage: 1 };
const asked = [{ name: 'ffprobe' as const }];

describe('a waiting request', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi({ graceMs: 300 }, { relay: true, store: { alone: true } });
  });
  after(() => api.stop());

  const rows = (host: string) =>
    api.stored.sql<{ id: string; state: string; status: number | null; reason: string | null }>(
      `select id, state, status, reason from requests where display like $1`,
      [`%://${host}/%`],
    );
  const read = (id: string) =>
    fetch(`${api.url}/v1/probe/${id}`, { headers: { Authorization: `Bearer ${ADMIN.token}` } });
  const jobs = async (host: string) =>
    (await api.kube.listAll(PROBE_JOBS, { namespace: api.namespace })).items.filter((job) =>
      job.spec.source.display?.includes(`://${host}/`),
    );

  it('is created once the API server is back', async () => {
    api.relay!.refuse(true);
    api.relay!.cut();
    const answering = api.get('url=https://away.test/a&only=ffprobe');
    await until('the request is open', async () => (await rows('away.test')).length === 1);
    assert.deepEqual(await jobs('away.test'), []);
    api.relay!.refuse(false);
    const job = await api.job('away.test');
    await api.end(job.metadata.name, { result, asked });
    assert.equal((await answering).status, 200);
    assert.equal((await jobs('away.test')).length, 1);
  });

  it('not created within its queue time: 503 with Retry-After, now and read back; the row is closed', async () => {
    api.relay!.refuse(true);
    api.relay!.cut();
    const response = await api.get('url=https://never.test/a&queue_timeout=400');
    api.relay!.refuse(false);
    const [row] = await rows('never.test');
    assert.deepEqual({ ...row, id: '' }, { id: '', state: 'error', status: 503, reason: 'InternalError' });
    for (const told of [response, await read(row!.id)]) {
      assert.deepEqual(
        [told.status, told.headers.get('retry-after'), await told.json()],
        [503, '5', { error: 'the service is not available; try again later' }],
      );
    }
  });

  it('whose create succeeded without a response is one job with one response', async () => {
    // The response to the create is cut before its first byte: the job exists, and the client does not know.
    await until('the client is connected', () =>
      api.kube.get(PROBE_JOBS, 'none', { namespace: api.namespace }).catch(() => true),
    );
    api.relay!.cutAfter(1);
    const answering = api.get('url=https://torn.test/a&only=ffprobe');
    const job = await api.job('torn.test');
    await api.end(job.metadata.name, { result, asked });
    assert.equal((await answering).status, 200);
    assert.equal((await jobs('torn.test')).length, 1);
  });

  it('whose caller disconnects before the job exists is closed as cancelled, and no job is created later', async () => {
    api.relay!.refuse(true);
    api.relay!.cut();
    const caller = new AbortController();
    const answering = api.get('url=https://early.test/a', {
      headers: { Authorization: `Bearer ${api.token}` },
      signal: caller.signal,
    });
    await until('the request is open', async () => (await rows('early.test')).length === 1);
    caller.abort();
    await assert.rejects(answering);
    await until('nobody waits', () => api.wired.deps.waiting.size() === 0);
    api.relay!.refuse(false);
    await until('the row is closed', async () => (await rows('early.test'))[0]?.reason === 'Cancelled');
    assert.deepEqual(await jobs('early.test'), []);
  });

  it('is not cancelled by a client that aborts another request', async () => {
    const answering = api.get('url=https://steady.test/a&only=ffprobe');
    const job = await api.job('steady.test');
    const socket = connect(api.server.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write('POST /v1/probe/file HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{');
    socket.destroy();
    await api.end(job.metadata.name, { result, asked });
    assert.equal((await answering).status, 200);
  });

  it('without an end past its time is ended by the API, which closes the row and deletes the job', async () => {
    const response = await api.get('url=https://overdue.test/a&queue_timeout=200&timeout=200');
    assert.deepEqual([response.status, await response.json()], [500, { error: 'the request did not end in time' }]);
    const [row] = await rows('overdue.test');
    assert.deepEqual([row?.state, row?.reason], ['error', 'DeadlineExceeded']);
    await until('the job is deleted', async () => (await jobs('overdue.test')).length === 0);
  });

  it("that ends just before the API's own end gets the recorded one", async () => {
    const answering = api.get('url=https://justthen.test/a&only=ffprobe&queue_timeout=300&timeout=300');
    const job = await api.job('justthen.test');
    await api.end(job.metadata.name, { result, asked, tell: false });
    assert.equal((await answering).status, 200);
  });

  it('gets its response after a restart of Postgres', async () => {
    const answering = api.get('url=https://restart.test/a&only=ffprobe');
    const job = await api.job('restart.test');
    await api.stored.server.restart('immediate');
    await until('Postgres can be reached again', () => api.stored.store.healthy());
    await api.end(job.metadata.name, { result, asked, tell: false });
    assert.equal((await answering).status, 200);
  });

  it('gets 503 with Retry-After and no internals while Postgres fails; the replica stays ready', async () => {
    const ready = async () => {
      const response = await fetch(`${api.url}/readyz`);
      return { status: response.status, ...((await response.json()) as object) };
    };
    assert.deepEqual(await ready(), { status: 200, ready: true });
    await api.stored.server.down();
    const before = api.log.length;
    const response = await api.get('url=https://down.test/a');
    assert.deepEqual(
      [response.status, response.headers.get('retry-after'), await response.json()],
      [503, '5', { error: 'the service is not available; try again later' }],
    );
    assert.ok(
      !api.log.slice(before).some((line) => line.includes('"level":50')),
      'a part that is away is no defect of the API',
    );
    assert.deepEqual(await ready(), { status: 200, ready: true, degraded: { postgres: 'does not answer' } });
    assert.equal((await fetch(`${api.url}/healthz`)).status, 200);
    await api.stored.server.restart();
    await until('Postgres is back', async () => !('degraded' in (await ready())));
  });

  it('is awaited by a draining replica, never cancelled, and at last told where to read the result', async () => {
    const { drain } = api.wired.deps;
    const [kept, cut] = [api.get('url=https://kept.test/a&only=ffprobe'), api.get('url=https://cut.test/a')];
    const keptJob = await api.job('kept.test');
    const cutJob = await api.job('cut.test');
    const leaving = new AbortController();
    const left = api.get('url=https://left.test/a', { signal: leaving.signal });
    left.catch(() => {});
    await api.job('left.test');
    drain.start();
    // Seen through readiness, as by a load balancer that removes the replica.
    leaving.abort();
    await until('the disconnected caller is no longer waiting', () => api.wired.deps.waiting.size() === 2);
    assert.deepEqual(await (await fetch(`${api.url}/readyz`)).json(), {
      ready: false,
      reasons: { drain: 'this replica is shutting down' },
    });
    const closing = api.server.close(20_000);
    await api.end(keptJob.metadata.name, { result, asked });
    const answered = await kept;
    assert.deepEqual([answered.status, answered.headers.get('connection')], [200, 'close']);
    await answered.text();
    drain.end();
    const told = await cut;
    assert.deepEqual(
      [told.status, told.headers.get('retry-after'), await told.json()],
      [503, '1', { error: `this server is shutting down; read the result at /v1/probe/${cutJob.metadata.name}` }],
    );
    await closing;
    for (const host of ['cut.test', 'left.test']) {
      assert.equal((await jobs(host)).length, 1, host);
      assert.equal((await rows(host))[0]?.state, 'open', host);
    }
  });
});
