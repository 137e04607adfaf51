/** docs/operating/metrics.md: the metrics of every role, as their registries describe them. */
import { type Metric, Registry } from 'prom-client';
import { ALERTS } from '../../charts/alerts/table.ts';
import { metricsIn } from '../../charts/alerts/metrics_in.ts';
import { makeMetrics } from '../../src/service/api/api_metrics.ts';
import { controllerMetrics, leaseMetrics, transportMetrics } from '../../src/service/controller/metrics.ts';
import { termMetrics } from '../../src/service/controller/term_figures.ts';
import { connectionMetrics, type Connections } from '../../src/platform/metrics/connections.ts';
import { ownMetrics } from '../../src/platform/metrics/process.ts';
import type { Bus } from '../../src/platform/bus/connect.ts';
import { makeTracer } from '../../src/platform/tracing/tracer.ts';
import { webhookMetrics } from '../../src/service/webhooks/metrics.ts';
import { FOREIGN, LABELS, WORRY } from './metric_notes.ts';
import { wrapped } from './wrapped.ts';

interface Described {
  name: string;
  help: string;
  labelNames: readonly string[];
  type: string;
}

export interface MetricRow {
  name: string;
  help: string;
  labels: readonly string[];
  type: string;
}

/** Nothing is read: only names and texts are wanted. */
const NEVER = {
  store: {
    healthy: async () => true,
    connections: () => ({ total: 0, idle: 0, waiting: 0, max: 0 }),
    databaseBytes: async () => 0,
  },
  bus: { connected: () => true, onStatus: () => () => {} },
} as const satisfies Connections & { store: { databaseBytes(): Promise<number> } };

function apiRegistry(): Registry {
  const api = makeMetrics(() => 0);
  api.watchMemory({ totalBytes: 0, used: () => 0, waiting: () => 0 });
  api.watchDriver(() => true);
  api.watchEventsServer(() => true);
  webhookMetrics(api.registry, {
    inHand: () => 0,
    backlog: async () => ({ pending: 0, oldestMs: 0, overdueMs: 0 }),
  });
  return api.registry;
}

function controllerRegistry(): Registry {
  const { registry } = controllerMetrics();
  leaseMetrics(registry, () => 0);
  termMetrics(registry, () => undefined);
  transportMetrics(registry, NEVER.bus as unknown as Bus, NEVER.store);
  return registry;
}

function registryOfBoth(): Registry {
  const registry = new Registry();
  ownMetrics(registry);
  connectionMetrics(registry, NEVER);
  makeTracer({ endpoint: 'http://collector', share: 0, service: '', instance: '', registry });
  return registry;
}

const rowsOf = (registry: Registry): MetricRow[] =>
  registry
    .getMetricsAsArray()
    .map((metric) => metric as unknown as Metric & Described)
    .filter(({ name }) => name.startsWith('probeyard_'))
    .map(({ name, help, labelNames, type }) => ({ name, help, labels: labelNames, type }));

const sections = (): readonly (readonly [string, MetricRow[]])[] => [
  ['API', rowsOf(apiRegistry())],
  ['Controller', rowsOf(controllerRegistry())],
  ['Both', rowsOf(registryOfBoth())],
];

/** Every metric of Probeyard itself. */
export const metricRows = (): MetricRow[] => sections().flatMap(([, rows]) => rows);

const watchers = (name: string): string[] =>
  ALERTS.filter(({ expr }) => metricsIn(expr).includes(name)).map(({ name: alert }) => alert);

/** prom-client calls a histogram by its name alone, and Prometheus by three. */
const lineOf = ({ name, help, labels, type }: MetricRow): string => {
  const shown = labels.length > 0 ? `{${labels.join(',')}}` : '';
  const alerts = watchers(name).map((alert) => `[${alert}](../runbooks/${alert}.md)`);
  return wrapped(
    [
      `- \`${name}${shown}\` (${type}): ${help}.`,
      ...(WORRY[name] ? [`Worry when ${WORRY[name]}.`] : []),
      ...(alerts.length > 0 ? [`Alerts: ${alerts.join(', ')}.`] : []),
    ].join(' '),
  );
};

export function metricsPage(): string {
  const made = sections();
  const rows = made.flatMap(([, found]) => found);
  const used = new Set(rows.flatMap(({ labels }) => labels));
  const unknown = [
    ...[...used].filter((label) => LABELS[label] === undefined),
    ...Object.keys(LABELS).filter((label) => !used.has(label)),
    ...Object.keys(WORRY).filter((name) => !rows.some((row) => row.name === name)),
  ];
  if (unknown.length > 0) throw new Error(`docs/tables/metric_notes.ts: ${unknown.join(', ')}`);
  return [
    '# Metrics\n',
    'Series of the leader alone disappear from a replica that no longer leads, so `max` and `sum` over all pods are\n' +
      'right.\n',
    ...made.map(([title, found]) => `## ${title}\n\n${found.map(lineOf).join('\n')}\n`),
    '## Labels\n',
    'No label holds an account, a token, a source or a request.\n',
    `${Object.entries(LABELS)
      .map(([label, text]) => wrapped(`- \`${label}\`: ${text}`))
      .join('\n')}\n`,
    '## Metrics of others\n',
    'Alerts and dashboards use these, too. Every process also has the other default metrics of `prom-client`.\n',
    `${FOREIGN.map(({ name, from, text }) => wrapped(`- \`${name}\`, of ${from}: ${text}`)).join('\n')}\n`,
  ].join('\n');
}
