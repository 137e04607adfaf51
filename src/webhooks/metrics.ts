/** Metrics of webhook delivery. Labels are bounded: never a receiver, a token or a request. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface WebhookMetrics {
  attempted(outcome: 'delivered' | 'failed' | 'pending' | 'late', ms: number): void;
}

export function webhookMetrics(registry: Registry, inHand: () => number): WebhookMetrics {
  const registers = [registry];
  const attempts = new Counter({
    name: 'probeyard_webhook_attempts_total',
    help: 'Attempts to deliver a webhook, by what they led to',
    labelNames: ['outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'probeyard_webhook_attempt_seconds',
    help: 'Time of one attempt',
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    registers,
  });
  const held: Gauge = new Gauge({
    name: 'probeyard_webhooks_in_hand',
    help: 'Webhooks that are being sent',
    registers: [],
    collect: (): void => held.set(inHand()),
  });
  registry.registerMetric(held);
  return {
    attempted(outcome, ms) {
      attempts.inc({ outcome });
      seconds.observe(ms / 1000);
    },
  };
}
