/** Metrics of the API. Labels are bounded: routes by their pattern, statuses by their class. */
import { Counter, Histogram, Registry } from 'prom-client';
import type { MemoryBudget } from '../result/memory_budget.ts';
import type { JobName } from './work/jobs.ts';
import type { WorkOutcome } from './work/pool.ts';
import { processMetrics } from '../../platform/metrics/process.ts';
import { readOne } from '../../platform/metrics/read_at_scrape.ts';

/**
 * How a look into the cache of results ended. absent: there is no result of an equal request; changed, unknown: the
 * host named another file, or none; busy: the account asks too many hosts already; ended: the request, meanwhile.
 */
const CACHE_OUTCOMES = ['hit', 'absent', 'changed', 'unknown', 'busy', 'ended', 'failed'] as const;
export type CacheOutcome = (typeof CACHE_OUTCOMES)[number];

const SECONDS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 660];

function countersOf(registry: Registry) {
  const counter = <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> =>
    new Counter({ name, help, labelNames, registers: [registry] });
  const histogram = <L extends string>(name: string, help: string, label: L): Histogram<L> =>
    new Histogram({ name, help, labelNames: [label], buckets: SECONDS, registers: [registry] });
  return {
    requests: counter(
      'probeyard_api_requests_total',
      'Requests, by the class of status that was sent; 4xx also where the caller was gone before',
      ['route', 'status'],
    ),
    failures: counter(
      'probeyard_api_failures_total',
      'Requests that were answered 5xx, by the dependency that was away or by what else failed',
      ['reason'],
    ),
    seconds: histogram('probeyard_api_request_seconds', 'From the request to the last byte of its answer', 'route'),
    cut: counter('probeyard_api_cut_answers_total', 'Answers whose caller was gone before the last byte', ['route']),
    lookups: counter('probeyard_api_token_lookups_total', 'Look-ups of API tokens', ['from']),
    steps: histogram('probeyard_api_step_seconds', 'Parts of a probe request', 'step'),
    refused: counter(
      'probeyard_api_memory_refused_total',
      'Results that found no room in the memory budget, by what was used up',
      ['by'],
    ),
    work: counter(
      'probeyard_api_work_total',
      'Pieces of work for the worker threads, by how they ended; full and account-full were refused',
      ['job', 'outcome'],
    ),
    workSeconds: histogram('probeyard_api_work_seconds', 'Time of a piece of work in its thread', 'job'),
    cache: counter(
      'probeyard_api_cache_looks_total',
      `Looks for a cached result of an equal request, by how they ended: ${CACHE_OUTCOMES.join(', ')}`,
      ['outcome'],
    ),
    overload: counter(
      'probeyard_api_overload_refused_total',
      'Calls that were answered 503 because the event loop was late: of accounts that use most, or of everybody',
      ['by'],
    ),
    connections: counter(
      'probeyard_api_connections_refused_total',
      'Connections that were closed at once: too many were open, of one address or in all',
      ['by'],
    ),
    items: counter(
      'probeyard_api_batch_items_total',
      'Items of batches that have ended, by outcome; skipped: unchanged; again: they wait for another try',
      ['outcome'],
    ),
    events: counter(
      'probeyard_api_events_messages_total',
      'Messages of the events server, by how they ended; dropped: too many waited',
      ['outcome'],
    ),
    slow: counter(
      'probeyard_api_slow_sockets_closed_total',
      'Connections that were closed because their callers took less than 64 kB/s over 30 s',
    ),
  };
}

export type Metrics = ReturnType<typeof makeMetrics>;

export function makeMetrics(waiting: () => number, options: { defaults?: boolean } = {}) {
  const registry = new Registry();
  if (options.defaults) processMetrics(registry);
  const count = countersOf(registry);
  // A counter that begins at 1 has no increase: series that alerts watch begin at 0.
  for (const reason of ['postgres', 'nats', 'kubernetes', 'memory', 'objects', 'issuer', 'tool', 'internal'])
    count.failures.inc({ reason }, 0);
  for (const by of ['account', 'replica']) for (const one of [count.refused, count.overload]) one.inc({ by }, 0);
  for (const by of ['address', 'replica']) count.connections.inc({ by }, 0);
  readOne(registry, 'probeyard_api_waiting', 'Requests that wait for their end', waiting);

  // What each of them counts is the help of its metric.
  return {
    registry,
    request(route: string, status: number, ms: number): void {
      count.requests.inc({ route, status: '5xx' }, 0);
      count.requests.inc({ route, status: `${Math.floor(status / 100)}xx` });
      count.seconds.observe({ route }, ms / 1000);
    },
    failed: (reason: string): void => count.failures.inc({ reason }),
    cutAnswer: (route: string): void => count.cut.inc({ route }),
    tokenLookup: (hit: boolean): void => count.lookups.inc({ from: hit ? 'cache' : 'postgres' }),
    overloadRefused: (by: 'account' | 'replica'): void => count.overload.inc({ by }),
    connectionRefused: (by: 'address' | 'replica'): void => count.connections.inc({ by }),
    memoryRefused: (by: 'account' | 'replica'): void => count.refused.inc({ by }),
    watchMemory(budget: Pick<MemoryBudget, 'totalBytes' | 'used' | 'waiting'>): void {
      const gauge = (name: string, help: string, value: () => number): void => readOne(registry, name, help, value);
      gauge('probeyard_api_memory_budget_bytes', 'What results may take in memory', () => budget.totalBytes);
      gauge('probeyard_api_memory_used_bytes', 'What the results in hand are charged with', () => budget.used());
      gauge('probeyard_api_memory_waiting', 'Results that wait for room in the memory budget', () => budget.waiting());
    },
    worked(job: JobName, outcome: WorkOutcome, ms: number): void {
      count.work.inc({ job, outcome });
      if (outcome !== 'full' && outcome !== 'account-full') count.workSeconds.observe({ job }, ms / 1000);
    },
    cacheAsked: (outcome: CacheOutcome): void => count.cache.inc({ outcome }),
    batchItems: (outcome: 'success' | 'with-errors' | 'error' | 'skipped' | 'again', items: number): void =>
      count.items.inc({ outcome }, items),
    watchDriver: (drives: () => boolean): void =>
      readOne(registry, 'probeyard_api_batch_driver', 'Whether this replica drives the batches: 1 or 0', () =>
        drives() ? 1 : 0,
      ),
    serverEvents: (outcome: 'noted' | 'ignored' | 'invalid' | 'failed' | 'dropped'): void =>
      count.events.inc({ outcome }),
    watchEventsServer(connected: () => boolean): void {
      for (const outcome of ['failed', 'dropped']) count.events.inc({ outcome }, 0);
      readOne(registry, 'probeyard_api_events_server_up', '1 if this replica is connected to the events server', () =>
        connected() ? 1 : 0,
      );
    },
    slowSocketClosed: (): void => count.slow.inc(),
    step: (name: 'open' | 'create' | 'answer', ms: number): void => count.steps.observe({ step: name }, ms / 1000),
  };
}
