/** Metrics of every process: the default ones of prom-client, its version, and how busy its event loop is. */
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { collectDefaultMetrics, Counter, Gauge, type Registry } from 'prom-client';

const PACKAGE = new URL('../../../package.json', import.meta.url);

export function processMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  ownMetrics(registry);
}

/** Without those of prom-client. */
export function ownMetrics(registry: Registry): void {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };
  new Gauge({
    name: 'probeyard_build_info',
    help: '1, with the version of Probeyard',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version }, 1);
  const busy: Counter = new Counter({
    name: 'probeyard_event_loop_busy_seconds_total',
    help: 'Time in which the event loop had work, time in which it waited for a CPU included',
    registers: [],
    collect: () => {
      busy.reset();
      busy.inc(performance.eventLoopUtilization().active / 1_000);
    },
  });
  registry.registerMetric(busy);
}
