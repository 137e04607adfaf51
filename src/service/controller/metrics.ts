/** The controller's metrics. Labels are bounded: pools and reasons, never tokens or sources. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { countedCause } from '../../base/causes.ts';
import type { Logger } from '../../base/log.ts';
import { every } from '../../base/retry.ts';
import type { Bus } from '../../platform/bus/connect.ts';
import { STREAM } from '../../platform/bus/messages.ts';
import { managerOf } from '../../platform/bus/results.ts';
import { type Reason, WAITING, type WaitingCause } from '../../platform/kube/probe_job.ts';
import type { Wall } from '../../platform/kube/probe_pool.ts';
import { processMetrics } from '../../platform/metrics/process.ts';
import { oneLook, readAtScrape, readOne, type Sample } from '../../platform/metrics/read_at_scrape.ts';
import type { ToolEnd } from '../../platform/store/records.ts';
import type { Store } from '../../platform/store/store.ts';

/** A holder that renews every 2 s is seen within this time. */
const LEASE_MS = 6_000;

/** Why an attempt was lost. */
const LOSS_CAUSES = ['pod-gone', 'silent', 'absent', 'refused', 'idle', 'no-result', 'policy'] as const;
export type LossCause = (typeof LOSS_CAUSES)[number];

const RENEWALS = ['renewed', 'refused', 'failed'] as const;
/** Why a pod ended that did not do its work. */
const POD_FAULTS = ['silent', 'never-ready', 'flood', 'isolation'] as const;

/** Ends by a fault of the installation. */
const FAULTS = ['RunnerLost', 'InternalError'] as const satisfies readonly Reason[];

const QUEUE_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const TOOL_SECONDS = [0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600];
const POD_JOBS = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

const makersOf = (registers: Registry[]) => ({
  counter: <L extends string>(name: string, help: string, ...labelNames: L[]): Counter<L> =>
    new Counter({ name, help, labelNames, registers }),
  gauge: <L extends string = never>(name: string, help: string, ...labelNames: L[]): Gauge<L> =>
    new Gauge({ name, help, labelNames, registers }),
  histogram: <L extends string>(name: string, help: string, label: L, buckets: number[]): Histogram<L> =>
    new Histogram({ name, help, labelNames: [label], registers, buckets }),
});

function countersOf(registry: Registry) {
  const registers = [registry];
  const { counter, gauge, histogram } = makersOf(registers);
  return {
    admitted: counter('probeyard_jobs_admitted_total', 'Jobs that got a slot and a runner', 'pool'),
    waited: counter(
      'probeyard_jobs_waited_total',
      'Jobs that waited for more than a second, by what they waited for then',
      'reason',
    ),
    finished: counter('probeyard_jobs_finished_total', 'Jobs that ended, by reason', 'pool', 'reason'),
    retried: counter(
      'probeyard_jobs_retried_total',
      'Attempts that were lost and are repeated, by why',
      'pool',
      'reason',
    ),
    queue: histogram('probeyard_queue_seconds', 'Time from submission to admission', 'pool', QUEUE_SECONDS),
    collected: counter(
      'probeyard_results_collected_total',
      'Results taken from NATS, by what became of them',
      'outcome',
    ),
    leading: gauge('probeyard_leading', '1 on the replica that leads'),
    epoch: gauge('probeyard_leader_epoch', 'Epoch of the term, 0 when not leading'),
    pods: gauge('probeyard_runner_pods', 'Runner pods', 'pool', 'state'),
    isolation: gauge(
      'probeyard_pool_isolation',
      '1 where every runner of the pool reports the wall, 0 where one lacks it or none has reported it',
      'pool',
      'wall',
    ),
    renewals: counter(
      'probeyard_runner_renewals_total',
      'Runners asked to begin another life in their pod, by whether they did',
      'pool',
      'outcome',
    ),
    relists: counter('probeyard_cache_lists_total', 'LISTs of a cache', 'resource', 'reason'),
    callouts: counter('probeyard_nats_callouts_total', 'Runners that asked for a NATS identity', 'outcome'),
    certificates: gauge(
      'probeyard_certificate_expiry_seconds',
      'Unix time at which a certificate expires',
      'certificate',
    ),
    podsMade: counter('probeyard_runner_pods_created_total', 'Runner pods created', 'pool'),
    podsEnded: counter('probeyard_runner_pods_ended_total', 'Runner pods ended, by why', 'pool', 'why'),
    podJobs: histogram(
      'probeyard_runner_pod_jobs',
      'Jobs that a runner pod did in all its lives, counted when the leader ends it',
      'pool',
      POD_JOBS,
    ),
    backups: backupMetrics(registers),
    toolRuns: counter(
      'probeyard_tool_runs_total',
      'Runs of tools in recorded results, by whether the tool succeeded',
      'tool',
      'outcome',
    ),
    toolFailures: counter(
      'probeyard_tool_failures_total',
      'Failed runs of tools in recorded results, by the code of their error without the status of the host',
      'tool',
      'code',
    ),
    toolSeconds: histogram(
      'probeyard_tool_seconds',
      'Time of a run of a tool, from its start to its end',
      'tool',
      TOOL_SECONDS,
    ),
  };
}

