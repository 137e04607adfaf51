/** The controller's metrics. Labels are bounded: pools and reasons, never tokens or sources. */
import type { Wall } from '../kube/probe_pool.ts';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { WaitingCause } from '../kube/probe_job.ts';

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
  const waited = new Counter({
    name: 'probeyard_jobs_waited_total',
    help: 'Jobs that waited for more than a second, by what they waited for then',
    labelNames: ['reason'],
    registers,
  });
  const finished = new Counter({
    name: 'probeyard_jobs_finished_total',
    help: 'Jobs that ended, by reason',
    labelNames: ['pool', 'reason'],
    registers,
  });
  const retried = new Counter({
    name: 'probeyard_jobs_retried_total',
    help: 'Attempts that were lost with their runner',
    labelNames: ['pool'],
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
  return {
    registry,
    admitted: (pool: string, queueMs: number) => {
      admitted.inc({ pool });
      queue.observe({ pool }, queueMs / 1000);
    },
    waited: (reason: WaitingCause) => waited.inc({ reason }),
    finished: (pool: string, reason: string) => finished.inc({ pool, reason }),
    retried: (pool: string) => retried.inc({ pool }),
    collected: (outcome: 'recorded' | 'second' | 'foreign' | 'invalid') => collected.inc({ outcome }),
    lead: (value: number | undefined) => {
      leading.set(value === undefined ? 0 : 1);
      epoch.set(value ?? 0);
    },
    jobs: (state: 'waiting' | 'running', count: number) => jobs.set({ state }, count),
    pods: (pool: string, state: 'ready' | 'busy' | 'starting', count: number) => pods.set({ pool, state }, count),
    isolation: (pool: string, wall: Wall, up: boolean) => isolation.set({ pool, wall }, up ? 1 : 0),
    podMade: (pool: string) => podsMade.inc({ pool }),
    podEnded: (pool: string, why: string) => podsEnded.inc({ pool, why }),
    listed: (resource: string, reason: string) => relists.inc({ resource, reason }),
    certificate: (certificate: 'nats' | 'nats-ca', expiresAt: number) =>
      certificates.set({ certificate }, expiresAt / 1000),
    callout: (outcome: 'accepted' | 'refused') => callouts.inc({ outcome }),
  };
}
