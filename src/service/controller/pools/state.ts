/** State shared by the parts of Pools: the pools and tools of the cluster, as the term has seen them. */
import { isAvailable, isDegraded } from '../../../platform/kube/conditions.ts';
import type { EventRecorder } from '../../../platform/kube/events.ts';
import type { Pod } from '../../../platform/kube/kinds.ts';
import type { ProbePool, ProbePoolSpec } from '../../../platform/kube/probe_pool.ts';
import type { ProbeTool } from '../../../platform/kube/probe_tool.ts';
import { inOrder } from '../../../platform/kube/route.ts';
import { PULL_REASONS } from '../catalog/verdict.ts';
import type { ControllerDeps } from '../clients.ts';
import { NO_FAILED_STARTS } from '../retry_policy.ts';
import type { Recent } from '../snapshot/recent.ts';
import { evictions } from './evictions.ts';
import type { Waiting } from './plan.ts';
import type { OwnerReference, PodTool } from './pod.ts';
import type { LostTask, Runner, Runners } from './runners.ts';

export interface PoolsDeps extends Omit<ControllerDeps, 'store'> {
  events: EventRecorder;
  recent: Pick<Recent, 'podEnded'>;
  runners: Runners;
  epoch: number;
  signal: AbortSignal;
  stillLeading: () => boolean;
  /** Postgres' clock. */
  now: () => number;
  owner: () => Promise<OwnerReference | undefined>;
  demand: (pool: string) => Waiting[];
  /** A pod was deleted together with its task. */
  podGone: (task: LostTask) => void;
  /** Runners have been waiting long for the image of a tool. */
  toolStuck: (name: string, message: string) => void;
  /** Runners or tools were added: waiting jobs may fit now. */
  changed: () => void;
}

const PLAN_DEBOUNCE_MS = 25;
export const HOLD_BACK_MS = [1_000, 30_000] as const;

export const now = (): number => performance.now();

export class PoolState {
  pool: ProbePool;
  generation = '';
  /** When each pod was created that the watch has not shown yet. */
  readonly unseen = new Map<string, number>();
  holdUntil = 0;
  holdMs: number = HOLD_BACK_MS[0];
  problem: { reason: string; message: string } | undefined;
  /** When runners that nobody used were taken, of the last seconds. */
  taken: number[] = [];
  failedStarts = NO_FAILED_STARTS;
  /** When a runner that nobody uses last ended on each node, of the last seconds. */
  readonly endedOn = new Map<string, number>();
  planning = false;
  again = false;
  timer: NodeJS.Timeout | undefined;
  shown = '';
  /** Set while a pool that prefers user namespaces runs without, because a node reported that it has none. */
  without: { until: number; message: string } | undefined;
  lookedAt = 0;
  /** When an Event last said that runners are renewed. */
  renewedShownAt = Number.NEGATIVE_INFINITY;
  /** The chart no longer contains the pool: it takes no more jobs, and is deleted with its last runner. */
  draining = false;

  constructor(pool: ProbePool) {
    this.pool = pool;
  }
}

export class PoolsState {
  #inOrder: ProbePool[] | undefined;
  readonly deps: PoolsDeps;
  readonly byName = new Map<string, PoolState>();
  readonly tools = new Map<string, ProbeTool>();
  /** Specs of the pools in the chart. */
  catalog: ReadonlyMap<string, ProbePoolSpec> = new Map();
  /** The tools mounted by the pods of each generation. */
  readonly coverage = new Map<string, Set<string>>();
  readonly stuck: ReturnType<typeof stuckTools>;
  readonly evictions = evictions();
  /** Uids of pods whose deletion was asked for: each is asked for and counted once. */
  readonly deleted = new Set<string>();
  mounted: PodTool[] = [];
  started = false;
  readonly #carryOut: (state: PoolState) => Promise<void>;

  /** `carryOut`: carries out the plan for a pool. */
  constructor(deps: PoolsDeps, carryOut: (pools: PoolsState, state: PoolState) => Promise<void>) {
    this.deps = deps;
    this.stuck = stuckTools(deps.runners);
    this.#carryOut = (state) => carryOut(this, state);
  }

  /** Pools that take jobs, in the order in which they are chosen. */
  get inOrder(): readonly ProbePool[] {
    const taking = () => [...this.byName.values()].flatMap(({ pool, draining }) => (draining ? [] : [pool]));
    return (this.#inOrder ??= inOrder(taking()));
  }

  /** A pool has come, changed or gone, drains or does so no longer. */
  routesChanged(): void {
    this.#inOrder = undefined;
    this.deps.changed();
  }

  plan(state: PoolState): void {
    if (!this.started || this.deps.signal.aborted || this.byName.get(state.pool.metadata.name) !== state) return;
    state.timer ??= setTimeout(() => {
      state.timer = undefined;
      // Each pool is planned once a second anyway.
      this.#carryOut(state).catch((error: unknown) => {
        this.deps.log.warn({ err: error, pool: state.pool.metadata.name }, 'cannot carry out the plan of a pool');
      });
    }, PLAN_DEBOUNCE_MS);
  }
}

// Detects tools whose images keep runners from starting. The kubelet pulls each image volume before it creates the
// container, and names an image that it cannot pull in the container's waiting state: `Back-off pulling image "…"`,
// `Container image "…" is not present …`. A mount that fails in the container runtime names no image, so no tool is
// blamed for it.

/** Longer than a registry restart. A runner that never starts is ended only after 90 s or more. */
export const STUCK_PATIENCE_MS = 30_000;

/** The kubelet's message about an image that it cannot pull; undefined for a pod that waits for something else. */
const pullTrouble = (pod: Pod): string | undefined =>
  pod.status?.containerStatuses
    ?.map(({ state }) => state?.waiting)
    .find((waiting) => PULL_REASONS.has(waiting?.reason ?? ''))?.message;

export function stuckTools(runners: Pick<Runners, 'all' | 'ofPod'>) {
  /** By pod uid. */
  const waiting = new Map<string, { since: number; message: string }>();

  /** A runner of the same generation that started meanwhile had the image: the fault is the node's, not the tool's. */
  const cameUpElsewhere = ({ generation }: Runner, since: number): boolean =>
    [...runners.all()].some(
      (other) => other.generation === generation && other.readyAt !== undefined && other.readyAt >= since,
    );

  return {
    seen(pod: Pod, uid: string, at: number): void {
      const message = pullTrouble(pod);
      if (message === undefined) waiting.delete(uid);
      else waiting.set(uid, { since: waiting.get(uid)?.since ?? at, message });
    },
    gone: (uid: string): void => void waiting.delete(uid),
    /** Tools whose images runners have been waiting for, with the kubelet's message. */
    find(tools: Iterable<ProbeTool>, at: number): { name: string; message: string }[] {
      const long = [...waiting].flatMap(([uid, { since, message }]) => {
        const runner = runners.ofPod(uid);
        return runner && !runner.deleting && at - since >= STUCK_PATIENCE_MS && !cameUpElsewhere(runner, since)
          ? [message]
          : [];
      });
      if (long.length === 0) return [];
      return [...tools].flatMap((tool) => {
        if (!isAvailable(tool) || isDegraded(tool)) return [];
        const message = long.find((text) => text.includes(JSON.stringify(tool.spec.image)));
        return message === undefined ? [] : [{ name: tool.metadata.name, message }];
      });
    },
  };
}
