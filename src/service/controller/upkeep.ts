/**
 * Maintenance of the record by every controller, leading or not: folds usage, continues erasures, creates partitions in
 * advance, deletes data past its retention. Each call is safe at any time from several replicas; while one works the
 * others find nothing to do.
 */
import type { Logger } from '../../base/log.ts';
import { Rounds } from '../../base/rounds.ts';
import type { Store } from '../../platform/store/store.ts';

const TURN_MS = 60_000;
const TURNS_PER_HOUR = 60;

interface UpkeepParts {
  store: Store;
  log: Logger;
  /** For how long. */
  keep: { keepEnvelopeDays: number; keepRequestMonths: number; keepMinuteDays: number; keepAuditDays: number };
}

export function startUpkeep({ store, log, keep }: UpkeepParts): Rounds {
  const retention = {
    envelopeDays: keep.keepEnvelopeDays,
    requestMonths: keep.keepRequestMonths,
    minuteDays: keep.keepMinuteDays,
  };
  let turns = 0;

  // A failed step is retried at its next turn and does not block the others.
  const attempt = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    if (rounds.signal.aborted) return;
    try {
      await work();
    } catch (error) {
      log.warn({ err: error, what }, 'upkeep step failed, will retry');
    }
  };

  const hourly = async (): Promise<void> => {
    await attempt('partitions', () => store.ensurePartitions());
    await attempt('what has served', () => store.forgetExpired());
    await attempt('cached results', () => store.forgetCached());
    await attempt('policies', () => store.forgetPolicyDocuments());
    await attempt('webhooks', () => store.forgetWebhooks(retention.envelopeDays));
    await attempt('audit log', () => store.forgetAudit(keep.keepAuditDays));
    await attempt('retention', async () => {
      const { done, months } = await store.retain(retention);
      if (months > 0) log.info({ months }, 'deleted expired months of the request log and of figures by minute');
      if (!done) log.info('deleted expired results, more remain');
    });
  };

  const turn = async (): Promise<void> => {
    await attempt('usage', () => store.foldUsage());
    await attempt('erasures', () => store.eraseMore());
    if (turns++ % TURNS_PER_HOUR === 0) await hourly();
  };

  // No turn fails as a whole.
  const rounds = new Rounds({ round: turn, failed: () => {}, restMs: TURN_MS });
  return rounds;
}
