/** Why a job waits, written into its status: only while the API server has little to do. */
import assert from 'node:assert/strict';
import { WriteTurns } from '../../src/service/controller/leader/job_status.ts';
import type { Job } from '../../src/service/controller/leader/job.ts';
import { Ledger } from '../../src/service/controller/leader/ledger.ts';
import type { TermState } from '../../src/service/controller/leader/term_state.ts';
import { markWaiting } from '../../src/service/controller/leader/waiting.ts';
import { makeTurns } from '../../src/base/turns.ts';
import { KubeError, PROBE_JOBS, type KubeClient } from '../../src/platform/kube/client.ts';
import { kubeClient } from '../kube/kubeconfig.ts';
import { testApiServer } from '../kube/apiserver.ts';
import { until } from '../until.ts';

describe('marks of waiting jobs', function () {
  this.timeout(60_000);
  let kube: KubeClient;
  let writes: WriteTurns;
  let state: TermState;
  let waited: string[];

  before(async () => {
    const server = await testApiServer({ own: true });
    kube = await kubeClient({ kubeconfig: server.kubeconfig, namespace: await server.namespace('marks') });
  });
  after(() => kube?.close());
  beforeEach(() => {
    writes = new WriteTurns();
    waited = [];
    const ledger = new Ledger<Job>();
    ledger.hold({ key: 'other', token: 1, account: 1, pool: '' }, { token: 1, account: 2 });
    const deps = {
      kube,
      writes,
      store: { clock: { now: () => Date.now() } },
      term: { signal: new AbortController().signal },
      metrics: { waited: (reason: string) => waited.push(reason) },
    };
    state = { deps, ledger, marks: makeTurns(4) } as unknown as TermState;
  });

  const waiting = async (name: string): Promise<Job> => {
    const spec = { kind: 'file' as const, source: { url: 'https://media.example.org/a.mp4' } };
    const { metadata, status } = await kube.create(PROBE_JOBS, { metadata: { name }, spec });
    const { uid, resourceVersion, namespace } = metadata;
    return { key: name, namespace, uid, resourceVersion, status, state: 'waiting', token: 1, account: 1 } as Job;
  };
  const reasonOf = async (name: string) =>
    (await kube.get(PROBE_JOBS, name)).status?.conditions?.find(({ type }) => type === 'Succeeded')?.reason;
  /** Calls that are under way until the test ends them. */
  const underWay = (count: number): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    for (let at = 0; at < count; at++) void writes.run(() => promise, { account: 2 });
    return resolve;
  };
  const timeOut = () =>
    assert.rejects(writes.run(() => Promise.reject(new KubeError('timeout', 'a write')), { account: 2 }));

  it('are written while the API server answers in time', async () => {
    const job = await waiting('well');
    void markWaiting(state, job);
    await until('it shows why it waits', async () => (await reasonOf('well')) === 'TokenAtLimit');
    await until('the leader has the version of its own write', () => job.status?.conditions !== undefined);
    assert.equal(job.resourceVersion, (await kube.get(PROBE_JOBS, 'well')).metadata.resourceVersion);
  });

  it('are left out, and counted, while the API server is behind', async () => {
    const [left, later] = [await waiting('left'), await waiting('later')];
    await timeOut();
    const release = underWay(writes.bound);
    void markWaiting(state, left);
    assert.deepEqual([waited, writes.waiting], [['TokenAtLimit'], 0]);
    release();
    await until('nothing is under way', () => writes.running === 0);
    // Of the same bound, which only answers raise.
    void markWaiting(state, later);
    await until('the later one is marked', async () => (await reasonOf('later')) === 'TokenAtLimit');
    assert.equal(await reasonOf('left'), undefined);
  });
});
