/** docs/operating/metrics.md: the metrics of every role, as their registries describe them. */
import { type Metric, Registry } from 'prom-client';
import { makeMetrics } from '../../src/api/metrics.ts';
import { controllerMetrics } from '../../src/controller/metrics.ts';
import { webhookMetrics } from '../../src/webhooks/metrics.ts';
import { wrapped } from './wrapped.ts';

interface Described {
  name: string;
  help: string;
  labelNames: readonly string[];
}

function section(title: string, registry: Registry): string {
  const lines = registry
    .getMetricsAsArray()
    .map((metric) => metric as unknown as Metric & Described)
    .filter(({ name }) => name.startsWith('probeyard_'))
    .map(({ name, help, labelNames }) => {
      const labels = labelNames.length > 0 ? `{${labelNames.join(',')}}` : '';
      return wrapped(`- \`${name}${labels}\`: ${help}`);
    });
  return `## ${title}\n\n${lines.join('\n')}\n`;
}

export function metricsPage(): string {
  const api = makeMetrics(() => 0);
  api.watchMemory({ totalBytes: 0, used: () => 0, waiting: () => 0 });
  webhookMetrics(api.registry, () => 0);
  return [
    '# Metrics\n',
    '<!-- Made from the registries of each role by `make generate`: do not edit. -->\n',
    section('API', api.registry),
    section('Controller', controllerMetrics().registry),
  ].join('\n');
}
