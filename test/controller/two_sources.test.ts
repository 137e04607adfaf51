/** A comparison of two sources at its deadline, and beside runners of the release before. */
import assert from 'node:assert/strict';
import { RUNNER_PROTOCOL } from '../../src/platform/bus/messages.ts';
import { readHead } from '../../src/service/result/unpack.ts';
import { until } from '../until.ts';
import { startCluster, type Cluster } from './cluster_parts.ts';

describe('leader: a comparison of two sources', function () {
  this.timeout(60_000);
  let cluster: Cluster;
  afterEach(() => cluster?.stop());
  const start = async (protocol = RUNNER_PROTOCOL): Promise<Cluster> => {
    cluster = await startCluster({
      pools: { short: { serves: { kinds: ['file', 'compare'] } } },
      runners: { protocol },
    });
    return cluster;
  };
  const twoSources = {
    kind: 'compare' as const,
    sources: ['https://one.example.org/a.mp4', 'https://two.example.org/b.mp4'] as const,
    spec: {
      tools: [
        { name: 'ffprobe' as const, version: '7.0' },
        { name: 'mediainfo' as const, version: '24.06' },
      ],
    },
  };

  it('ends at its deadline with a run of each tool on both sources, for the time that two take', async () => {
    const { servers, submit, ended, controller, ready, runners, job, reason } = await start();
    await controller();
    await ready();
    runners.behaviour.go = () => 'hold';
    const { id, submittedAt } = await submit({ ...twoSources, timeoutMs: 100 });
    const [record] = await ended(id);
    assert.deepEqual([record?.status, record?.reason, record?.hasBody], [200, 'DeadlineExceeded', true]);
    const body = await readHead((await servers.stored.store.readBody(id, submittedAt))!);
    assert.deepEqual(
      body.tools.map(({ side, name, success, failure, usageMs }) => [side, name, success, failure, usageMs]),
      ['a', 'b'].flatMap((side) =>
        ['ffprobe', 'mediainfo'].map((name) => [side, name, false, 'timeout', 50] as unknown[]),
      ),
    );
    await until('its status has the end', () => reason(id) === 'DeadlineExceeded');
    assert.deepEqual(
      job(id)?.status?.tools?.map(({ name, success }) => [name, success]),
      [
        ['ffprobe', false],
        ['mediainfo', false],
      ],
    );
  });

  it('waits for runners of this release; those of the release before get no order', async () => {
    const { submit, controller, runners, job } = await start(RUNNER_PROTOCOL - 1);
    await controller();
    runners.behaviour.go = () => 'hold';
    await until('runners of the release before have started', () => runners.all().length > 0);
    const before = runners.all();
    const { id } = await submit(twoSources);
    await until('the job is seen', () => job(id));
    runners.behaviour.protocol = RUNNER_PROTOCOL;
    const runner = await until('it runs', () => runners.of(id));
    assert.ok(!before.some(({ uid }) => uid === runner.uid));
    assert.deepEqual(
      runners.began.map(({ job: of, attempt }) => [of, attempt]),
      [[id, 1]],
    );
    assert.deepEqual(
      before.flatMap(({ orders }) => orders),
      [],
    );
  });

  it('ends in the queue where all runners are of the release before', async () => {
    const { submit, ended, controller } = await start(RUNNER_PROTOCOL - 1);
    await controller();
    const { id } = await submit({ ...twoSources, queueTimeoutMs: 1_500 });
    const [record] = await ended(id);
    assert.deepEqual([record?.status, record?.reason], [429, 'QueueTimeout']);
    assert.match(record?.error ?? '', /^the request waited 1\.5 s in the queue: \S/);
  });
});
