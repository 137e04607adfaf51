/**
 * Requests of this replica that wait for their end. The end comes over NATS, which may lose it; so every two seconds,
 * and whenever NATS is back, one batched look at Postgres asks for all of them.
 */
import type { Ended } from '../../bus/messages.ts';
import type { Logger } from '../../log.ts';

export interface WaitingOptions {
  /** What has ended among these; in any order. */
  look(ids: string[]): Promise<Ended[]>;
  log: Logger;
  everyMs?: number;
}

export interface Waiting {
  /** Resolves with the end; rejects with the signal's reason. */
  wait(id: string, signal: AbortSignal): Promise<Ended>;
  /** An end was told. Nobody may wait for it (any more). */
  ended(end: Ended): void;
  lookNow(): Promise<void>;
  /** Callers who wait. */
  size(): number;
  stop(): void;
}

const BATCH = 500;

export function makeWaiting({ look, log, everyMs = 2_000 }: WaitingOptions): Waiting {
  const waiters = new Map<string, Set<(end: Ended) => void>>();
  let looking: Promise<void> | undefined;

  const ended = (end: Ended): void => waiters.get(end.id)?.forEach((tell) => tell(end));

  async function lookOnce(): Promise<void> {
    const ids = [...waiters.keys()];
    for (let from = 0; from < ids.length; from += BATCH) {
      for (const end of await look(ids.slice(from, from + BATCH))) ended(end);
    }
  }

  const lookNow = (): Promise<void> => {
    looking ??= lookOnce()
      .catch((error: unknown) => log.warn({ err: error, waiting: waiters.size }, 'cannot look for ends in Postgres'))
      .finally(() => {
        looking = undefined;
      });
    return looking;
  };

  const timer = setInterval(() => {
    if (waiters.size > 0) void lookNow();
  }, everyMs);
  timer.unref();

  return {
    ended,
    lookNow,
    size: () => [...waiters.values()].reduce((sum, all) => sum + all.size, 0),
    stop: () => clearInterval(timer),
    wait(id, signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return void reject(signal.reason as Error);
        const done = (): void => {
          signal.removeEventListener('abort', aborted);
          const mine = waiters.get(id);
          mine?.delete(tell);
          if (mine?.size === 0) waiters.delete(id);
        };
        const aborted = (): void => {
          done();
          reject(signal.reason as Error);
        };
        const tell = (end: Ended): void => {
          done();
          resolve(end);
        };
        signal.addEventListener('abort', aborted);
        // A repeated request (Idempotency-Key) waits beside the first one.
        const all = waiters.get(id) ?? new Set();
        waiters.set(id, all.add(tell));
      });
    },
  };
}