export type ControllerMetrics = ReturnType<typeof controllerMetrics>;

export function controllerMetrics(options: { defaults?: boolean } = {}) {
  const registry = new Registry();
  if (options.defaults) processMetrics(registry);
  const count = countersOf(registry);
  // A counter that begins at 1 has no increase: series that alerts watch begin at 0.
  for (const reason of WAITING) count.waited.inc({ reason }, 0);
  const known = new Set<string>();
  const begin = (pool: string): void => {
    if (known.has(pool)) return;
    known.add(pool);
    count.admitted.inc({ pool }, 0);
    for (const reason of FAULTS) count.finished.inc({ pool, reason }, 0);
    for (const reason of LOSS_CAUSES) count.retried.inc({ pool, reason }, 0);
    for (const outcome of RENEWALS) count.renewals.inc({ pool, outcome }, 0);
    for (const why of POD_FAULTS) count.podsEnded.inc({ pool, why }, 0);
    count.podJobs.zero({ pool });
  };
  return {
    registry,
    backups: count.backups,
    admitted: (pool: string, queueMs: number) => {
      count.admitted.inc({ pool });
      count.queue.observe({ pool }, queueMs / 1000);
    },
    waited: (reason: WaitingCause) => count.waited.inc({ reason }),
    finished: (pool: string, reason: string) => count.finished.inc({ pool, reason }),
    retried: (pool: string, reason: LossCause) => count.retried.inc({ pool, reason }),
    collected: (outcome: 'recorded' | 'second' | 'foreign' | 'invalid') => count.collected.inc({ outcome }),
    toolRan: ({ name: tool, success, code = '', durationMs }: Omit<ToolEnd, 'usageMs'>) => {
      count.toolRuns.inc({ tool, outcome: success ? 'succeeded' : 'failed' });
      if (!success) count.toolFailures.inc({ tool, code: countedCause(code) });
      count.toolSeconds.observe({ tool }, durationMs / 1000);
    },
    /** The next leader reports them. */
    termEnded: () => {
      for (const gauge of [count.pods, count.isolation]) gauge.reset();
    },
    lead: (value: number | undefined) => {
      count.leading.set(value === undefined ? 0 : 1);
      count.epoch.set(value ?? 0);
    },
    pods: (pool: string, state: 'ready' | 'busy' | 'starting', number: number) => {
      begin(pool);
      count.pods.set({ pool, state }, number);
    },
    isolation: (pool: string, wall: Wall, up: boolean) => count.isolation.set({ pool, wall }, up ? 1 : 0),
    podMade: (pool: string) => count.podsMade.inc({ pool }),
    podEnded: (pool: string, why: string) => count.podsEnded.inc({ pool, why }),
    /** `done`: the jobs of a pod that ends. */
    podJobs: (pool: string, done: number) => count.podJobs.observe({ pool }, done),
    renewed: (pool: string, outcome: (typeof RENEWALS)[number]) => count.renewals.inc({ pool, outcome }),
    listed: (resource: string, reason: string) => count.relists.inc({ resource, reason }),
    certificate: (certificate: 'nats' | 'nats-ca', expiresAt: number) =>
      count.certificates.set({ certificate }, expiresAt / 1000),
    callout: (outcome: 'accepted' | 'refused') => count.callouts.inc({ outcome }),
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

// What only the servers know: how full the streams are, which replicas of them lag, and the size of the database.

const STREAMS = { everyMs: 5_000, waitMs: 500 };
/** Postgres reads the size of every file for it. */
const SIZE = { everyMs: 5 * 60_000, waitMs: 500 };

type StreamFigures = Awaited<ReturnType<typeof lookAt>>;

async function lookAt(bus: Bus, name: string, stream: string) {
  const { config, state, cluster } = await (await managerOf(bus)).streams.info(name);
  return {
    stream,
    messages: state.messages,
    bytes: state.bytes,
    limit: config.max_bytes,
    replicas: config.num_replicas,
    lagging: (cluster?.replicas ?? []).filter(({ current, offline }) => !current || offline === true).length,
  };
}

export function transportMetrics(registry: Registry, bus: Bus, store: Pick<Store, 'databaseBytes'>): void {
  const look = oneLook(
    () => Promise.all([lookAt(bus, STREAM.results, 'results'), lookAt(bus, STREAM.chunks, 'chunks')]),
    STREAMS,
  );
  const read = (name: string, help: string, value: (figures: StreamFigures) => number): void =>
    readAtScrape(registry, { name, help, labelNames: ['stream'] }, async () =>
      ((await look()) ?? []).map((figures): Sample => ({ labels: { stream: figures.stream }, value: value(figures) })),
    );
  read(
    'probeyard_stream_messages',
    'Messages in the stream: results that wait for a collector, or their chunks',
    (of) => of.messages,
  );
  read('probeyard_stream_bytes', 'Bytes in the stream', ({ bytes }) => bytes);
  read(
    'probeyard_stream_limit_bytes',
    'Bytes that the stream may hold; a full one refuses results',
    ({ limit }) => limit,
  );
  read('probeyard_stream_replicas', 'Copies of the stream that are configured', ({ replicas }) => replicas);
  read(
    'probeyard_stream_lagging_replicas',
    "Copies of the stream beside the leader's that are offline or behind",
    ({ lagging }) => lagging,
  );
  const size = oneLook(() => store.databaseBytes(), SIZE);
  readOne(registry, 'probeyard_postgres_database_bytes', 'Size of the database, read every five minutes', size);
}

// Metrics of the backups: their jobs end before anything could scrape them, so the record keeps what came of them.

const LOOK_MS = 60_000;

function backupMetrics(registers: Registry[]) {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  return {
    doneAt: gauge(
      'probeyard_backup_last_success_timestamp_seconds',
      'Unix time of the newest backup; 0: there is none',
    ),
    failedAt: gauge(
      'probeyard_backup_last_failure_timestamp_seconds',
      'Unix time of the last backup that failed; 0: none has',
    ),
    bytes: gauge('probeyard_backup_last_bytes', 'Size of the newest backup'),
    seconds: gauge('probeyard_backup_last_duration_seconds', 'How long the newest backup took'),
  };
}

type BackupMetrics = ReturnType<typeof backupMetrics>;

export function watchBackups(store: Store, metrics: BackupMetrics, log: Logger): { stop(): void } {
  const look = async (): Promise<void> => {
    const state = await store.backupState();
    for (const [name, gauge] of Object.entries(metrics) as [keyof BackupMetrics, Gauge][]) gauge.set(state[name] ?? 0);
  };
  const failed = (error: unknown) => log.warn({ err: error }, 'cannot read what came of the backups');
  return every(LOOK_MS, look, failed, { atOnce: true });
}
