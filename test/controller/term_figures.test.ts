/** Metrics of the leader's knowledge. */
import assert from 'node:assert/strict';
import { Registry } from 'prom-client';
import { RANKS, termMetrics, type TermFigures } from '../../src/service/controller/term_figures.ts';
import { created, ended } from './ended_job.ts';
import { AT, PROVEN, aPool, aTool, condition } from './snapshot_view.ts';

const series = async (figures: () => TermFigures | undefined): Promise<string[]> => {
  const registry = new Registry();
  termMetrics(registry, figures);
  return (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
};

const NONE = { waiting: 0, held: 0 };
const NO_JOBS = { jobs: [], finishedMax: 5_000 };
const account = (id: number, waiting: number, held: number, limit = Infinity) => ({ id, waiting, held, limit });

describe("metrics of the leader's term", () => {
  it('a replica that does not lead has none of them', async () => {
    assert.deepEqual(await series(() => undefined), []);
  });

  it('tells the oldest job and the state of each pool, and whether each tool is ready', async () => {
    const found = {
      queue: {
        accounts: () => [],
        waiting: 3,
        held: 1,
        fronts: () => [
          { account: 1, pool: 'short', submittedAt: new Date(AT - 4_000) },
          { account: 2, pool: 'short', submittedAt: new Date(AT - 9_000) },
          { account: 3, pool: 'short', submittedAt: new Date(AT + 50) },
        ],
      },
      pools: [
        aPool(),
        {
          ...aPool('long', { minReady: 1, maxPods: 5 }, [condition('Ready', 'False', 'Filling', 'x')]),
          heldBack: true,
        },
      ],
      tools: [
        aTool('9.0', PROVEN),
        aTool('4.4', [condition('Available', 'False', 'Crashed', 'x')]),
        aTool('5.1', [...PROVEN, condition('Degraded', 'True', 'ImageUnavailable', 'x')]),
      ],
      now: AT,
      since: AT - 60_000,
      jobs: [ended('a', AT), ended('b', AT), created('c')],
      finishedMax: 5_000,
    };
    assert.deepEqual(await series(() => found), [
      'probeyard_term_seconds 60',
      'probeyard_job_objects{state="finished"} 2',
      'probeyard_job_objects{state="unfinished"} 1',
      'probeyard_job_objects_limit 5000',
      'probeyard_jobs{state="waiting"} 3',
      'probeyard_jobs{state="running"} 1',
      'probeyard_queue_oldest_seconds{pool="short"} 9',
      'probeyard_queue_oldest_seconds{pool="long"} 0',
      'probeyard_pool_ready{pool="short"} 1',
      'probeyard_pool_ready{pool="long"} 0',
      'probeyard_pool_held_back{pool="short"} 0',
      'probeyard_pool_held_back{pool="long"} 1',
      'probeyard_pool_min_ready{pool="short"} 2',
      'probeyard_pool_min_ready{pool="long"} 1',
      'probeyard_pool_max_pods{pool="short"} 10',
      'probeyard_pool_max_pods{pool="long"} 5',
      'probeyard_tool_ready{tool="ffprobe",version="9.0",state="ready"} 1',
      'probeyard_tool_ready{tool="ffprobe",version="4.4",state="refused"} 0',
      'probeyard_tool_ready{tool="ffprobe",version="5.1",state="degraded"} 0',
    ]);
  });

  it('whether the fence is missing, once it is known', async () => {
    const shown = (fenceMissing?: boolean) =>
      series(() => ({
        queue: { ...NONE, accounts: () => [], fronts: () => [] },
        pools: [],
        tools: [],
        now: AT,
        since: AT,
        fenceMissing,
        ...NO_JOBS,
      }));
    const own = (lines: string[]) => lines.filter((line) => line.startsWith('probeyard_fence_missing'));
    assert.deepEqual(own(await shown()), []);
    assert.deepEqual(own(await shown(true)), ['probeyard_fence_missing 1']);
    assert.deepEqual(own(await shown(false)), ['probeyard_fence_missing 0']);
  });

  it('accounts have a rank and no id, and there are at most 20', async () => {
    const accounts = Array.from({ length: 1_000 }, (_, index) => account(9_000_000 + index, index, 0));
    accounts[3] = account(9_000_003, 5_000, 7, 12);
    const found = await series(() => ({
      queue: { ...NONE, accounts: () => accounts, fronts: () => [] },
      pools: [],
      tools: [],
      now: AT,
      since: AT,
      ...NO_JOBS,
    }));
    assert.doesNotMatch(found.join('\n'), /9000/);
    const jobs = found.filter((line) => line.startsWith('probeyard_account_jobs'));
    assert.equal(jobs.length, 2 * RANKS);
    assert.deepEqual(jobs.slice(0, 3), [
      'probeyard_account_jobs{rank="1",state="waiting"} 5000',
      'probeyard_account_jobs{rank="1",state="running"} 7',
      'probeyard_account_jobs{rank="2",state="waiting"} 999',
    ]);
    assert.deepEqual(
      found.filter((line) => line.startsWith('probeyard_account_limit')),
      ['probeyard_account_limit{rank="1"} 12'],
    );
  });
});
