/** What the parts of Pools share: the pools and tools of the cluster, as the term has seen them. */
import type { Config } from '../../config.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { ProbePool, ProbePoolSpec } from '../../kube/probe_pool.ts';
import type { ProbeTool } from '../../kube/probe_tool.ts';
import type { Logger } from '../../log.ts';
import type { ControllerMetrics } from '../metrics.ts';
import type { Waiting } from './plan.ts';
import type { PodTool } from './pod.ts';
import type { OwnerReference } from './pod_owner.ts';
import type { LostTask, Runners } from './runners.ts';
import { stuckTools, type StuckTools } from './stuck_tools.ts';

export interface PoolsDeps {
  kube: KubeClient;
  config: Config<'controller'>;
  log: Logger;
  metrics: ControllerMetrics;
  events: EventRecorder;
  runners: Runners;
  signal: AbortSignal;
  stillLeading: () => boolean;
  /** Postgres' clock. */
  now: () => number;
  owner: () => Promise<OwnerReference | undefined>;
  demand: (pool: string) => Waiting[];
  /** A pod is gone, with what it ran. */
  podGone: (task: LostTask) => void;
  /** Runners have been waiting for the image of a tool for long. */
  toolStuck: (name: string, message: string) => void;
  /** Runners or tools came: waiting jobs may fit now. */
  changed: () => void;
}

const PLAN_DEBOUNCE_MS = 25;
export const HOLD_BACK_MS = [1_000, 30_000] as const;

export const now = (): number => performance.now();

export interface PoolState {
  pool: ProbePool;
  generation: string;
  unseen: Map<string, number>;
  holdUntil: number;
  holdMs: number;
  problem: { reason: string; message: string } | undefined;
  taken: number[];
  planning: boolean;
  again: boolean;
  timer: NodeJS.Timeout | undefined;
  shown: string;
  /** Set while a pool that prefers user namespaces does without, because a node said that it has none. */
  without: { until: number; message: string } | undefined;
  lookedAt: number;
  /** The chart no longer has it: it takes nothing more, and goes with its last runner. */
  draining: boolean;
}

export class PoolsState {
  readonly deps: PoolsDeps;
  readonly byName = new Map<string, PoolState>();
  readonly tools = new Map<string, ProbeTool>();
  /** Specs of pools as the chart has them. */
  catalog: ReadonlyMap<string, ProbePoolSpec> = new Map();
  /** By generation: the tools that its pods mount. */
  readonly coverage = new Map<string, Set<string>>();
  readonly stuck: StuckTools;
  mounted: PodTool[] = [];
  started = false;
  readonly #carryOut: (state: PoolState) => Promise<void>;

  /** `carryOut`: acts on the plan for a pool. */
  constructor(deps: PoolsDeps, carryOut: (pools: PoolsState, state: PoolState) => Promise<void>) {
    this.deps = deps;
    this.stuck = stuckTools(deps.runners);
    this.#carryOut = (state) => carryOut(this, state);
  }

  plan(state: PoolState): void {
    if (!this.started || this.deps.signal.aborted || this.byName.get(state.pool.metadata.name) !== state) return;
    state.timer ??= setTimeout(() => {
      state.timer = undefined;
      void this.#carryOut(state);
    }, PLAN_DEBOUNCE_MS);
  }
}
