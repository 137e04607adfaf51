/**
 * One term of leadership: everything that only a leader does, created when the lease is acquired and discarded when it
 * is lost.
 */
import { isBeatOf } from '../../platform/bus/claims.ts';
import type { ClusterSnapshot } from '../../platform/bus/cluster_snapshot.ts';
import {
  SUBJECT,
  type CancelAnswer,
  type Closed,
  type CreateAnswer,
  type Heartbeat,
  type ItemToCancel,
} from '../../platform/bus/messages.ts';
import { BEATS, rateLimit } from '../../platform/bus/rates.ts';
import type { Pod } from '../../platform/kube/client.ts';
import { eventRecorder, type EventRecorder } from '../../platform/kube/events.ts';
import type { Election } from '../../platform/kube/lease.ts';
import { WorkQueue } from '../../platform/kube/queue.ts';
import type { ProbeJob } from '../../platform/kube/probe_job.ts';
import type { ProbeTool } from '../../platform/kube/probe_tool.ts';
import { isOurs } from '../../platform/kube/resource.ts';
import type { Caches } from './caches.ts';
import { keepChart } from './catalog/apply.ts';
import type { EndFlooding } from './floods.ts';
import { fenceCheck, raiseFence, type FenceCheck } from './leader/fence.ts';
import { lateWatch, makeSweep, type LateWatch } from './leader/unshown_jobs.ts';
import { cancelItem } from './leader/cancel_item.ts';
import { announced } from './leader/create.ts';
import { collected } from './leader/ends.ts';
import { Leader } from './leader/leader.ts';
import { heartbeat, podGone as jobLost, tick } from './leader/losses.ts';
import type { LeaderDeps } from './leader/term_state.ts';
import { ownerOf, keepNatsCa } from './pools/runner_namespace.ts';
import { Pools } from './pools/pools.ts';
import { makeFinishedJobs, type FinishedJobs } from './leader/finished_jobs.ts';
import { Runners } from './pools/runners.ts';
import { ensureLeading, whileLeading, type Term } from './leader/lease_guard.ts';
import { watchSharedPolicies } from './catalog/shared_policies.ts';
import { buildSnapshot, serveSnapshots } from './snapshot/build.ts';
import { makeRecent, type Recent } from './snapshot/recent.ts';
import type { TermFigures } from './term_figures.ts';
import { isProofPod, isRunnerPod, noProofs, proveTool, type ProofDeps } from './catalog/prove.ts';
import { runnerFields } from '../../base/log.ts';
import { every } from '../../base/retry.ts';

type Made = 'term' | 'runners' | 'pools' | 'finishedJobs' | 'events' | 'recent';

export interface TermDeps extends Omit<LeaderDeps, Made | keyof Caches>, Caches {
  endFlooding: EndFlooding;
}

const TICK_MS = 1_000;
const SWEEP_MS = 5_000;
/** A policy applies some seconds after its creation. */
const FENCE_MS = 60_000;
const PROOF_WORKERS = 3;

/** The lease of this term. */
export interface TermLease extends Pick<Election, 'stillLeading' | 'terms'> {
  holder: string;
  epoch: number;
  over: AbortController;
}

interface Stoppable {
  stop(): unknown;
}

/** Assembled: everything that a term is made of. Nothing acts before `recover`. */
export class RunningTerm {
  readonly deps: TermDeps;
  readonly lease: TermLease;
  readonly term: Term;
  readonly since: number;
  readonly runners = new Runners();
  /** Tools to be proven, by name. */
  readonly queue = new WorkQueue();
  readonly recent: Recent;
  readonly events: EventRecorder;
  readonly finishedJobs: FinishedJobs;
  readonly owner: ReturnType<typeof ownerOf>;
  readonly pools: Pools;
  readonly leader: Leader;
  readonly chart: ReturnType<typeof keepChart>;
  readonly proof: ProofDeps;
  readonly late: LateWatch;
  readonly fence: FenceCheck;
  /** What else ends with the term. */
  readonly stoppable: Stoppable[] = [];
  #stopped: Promise<void> | undefined;
  readonly stillLeading = (): boolean => this.term.stillLeading(0);
  readonly now = (): number => this.deps.store.clock.now();

