import assert from 'node:assert/strict';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { NAMESPACE, cluster, eventually, stateOf, type Cluster } from './fixture.ts';

/** Watches every ProbeJob of a token, and counts how many are running by their status at any moment. */
async function countRunning(c: Cluster, token: number) {
  const stop = new AbortController();
  const running = new Set<string>();
  const all = new Set<string>();
  let most = 0;
  const { resourceVersion } = await c.kube.list(PROBE_JOBS, { namespace: NAMESPACE });
  const done = c.kube
    .watch(
      PROBE_JOBS,
      { namespace: NAMESPACE, labelSelector: `probeyard.dev/token=${token}`, resourceVersion, signal: stop.signal },
      ({ type, object }) => {
        const job = object as ProbeJob;
        all.add(job.metadata.name);
        if (type !== 'DELETED' && stateOf(job) === 'Running') running.add(job.metadata.name);
        else running.delete(job.metadata.name);
        most = Math.max(most, running.size);
      },
    )
    .catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });
  return {
    get most() {
      return most;
    },
    get seen() {
      return all.size;
    },
    async stop() {
      stop.abort();
      await done;
    },
  };
}

describe('concurrency of a token', function () {
  this.timeout(180_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c.close());

  it('of 30 concurrent requests on one token at most 10 run at once, and all succeed', async () => {
    const { id, token } = await c.newToken(10);
    const origin = await c.origin();
    const watch = await countRunning(c, id);
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => c.probe({ url: `${origin.url}/tiny.mp4` }, { token })),
    );
    await eventually('the watch has seen them all', 10, () => watch.seen === 30);
    await watch.stop();
    assert.deepEqual(
      answers.map(({ status }) => status),
      Array.from({ length: 30 }, () => 200),
    );
    assert.ok(watch.most <= 10, `${watch.most} at once`);
    assert.ok(watch.most >= 2, 'they ran side by side');
    assert.equal(new Set(answers.map(({ json }) => json.metadata?.request_id)).size, 30);
  });

  it('with a limit of one, the second job waits for the first and shows the reason', async () => {
    const { id, token } = await c.newToken(1);
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const origin = await c.origin(async (_request, response) => {
      await held;
      response.writeHead(404).end();
    });
    const first = c.probe({ url: `${origin.url}/a.mp4` }, { token });
    await eventually('the first runs', 30, async () =>
      (await c.kube.list(PROBE_JOBS, { namespace: NAMESPACE, labelSelector: `probeyard.dev/token=${id}` })).items.some(
        (job) => stateOf(job) === 'Running',
      ),
    );
    const second = c.probe({ url: `${origin.url}/b.mp4` }, { token });
    const waiting = await eventually('the second is marked', 10, async () =>
      (await c.kube.list(PROBE_JOBS, { namespace: NAMESPACE, labelSelector: `probeyard.dev/token=${id}` })).items.find(
        (job) => stateOf(job) === 'TokenAtLimit',
      ),
    );
    assert.match(
      waiting.status?.conditions?.find(({ type }) => type === 'Admitted')?.message ?? '',
      /runs 1 of at most 1 jobs/,
    );
    const readBack = await c.get(`/v1/probe/${waiting.metadata.name}`, token);
    assert.deepEqual([readBack.status, (readBack.json as { state?: string }).state], [202, 'queued']);
    release();
    assert.deepEqual([(await first).status, (await second).status], [404, 404]);
  });

  it('a request that waits too long in the queue gets 429 with Retry-After', async () => {
    const { token } = await c.newToken(1);
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const origin = await c.origin(async (_request, response) => {
      await held;
      response.writeHead(404).end();
    });
    const first = c.probe({ url: `${origin.url}/a.mp4` }, { token });
    await eventually('the first reached the origin', 30, () => origin.requests.length > 0);
    const second = await c.probe({ url: `${origin.url}/b.mp4`, queue_timeout: 1_500 }, { token });
    assert.equal(second.status, 429, second.text);
    assert.ok(second.headers.get('retry-after'));
    assert.match(second.json.error ?? '', /queue/);
    release();
    await first;
  });

  it('a disconnecting caller cancels its request, and the slot is free', async () => {
    const { id, token } = await c.newToken(1);
    const origin = await c.origin((_request, response) => void setTimeout(() => response.destroy(), 60_000).unref());
    const hangUp = new AbortController();
    const first = c.probe({ url: `${origin.url}/a.mp4` }, { token, signal: hangUp.signal }).catch(() => undefined);
    await eventually('it runs', 30, () => origin.requests.length > 0);
    hangUp.abort();
    await first;
    const media = await c.origin();
    const { status } = await c.probe({ url: `${media.url}/tiny.mp4`, queue_timeout: 20_000 }, { token });
    assert.equal(status, 200);
    await eventually(
      'the record says cancelled',
      10,
      async () =>
        (await c.sql(`select count(*) from requests where token_id = ${id} and reason = 'Cancelled'`)) === '1',
    );
  });
});
