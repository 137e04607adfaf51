/** Metrics of the backups: their jobs end before anything could scrape them, so the record keeps what came of them. */
import { Gauge, type Registry } from 'prom-client';
import { every } from '../../base/retry.ts';
import type { Logger } from '../../base/log.ts';
import type { Store } from '../../platform/store/store.ts';

const LOOK_MS = 60_000;

export function backupMetrics(registers: Registry[]) {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  return {
    doneAt: gauge(
      'probeyard_backup_last_success_timestamp_seconds',
      'Unix time of the newest backup; 0: there is none',
    ),
    failedAt: gauge(
      'probeyard_backup_last_failure_timestamp_seconds',
      'Unix time of the last backup that failed; 0: none has',
    ),
    bytes: gauge('probeyard_backup_last_bytes', 'Size of the newest backup'),
    seconds: gauge('probeyard_backup_last_duration_seconds', 'How long the newest backup took'),
  };
}

export type BackupMetrics = ReturnType<typeof backupMetrics>;

export function watchBackups(store: Store, metrics: BackupMetrics, log: Logger): { stop(): void } {
  const look = async (): Promise<void> => {
    const state = await store.backupState();
    for (const [name, gauge] of Object.entries(metrics) as [keyof BackupMetrics, Gauge][]) gauge.set(state[name] ?? 0);
  };
  const failed = (error: unknown) => log.warn({ err: error }, 'cannot read what came of the backups');
  return every(LOOK_MS, look, failed, { atOnce: true });
}
