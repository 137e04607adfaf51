/**
 * Builds the cluster snapshot from the leader's state. Pure; work and size are bounded, however large the numbers are.
 */
import { getOrMake } from '../../../base/get_or_make.ts';
import { printable } from '../../../base/printable.ts';
import { within } from '../../../base/retry.ts';
import { byNewest } from '../../../base/version_order.ts';
import {
  type ClusterSnapshot,
  SNAPSHOT_EVERY_MS,
  SNAPSHOT_LISTS,
  type SnapshotAccount,
  type SnapshotPool,
  type SnapshotRunner,
  type SnapshotTool,
  TOOL_STATES,
} from '../../../platform/bus/cluster_snapshot.ts';
import type { Bus, Subscribed } from '../../../platform/bus/connect.ts';
import { SUBJECT } from '../../../platform/bus/messages.ts';
import { RUNNER_PHASES, type RunnerState } from '../../../platform/bus/runner_phase.ts';
import { conditionOf, isAvailable, isDegraded, stamp } from '../../../platform/kube/conditions.ts';
import type { LeaseTerm } from '../../../platform/kube/lease_record.ts';
import type { ProbeJob, ProbeJobStatus } from '../../../platform/kube/probe_job.ts';
import { type ProbePool, WALLS } from '../../../platform/kube/probe_pool.ts';
import type { ProbeTool } from '../../../platform/kube/probe_tool.ts';
import type { Reflector } from '../../../platform/kube/reflector.ts';
import type { Store } from '../../../platform/store/store.ts';
import type { Entry, Ledger } from '../leader/ledger.ts';
import { requiredWalls } from '../pools/isolation.ts';
import { lifeBegan, type Runner, runnerState } from '../pools/runners.ts';
import type { Recent } from './recent.ts';

const NAME = 253;
const TEXT = 512;

export interface PoolFacts {
  pool: ProbePool;
  /** Pods that were created but not yet seen in a watch. */
  unseen: number;
  /** The cluster accepts no more pods, so none are created for a while. */
  heldBack: boolean;
}

