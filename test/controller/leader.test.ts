/** The leader on real servers: who runs, in which order, how many at once, and what it costs. */
import assert from 'node:assert/strict';
import { until } from '../until.ts';
import { startCluster, type Cluster, type ClusterOptions, type Submitted } from './cluster_parts.ts';

describe('the leader', function () {
  this.timeout(60_000);
  let cluster: Cluster;
  afterEach(() => cluster?.stop());
  const start = async (options: ClusterOptions = {}): Promise<Cluster> => {
    cluster = await startCluster(options);
    return cluster;
  };
  const ready = (count = 1) => until(`${count} runners are ready`, () => cluster.runners.all().length >= count);

  it('runs a job with four writes at most: create, admit, finish, delete', async () => {
    const { submit, ended, controller, told, job } = await start();
    const { calls } = await controller({ env: { PY_FINISHED_MAX: '0' } });
    await ready();
    const { id } = await submit();
    const [record] = await ended(id);
    assert.equal(record?.state, 'success');
    assert.equal(record?.status, 200);
    await until('the caller is told', () => told.get(id)?.length === 1);
    await until('the finished job is deleted', () => job(id) === undefined && calls.some(({ what, name }) => what === 'delete ProbeJob' && name === id));
    assert.deepEqual(calls.filter(({ name }) => name === id).map(({ what }) => what), ['status ProbeJob', 'status ProbeJob', 'delete ProbeJob']);
  });

  it('is first in, first out within a token, and never above its limit', async () => {
    const { submit, ended, controller, newToken, runners, most } = await start({ pools: { short: { minReady: 4 } } });
    await controller();
    await ready(4);
    const token = await newToken(2);
    const jobs: Submitted[] = [];
    for (let i = 0; i < 12; i++) jobs.push(await submit({ token }));
    await ended(...jobs.map(({ id }) => id));
    assert.equal(most(token), 2);
    const order = runners.began.map(({ job }) => jobs.findIndex(({ id }) => id === job));
    // Two at once may change places by one; no more.
    for (const [place, index] of order.entries()) assert.ok(Math.abs(place - index) <= 1, `order ${order.join(' ')}`);
  });
});
