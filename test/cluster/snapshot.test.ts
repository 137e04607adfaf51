/** What `GET cluster` says of a real cluster agrees with what kubectl shows. */
import assert from 'node:assert/strict';
import type { ClusterSnapshot } from '../../src/platform/bus/cluster_snapshot.ts';
import { until } from '../until.ts';
import { cluster, NAMESPACE, type Cluster } from './fixture.ts';

interface State extends ClusterSnapshot {
  'age-ms': number;
  stale: boolean;
}
interface Listed<T> {
  items: T[];
}
interface Tool {
  spec: { tool: string; version: string };
  status?: { reported?: string; conditions?: { type: string; status: string }[] };
}
interface Pool {
  metadata: { name: string };
  spec: { maxPods: number };
  status?: { ready?: number; busy?: number; starting?: number };
}
interface Pod {
  metadata: { name: string; labels?: Record<string, string>; deletionTimestamp?: string };
  spec: { nodeName?: string };
}

describe('the snapshot of the cluster', function () {
  this.timeout(120_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c.close());

  const read = async (): Promise<State> => {
    const { status, text, json } = await c.get('/frontend/api/v1/cluster');
    assert.equal(status, 200, text);
    return json as unknown as State;
  };
  const list = async <T>(...args: string[]): Promise<T[]> =>
    (JSON.parse(await c.kubectl('get', ...args, '-o', 'json')) as Listed<T>).items;

  it('pools, runners, tools and the leader are those of kubectl', async () => {
    // Runners may come and go between the two looks.
    await until(
      'both say the same',
      async () => {
        const [state, pools, pods] = [
          await read(),
          await list<Pool>('pp', '-n', NAMESPACE),
          await list<Pod>('pods', '-n', 'probeyard-runners', '-l', 'app.kubernetes.io/component=runner'),
        ];
        assert.deepEqual(
          state.pools.map(({ name, max, ready, busy, starting }) => [name, max, ready, busy, starting]).sort(),
          pools
            .map(({ metadata, spec, status = {} }) => [
              metadata.name,
              spec.maxPods,
              status.ready ?? 0,
              status.busy ?? 0,
              status.starting ?? 0,
            ])
            .sort(),
        );
        assert.deepEqual(
          state.runners.map(({ pod, node }) => [pod, node]).sort(),
          pods.map(({ metadata, spec }) => [metadata.name, spec.nodeName]).sort(),
        );
        return true;
      },
      30_000,
    );
    const state = await read();
    const tools = await list<Tool>('pt', '-n', NAMESPACE);
    const isAvailable = ({ status }: Tool): boolean =>
      status?.conditions?.some(({ type, status: up }) => type === 'Available' && up === 'True') === true;
    assert.equal(state['tools-total'], tools.length);
    assert.equal(state['tools-ready'], tools.filter(isAvailable).length);
    assert.deepEqual(
      state.tools.map(({ tool, version, reported }) => [tool, version, reported]).sort(),
      tools.map(({ spec, status }) => [spec.tool, spec.version, status?.reported ?? undefined]).sort(),
    );
    const holder = await c.kubectl(
      '-n',
      NAMESPACE,
      'get',
      'lease',
      'probeyard-controller',
      '-o',
      'jsonpath={.spec.holderIdentity}',
    );
    assert.ok(holder.startsWith(`${state.leader.pod}_`), `${holder} holds the lease, not ${state.leader.pod}`);
    assert.ok(state['age-ms'] < 5_000 && !state.stale, `${state['age-ms']} ms old`);
    assert.deepEqual(
      state.faults.dependencies.map(({ up }) => up),
      [true, true, true],
    );
  });

  it('a running job is shown with its runner, its account and its request, and no source', async () => {
    const release = Promise.withResolvers<void>();
    const { url } = await c.origin(async (_request, response) => {
      await release.promise;
      response.destroy();
    });
    const source = { url: `${url}/hidden-name.mp4?key=a-secret-of-the-test` };
    const { headers, text } = await c.probe(source, { headers: { Prefer: 'respond-async' } });
    const id = headers.get('x-request-id') ?? assert.fail(text);
    await until(
      'its runner is busy, and its account has a running job',
      async () => {
        const { runners, queue, ...others } = await read();
        assert.doesNotMatch(JSON.stringify({ runners, queue, ...others }), /a-secret-of-the-test|hidden-name/);
        // Another may be busy with a job of an earlier test.
        const busy = runners.find(({ state: does, 'request-id': job }) => does === 'busy' && job === id);
        if (busy === undefined) throw new Error(JSON.stringify(runners));
        const account = queue.accounts.find((one) => one.account === busy.account);
        if ((account?.running ?? 0) >= 1) return true;
        throw new Error(JSON.stringify(queue));
      },
      30_000,
    ).finally(() => release.resolve());
  });
});
