/**
 * Sends a result until a collector says that it is recorded. JetStream's own acknowledgement says only that it is on
 * its way.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bus } from '../bus/connect.ts';
import type { PackedResult } from '../bus/packing.ts';
import { publishResult } from '../bus/results.ts';

/**
 * After a failed attempt; and after one that was stored but not confirmed as collected: longer than JetStream drops
 * duplicates.
 */
const PAUSE = { failed: { first: 100, most: 5_000 }, stored: { first: 7_000, most: 30_000 } };

/** Resolves when the signal says that it was collected or given up. */
export async function publishUntilCollected(
  bus: Bus,
  result: PackedResult,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  let failed = PAUSE.failed.first;
  let stored = PAUSE.stored.first;
  while (!signal.aborted) {
    let pause: number;
    try {
      await publishResult(bus, result);
      pause = stored;
      stored = Math.min(stored * 2, PAUSE.stored.most);
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
      pause = failed;
      failed = Math.min(failed * 2, PAUSE.failed.most);
    }
    // Agents that lost the same server do not all come back at once.
    await delay(pause * (0.8 + Math.random() / 2), undefined, { signal }).catch(() => {});
  }
}
