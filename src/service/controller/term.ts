/**
 * One term of leadership: everything that only a leader does, created when the lease is acquired and discarded when it
 * is lost.
 */
import { isBeatOf } from '../../platform/bus/claims.ts';
import { SUBJECT, type Closed, type Early, type Heartbeat } from '../../platform/bus/messages.ts';
import { BEATS, makeRates } from '../../platform/bus/rates.ts';
import { PROBE_POOLS, PROBE_TOOLS, type Pod } from '../../platform/kube/client.ts';
import { eventRecorder } from '../../platform/kube/events.ts';
import type { Election } from '../../platform/kube/lease.ts';
import { runWorkers, workQueue } from '../../platform/kube/queue.ts';
import { startReflector, type Reflector } from '../../platform/kube/reflector.ts';
import type { ProbeJob } from '../../platform/kube/probe_job.ts';
import type { ProbePool } from '../../platform/kube/probe_pool.ts';
import type { ProbeTool } from '../../platform/kube/probe_tool.ts';
import { applyChart } from './catalog/apply.ts';
import type { EndFlooding } from './floods.ts';
import { raiseFence, fenceCheck } from './leader/fence.ts';
import { lateWatch, sweep } from './leader/unshown_jobs.ts';
import { Leader } from './leader/leader.ts';
import type { LeaderDeps } from './leader/term_state.ts';
import { ownerOf, keepNatsCa } from './pools/runner_namespace.ts';
import { Pools } from './pools/pools.ts';
import { FinishedJobs } from './leader/finished_jobs.ts';
import { Runners } from './pools/runners.ts';
import { ensureLeading, whileLeading, type Term } from './leader/lease_guard.ts';
import { watchSharedPolicies } from './catalog/shared_policies.ts';
import { buildSnapshot } from './snapshot/build.ts';
import { lookAtDependencies } from './snapshot/dependencies.ts';
import { serveSnapshots } from './snapshot/serve.ts';
import { makeRecent } from './snapshot/recent.ts';
import { termFigures, type TermFigures } from './term_figures.ts';
import { isProofPod, isRunnerPod, proveTool, type ProofDeps } from './catalog/prove.ts';
import type { Config } from '../../base/config.ts';
import { runnerFields } from '../../base/log.ts';

type Made = 'term' | 'runners' | 'pools' | 'finishedJobs' | 'limits' | 'startsEarly' | 'events' | 'recent';

export interface TermDeps extends Omit<LeaderDeps, Made> {
  config: Config<'controller'>;
  pods: Reflector<Pod>;
  jobs: Reflector<ProbeJob>;
  endFlooding: EndFlooding;
}

export interface RunningTerm {
  leader: Leader;
  jobSeen(job: ProbeJob): void;
  jobGone(job: ProbeJob): void;
  podSeen(pod: Pod, listed: boolean): void;
  podGone(pod: Pod): void;
  figures(): TermFigures;
  stop(): Promise<void>;
}

const TICK_MS = 1_000;
const SWEEP_MS = 5_000;
const FENCE_MS = 60_000;
const PROOF_WORKERS = 3;

const uidOf = (heartbeatSubject: string): string => heartbeatSubject.slice(SUBJECT.heartbeat('').length);