  constructor(deps: TermDeps, lease: TermLease) {
    const { kube, config, log, jobs } = deps;
    const { holder, epoch, over } = lease;
    this.deps = deps;
    this.lease = lease;
    const stillLeading = (marginMs: number): boolean => !over.signal.aborted && lease.stillLeading(marginMs);
    this.term = { holder, epoch, stillLeading, signal: over.signal };
    const { term, runners, stillLeading: isLeading, now } = this;
    this.since = now();
    this.finishedJobs = makeFinishedJobs({ ...deps, epoch, limits: config, now, stillLeading: isLeading });
    this.recent = makeRecent(now);
    this.events = this.recent.following(
      eventRecorder({
        client: kube,
        component: 'probeyard-controller',
        instance: config.podName,
        onError: (error) => log.debug({ err: error }, 'cannot write an Event'),
      }),
    );
    const { finishedJobs, recent, events } = this;
    this.owner = ownerOf(kube, config);
    this.pools = new Pools({
      ...deps,
      events,
      recent,
      runners,
      owner: this.owner,
      epoch,
      now,
      signal: over.signal,
      stillLeading: isLeading,
      demand: (pool) => this.leader.demand(pool),
      podGone: (task) => jobLost(this.leader, task),
      changed: () => this.leader.poolsChanged(),
      toolStuck: (name, message) => {
        this.proof.stuck.set(name, message);
        this.queue.add(name);
      },
    });
    this.leader = new Leader({ ...deps, term, runners, pools: this.pools, finishedJobs, events, recent });
    this.chart = keepChart({
      ...deps,
      term,
      now,
      applied: (specs, removed) =>
        this.pools.catalogApplied(new Map(specs.map(({ name, spec }) => [name, spec])), removed),
    });
    this.proof = { ...deps, events, queue: this.queue, owner: this.owner, stillLeading: isLeading, now, ...noProofs() };
    this.late = lateWatch(this.leader);
    const anyJob = (): ProbeJob | undefined => jobs.list().find(isOurs);
    this.fence = fenceCheck({ kube, log, job: anyJob, epoch, installed: config.admissionPolicy });
  }

  toolSeen(tool: ProbeTool): void {
    this.pools.tool(tool);
    this.queue.add(tool.metadata.name);
  }

  toolGone(name: string): void {
    this.pools.toolGone(name);
    this.chart.deleted();
  }

  poolGone(name: string): void {
    this.pools.poolGone(name);
    this.chart.deleted();
  }

  podSeen(pod: Pod, listed: boolean): void {
    if (isRunnerPod(pod)) this.pools.podSeen(pod, listed);
    else if (isProofPod(pod)) this.queue.add(this.proof.toolOf.get(pod.metadata.name) ?? '');
  }

  podGone(pod: Pod): void {
    if (isRunnerPod(pod)) this.pools.podGone(pod);
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  async #stop(): Promise<void> {
    this.lease.over.abort();
    const { stoppable, pools, finishedJobs, leader, chart, queue } = this;
    const parts: Stoppable[] = [...stoppable, pools, finishedJobs, leader, chart, queue];
    await Promise.allSettled(parts.map((part) => part.stop()));
  }

  figures(): TermFigures {
    return {
      queue: this.leader.ledger,
      pools: this.pools.facts(),
      tools: this.deps.tools.list(),
      now: this.now(),
      since: this.since,
      fenceMissing: this.fence.missing(),
      jobs: this.deps.jobs.list(),
      finishedMax: this.deps.config.finishedMax,
    };
  }

  snapshot(): ClusterSnapshot {
    const { deps, leader, lease, pools, recent, runners, since, term } = this;
    return buildSnapshot({
      at: this.now(),
      monotonic: performance.now(),
      leader: { pod: deps.config.podName, epoch: term.epoch, since, image: deps.config.runnerImage },
      terms: lease.terms(),
      pools: pools.facts(),
      runners: [...runners.all()],
      tools: deps.tools.list(),
      recent,
      queue: leader.ledger,
      jobOf: (name) => leader.jobs.taken(name),
    });
  }
}

