/** From one term to the next, and writes whose outcome is unknown. */
import assert from 'node:assert/strict';
import { PODS, PROBE_JOBS, PROBE_TOOLS, type KubeClient } from '../../src/platform/kube/client.ts';
import { isBeingProven } from '../../src/platform/kube/conditions.ts';
import { kubeClient } from '../kube/kubeconfig.ts';
import { openStore, type Store } from '../../src/platform/store/store.ts';
import { startRelay } from '../kube/relay.ts';
import { until } from '../until.ts';
import { clusterOfEach, showProven, type Submitted, TOOLS } from './cluster_parts.ts';
import { gateAt, isAdmission } from './obstacles.ts';

describe('takeover by a new leader', function () {
  this.timeout(60_000);
  const { start, led, held, current, ready } = clusterOfEach();
  const one = { pools: { short: { minReady: 1, maxPods: 1 } } };

  it('running jobs keep slot and runner, recorded jobs are finished, waiting jobs keep their order', async () => {
    const {
      submit,
      ended,
      controller,
      runners,
      newToken,
      most,
      leader: first,
      job,
      reason,
    } = await led({ minReady: 3, maxPods: 4 });
    runners.behaviour.go = () => 'hold';
    const token = await newToken(2);
    const jobs: Submitted[] = [];
    for (let i = 0; i < 6; i++) jobs.push(await submit({ token }));
    const [a, b, ...waiting] = jobs.map(({ id }) => id) as [string, string, ...string[]];
    await until('two run', () => runners.of(a) && runners.of(b));
    await first.stop();
    // No leader and no collector.
    await runners.of(a)!.finish();
    runners.behaviour.go = () => ({ ms: 20 });
    await controller({ epoch: 2 });
    await ended(a, ...waiting);
    assert.equal(most(token), 2);
    assert.deepEqual(
      runners.began
        .slice(2)
        .map((began) => waiting.indexOf(began.job))
        .toSorted((x, y) => x - y),
      [0, 1, 2, 3],
    );
    assert.equal(waiting.indexOf(runners.began[2]?.job ?? ''), 0);
    await runners.of(b)!.finish();
    await ended(b);
    await until('every job is Completed', () => jobs.every(({ id }) => reason(id) === 'Completed'));
    assert.ok(jobs.every(({ id }) => job(id)?.status?.attempts === 1));
  });

  it('a token stays within its limit if Postgres is away while the new leader takes over', async () => {
    const {
      controller,
      runners,
      most,
      kube,
      namespace,
      reason,
      servers: {
        stored: { sql, server },
      },
    } = await start({ pools: { short: { minReady: 3, maxPods: 3 } } });
    await sql('update tokens set concurrency = 2 where is_default');
    // Its calls fail soon: the gap to test lies between a failed call and the next.
    const store = await openStore({ url: server.url, retryMs: 100 });
    try {
      const first = await controller();
      await ready(3);
      runners.behaviour.go = () => 'hold';
      const spec = {
        kind: 'file' as const,
        source: { url: 'https://media.example.org/a.mp4' },
        tools: [{ name: 'ffprobe' as const, version: '7.0' }],
      };
      for (const name of ['one', 'two']) await kube.create(PROBE_JOBS, { metadata: { name, namespace }, spec });
      await until('two run', () => ['one', 'two'].every((name) => reason(name) === 'Running'));
      await kube.create(PROBE_JOBS, { metadata: { name: 'three', namespace }, spec });
      await until('the third waits', () => reason('three') === 'TokenAtLimit');
      await first.stop();
      let failed = 0;
      const openRequest: Store['openRequest'] = async (input) => {
        if (failed++ > 0) return store.openRequest(input);
        await server.down('immediate');
        try {
          return await store.openRequest(input);
        } finally {
          await server.restart();
        }
      };
      const next = await controller({ epoch: 2, store: { ...store, openRequest } });
      await until('all three are taken in', () => [...next.term.leader.jobs.allTaken()].length === 3);
      assert.ok(failed > 3, 'one look-up failed and was repeated');
      assert.equal(most(0), 2);
      assert.deepEqual(
        ['one', 'two', 'three'].map((name) => current().job(name)?.status?.attempts),
        [1, 1, undefined],
      );
      await next.stop();
    } finally {
      await sql('update tokens set concurrency = null where is_default');
      await store.close();
    }
  });

  it('a new leader waits for Postgres, and finishes what ran', async () => {
    const {
      submit,
      ended,
      controller,
      runners,
      servers: {
        stored: { server },
      },
    } = await start(one);
    const store = await openStore({ url: server.url, retryMs: 100 });
    try {
      const first = await controller();
      await ready();
      runners.behaviour.go = () => 'hold';
      const { id } = await submit();
      await until('it runs', () => runners.of(id));
      await first.stop();
      const failed: string[] = [];
      const away =
        <A extends unknown[], T>(name: string, call: (...given: A) => Promise<T>) =>
        async (...given: A): Promise<T> => {
          if (failed.includes(name)) return call(...given);
          failed.push(name);
          await server.down('immediate');
          try {
            return await call(...given);
          } finally {
            await server.restart();
          }
        };
      const next = await controller({
        epoch: 2,
        store: {
          ...store,
          tokenLimits: away('tokens', store.tokenLimits),
          endsFor: away('ends', store.endsFor),
        },
      });
      assert.deepEqual(failed, ['tokens', 'ends']);
      await runners.of(id)!.finish();
      await ended(id);
      await next.stop();
    } finally {
      await store.close();
    }
  });

  it('a job created while the new leader lists is not refused for tools it has not listed yet', async () => {
    const { submit, ended, controller, job, leader: first } = await led({});
    await first.stop();
    const opened = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const list: KubeClient['list'] = async (type, options) => {
      if (type.kind === 'ProbeTool') {
        asked.resolve();
        await opened.promise;
      }
      return current().kube.list(type, options);
    };
    const second = controller({ epoch: 2, kube: { ...current().kube, list } });
    await asked.promise;
    const [early, late] = [await submit(), await submit()];
    await until('a watch has shown both', () => job(late.id));
    opened.resolve();
    await second;
    const records = await ended(early.id, late.id);
    assert.deepEqual(
      records.map(({ reason }) => reason),
      ['Completed', 'Completed'],
    );
  });

  it('a job created after the list of the new leader, and shown before it is ready, runs', async () => {
    const { submit, ended, controller, leader: first } = await led({});
    await first.stop();
    const opened = Promise.withResolvers<void>();
    const listed = Promise.withResolvers<void>();
    const list: KubeClient['list'] = async (type, options) => {
      const page = await current().kube.list(type, options);
      if (type.kind === 'ProbeJob') {
        listed.resolve();
        await opened.promise;
      }
      return page;
    };
    const shown = new Set<string>();
    const watch: KubeClient['watch'] = (type, options, onEvent) =>
      current().kube.watch(type, options, (event) => {
        onEvent(event as never);
        shown.add(event.object.metadata.name);
      });
    const second = controller({ epoch: 2, kube: { ...current().kube, watch }, writes: { ...current().kube, list } });
    await listed.promise;
    const { id } = await submit();
    await until('its watch has shown it', () => shown.has(id));
    opened.resolve();
    await second;
    assert.equal((await ended(id))[0]?.reason, 'Completed');
  });

  it('a job whose version is being tried waits for it', async () => {
    const { submit, ended, controller, kube, namespace, leader: first } = await led({});
    const spec = { ...TOOLS[0]!, version: '8.0', image: 'tools/ffprobe:8.0', latest: false };
    const made = await kube.create(PROBE_TOOLS, { metadata: { name: 'ffprobe-8.0', namespace }, spec });
    await until('its proof has begun', async () => isBeingProven(await kube.get(PROBE_TOOLS, 'ffprobe-8.0')));
    await first.stop();
    const { id } = await submit({ spec: { tools: [{ name: 'ffprobe', version: '8.0' }] } });
    const { term } = await controller({ epoch: 2 });
    await until('the new leader has taken it in', () => term.leader.jobs.get(id)?.state === 'waiting');
    await showProven(kube, namespace, made.spec);
    assert.equal((await ended(id))[0]?.reason, 'Completed');
  });

  it('a job whose pod was lost without a leader runs again', async () => {
    const { ended, controller, runners, kube, runnerNamespace, job, leader: first, id, runner } = await held();
    await first.stop();
    await kube.delete(PODS, runner.pod, { namespace: runnerNamespace, gracePeriodSeconds: 0 });
    runners.behaviour.go = () => ({ ms: 5 });
    await controller({ epoch: 2 });
    const [record] = await ended(id);
    assert.deepEqual([record?.state, job(id)?.status?.attempts], ['success', 2]);
  });

  it('a job whose end was recorded without a leader is not started again', async () => {
    const { submit, controller, runners, newToken, ended, store, job, reason, leader: first } = await led();
    await first.stop();
    const token = await newToken(1);
    const [given, next] = [await submit({ token }), await submit({ token })];
    await until('both are there', () => job(next.id));
    // The write of the API for a request that has waited too long.
    await store.closeRequest({
      id: given.id,
      submittedAt: given.submittedAt,
      state: 'error',
      status: 500,
      reason: 'DeadlineExceeded',
      error: 'late',
      attempt: 0,
      startedAt: null,
      tools: [],
      ioBytes: 0,
      body: null,
    });
    await controller({ epoch: 2 });
    await ended(next.id);
    await until('the status shows DeadlineExceeded', () => reason(given.id) === 'DeadlineExceeded');
    assert.deepEqual(
      runners.began.map((began) => began.job),
      [next.id],
    );
  });

  it('a late lease renewal pauses admissions until it arrives', async () => {
    const { submit, ended, runners, lease, calls } = await led();
    // The lease is valid for another 1.5 s: too short for a write that must not arrive in another term.
    lease.ageMs = 4_500;
    const { id } = await submit();
    await until('a runner is prepared', () => runners.all().some(({ orders }) => orders.some(({ job }) => job === id)));
    assert.deepEqual(
      calls.filter(({ name }) => name === id),
      [],
    );
    lease.ageMs = 100;
    const [record] = await ended(id);
    assert.equal(record?.state, 'success');
  });

  it('a leader deposed without knowing it admits nothing and ends nothing', async () => {
    const {
      submit,
      ended,
      controller,
      runners,
      newToken,
      most,
      leader: old,
      reason,
    } = await led(undefined, { collects: false });
    const token = await newToken(1);
    runners.behaviour.go = () => 'hold';
    const running = await submit({ token });
    await until('it runs', () => runners.of(running.id));
    const waiting = await submit({ token, queueTimeoutMs: 600 });
    // As after a pause: another replica has held the lease for long, and the timers fire before the old leader learns
    // of it.
    old.lease.ageMs = 60_000;
    const before = old.calls.length;
    await controller({ epoch: 2 });
    const [record] = await ended(waiting.id);
    assert.equal(record?.reason, 'QueueTimeout');
    await runners.of(running.id)!.finish();
    await ended(running.id);
    const after = await submit({ token });
    runners.behaviour.go = () => ({ ms: 5 });
    await until('the job after the takeover is Completed', async () => {
      await runners.of(after.id)?.finish();
      return reason(after.id) === 'Completed';
    });
    assert.deepEqual(old.calls.slice(before), []);
    assert.equal(old.log.filter(({ msg }) => msg === 'request ended').length, 0);
    assert.equal(most(token), 1);
    assert.ok(
      runners
        .all()
        .flatMap(({ orders }) => orders)
        .filter(({ job }) => job === after.id)
        .every(({ epoch }) => epoch === 2),
    );
  });

  it('a runner that claims a later term deposes no leader, and is replaced', async () => {
    const { submit, ended, runners, pods } = await led({ minReady: 1, maxPods: 2 }, { epoch: 3 });
    const liar = runners.all()[0]!;
    liar.state = { ...liar.state, epoch: 99 };
    await liar.beat();
    const { id } = await submit();
    const [record] = await ended(id);
    assert.equal(record?.state, 'success');
    await until('its pod is gone', async () => (await pods()).every(({ metadata }) => metadata.uid !== liar.uid));
  });

  it('an admission that conflicts with another patch is written again, once', async () => {
    const { submit, ended, controller, runners, kube, namespace, job } = await start(one);
    const gate = gateAt(kube, isAdmission, 'before');
    await controller({ writes: gate.kube });
    await ready();
    const { id } = await submit();
    await until('its admission is about to be sent', () => gate.arrived.length > 0);
    await kube.mergePatch(PROBE_JOBS, id, { metadata: { annotations: { seen: 'yes' } } }, { namespace });
    gate.open();
    const [record] = await ended(id);
    assert.equal(record?.state, 'success');
    assert.equal(runners.began.length, 1);
    assert.equal(job(id)?.status?.attempts, 1);
  });

  it('an admission that arrives after the end does not undo it', async () => {
    const { submit, ended, controller, runners, kube, namespace } = await start(one);
    const gate = gateAt(kube, isAdmission, 'before');
    await controller({ writes: gate.kube });
    await ready();
    const { id } = await submit();
    await until('its admission is about to be sent', () => gate.arrived.length > 0);
    const end = {
      type: 'Succeeded',
      status: 'False' as const,
      reason: 'Cancelled',
      message: 'by an earlier leader',
      lastTransitionTime: new Date().toISOString(),
    };
    await kube.mergePatchStatus(PROBE_JOBS, id, { conditions: [end] }, { namespace });
    gate.open();
    await ended(id);
    assert.equal(
      (await kube.get(PROBE_JOBS, id, { namespace })).status?.conditions?.find(({ type }) => type === 'Succeeded')
        ?.reason,
      'Cancelled',
    );
    assert.deepEqual(runners.began, []);
  });

  it('an admission whose response was lost is looked up, not written twice', async () => {
    const { submit, ended, controller, runners, namespace, job, api } = await start(one);
    const relay = await startRelay(api.host, api.port);
    const writes = await kubeClient({ kubeconfig: api.kubeconfigAt(relay.port), namespace });
    try {
      await controller({ writes });
      await ready();
      relay.cutAfter(1);
      const { id } = await submit();
      const [record] = await ended(id);
      assert.equal(record?.state, 'success');
      assert.equal(runners.began.length, 1);
      assert.equal(job(id)?.status?.attempts, 1);
    } finally {
      await current().stop();
      await writes.close();
      await relay.close();
    }
  });

  it('every job gets its end although the API server is away for three seconds', async () => {
    const { submit, ended, controller, runners, namespace, newToken, most, api } = await start({
      pools: { short: { minReady: 2, maxPods: 4 } },
    });
    const relay = await startRelay(api.host, api.port);
    const kube = await kubeClient({ kubeconfig: api.kubeconfigAt(relay.port), namespace });
    try {
      const { lease } = await controller({ kube });
      await ready(2);
      const token = await newToken(2);
      runners.behaviour.go = () => ({ ms: 100 });
      const jobs: Submitted[] = [];
      const away = performance.now();
      relay.refuse(true);
      relay.cut();
      lease.ageMs = 4_500;
      while (performance.now() - away < 3_000) jobs.push(await submit({ token }));
      relay.refuse(false);
      lease.ageMs = 0;
      const records = await ended(...jobs.slice(0, 20).map(({ id }) => id));
      assert.deepEqual([...new Set(records.map(({ state }) => state))], ['success']);
      assert.ok(most(token) <= 2);
    } finally {
      await current().stop();
      await kube.close();
      await relay.close();
    }
  });
});