export async function startTerm(
  deps: TermDeps,
  lease: Pick<Election, 'stillLeading' | 'terms'> & { holder: string; epoch: number; over: AbortController },
  attach: (term: RunningTerm) => void,
): Promise<RunningTerm> {
  const { kube, bus, config, log, metrics, store, pods, jobs } = deps;
  const { over } = lease;
  const term: Term = {
    holder: lease.holder,
    epoch: lease.epoch,
    stillLeading: (margin) => !over.signal.aborted && lease.stillLeading(margin),
    signal: over.signal,
  };
  const runners = new Runners();
  const queue = workQueue();
  const finishedJobs = new FinishedJobs({
    ...deps,
    epoch: term.epoch,
    limits: config,
    now: () => store.clock.now(),
    stillLeading: () => term.stillLeading(0),
  });
  const recent = makeRecent(() => store.clock.now());
  const events = recent.following(
    eventRecorder({
      client: kube,
      component: 'probeyard-controller',
      instance: config.podName,
      onError: (error) => log.debug({ err: error }, 'cannot write an Event'),
    }),
  );
  const owner = ownerOf(kube, config);
  const made: { leader?: Leader } = {};
  const kept: { ca?: { stop(): void } } = {};

  const pools = new Pools({
    kube,
    bus,
    config,
    log,
    metrics,
    events,
    recent,
    runners,
    owner,
    epoch: term.epoch,
    signal: over.signal,
    stillLeading: () => term.stillLeading(0),
    now: () => store.clock.now(),
    demand: (pool) => made.leader?.demand(pool) ?? [],
    podGone: (task) => made.leader?.podGone(task),
    changed: () => made.leader?.poolsChanged(),
    toolStuck: (name, message) => {
      proof.stuck.set(name, message);
      queue.add(name);
    },
  });
  const lead = new Leader({
    ...deps,
    term,
    runners,
    pools,
    finishedJobs,
    events,
    recent,
    limits: config,
    startsEarly: config.earlyStart,
  });
  made.leader = lead;

  const tools: Reflector<ProbeTool> = startReflector<ProbeTool>({
    client: kube,
    type: PROBE_TOOLS,
    namespace: deps.namespace,
    handlers: {
      add: (tool) => {
        pools.tool(tool);
        queue.add(tool.metadata.name, { low: true });
      },
      update: (tool) => {
        pools.tool(tool);
        queue.add(tool.metadata.name);
      },
      delete: (tool) => pools.toolGone(tool.metadata.name),
    },
  });
  const poolsCache = startReflector<ProbePool>({
    client: kube,
    type: PROBE_POOLS,
    namespace: deps.namespace,
    handlers: {
      add: (pool) => pools.pool(pool),
      update: (pool) => pools.pool(pool),
      delete: (pool) => pools.poolGone(pool.metadata.name),
    },
  });

  const policies = watchSharedPolicies({
    kube,
    store,
    log,
    namespace: deps.namespace,
    stillLeading: () => term.stillLeading(0),
  });

  const proofOf = new Map<string, string>();
  const proof: ProofDeps = {
    kube,
    config,
    log,
    events,
    queue,
    owner,
    getTool: (name) => tools.get(`${deps.namespace}/${name}`),
    getPod: (name) => pods.get(`${config.runnerNamespace}/${name}`),
    tools: () => tools.list(),
    proofs: () => pods.list().filter((pod) => isProofPod(pod) && pod.metadata.deletionTimestamp === undefined),
    stillLeading: () => term.stillLeading(0),
    now: () => store.clock.now(),
    triedAt: new Map(),
    again: new Set(),
    stuck: new Map(),
    pauses: new Map(),
    started: (pod, tool) => proofOf.set(pod, tool),
  };

  const podSeen = (pod: Pod, listed: boolean): void => {
    if (isRunnerPod(pod)) pools.podSeen(pod, listed);
    else if (isProofPod(pod)) queue.add(proofOf.get(pod.metadata.name) ?? '');
  };

  const rates = makeRates(BEATS);
  const beats = bus.serve<Heartbeat, unknown>(
    SUBJECT.heartbeats,
    ({ subject, message }) => {
      if (over.signal.aborted) return undefined;
      if (isBeatOf(subject, message)) return lead.heartbeat(message);
      log.warn(
        { subject, ...runnerFields({ uid: uidOf(subject) }) },
        'dropped a heartbeat with the identity of another pod',
      );
      return undefined;
    },
    {
      admit: (subject) => {
        const uid = uidOf(subject);
        const verdict = rates.take(uid, performance.now());
        if (verdict === 'flood') void deps.endFlooding(uid, 'heartbeats');
        return verdict === 'taken';
      },
    },
  );
  const late = lateWatch({
    kube,
    jobs,
    namespace: deps.namespace,
    log,
    knows: (name) => lead.knows(name),
    signal: over.signal,
  });
  const early = bus.subscribe<Early>(SUBJECT.early, ({ message }) => {
    late.told(message.job);
    return lead.early(message);
  });
  const closed = bus.subscribe<Closed>(SUBJECT.closed, ({ message }) => lead.closed(message));
  const since = store.clock.now();
  const snapshots = serveSnapshots({
    bus,
    recent,
    stillLeading: () => term.stillLeading(0),
    look: () => lookAtDependencies({ store, bus, jobs }),
    build: () =>
      buildSnapshot({
        at: store.clock.now(),
        monotonic: performance.now(),
        leader: { pod: config.podName, epoch: term.epoch, since, image: config.runnerImage },
        terms: lease.terms(),
        pools: pools.facts(),
        runners: [...runners.all()],
        nodeOf: (uid) => pods.by('uid', uid)[0]?.spec?.nodeName,
        tools: tools.list(),
        recent,
        ...lead.view(),
      }),
  });

  // One run at a time: while Postgres is unreachable each run waits, and they would pile up.
  const oneAtATime = (work: () => Promise<void>): (() => Promise<void>) => {
    let under = false;
    return async () => {
      if (under) return;
      under = true;
      await work().finally(() => {
        under = false;
      });
    };
  };
  const tick = oneAtATime(() => lead.tick());
  const sweepOnce = oneAtATime(async () => {
    if (!term.stillLeading(0)) return;
    const count = await sweep(
      {
        ...deps,
        knows: (id) => lead.knows(id),
        cached: (id) => jobs.countBy('id', id) > 0,
        behind: (name) => void late.behind(name),
      },
      over.signal,
    );
    if (count > 0) log.warn({ count }, 'ended open requests without a ProbeJob');
  });

  const fence = fenceCheck({
    kube,
    namespace: deps.namespace,
    log,
    job: () => jobs.list()[0],
    epoch: term.epoch,
    installed: config.admissionPolicy,
  });
  const tryFence = oneAtATime(async () => {
    if (term.stillLeading(0)) await fence.run();
  });

  const timers = [
    // A policy applies some seconds after its creation.
    setInterval(() => void tryFence(), FENCE_MS),
    setInterval(() => {
      tick().catch((error: unknown) => log.warn({ err: error }, 'cannot check running jobs, will retry'));
      metrics.jobs('waiting', lead.figures.waiting);
      metrics.jobs('running', lead.figures.running);
    }, TICK_MS),
    setInterval(
      () =>
        void sweepOnce().catch((error: unknown) => log.warn({ err: error }, 'cannot sweep open requests, will retry')),
      SWEEP_MS,
    ),
  ];

  const workers = runWorkers(
    queue,
    PROOF_WORKERS,
    async (name) => {
      if (name !== '') await proveTool(proof, name);
    },
    (error, tool) => log.warn({ err: error, tool }, 'tool reconcile failed, will retry'),
  );

  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    over.abort();
    for (const listener of [beats, early, closed, snapshots]) listener.stop();
    for (const timer of timers) clearInterval(timer);
    kept.ca?.stop();
    pools.stop();
    finishedJobs.stop();
    await Promise.allSettled([lead.stop(), tools.stop(), poolsCache.stop(), policies.stop(), workers.stop()]);
  };
  const running: RunningTerm = {
    leader: lead,
    figures: () =>
      termFigures({
        queue: lead.view().queue,
        pools: pools.facts(),
        tools: tools.list(),
        now: store.clock.now(),
        since,
        fenceMissing: fence.missing(),
        jobs: jobs.list(),
        finishedMax: config.finishedMax,
      }),
    jobSeen: (job) => lead.seen(job),
    jobGone: (job) => lead.deleted(job),
    podSeen,
    podGone: (pod) => {
      if (isRunnerPod(pod)) pools.podGone(pod);
    },
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };

  const start = async (): Promise<void> => {
    // Runners mount this ConfigMap: a pod created before it would wait for it.
    if (config.natsCaFile)
      kept.ca = await keepNatsCa({
        kube,
        caFile: config.natsCaFile,
        namespace: config.runnerNamespace,
        owner: await whileLeading(term, owner()),
        log,
      });
    await ensureLeading(term);
    // Events flow from here on, so that changes during the initial lists are not missed.
    attach(running);
    await whileLeading(term, Promise.all([tools.synced, poolsCache.synced, pods.synced]));
    for (const pod of pods.list()) podSeen(pod, true);
    const names = poolsCache.list().map(({ metadata }) => metadata.name);
    await whileLeading(term, raiseFence({ ...deps, tooOld: fence.tooOld }, term.epoch, names, over.signal));
    pools.start();
    await whileLeading(term, lead.start());
    finishedJobs.start();
    void applyChart({ kube, log, config, term, now: () => store.clock.now() }, (applied) =>
      pools.catalog(new Map(applied.pools.map(({ name, spec }) => [name, spec])), applied.removedPools),
    );
  };
  try {
    await start();
  } catch (error) {
    await running.stop();
    throw error;
  }
  return running;
}
