/** The metrics of each role with a value in every series, as a Prometheus would scrape them. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { makeMetrics } from '../../src/service/api/api_metrics.ts';
import type { Bus } from '../../src/platform/bus/connect.ts';
import { controllerMetrics, leaseMetrics } from '../../src/service/controller/metrics.ts';
import { termMetrics } from '../../src/service/controller/term_figures.ts';
import { connectionMetrics } from '../../src/platform/metrics/connections.ts';
import { webhookMetrics } from '../../src/service/webhooks/metrics.ts';
import { ended } from '../controller/ended_job.ts';
import { AT, PROVEN, aPool, aTool } from '../controller/snapshot_view.ts';
import type { Target } from './server.ts';

const CONNECTIONS = {
  store: { healthy: async () => true, connections: () => ({ total: 3, idle: 1, waiting: 0, max: 10 }) },
  bus: { connected: () => true, onStatus: () => () => true } as unknown as Pick<Bus, 'connected' | 'onStatus'>,
};

export function apiSample(): Registry {
  const metrics = makeMetrics(() => 2, { defaults: true });
  metrics.watchMemory({ totalBytes: 160_000_000, used: () => 1_000_000, waiting: () => 0 });
  const webhooks = webhookMetrics(metrics.registry, {
    inHand: () => 1,
    backlog: async () => ({ pending: 4, oldestMs: 60_000, overdueMs: 500 }),
  });
  connectionMetrics(metrics.registry, CONNECTIONS);
  for (const status of [200, 404, 500]) metrics.request('/v1/probe/file', status, 40);
  metrics.failed('postgres');
  metrics.memoryRefused('replica');
  webhooks.attempted('delivered', 30);
  return metrics.registry;
}

export function controllerSample(): Registry {
  const metrics = controllerMetrics({ defaults: true });
  const { registry } = metrics;
  leaseMetrics(registry, () => 500);
  const pools = [aPool()];
  termMetrics(registry, () => ({
    queue: {
      waiting: 3,
      held: 10,
      accounts: () => [{ id: 1, waiting: 3, held: 10, limit: 40 }],
      fronts: () => [{ account: 1, pool: 'short', submittedAt: new Date(AT - 2_000) }],
    },
    pools,
    tools: [aTool('9.0', PROVEN)],
    now: AT,
    since: AT - 60_000,
    fenceMissing: false,
    jobs: [ended('a', AT)],
    finishedMax: 5_000,
  }));
  connectionMetrics(registry, CONNECTIONS);
  metrics.lead(7);
  metrics.pods('short', 'busy', 3);
  metrics.pods('short', 'ready', 2);
  metrics.admitted('short', 12);
  metrics.waited('NoRunner');
  metrics.finished('short', 'Succeeded');
  metrics.retried('short', 'silent');
  metrics.isolation('short', 'SyscallFilter', true);
  metrics.podMade('short');
  metrics.podEnded('short', 'idle');
  metrics.podJobs('short', 40);
  metrics.toolRan({ name: 'ffprobe', version: '7.1', success: true, durationMs: 40 });
  metrics.certificate('nats', Date.now() + 90 * 86_400_000);
  return registry;
}

/** The streams and the database are only known with servers. */
export const SERVERS_TEXT = [
  ...['messages', 'bytes', 'limit_bytes', 'replicas', 'lagging_replicas'].map(
    (what) => `probeyard_stream_${what}{stream="results"} 1`,
  ),
  'probeyard_postgres_database_bytes 8000000',
  '',
].join('\n');

export const KUBELET_TEXT = ['available', 'capacity']
  .map(
    (what) =>
      `kubelet_volume_stats_${what}_bytes{namespace="probeyard",persistentvolumeclaim="data-probeyard-nats-0"} 5\n`,
  )
  .join('');

export interface Served {
  target: Target;
  stop(): void;
}

/** Serves /metrics as one pod does. */
export async function serveMetrics(text: () => Promise<string>, labels: Target['labels']): Promise<Served> {
  const server = createServer((_, response) => {
    text().then(
      (body) => response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(body),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    target: { address: `127.0.0.1:${port}`, labels },
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