/** Answers over NATS: heartbeats of runners, notices of the API and of collectors, snapshots. */
function listen(parts: RunningTerm): Stoppable[] {
  const { deps, leader, late, term, recent, stillLeading } = parts;
  const { bus, log, store, jobs } = deps;
  const isTaken = rateLimit(BEATS, (uid) => void deps.endFlooding(uid, 'heartbeats'));
  const beats = bus.serve<Heartbeat, unknown>(
    SUBJECT.heartbeats,
    ({ subject, message }) => {
      if (term.signal.aborted) return undefined;
      if (isBeatOf(subject, message)) return heartbeat(leader, message);
      const named = runnerFields({ uid: uidOf(subject) });
      log.warn({ subject, ...named }, 'dropped a heartbeat with the identity of another pod');
      return undefined;
    },
    { admit: (subject) => isTaken(uidOf(subject)) },
  );
  const announcements = bus.serve<ProbeJob, CreateAnswer>(SUBJECT.create, ({ message }) => {
    late.told(message.metadata.name);
    return announced(leader, message);
  });
  const cancels = bus.serve<ItemToCancel, CancelAnswer>(SUBJECT.cancelItem, ({ message }) =>
    cancelItem(leader, message),
  );
  const closed = bus.subscribe<Closed>(SUBJECT.closed, ({ message }) => collected(leader, message));
  const snapshots = serveSnapshots({ store, bus, jobs, recent, stillLeading, build: () => parts.snapshot() });
  // What was sent to it is answered. Nothing waits for that: NATS may be away.
  const answerLast = (): void => void announcements.drained().catch(() => {});
  return [beats, { stop: answerLast }, cancels, closed, snapshots];
}

const uidOf = (heartbeatSubject: string): string => heartbeatSubject.slice(SUBJECT.heartbeat('').length);

/** What is done again and again: checks of running jobs, the sweep of open requests, the check of the fence. */
function repeat({ deps, leader, late, fence, stillLeading }: RunningTerm): Stoppable[] {
  const { log } = deps;
  const sweep = makeSweep(leader, late);
  const sweepOnce = async (): Promise<void> => {
    if (!stillLeading()) return;
    const count = await sweep();
    if (count > 0) log.warn({ count }, 'ended or took back open requests without a ProbeJob');
  };
  return [
    every(
      TICK_MS,
      () => tick(leader),
      (error) => log.warn({ err: error }, 'cannot check running jobs, will retry'),
    ),
    every(SWEEP_MS, sweepOnce, (error) => log.warn({ err: error }, 'cannot sweep open requests, will retry')),
    every(
      FENCE_MS,
      async () => {
        if (stillLeading()) await fence.run();
      },
      (error) => log.warn({ err: error }, 'cannot check the admission policy, will retry'),
    ),
  ];
}

/** Runners mount this ConfigMap: a pod created before it would wait for it. */
async function writeNatsCa({ deps, owner, stoppable, term }: RunningTerm): Promise<void> {
  const { kube, config, log } = deps;
  const { natsCaFile: caFile, runnerNamespace: namespace } = config;
  if (!caFile) return;
  const of = await owner();
  await ensureLeading(term);
  const kept = await keepNatsCa({ kube, caFile, namespace, owner: of, log });
  if (term.signal.aborted) kept.stop();
  else stoppable.push(kept);
}

/** Brings the parts to where the cluster is. Nothing is admitted, created or ended before that. */
async function recover(parts: RunningTerm, attach: (term: RunningTerm) => void): Promise<void> {
  const { deps, term, pools, leader, finishedJobs, fence } = parts;
  const { jobs, pods, tools, poolCache } = deps;
  await ensureLeading(term);
  // Changes are seen from here on, so that none is missed beside what the caches hold.
  attach(parts);
  await whileLeading(term, Promise.all([jobs, pods, tools, poolCache].map(({ synced }) => synced)));
  for (const tool of tools.list()) parts.toolSeen(tool);
  for (const pool of poolCache.list()) pools.pool(pool);
  for (const pod of pods.list()) parts.podSeen(pod, true);
  const names = poolCache.list().map(({ metadata }) => metadata.name);
  const raised = raiseFence({ ...deps, tooOld: fence.tooOld }, term.epoch, names, term.signal);
  await whileLeading(term, Promise.all([raised, writeNatsCa(parts)]));
  pools.start();
  await whileLeading(term, leader.start());
  finishedJobs.start();
  parts.chart.start();
}

export async function startTerm(
  deps: TermDeps,
  lease: TermLease,
  attach: (term: RunningTerm) => void,
): Promise<RunningTerm> {
  const parts = new RunningTerm(deps, lease);
  parts.stoppable.push(watchSharedPolicies({ ...deps, stillLeading: parts.stillLeading }));
  parts.stoppable.push(...listen(parts), ...repeat(parts));
  parts.queue.run(
    PROOF_WORKERS,
    async (name) => {
      if (name !== '') await proveTool(parts.proof, name);
    },
    (error, tool) => deps.log.warn({ err: error, tool }, 'tool reconcile failed, will retry'),
  );
  try {
    await recover(parts, attach);
  } catch (error) {
    await parts.stop();
    throw error;
  }
  return parts;
}