/** The parts of the leader's state that the snapshot needs. */
export interface SnapshotView {
  /** Current time by the clock of Postgres and by the monotonic clock. */
  at: number;
  monotonic: number;
  leader: { pod: string; epoch: number; since: number; image: string };
  /** The latest first. */
  terms: readonly LeaseTerm[];
  pools: Iterable<PoolFacts>;
  runners: readonly Runner[];
  jobOf(name: string): { id: string; status: Pick<ProbeJobStatus, 'startedAt'> | undefined } | undefined;
  tools: readonly ProbeTool[];
  queue: Pick<Ledger<Entry>, 'waiting' | 'held' | 'waitingIn' | 'accounts'> & {
    fronts(): Iterable<{ account: number; pool: string; submittedAt: Date }>;
  };
  recent: Recent;
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

interface Counts extends Record<RunnerState, number> {
  untouched: number;
}
const NOBODY: Counts = { starting: 0, idle: 0, busy: 0, draining: 0, ending: 0, untouched: 0 };

function countRunners(runners: Iterable<Runner>): Map<string, Counts> {
  const byPool = new Map<string, Counts>();
  for (const runner of runners) {
    const counts = getOrMake(byPool, runner.pool, () => ({ ...NOBODY }));
    const state = runnerState(runner);
    counts[state] += 1;
    if (state === 'idle' && runner.tenant === undefined) counts.untouched += 1;
  }
  return byPool;
}

function shownPool({ pool, unseen }: PoolFacts, counts: Counts, waiting: number, recent: Recent): SnapshotPool {
  const { metadata, spec, status } = pool;
  const ready = conditionOf(status, 'Ready');
  const live = counts.idle + counts.busy + counts.starting + counts.draining + unseen;
  const isFull = waiting > 0 && counts.idle === 0 && live >= spec.maxPods;
  return {
    name: printable(metadata.name, NAME),
    kinds: spec.serves.kinds,
    ready: counts.idle,
    untouched: counts.untouched,
    busy: counts.busy,
    starting: counts.starting + unseen,
    ending: counts.draining + counts.ending,
    'min-ready': spec.minReady,
    max: spec.maxPods,
    waiting,
    condition: ready
      ? {
          status: ready.status,
          reason: printable(ready.reason, NAME),
          message: printable(ready.message, TEXT),
          since: ready.lastTransitionTime,
        }
      : null,
    short:
      ready?.status === 'False'
        ? printable(ready.message, TEXT)
        : isFull
          ? `all ${spec.maxPods} runners that the pool may have are in use`
          : null,
    isolation: WALLS.map((wall) => {
      const shown = conditionOf(status, wall);
      return {
        wall,
        required: requiredWalls(spec).includes(wall),
        status: shown?.status ?? 'Unknown',
        reason: printable(shown?.reason ?? 'NotReported', NAME),
        message: printable(shown?.message ?? 'no runner has reported it yet', TEXT),
      };
    }),
    ended: recent.ended(metadata.name),
  };
}

/** Busy runners first, idle ones last. */
const RANKS: Record<RunnerState, number> = { busy: 0, starting: 1, draining: 2, ending: 3, idle: 4 };
const byWork = (a: Runner, b: Runner): number =>
  RANKS[runnerState(a)] - RANKS[runnerState(b)] || byText(a.pool, b.pool) || byText(a.pod, b.pod);

function shownRunner(view: SnapshotView, runner: Runner): SnapshotRunner {
  const { pod, pool, node, account, task, jobsDone, idleSince } = runner;
  const state = runnerState(runner);
  const job = task && view.jobOf(task.job);
  const monotonic = (time: number): string => stamp(view.at - (view.monotonic - time));
  const startedAt = Date.parse(job?.status?.startedAt ?? '');
  const since =
    state === 'starting'
      ? monotonic(lifeBegan(runner))
      : state === 'idle'
        ? monotonic(idleSince)
        : state === 'busy' && Number.isFinite(startedAt)
          ? stamp(startedAt)
          : null;
  return {
    pod: printable(pod, NAME),
    pool: printable(pool, NAME),
    node: node === undefined ? null : printable(node, NAME),
    state,
    // Not starting, and nothing else that a compromised agent may report.
    phase: RUNNER_PHASES.find((phase) => phase === runner.phase) ?? null,
    since,
    account: Number.isSafeInteger(account) ? account! : null,
    job: task ? printable(String(task.job), NAME) : null,
    'request-id': job?.id ?? null,
    'jobs-done': Number.isSafeInteger(jobsDone) && jobsDone >= 0 ? jobsDone : 0,
  };
}

export function stateOfTool(tool: ProbeTool): SnapshotTool['state'] {
  if (isDegraded(tool)) return 'degraded';
  if (isAvailable(tool)) return 'ready';
  return conditionOf(tool.status, 'Available')?.status === 'False' ? 'refused' : 'proving';
}

/** Versions that need attention first. */
const byNeed = (a: ProbeTool, b: ProbeTool): number =>
  TOOL_STATES.indexOf(stateOfTool(b)) - TOOL_STATES.indexOf(stateOfTool(a)) ||
  byText(a.spec.tool, b.spec.tool) ||
  byNewest(a.spec.version, b.spec.version);

function shownTool(tool: ProbeTool): SnapshotTool {
  const { spec, status } = tool;
  const state = stateOfTool(tool);
  const condition = conditionOf(status, state === 'degraded' ? 'Degraded' : 'Available');
  const architectures = status?.architectures ?? [];
  const startups = architectures.flatMap(({ startupMs }) => (startupMs === undefined ? [] : [startupMs]));
  return {
    tool: spec.tool,
    version: spec.version,
    latest: spec.latest === true,
    reported: status?.reported === undefined ? null : printable(status.reported, 256),
    state,
    since: condition?.lastTransitionTime ?? null,
    why: state === 'ready' || !condition ? null : printable(`${condition.reason}: ${condition.message}`, TEXT),
    'startup-ms': startups.length === 0 ? null : Math.max(...startups),
    architectures: architectures.map(({ arch }) => printable(arch, 32)),
  };
}

export function buildSnapshot(view: SnapshotView): ClusterSnapshot {
  const { at, leader, queue, recent } = view;
  const counts = countRunners(view.runners);
  const countsOf = (pool: string): Counts => counts.get(pool) ?? NOBODY;
  const pools = bounded(
    view.pools,
    SNAPSHOT_LISTS.pools,
    (a, b) =>
      queue.waitingIn(b.pool.metadata.name) - queue.waitingIn(a.pool.metadata.name) ||
      byText(a.pool.metadata.name, b.pool.metadata.name),
    (facts) => {
      const { name } = facts.pool.metadata;
      return shownPool(facts, countsOf(name), queue.waitingIn(name), recent);
    },
  );
  const runners = bounded(view.runners, SNAPSHOT_LISTS.runners, byWork, (runner) => shownRunner(view, runner));
  const tools = bounded(view.tools, SNAPSHOT_LISTS.tools, byNeed, shownTool);

  const waits = new Map<number, number>();
  let oldest: number | null = null;
  for (const { account, submittedAt } of queue.fronts()) {
    const wait = Math.max(0, Math.floor(at - submittedAt.getTime()));
    waits.set(account, Math.max(waits.get(account) ?? 0, wait));
    oldest = Math.max(oldest ?? 0, wait);
  }
  const accounts = bounded(
    queue.accounts(),
    SNAPSHOT_LISTS.accounts,
    (a, b) => b.waiting - a.waiting || b.held - a.held || a.id - b.id,
    ({ id, waiting, held, limit }): SnapshotAccount => ({
      account: id,
      waiting,
      running: held,
      limit: Number.isFinite(limit) ? limit : null,
      'oldest-wait-ms': waits.get(id) ?? null,
    }),
  );
  const inOrder = (): number => 0;
  const events = bounded(recent.events(), SNAPSHOT_LISTS.events, inOrder, (event) => event);

  return {
    at: stamp(at),
    leader: {
      pod: printable(leader.pod, NAME),
      epoch: leader.epoch,
      since: stamp(leader.since),
      release: printable(leader.image.slice(leader.image.lastIndexOf('/') + 1), NAME),
    },
    terms: view.terms.map(({ pod, epoch, since }) => ({ pod: printable(pod, NAME), epoch, since })),
    pools: pools.items,
    runners: runners.items,
    tools: tools.items,
    'tools-ready': view.tools.filter((tool) => stateOfTool(tool) === 'ready').length,
    'tools-total': view.tools.length,
    queue: { waiting: queue.waiting, running: queue.held, 'oldest-wait-ms': oldest, accounts: accounts.items },
    faults: {
      'attempts-lost': recent.attemptsLost,
      'jobs-lost': recent.jobsLost,
      'proofs-failed': recent.proofsFailed,
      dependencies: recent.dependencies(),
      events: events.items,
    },
    'left-out': {
      pools: pools.leftOut,
      runners: runners.leftOut,
      tools: tools.leftOut,
      accounts: accounts.leftOut,
      events: events.leftOut,
    },
  };
}

// The first entries of a list by rank, limited in number and bytes, without sorting the whole list.

/**
 * `before` is negative if `a` comes first. Cost: one pass over all entries, with a binary search among the kept ones.
 */
export function firstOf<T>(all: Iterable<T>, most: number, before: (a: T, b: T) => number): { first: T[]; of: number } {
  const first: T[] = [];
  let of = 0;
  for (const one of all) {
    of += 1;
    const last = first.at(-1);
    if (first.length >= most && (last === undefined || before(one, last) >= 0)) continue;
    let [low, high] = [0, first.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (before(one, first[middle] as T) < 0) high = middle;
      else low = middle + 1;
    }
    first.splice(low, 0, one);
    if (first.length > most) first.pop();
  }
  return { first, of };
}

/**
 * `bytes`: their size as JSON. `show` is called for kept entries only. An entry that is too large is left out; the ones
 * after it are still tried.
 */
export function bounded<T, Shown>(
  all: Iterable<T>,
  { most, bytes }: { most: number; bytes: number },
  before: (a: T, b: T) => number,
  show: (one: T) => Shown,
): { items: Shown[]; leftOut: number } {
  const { first, of } = firstOf(all, most, before);
  const items: Shown[] = [];
  let left = bytes;
  for (const one of first) {
    const shown = show(one);
    const size = Buffer.byteLength(JSON.stringify(shown)) + 1;
    if (size > left) continue;
    left -= size;
    items.push(shown);
  }
  return { items, leftOut: of - items.length };
}

// Responds to the API with a cluster snapshot: created only on request, at most once per second.

const POSTGRES_MS = 500;
/** Servers send a bookmark every 45 to 75 s. */
const WATCH_SILENCE_MS = 100_000;

interface ServeDeps {
  store: Pick<Store, 'healthy'>;
  bus: Bus;
  jobs: Pick<Reflector<ProbeJob>, 'silentMs'>;
  recent: Recent;
  build: () => ClusterSnapshot;
  stillLeading: () => boolean;
}

/** Whether each dependency of the leader responds. */
async function lookAtDependencies({ store, bus, jobs }: ServeDeps): Promise<Parameters<Recent['looked']>[0]> {
  const postgres = await within(POSTGRES_MS, store.healthy()).catch(() => false);
  return { postgres, nats: bus.connected(), kubernetes: jobs.silentMs() < WATCH_SILENCE_MS };
}

export function serveSnapshots(deps: ServeDeps): Subscribed {
  let last: { made: Promise<ClusterSnapshot>; at: number } | undefined;

  async function make(): Promise<ClusterSnapshot> {
    deps.recent.looked(await lookAtDependencies(deps));
    return deps.build();
  }

  return deps.bus.serve<unknown, ClusterSnapshot>(SUBJECT.cluster, () => {
    if (!deps.stillLeading()) return undefined;
    const now = performance.now();
    if (!last || now - last.at >= SNAPSHOT_EVERY_MS) last = { made: make(), at: now };
    return last.made;
  });
}
