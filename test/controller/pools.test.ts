/** Pods of a pool on a real API server: their number, and what happens at a limit. */
import assert from 'node:assert/strict';
import {
  EVENTS,
  PROBE_POOLS,
  PROBE_TOOLS,
  type Pod,
  type KubeClient,
  type ResourceType,
} from '../../src/platform/kube/client.ts';
import { RUNNER_PROTOCOL } from '../../src/platform/bus/messages.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { heartbeat } from '../../src/service/controller/leader/losses.ts';
import { until } from '../until.ts';
import { clusterOfEach, makeTool, POOL, stateOf, TOOLS } from './cluster_parts.ts';
import { gateAt } from './obstacles.ts';

const QUOTAS: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'resourcequotas',
  kind: 'ResourceQuota',
  namespaced: true,
};

describe('pools', function () {
  this.timeout(60_000);
  const { start, led, current, ready } = clusterOfEach();
  const condition = async (name: string) =>
    (await current().kube.get(PROBE_POOLS, name)).status?.conditions?.find(({ type }) => type === 'Ready');

  it('keeps minReady untouched runners, and reports them', async () => {
    const { pods, kube } = await led({ minReady: 3 });
    await until('the pool is Serving', async () => (await condition('short'))?.reason === 'Serving');
    assert.equal((await kube.get(PROBE_POOLS, 'short')).status?.ready, 3);
    assert.equal((await pods()).length, 3);
  });

  it('creates no more pods than configured while the pod watch lags', async () => {
    const { controller, kube, pods, runnerNamespace } = await start({ pools: { short: { minReady: 3, maxPods: 8 } } });
    const opened = Promise.withResolvers<void>();
    // The watch shows nothing until it is released; creates and lists pass.
    const watch: KubeClient['watch'] = async (type, options, onEvent) => {
      if (type.kind !== 'Pod' || options.namespace !== runnerNamespace) return kube.watch(type, options, onEvent);
      const held: Parameters<typeof onEvent>[0][] = [];
      let open = false;
      void opened.promise.then(() => {
        open = true;
        for (const event of held) onEvent(event);
      });
      return kube.watch(type, options, (event) => {
        if (open) onEvent(event);
        else held.push(event);
      });
    };
    const { calls } = await controller({ kube: { ...kube, watch } });
    await until('three pods exist', async () => (await pods()).length === 3);
    // Each status of the pool follows a plan, so several plans have passed here.
    const made = () => calls.filter(({ what, name }) => what === 'create Pod' && name.startsWith('runner-')).length;
    for (const size of [4, 3]) {
      await current().setPool('short', { minReady: size });
      await until(
        'it has planned anew',
        async () =>
          (await kube.get(PROBE_POOLS, 'short')).status?.observedGeneration ===
          (await kube.get(PROBE_POOLS, 'short')).metadata.generation,
      );
    }
    assert.equal(made(), 4);
    opened.resolve();
    await until('they are seen', async () => ((await kube.get(PROBE_POOLS, 'short')).status?.starting ?? 9) === 0);
    assert.equal((await pods()).length, 4);
  });

  it('stops creating when a quota is exceeded, reports it, and resumes when there is room', async () => {
    const { controller, pods, kube, namespace, runnerNamespace } = await start({ pools: { short: { minReady: 3 } } });
    const hard = (count: number) => ({ pods: String(count) });
    await kube.create(QUOTAS, {
      metadata: { name: 'few', namespace: runnerNamespace },
      spec: { hard: hard(1) },
    } as never);
    // No quota controller runs here: the API server refuses everything until a status exists, and then by that status.
    await kube.mergePatchStatus(QUOTAS, 'few', { hard: hard(1), used: { pods: '0' } }, { namespace: runnerNamespace });
    const { calls } = await controller();
    await until('the pool shows QuotaExceeded', async () => (await condition('short'))?.reason === 'QuotaExceeded');
    assert.match((await condition('short'))?.message ?? '', /exceeded quota/);
    assert.equal((await pods()).length, 1);
    const tried = calls.filter(({ what }) => what === 'create Pod').length;
    assert.ok(tried <= 10, `${tried} tries`);
    await until('an Event shows the reason', async () =>
      (await kube.listAll(EVENTS, { namespace })).items.some(
        ({ reason, involvedObject: { kind } }) => reason === 'QuotaExceeded' && kind === 'ProbePool',
      ),
    );
    await kube.mergePatchStatus(QUOTAS, 'few', { hard: hard(10), used: { pods: '1' } }, { namespace: runnerNamespace });
    await kube.mergePatch(QUOTAS, 'few', { spec: { hard: hard(10) } }, { namespace: runnerNamespace });
    await ready(3);
    await until('the pool is Serving again', async () => (await condition('short'))?.reason === 'Serving');
  });

  it('a deleted pool ends idle pods, then busy ones; waiting jobs move to a pool of their kind', async () => {
    const { controller, submit, ended, runners, pods, kube, namespace, job } = await start({
      pools: { a: { minReady: 1, maxPods: 1 }, b: { minReady: 1, maxPods: 1, serves: { kinds: ['c2pa'] } } },
    });
    await controller();
    await ready(2);
    runners.behaviour.go = () => 'hold';
    const running = await submit();
    const runner = await until('it runs', () => runners.of(running.id));
    const waiting = await submit();
    await until('it waits', () => stateOf(job(waiting.id)) === 'NoRunner');
    runners.behaviour.go = () => ({ ms: 5 });
    await kube.delete(PROBE_POOLS, 'a', { namespace });
    await current().setPool('b', { serves: { kinds: ['file', 'c2pa'] } });
    const [moved] = await ended(waiting.id);
    assert.equal(moved?.state, 'success');
    assert.ok(
      (await pods()).some(({ metadata }) => metadata.uid === runner.uid),
      'the busy one was ended',
    );
    await runner.finish();
    const [record] = await ended(running.id);
    assert.equal(record?.state, 'success');
    await until('its pod is gone', async () => (await pods()).every(({ metadata }) => metadata.uid !== runner.uid));
  });

  it('a pool of one account runs its jobs alone; one that waits elsewhere moves to it', async () => {
    const short = { minReady: 1, maxPods: 1 };
    const { controller, newAccount, newToken, submit, runners, kube } = await start({
      pools: { short },
      runners: { go: () => 'hold' },
    });
    const account = await newAccount();
    const token = await newToken(5, account);
    await controller();
    await ready();
    const other = await submit();
    const first = await until('it runs', () => runners.of(other.id));
    assert.match(first.pod, /^runner-short-/);
    const its = await submit({ token });
    const own = { ...POOL, priority: 1, serves: { ...POOL.serves, accounts: [account] }, minReady: 1, maxPods: 2 };
    await kube.create(PROBE_POOLS, { metadata: { name: 'own' }, spec: own });
    assert.match((await until('it runs', () => runners.of(its.id), 20_000)).pod, /^runner-own-/);
    const later = await submit();
    await kube.create(PROBE_POOLS, { metadata: { name: 'zzz' }, spec: { ...POOL, minReady: 1 } });
    const shadowed = async (name: string) =>
      (await kube.get(PROBE_POOLS, name)).status?.conditions?.find(({ type }) => type === 'Shadowed');
    await until('a pool that no job reaches says so', async () => (await shadowed('zzz'))?.status === 'True');
    assert.match((await shadowed('zzz'))?.message ?? '', /take all of them: short;/);
    assert.equal((await shadowed('short'))?.status, 'False');
    await first.finish();
    assert.equal((await until('it runs', () => runners.of(later.id))).pod, first.pod);
  });

  it('content checks run in a pool of their own, from no pod; without one, where probes do', async () => {
    const checks = { minReady: 0, maxPods: 1, serves: { kinds: ['qc' as const] } };
    const { controller, submit, ended, runners, kube, namespace, job } = await start({
      pools: { checks, short: { minReady: 1, maxPods: 1 } },
      tools: [...TOOLS, { tool: 'qc', version: '7.1', image: 'tools/qc:7.1', command: ['{root}/bin/ffmpeg'] }],
      runners: { go: () => 'hold' },
    });
    await controller();
    await ready();
    const asked = { name: 'ffprobe', version: '7.0' } as const;
    const spec = { tools: [asked, { name: 'qc' as const, version: '7.1' }] };
    const film = await submit({ spec });
    const first = await until('it runs', () => runners.of(film.id), 20_000);
    assert.match(first.pod, /^runner-checks-/);
    const waiting = await submit({ spec });
    const probe = await submit();
    const beside = await until('a probe runs beside it', () => runners.of(probe.id));
    assert.match(beside.pod, /^runner-short-/);
    await until('the next waits', () => stateOf(job(waiting.id)) === 'NoRunner');
    await kube.delete(PROBE_POOLS, 'checks', { namespace });
    await beside.finish();
    const moved = await until('it runs where probes do', () => runners.of(waiting.id), 20_000);
    assert.match(moved.pod, /^runner-short-/);
    await Promise.all([moved.finish(), first.finish()]);
    const records = await ended(film.id, waiting.id);
    assert.deepEqual(
      records.map(({ kind, state }) => [kind, state]),
      [film, waiting].map(() => ['file', 'success']),
    );
  });

  it('ends the pods of a pool that was deleted without a leader', async () => {
    const { controller, pods, kube, namespace } = await start({ pools: { a: { minReady: 1 } } });
    const first = await controller();
    await ready();
    await first.stop();
    await kube.delete(PROBE_POOLS, 'a', { namespace });
    await controller({ epoch: 2 });
    await until('they are gone', async () => (await pods()).length === 0);
  });

  it('a new tool version rolls the pods once, even with a queue, and no job fails', async () => {
    const { controller, submit, ended, pods, kube, namespace, runners } = await start({
      pools: { short: { minReady: 1, maxPods: 3 } },
      runners: { go: () => ({ ms: 20 }) },
    });
    await controller();
    await ready(1);
    const generations = async () =>
      new Set((await pods()).map(({ metadata }: Pod) => metadata.labels?.[LABEL.generation]));
    const [before] = await generations();
    const jobs: string[] = [];
    const done = new AbortController();
    // More load than pods are allowed: no pod is ever idle.
    const load = Promise.all(
      Array.from({ length: 8 }, async () => {
        while (!done.signal.aborted) {
          const { id } = await submit();
          jobs.push(id);
          await ended(id);
        }
      }),
    );
    await makeTool(kube, namespace, { ...TOOLS[0]!, version: '8.0', image: 'tools/ffprobe:8.0', latest: false }, true);
    await until(
      'the new generation alone is there',
      async () => {
        const now = await generations();
        return now.size === 1 && !now.has(before);
      },
      20_000,
    );
    done.abort();
    await load;
    const records = await ended(...jobs);
    assert.deepEqual([...new Set(records.map(({ state }) => state))], ['success']);
    assert.ok(runners.all().length >= 1);
    await kube.delete(PROBE_TOOLS, 'ffprobe-8.0', { namespace });
  });

  it('the jobs of one account leave runners for another account, which starts at once', async () => {
    const { controller, submit, runners, newToken, newAccount, reason } = await start({
      pools: {
        short: {
          minReady: 2,
          maxPods: 4,
          reuse: { scope: 'token', maxJobs: 1_000, maxAgeSeconds: 3600, idleSeconds: 600 },
        },
      },
      runners: { go: () => 'hold' },
    });
    await controller();
    await ready(2);
    // Each token is a separate tenant.
    const greedy = await Promise.all(Array.from({ length: 6 }, async () => submit({ token: await newToken(10) })));
    await until('the account waits at its share', () => greedy.some(({ id }) => reason(id) === 'AccountAtShare'));
    const running = () => greedy.filter(({ id }) => runners.of(id)).length;
    await until('it has its two runners', () => running() === 2);
    const other = await submit({ token: await newToken(10, await newAccount()) });
    await until('the other account runs', () => runners.of(other.id));
    assert.equal(running(), 2);
  });

  it('minReady 0: creates the first runner when a job waits, and ends it when it is idle', async () => {
    const { controller, pods, submit, runners, ended, kube, setPool } = await start({
      pools: { short: { minReady: 0, reuse: { scope: 'account', maxJobs: 9, maxAgeSeconds: 3600, idleSeconds: 1 } } },
    });
    await controller();
    await until('the pool is Serving without a runner', async () => (await condition('short'))?.reason === 'Serving');
    assert.equal((await pods()).length, 0);
    const { id } = await submit();
    const [record] = await ended(id);
    assert.equal(record?.status, 200);
    assert.equal(runners.all().length, 1);
    await until('the runner is gone', async () => (await pods()).length === 0, 20_000);
    await setPool('short', { minReady: 1 });
    await until('a runner is ready', async () => (await kube.get(PROBE_POOLS, 'short')).status?.ready === 1);
  });

  it('while a status of it is being written, no other write of it begins, and idle pods end', async () => {
    const reuse = { scope: 'account' as const, maxJobs: 9, maxAgeSeconds: 3600, idleSeconds: 1 };
    const { controller, pods, submit, ended, kube } = await start({ pools: { short: { minReady: 0, reuse } } });
    const gate = gateAt(kube, (status, name) => name === 'short' && 'conditions' in status, 'before');
    await controller({ writes: gate.kube });
    try {
      await until('its first status is being written', () => gate.arrived.length === 1);
      await ended((await submit()).id);
      // Each second it is looked at: nothing else ends an idle runner.
      await until('the runner is gone', async () => (await pods()).length === 0, 20_000);
      assert.equal(gate.arrived.length, 1);
    } finally {
      gate.open();
    }
    await until('the pool is Serving', async () => (await condition('short'))?.reason === 'Serving');
  });

  it('scale: replicas are the untouched runners, which is what minReady sets', async () => {
    const { controller, submit, runners, kube, namespace } = await start({
      pools: { short: { minReady: 2, reuse: { scope: 'account', maxJobs: 9, maxAgeSeconds: 3600, idleSeconds: 600 } } },
      runners: { go: () => 'hold' },
    });
    await controller();
    interface Scale {
      spec: { replicas: number };
      status: { replicas: number; selector: string };
    }
    const path = `/apis/probeyard.dev/v1alpha1/namespaces/${namespace}/probepools/short/scale`;
    const scale = () => kube.request({ method: 'GET', path }) as Promise<Scale>;
    const settled = (replicas: number) =>
      until(`${replicas} replicas`, async () => {
        const { spec, status } = await scale();
        return spec.replicas === replicas && status.replicas === replicas;
      });
    await settled(2);
    const jobs = await Promise.all([submit(), submit()]);
    await until('both jobs run', () => jobs.every(({ id }) => runners.of(id)));
    // Runners at work are no replicas: an autoscaler that saw them would raise minReady with each of its looks.
    await until('four runners', async () => (await kube.get(PROBE_POOLS, 'short')).status?.busy === 2);
    await settled(2);
    assert.equal((await scale()).status.selector, 'probeyard.dev/pool=short');
    await kube.request({
      method: 'PATCH',
      path,
      body: { spec: { replicas: 3 } },
      contentType: 'application/merge-patch+json',
    });
    await settled(3);
  });

  it('a LimitRange that forbids runners is named in the condition', async () => {
    const { controller, kube, runnerNamespace: namespace } = await start();
    const body = {
      apiVersion: 'v1',
      kind: 'LimitRange',
      metadata: { name: 'small' },
      spec: { limits: [{ type: 'Container', max: { memory: '100Mi' } }] },
    };
    await kube.request({ method: 'POST', path: `/api/v1/namespaces/${namespace}/limitranges`, body });
    await controller();
    const shown = await until('the pool shows it', async () => {
      const now = await condition('short');
      return now?.reason === 'LimitRange' ? now : undefined;
    });
    assert.match(shown.message, /maximum memory usage per Container is 100Mi/);
    await kube.request({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}/limitranges/small` });
    await ready(1);
  });

  it('does not drain a runner whose heartbeat precedes its pod in the watch', async () => {
    const { controller, runnerNamespace } = await start({ pools: { short: { minReady: 0 } } });
    const { term } = await controller();
    const stranger = {
      protocol: RUNNER_PROTOCOL,
      pod: 'new',
      uid: 'new',
      namespace: runnerNamespace,
      pool: 'short',
      generation: 'g',
      phase: 'idle' as const,
      epoch: 0,
      jobsDone: 0,
      ageMs: 200,
      idleMs: 0,
    };
    assert.equal(heartbeat(term.leader, stranger).drain, undefined);
    assert.equal(heartbeat(term.leader, { ...stranger, ageMs: 60_000 }).drain, true);
  });
});
