/** The controller's metrics. Labels are bounded: pools and reasons, never tokens or sources. */
import { countedCause } from '../../base/causes.ts';
import type { ToolEnd } from '../../platform/store/records.ts';
import type { Wall } from '../../platform/kube/probe_pool.ts';
import { readOne } from '../../platform/metrics/read_at_scrape.ts';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { WAITING, type Reason, type WaitingCause } from '../../platform/kube/probe_job.ts';
import { backupMetrics } from './backup_watch.ts';

/** A holder that renews every 2 s is seen within this time. */
const LEASE_MS = 6_000;

/** Why an attempt was lost. */
const LOSS_CAUSES = ['pod-gone', 'silent', 'absent', 'refused', 'idle', 'no-result', 'policy'] as const;
export type LossCause = (typeof LOSS_CAUSES)[number];

const RENEWALS = ['renewed', 'refused', 'failed'] as const;

/** Ends by a fault of the installation. */
const FAULTS = ['RunnerLost', 'InternalError'] as const satisfies readonly Reason[];

export type ControllerMetrics = ReturnType<typeof controllerMetrics>;

export function controllerMetrics() {
  const registers = [new Registry()];
  const registry = registers[0] as Registry;
  collectDefaultMetrics({ register: registry });
  const admitted = new Counter({
    name: 'probeyard_jobs_admitted_total',
    help: 'Jobs that got a slot and a runner',
    labelNames: ['pool'],
    registers,
  });
  const early = new Counter({
    name: 'probeyard_early_starts_total',
    help: 'Jobs whose tools began while the ProbeJob was being created, by whether it was admitted',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of ['admitted', 'dropped']) early.inc({ outcome }, 0);
  const waited = new Counter({
    name: 'probeyard_jobs_waited_total',
    help: 'Jobs that waited for more than a second, by what they waited for then',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of WAITING) waited.inc({ reason }, 0);
  const finished = new Counter({
    name: 'probeyard_jobs_finished_total',
    help: 'Jobs that ended, by reason',
    labelNames: ['pool', 'reason'],
    registers,
  });
  const retried = new Counter({
    name: 'probeyard_jobs_retried_total',
    help: 'Attempts that were lost and are repeated, by why',
    labelNames: ['pool', 'reason'],
    registers,
  });
  const queue = new Histogram({
    name: 'probeyard_queue_seconds',
    help: 'Time from submission to admission',
    labelNames: ['pool'],
    registers,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  });
  const collected = new Counter({
    name: 'probeyard_results_collected_total',
    help: 'Results taken from NATS, by what became of them',
    labelNames: ['outcome'],
    registers,
  });
  const leading = new Gauge({ name: 'probeyard_leading', help: '1 on the replica that leads', registers });
  const epoch = new Gauge({ name: 'probeyard_leader_epoch', help: 'Epoch of the term, 0 when not leading', registers });
  const jobs = new Gauge({ name: 'probeyard_jobs', help: 'Unfinished jobs', labelNames: ['state'], registers });
  const pods = new Gauge({
    name: 'probeyard_runner_pods',
    help: 'Runner pods',
    labelNames: ['pool', 'state'],
    registers,
  });
  const isolation = new Gauge({
    name: 'probeyard_pool_isolation',
    help: '1 where every runner of the pool reports the wall, 0 where one lacks it or none has reported it',
    labelNames: ['pool', 'wall'],
    registers,
  });
  const renewals = new Counter({
    name: 'probeyard_runner_renewals_total',
    help: 'Runners asked to begin another life in their pod, by whether they did',
    labelNames: ['pool', 'outcome'],
    registers,
  });
  const relists = new Counter({
    name: 'probeyard_cache_lists_total',
    help: 'LISTs of a cache',
    labelNames: ['resource', 'reason'],
    registers,
  });
  const callouts = new Counter({
    name: 'probeyard_nats_callouts_total',
    help: 'Runners that asked for a NATS identity',
    labelNames: ['outcome'],
    registers,
  });
  const certificates = new Gauge({
    name: 'probeyard_certificate_expiry_seconds',
    help: 'Unix time at which a certificate expires',
    labelNames: ['certificate'],
    registers,
  });
  const ofPods = podMetrics(registers);
  const known = new Set<string>();
  /** A counter that begins at 1 has no increase: series that alerts watch begin at 0. */
  const begin = (pool: string): void => {
    if (known.has(pool)) return;
    known.add(pool);
    admitted.inc({ pool }, 0);
    for (const reason of FAULTS) finished.inc({ pool, reason }, 0);
    for (const reason of LOSS_CAUSES) retried.inc({ pool, reason }, 0);
    for (const outcome of RENEWALS) renewals.inc({ pool, outcome }, 0);
    ofPods.noJobs(pool);
  };
  return {
    registry,
    backups: backupMetrics(registers),
    admitted: (pool: string, queueMs: number) => {
      admitted.inc({ pool });
      queue.observe({ pool }, queueMs / 1000);
    },
    startedEarly: (outcome: 'admitted' | 'dropped') => early.inc({ outcome }),
    waited: (reason: WaitingCause) => waited.inc({ reason }),
    finished: (pool: string, reason: string) => finished.inc({ pool, reason }),
    retried: (pool: string, reason: LossCause) => retried.inc({ pool, reason }),
    collected: (outcome: 'recorded' | 'second' | 'foreign' | 'invalid') => collected.inc({ outcome }),
    toolRan: toolMetrics(registers),
    /** The next leader reports them. */
    termEnded: () => {
      for (const gauge of [jobs, pods, isolation]) gauge.reset();
    },
    lead: (value: number | undefined) => {
      leading.set(value === undefined ? 0 : 1);
      epoch.set(value ?? 0);
    },
    jobs: (state: 'waiting' | 'running', count: number) => jobs.set({ state }, count),
    pods: (pool: string, state: 'ready' | 'busy' | 'starting', count: number) => {
      begin(pool);
      pods.set({ pool, state }, count);
    },
    isolation: (pool: string, wall: Wall, up: boolean) => isolation.set({ pool, wall }, up ? 1 : 0),
    ...ofPods,
    renewed: (pool: string, outcome: (typeof RENEWALS)[number]) => renewals.inc({ pool, outcome }),
    listed: (resource: string, reason: string) => relists.inc({ resource, reason }),
    certificate: (certificate: 'nats' | 'nats-ca', expiresAt: number) =>
      certificates.set({ certificate }, expiresAt / 1000),
    callout: (outcome: 'accepted' | 'refused') => callouts.inc({ outcome }),
  };
}

/** Counts the runs of tools. */
function toolMetrics(registers: Registry[]) {
  const toolRuns = new Counter({
    name: 'probeyard_tool_runs_total',
    help: 'Runs of tools in recorded results, by whether the tool succeeded',
    labelNames: ['tool', 'outcome'],
    registers,
  });
  const toolFailures = new Counter({
    name: 'probeyard_tool_failures_total',
    help: 'Failed runs of tools in recorded results, by the code of their error without the status of the host',
    labelNames: ['tool', 'code'],
    registers,
  });
  const toolSeconds = new Histogram({
    name: 'probeyard_tool_seconds',
    help: 'Time of a run of a tool, from its start to its end',
    labelNames: ['tool'],
    registers,
    buckets: [0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600],
  });
  return ({ name: tool, success, code = '', durationMs }: Omit<ToolEnd, 'usageMs'>): void => {
    toolRuns.inc({ tool, outcome: success ? 'succeeded' : 'failed' });
    if (!success) toolFailures.inc({ tool, code: countedCause(code) });
    toolSeconds.observe({ tool }, durationMs / 1000);
  };
}

/** The creation and the end of runner pods. */
function podMetrics(registers: Registry[]) {
  const podsMade = new Counter({
    name: 'probeyard_runner_pods_created_total',
    help: 'Runner pods created',
    labelNames: ['pool'],
    registers,
  });
  const podsEnded = new Counter({
    name: 'probeyard_runner_pods_ended_total',
    help: 'Runner pods ended, by why',
    labelNames: ['pool', 'why'],
    registers,
  });
  const podJobs = new Histogram({
    name: 'probeyard_runner_pod_jobs',
    help: 'Jobs that a runner pod did in all its lives, counted when the leader ends it',
    labelNames: ['pool'],
    registers,
    buckets: [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
  });
  return {
    podMade: (pool: string) => podsMade.inc({ pool }),
    podEnded: (pool: string, why: string) => podsEnded.inc({ pool, why }),
    noJobs: (pool: string) => podJobs.zero({ pool }),
    /** `done`: the jobs of a pod that ends. */
    podJobs: (pool: string, done: number) => podJobs.observe({ pool }, done),
  };
}

/** On every replica, so that a missing leader shows while none can report. */
export function leaseMetrics(registry: Registry, ageMs: () => number): void {
  readOne(registry, 'probeyard_leader_known', '1 if this replica sees that some replica holds the lease', () =>
    ageMs() < LEASE_MS ? 1 : 0,
  );
  readOne(registry, 'probeyard_lease_age_seconds', 'Time since this replica saw the lease renewed', () => {
    const age = ageMs();
    return Number.isFinite(age) ? age / 1000 : undefined;
  });
}
