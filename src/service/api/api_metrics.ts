/** Metrics of the API. Labels are bounded: routes by their pattern, statuses by their class. */
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';
import type { MemoryBudget } from '../result/memory_budget.ts';
import type { JobName } from './work/jobs.ts';
import type { WorkOutcome } from './work/pool.ts';
import { readOne } from '../../platform/metrics/read_at_scrape.ts';

export interface Metrics {
  registry: Registry;
  request(route: string, status: number, ms: number): void;
  /** A request that failed by a fault of the installation, by the dependency that was away or the error's code. */
  failed(reason: string): void;
  /** A response whose caller disconnected before its last byte. */
  cutAnswer(route: string): void;
  tokenLookup(hit: boolean): void;
  /** A result found no room in the memory budget: its account has used its share, or the replica has none left. */
  memoryRefused(why: 'account' | 'replica'): void;
  /** New work was refused because the event loop was late: of those who use most, or of everybody. */
  overloadRefused(by: 'account' | 'replica'): void;
  /** A connection was refused: all of them are taken, or its address has its share. */
  connectionRefused(by: 'address' | 'replica'): void;
  watchMemory(budget: Pick<MemoryBudget, 'totalBytes' | 'used' | 'waiting'>): void;
  /** Work for the worker threads, also where it was refused. */
  worked(job: JobName, outcome: WorkOutcome, ms: number): void;
  /** A connection was closed because its caller read too slowly. */
  slowSocketClosed(): void;
  /** Duration of a step of the hot path. */
  step(name: 'open' | 'create' | 'early' | 'wait' | 'answer', ms: number): void;
}

const SECONDS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 660];

export function makeMetrics(waiting: () => number, options: { defaults?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (options.defaults) collectDefaultMetrics({ register: registry });
  const on = { registers: [registry] };
  const requests = new Counter({
    ...on,
    name: 'probeyard_api_requests_total',
    help: 'Requests, by the class of status that was sent; 4xx also where the caller was gone before',
    labelNames: ['route', 'status'],
  });
  const failures = new Counter({
    ...on,
    name: 'probeyard_api_failures_total',
    help: 'Requests that were answered 5xx, by the dependency that was away or by what else failed',
    labelNames: ['reason'],
  });
  for (const reason of ['postgres', 'nats', 'kubernetes', 'memory', 'objects', 'internal']) failures.inc({ reason }, 0);
  const seconds = new Histogram({
    ...on,
    name: 'probeyard_api_request_seconds',
    help: 'From the request to the last byte of its answer',
    labelNames: ['route'],
    buckets: SECONDS,
  });
  const cut = new Counter({
    ...on,
    name: 'probeyard_api_cut_answers_total',
    help: 'Answers whose caller was gone before the last byte',
    labelNames: ['route'],
  });
  const lookups = new Counter({
    ...on,
    name: 'probeyard_api_token_lookups_total',
    help: 'Look-ups of API tokens',
    labelNames: ['from'],
  });
  const steps = new Histogram({
    ...on,
    name: 'probeyard_api_step_seconds',
    help: 'Parts of a probe request',
    labelNames: ['step'],
    buckets: SECONDS,
  });
  const refused = new Counter({
    ...on,
    name: 'probeyard_api_memory_refused_total',
    help: 'Results that found no room in the memory budget, by what was used up',
    labelNames: ['by'],
  });
  for (const by of ['account', 'replica']) refused.inc({ by }, 0);
  const work = new Counter({
    ...on,
    name: 'probeyard_api_work_total',
    help: 'Pieces of work for the worker threads, by how they ended; full and account-full were refused',
    labelNames: ['job', 'outcome'],
  });
  const workSeconds = new Histogram({
    ...on,
    name: 'probeyard_api_work_seconds',
    help: 'Time of a piece of work in its thread',
    labelNames: ['job'],
    buckets: SECONDS,
  });
  const overload = new Counter({
    ...on,
    name: 'probeyard_api_overload_refused_total',
    help: 'Calls that were answered 503 because the event loop was late: of accounts that use most, or of everybody',
    labelNames: ['by'],
  });
  for (const by of ['account', 'replica']) overload.inc({ by }, 0);
  const connections = new Counter({
    ...on,
    name: 'probeyard_api_connections_refused_total',
    help: 'Connections that were closed at once: too many were open, of one address or in all',
    labelNames: ['by'],
  });
  for (const by of ['address', 'replica']) connections.inc({ by }, 0);
  const slow = new Counter({
    ...on,
    name: 'probeyard_api_slow_sockets_closed_total',
    help: 'Connections that were closed because their callers took less than 64 kB/s over 30 s',
  });
  readOne(registry, 'probeyard_api_waiting', 'Requests that wait for their end', waiting);

  return {
    registry,
    request(route, status, ms) {
      // A counter that begins at 1 has no increase: series that alerts watch begin at 0.
      requests.inc({ route, status: '5xx' }, 0);
      requests.inc({ route, status: `${Math.floor(status / 100)}xx` });
      seconds.observe({ route }, ms / 1000);
    },
    failed: (reason) => failures.inc({ reason }),
    cutAnswer: (route) => cut.inc({ route }),
    tokenLookup: (hit) => lookups.inc({ from: hit ? 'cache' : 'postgres' }),
    overloadRefused: (by) => overload.inc({ by }),
    connectionRefused: (by) => connections.inc({ by }),
    memoryRefused: (by) => refused.inc({ by }),
    watchMemory(budget) {
      const gauge = (name: string, help: string, value: () => number): void => readOne(registry, name, help, value);
      gauge('probeyard_api_memory_budget_bytes', 'What results may take in memory', () => budget.totalBytes);
      gauge('probeyard_api_memory_used_bytes', 'What the results in hand are charged with', budget.used);
      gauge('probeyard_api_memory_waiting', 'Results that wait for room in the memory budget', budget.waiting);
    },
    worked(job, outcome, ms) {
      work.inc({ job, outcome });
      if (outcome !== 'full' && outcome !== 'account-full') workSeconds.observe({ job }, ms / 1000);
    },
    slowSocketClosed: () => slow.inc(),
    step: (name, ms) => steps.observe({ step: name }, ms / 1000),
  };
}
