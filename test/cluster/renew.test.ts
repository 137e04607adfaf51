/** More accounts than pods, with `reuse.renew: process`: pods go from account to account and live on. */
import assert from 'node:assert/strict';
import { ready, withPool } from '../../bench/cluster/pool.ts';
import { lifeOf, podOf } from '../../src/platform/bus/runner_id.ts';
import { lifeOfPod } from '../../src/service/controller/pools/pod.ts';
import { PODS, PROBE_JOBS, type Pod } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { taggedMp3 } from '../hostility/tagged_mp3.ts';
import { NAMESPACE, RUNNERS, cluster, stateOf, type Cluster } from './fixture.ts';

const ACCOUNTS = 6;
const PODS_AT_MOST = 2;
const JOBS_EACH = 6;
const LIMIT = 2;

/**
 * What watches saw: the accounts of each runner, the most jobs of an account at once, and the lives of each pod. Jobs
 * of other tokens are those of earlier tests, which are deleted meanwhile.
 */
function watchAll(c: Cluster, ours: ReadonlySet<string>) {
  const stop = new AbortController();
  const tokensOf = new Map<string, Set<string>>();
  const running = new Map<string, Set<string>>();
  const most = new Map<string, number>();
  const lives = new Map<string, number[]>();
  const onJob = (type: string, job: ProbeJob): void => {
    const { metadata, status, spec } = job;
    const token = String(spec.token?.id ?? '');
    if (!ours.has(token)) return;
    const uid = status?.runner?.uid;
    if (uid) tokensOf.set(uid, (tokensOf.get(uid) ?? new Set()).add(token));
    const now = running.get(token) ?? new Set();
    running.set(token, now);
    if (type !== 'DELETED' && stateOf(job) === 'Running') now.add(metadata.name);
    else now.delete(metadata.name);
    most.set(token, Math.max(most.get(token) ?? 0, now.size));
  };
  const onPod = (pod: Pod): void => {
    const uid = pod.metadata.uid ?? '';
    const known = lives.get(uid) ?? [];
    if (known.at(-1) !== lifeOfPod(pod)) lives.set(uid, [...known, lifeOfPod(pod)]);
  };
  const following = async (work: Promise<void>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    }
  };
  const done = (async () => {
    const { resourceVersion } = await c.kube.list(PROBE_JOBS, { namespace: NAMESPACE });
    const labelSelector = `${LABEL.component}=runner,${LABEL.pool}=short`;
    const pods = await c.kube.list(PODS, { namespace: RUNNERS, labelSelector });
    for (const pod of pods.items) onPod(pod);
    const { signal } = stop;
    await Promise.all([
      following(
        c.kube.watch(PROBE_JOBS, { namespace: NAMESPACE, resourceVersion, signal }, ({ type, object }) =>
          onJob(type, object as ProbeJob),
        ),
      ),
      following(
        c.kube.watch(
          PODS,
          { namespace: RUNNERS, labelSelector, resourceVersion: pods.resourceVersion, signal },
          ({ object }) => onPod(object as Pod),
        ),
      ),
    ]);
  })();
  return {
    tokensOf,
    most,
    lives,
    async stop() {
      stop.abort();
      await done;
    },
  };
}

describe('runners that are renewed', function () {
  this.timeout(300_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c.close());

  it(`${ACCOUNTS} accounts on ${PODS_AT_MOST} pods: each runner serves one, and each gets its own data`, async () => {
    const origin = await c.origin((request, response) => {
      const body = taggedMp3(`account of ${request.url}`);
      response.writeHead(200, { 'content-type': 'audio/mpeg', 'content-length': body.length }).end(body);
    });
    const tokens = await Promise.all(Array.from({ length: ACCOUNTS }, () => c.newToken(LIMIT)));
    const change = { minReady: 1, maxPods: PODS_AT_MOST, reuse: { scope: 'account', renew: 'process' } };
    await withPool(c, change, async () => {
      await ready(c, 1);
      const watched = watchAll(c, new Set(tokens.map(({ id }) => String(id))));
      const began = performance.now();
      const times: number[] = [];
      try {
        await Promise.all(
          tokens.map(async ({ id, token }) => {
            for (let turn = 0; turn < JOBS_EACH; turn++) {
              const path = `/${id}-${turn}.mp3`;
              const { status, text, ms } = await c.probe({ url: `${origin.url}${path}`, only: 'ffprobe' }, { token });
              assert.equal(status, 200, text.slice(0, 500));
              assert.ok(text.includes(`account of ${path}`), text.slice(0, 500));
              const others = tokens.filter((other) => other.id !== id && text.includes(`account of /${other.id}-`));
              assert.deepEqual(others, [], 'data of another account');
              times.push(ms);
            }
          }),
        );
      } finally {
        await watched.stop();
      }
      const seconds = (performance.now() - began) / 1000;
      const served = [...watched.tokensOf].filter(([, of]) => of.size > 0);
      for (const [uid, of] of served) assert.equal(of.size, 1, `runner ${uid} served tokens ${[...of].join(', ')}`);
      for (const { id } of tokens) assert.ok((watched.most.get(String(id)) ?? 0) <= LIMIT);
      const renewed = served.filter(([uid]) => lifeOf(uid) > 0).length;
      assert.ok(renewed >= ACCOUNTS - PODS_AT_MOST, `${renewed} runners in a later life`);
      const pods = new Set(served.map(([uid]) => podOf(uid)));
      for (const uid of pods) {
        const lives = watched.lives.get(uid) ?? [];
        assert.deepEqual(
          lives,
          lives.map((_, index) => lives[0]! + index),
          'a life follows the one before',
        );
      }
      console.log(
        `      ${times.length} jobs of ${ACCOUNTS} accounts in ${seconds.toFixed(1)} s, on ${pods.size} pods in ` +
          `${served.length} lives; the slowest took ${Math.max(...times).toFixed(0)} ms`,
      );
    });
  });
});
