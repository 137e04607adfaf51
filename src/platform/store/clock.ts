/**
 * The reference clock of all persisted times: Postgres. Each process keeps its offset to that clock and advances by its
 * own monotonic clock.
 */

export type StoreClock = Awaited<ReturnType<typeof startClock>>;

export interface ClockOptions {
  everyMs?: number;
  samples?: number;
  monotonic?: () => number;
  onError?: (error: unknown) => void;
}

/** `sample` asks Postgres for its time in milliseconds. The first samples are taken before this returns. */
export async function startClock(sample: () => Promise<number>, options: ClockOptions = {}) {
  const { everyMs = 30_000, samples = 5, monotonic = () => performance.now(), onError = () => {} } = options;
  let offset = 0;
  let uncertainty = Number.POSITIVE_INFINITY;

  const refresh = async (): Promise<void> => {
    let best = { roundTrip: Number.POSITIVE_INFINITY, offset: 0 };
    for (let count = 0; count < samples; count++) {
      const sent = monotonic();
      const time = await sample();
      const roundTrip = monotonic() - sent;
      // The sample with the shortest round trip has the smallest error, at most half of that round trip.
      if (roundTrip < best.roundTrip) best = { roundTrip, offset: time - (sent + roundTrip / 2) };
    }
    offset = best.offset;
    uncertainty = best.roundTrip / 2;
  };

  await refresh();
  const timer = setInterval(() => void refresh().catch(onError), everyMs);
  timer.unref();
  return {
    /** Milliseconds since 1970 by the store's clock. */
    now: (): number => monotonic() + offset,
    /** Half the round trip of the best sample: the upper bound of the offset's error. */
    uncertaintyMs: (): number => uncertainty,
    refresh,
    stop: (): void => clearInterval(timer),
  };
}
