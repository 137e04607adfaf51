/** Metrics of webhook delivery. Labels are bounded: never a receiver, a token or a request. */
import { Counter, Histogram, type Registry } from 'prom-client';
import { oneLook, readOne } from '../../platform/metrics/read_at_scrape.ts';
import type { WebhookBacklog } from '../../platform/store/webhooks.ts';

export type WebhookMetrics = ReturnType<typeof webhookMetrics>;

interface WebhookFigures {
  inHand(): number;
  backlog(): Promise<WebhookBacklog>;
}

const OUTCOMES = ['delivered', 'failed', 'pending', 'late'] as const;
const BACKLOG = { everyMs: 10_000, waitMs: 500 };

export function webhookMetrics(registry: Registry, { inHand, backlog }: WebhookFigures) {
  const registers = [registry];
  const attempts = new Counter({
    name: 'probeyard_webhook_attempts_total',
    help: 'Attempts to deliver a webhook, by what they led to',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of OUTCOMES) attempts.inc({ outcome }, 0);
  const seconds = new Histogram({
    name: 'probeyard_webhook_attempt_seconds',
    help: 'Time of one attempt',
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    registers,
  });
  readOne(registry, 'probeyard_webhooks_in_hand', 'Webhooks that are being sent', inHand);
  const look = oneLook(backlog, BACKLOG);
  readOne(
    registry,
    'probeyard_webhooks_pending',
    'Webhooks that are not delivered yet, up to 10,000; the same on every replica',
    async () => (await look())?.pending,
  );
  const ages = [
    ['probeyard_webhook_oldest_seconds', 'Age of the oldest webhook that is not delivered yet', 'oldestMs'],
    ['probeyard_webhook_overdue_seconds', 'Time since the first pending webhook was due', 'overdueMs'],
  ] as const;
  for (const [name, help, member] of ages)
    readOne(registry, name, help, async () => {
      const found = await look();
      return found && found[member] / 1000;
    });
  return {
    attempted(outcome: (typeof OUTCOMES)[number], ms: number): void {
      attempts.inc({ outcome });
      seconds.observe(ms / 1000);
    },
  };
}
