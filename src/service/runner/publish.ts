/**
 * Sends a result until a collector confirms that it is recorded. JetStream's own acknowledgement only confirms that it
 * is stored.
 */
import type { Bus } from '../../platform/bus/connect.ts';
import type { PackedResult } from '../../platform/bus/packing.ts';
import { publishResult } from '../../platform/bus/results.ts';
import { backoff, pause } from '../../base/retry.ts';

/**
 * Pauses after a failed try, and after one that was stored but not confirmed as collected. The latter exceed the 5 s
 * for which JetStream drops duplicates.
 */
const PAUSES = {
  failed: { first: 100, longest: 5_000 },
  stored: { first: 8_000, longest: 36_000, jitter: 0.3 },
};

/** Resolves when the signal reports that the result was collected or given up. */
export async function publishUntilCollected(
  bus: Bus,
  result: PackedResult,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  const failed = backoff(PAUSES.failed);
  const stored = backoff(PAUSES.stored);
  while (!signal.aborted) {
    let ms: number;
    try {
      await publishResult(bus, result);
      ms = stored.next();
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
      ms = failed.next();
    }
    await pause(ms, signal);
  }
}
