/** What the leader knows at this moment, as metrics: read at each scrape, and gone with the term. */
import type { Registry } from 'prom-client';
import { isFinished, isTrue } from '../../platform/kube/conditions.ts';
import type { ProbeJob } from '../../platform/kube/probe_job.ts';
import type { ProbeTool } from '../../platform/kube/probe_tool.ts';
import { readAtScrape, type Sample } from '../../platform/metrics/read_at_scrape.ts';
import { stateOfTool, type PoolFacts, type SnapshotView } from './snapshot/build.ts';

/** Accounts that have a rank. Ids are no labels: GET cluster names the accounts. */
export const RANKS = 20;

export interface TermFigures {
  /** In etcd. */
  jobs: readonly ProbeJob[];
  finishedMax: number;
  /** Whether late admissions are accepted; undefined: not known yet. */
  fenceMissing?: boolean | undefined;
  queue: Pick<SnapshotView['queue'], 'waiting' | 'held' | 'accounts' | 'fronts'>;
  pools: Iterable<PoolFacts>;
  tools: readonly ProbeTool[];
  now: number;
  since: number;
}

type Read = (
  name: string,
  help: string,
  labelNames: readonly string[],
  samples: (found: TermFigures) => Iterable<Sample>,
) => void;

/** `figures`: undefined while this replica does not lead. */
export function termMetrics(registry: Registry, figures: () => TermFigures | undefined): void {
  const read: Read = (name, help, labelNames, samples) =>
    readAtScrape(registry, { name, help, labelNames }, () => {
      const found = figures();
      return found ? samples(found) : [];
    });
  termItself(read);
  queueMetrics(read);
  poolMetrics(read);
}

function termItself(read: Read): void {
  read('probeyard_term_seconds', 'Age of the term, at the leader alone', [], ({ now, since }) => [
    { value: (now - since) / 1000 },
  ]);
  read(
    'probeyard_fence_missing',
    '1 if the API server would accept a late admission of a deposed leader; at the leader alone',
    [],
    ({ fenceMissing }) => (fenceMissing === undefined ? [] : [{ value: Number(fenceMissing) }]),
  );
  read('probeyard_job_objects', 'ProbeJobs in the cluster; at the leader alone', ['state'], ({ jobs }) => {
    const finished = jobs.filter(({ status }) => isFinished(status)).length;
    return byState({ finished, unfinished: jobs.length - finished });
  });
  read(
    'probeyard_job_objects_limit',
    'How many finished ProbeJobs are kept at most; at the leader alone',
    [],
    ({ finishedMax }) => [{ value: finishedMax }],
  );
}

const byState = (numbers: Readonly<Record<string, number>>): Sample[] =>
  Object.entries(numbers).map(([state, value]) => ({ labels: { state }, value }));

/** The accounts with the most jobs. */
const largest = ({ queue }: TermFigures) =>
  [...queue.accounts()]
    .toSorted((one, other) => other.waiting + other.held - (one.waiting + one.held))
    .slice(0, RANKS)
    .map((account, index) => ({ ...account, rank: String(index + 1) }));

function queueMetrics(read: Read): void {
  read('probeyard_jobs', 'Unfinished jobs', ['state'], ({ queue: { waiting, held: running } }) =>
    byState({ waiting, running }),
  );
  read(
    'probeyard_queue_oldest_seconds',
    'Age of the oldest waiting job, 0 if none waits; at the leader alone',
    ['pool'],
    ({ pools, queue, now }) => {
      const oldestMs = new Map(Array.from(pools, ({ pool }) => [pool.metadata.name, 0]));
      for (const { pool, submittedAt } of queue.fronts())
        oldestMs.set(pool, Math.max(oldestMs.get(pool) ?? 0, now - submittedAt.getTime()));
      return [...oldestMs].map(([pool, ms]) => ({ labels: { pool }, value: ms / 1000 }));
    },
  );
  read(
    'probeyard_account_jobs',
    `Unfinished jobs of the ${RANKS} accounts with the most, by rank; at the leader alone`,
    ['rank', 'state'],
    (found) =>
      largest(found).flatMap(({ rank, waiting, held: running }) =>
        byState({ waiting, running }).map(({ labels, value }) => ({ labels: { rank, ...labels }, value })),
      ),
  );
  read(
    'probeyard_account_limit',
    'How many jobs the account of a rank may run at once, if it has a limit; at the leader alone',
    ['rank'],
    (found) =>
      largest(found).flatMap(({ rank, limit }) => (Number.isFinite(limit) ? [{ labels: { rank }, value: limit }] : [])),
  );
}

function poolMetrics(read: Read): void {
  const ofPools = (name: string, help: string, value: (facts: PoolFacts) => number): void =>
    read(name, help, ['pool'], ({ pools }) =>
      Array.from(pools, (facts) => ({ labels: { pool: facts.pool.metadata.name }, value: value(facts) })),
    );

  ofPools('probeyard_pool_ready', '1 if the pool is Ready, as kubectl shows it; at the leader alone', ({ pool }) =>
    Number(isTrue(pool.status, 'Ready')),
  );
  ofPools(
    'probeyard_pool_held_back',
    '1 while the cluster accepts no further runner pod (quota, no node, error); at the leader alone',
    ({ heldBack }) => (heldBack ? 1 : 0),
  );
  ofPools('probeyard_pool_min_ready', 'minReady of the pool; at the leader alone', ({ pool }) => pool.spec.minReady);
  ofPools('probeyard_pool_max_pods', 'maxPods of the pool; at the leader alone', ({ pool }) => pool.spec.maxPods);
  read(
    'probeyard_tool_ready',
    '1 if the version of the tool is proven and can be pulled; at the leader alone',
    ['tool', 'version', 'state'],
    ({ tools }) =>
      tools.map((tool) => {
        const state = stateOfTool(tool);
        return {
          labels: { tool: tool.spec.tool, version: tool.spec.version, state },
          value: state === 'ready' ? 1 : 0,
        };
      }),
  );
}
