/**
 * Requests of this replica that wait for their end. Ends arrive over NATS, which may lose them. So every two seconds,
 * and whenever NATS reconnects, one batched query to Postgres covers all of them.
 */
import type { Ended } from '../../../platform/bus/messages.ts';
import type { Logger } from '../../../base/log.ts';
import { oneRun } from '../../../base/turns.ts';

interface WaitingOptions {
  /** The ended ones among these, in any order. */
  look(ids: string[]): Promise<Ended[]>;
  log: Logger;
  everyMs?: number;
}

const BATCH = 500;

export function makeWaiting({ look, log, everyMs = 2_000 }: WaitingOptions) {
  const waiters = new Map<string, Set<(end: Ended) => void>>();

  /** A notice of an end arrived. There may be no waiter (any more). */
  const ended = (end: Ended): void => waiters.get(end.id)?.forEach((tell) => tell(end));

  async function lookOnce(): Promise<void> {
    const ids = [...waiters.keys()];
    for (let from = 0; from < ids.length; from += BATCH) {
      for (const end of await look(ids.slice(from, from + BATCH))) ended(end);
    }
  }

  const lookNow = oneRun(() =>
    lookOnce().catch((error: unknown) =>
      log.warn({ err: error, waiting: waiters.size }, 'cannot poll Postgres for ended requests'),
    ),
  );

  const timer = setInterval(() => {
    if (waiters.size > 0) void lookNow();
  }, everyMs);
  timer.unref();

  return {
    ended,
    lookNow,
    /** Number of waiting callers. */
    size: (): number => [...waiters.values()].reduce((sum, all) => sum + all.size, 0),
    stop: (): void => clearInterval(timer),
    /** Resolves with the end; rejects with the signal's reason. */
    wait(id: string, signal: AbortSignal): Promise<Ended> {
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
        // A repeated request (Idempotency-Key) waits together with the first.
        const all = waiters.get(id) ?? new Set();
        waiters.set(id, all.add(tell));
      });
    },
  };
}
