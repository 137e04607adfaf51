/** What the leader knows at this moment, as metrics: read at each scrape, and gone with the term. */
import type { Registry } from 'prom-client';
import { conditionOf, isFinished } from '../../platform/kube/conditions.ts';
import type { ProbeJob } from '../../platform/kube/probe_job.ts';
import type { ProbeTool } from '../../platform/kube/probe_tool.ts';
import { readAtScrape, readOne, type Sample } from '../../platform/metrics/read_at_scrape.ts';
import { stateOfTool, type PoolFacts, type SnapshotView } from './snapshot/build.ts';

/** Accounts that have a rank. Ids are no labels: GET cluster names the accounts. */
export const RANKS = 20;

export type TermFigures = ReturnType<typeof termFigures>;

interface FigureSources {
  /** In etcd. */
  jobs: readonly ProbeJob[];
  finishedMax: number;
  /** Whether late admissions are accepted; undefined: not known yet. */
  fenceMissing?: boolean | undefined;
  queue: Pick<SnapshotView['queue'], 'accounts' | 'fronts'>;
  pools: Iterable<PoolFacts>;
  tools: readonly ProbeTool[];
  now: number;
  since: number;
}

export function termFigures(sources: FigureSources) {
  const { queue, pools, tools, now, since, fenceMissing, jobs, finishedMax } = sources;
  const shown = [...pools].map(({ pool, heldBack }) => ({
    name: pool.metadata.name,
    ready: conditionOf(pool.status, 'Ready')?.status === 'True',
    heldBack,
    spec: pool.spec,
  }));
  /** Age of the oldest waiting job, by pool. */
  const oldestMs = new Map(shown.map(({ name }) => [name, 0]));
  for (const { pool, submittedAt } of queue.fronts())
    oldestMs.set(pool, Math.max(oldestMs.get(pool) ?? 0, now - submittedAt.getTime()));
  /** Most jobs first. */
  const accounts = [...queue.accounts()]
    .toSorted((one, other) => other.waiting + other.held - (one.waiting + one.held))
    .slice(0, RANKS)
    .map(({ waiting, held, limit }) => ({ waiting, running: held, limit: Number.isFinite(limit) ? limit : undefined }));
  const finished = jobs.filter(({ status }) => isFinished(status)).length;
  const objects = { finished, unfinished: jobs.length - finished };
  return { termMs: now - since, oldestMs, accounts, pools: shown, tools, fenceMissing, objects, finishedMax };
}

/** Undefined while this replica does not lead. */
type Figures = () => TermFigures | undefined;
type Read = (
  name: string,
  help: string,
  labelNames: readonly string[],
  samples: (found: TermFigures) => Iterable<Sample>,
) => void;

export function termMetrics(registry: Registry, figures: Figures): void {
  const read: Read = (name, help, labelNames, samples) =>
    readAtScrape(registry, { name, help, labelNames }, () => {
      const found = figures();
      return found ? samples(found) : [];
    });
  termItself(registry, read, figures);
  queueMetrics(read);
  poolMetrics(read);
}

function termItself(registry: Registry, read: Read, figures: Figures): void {
  readOne(registry, 'probeyard_term_seconds', 'Age of the term, at the leader alone', () => {
    const found = figures();
    return found && found.termMs / 1000;
  });
  readOne(
    registry,
    'probeyard_fence_missing',
    '1 if the API server would accept a late admission of a deposed leader; at the leader alone',
    () => {
      const missing = figures()?.fenceMissing;
      return missing === undefined ? undefined : Number(missing);
    },
  );
  read('probeyard_job_objects', 'ProbeJobs in the cluster; at the leader alone', ['state'], ({ objects }) =>
    Object.entries(objects).map(([state, value]) => ({ labels: { state }, value })),
  );
  readOne(
    registry,
    'probeyard_job_objects_limit',
    'How many finished ProbeJobs are kept at most; at the leader alone',
    () => figures()?.finishedMax,
  );
}

function queueMetrics(read: Read): void {
  read(
    'probeyard_queue_oldest_seconds',
    'Age of the oldest waiting job, 0 if none waits; at the leader alone',
    ['pool'],
    ({ oldestMs }) => [...oldestMs].map(([pool, ms]) => ({ labels: { pool }, value: Math.max(0, ms) / 1000 })),
  );
  read(
    'probeyard_account_jobs',
    `Unfinished jobs of the ${RANKS} accounts with the most, by rank; at the leader alone`,
    ['rank', 'state'],
    ({ accounts }) =>
      accounts.flatMap(({ waiting, running }, index) => [
        { labels: { rank: String(index + 1), state: 'waiting' }, value: waiting },
        { labels: { rank: String(index + 1), state: 'running' }, value: running },
      ]),
  );
  read(
    'probeyard_account_limit',
    'How many jobs the account of a rank may run at once, if it has a limit; at the leader alone',
    ['rank'],
    ({ accounts }) =>
      accounts.flatMap(({ limit }, index) =>
        limit === undefined ? [] : [{ labels: { rank: String(index + 1) }, value: limit }],
      ),
  );
}

function poolMetrics(read: Read): void {
  const ofPools = (name: string, help: string, value: (pool: TermFigures['pools'][number]) => number): void =>
    read(name, help, ['pool'], ({ pools }) =>
      pools.map((pool) => ({ labels: { pool: pool.name }, value: value(pool) })),
    );

  ofPools('probeyard_pool_ready', '1 if the pool is Ready, as kubectl shows it; at the leader alone', ({ ready }) =>
    ready ? 1 : 0,
  );
  ofPools(
    'probeyard_pool_held_back',
    '1 while the cluster accepts no further runner pod (quota, no node, error); at the leader alone',
    ({ heldBack }) => (heldBack ? 1 : 0),
  );
  ofPools('probeyard_pool_min_ready', 'minReady of the pool; at the leader alone', ({ spec }) => spec.minReady);
  ofPools('probeyard_pool_max_pods', 'maxPods of the pool; at the leader alone', ({ spec }) => spec.maxPods);
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
