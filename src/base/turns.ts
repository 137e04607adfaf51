import { setImmediate as turn } from 'node:timers/promises';

/** Those who ask for the work while it is under way share that run of it. */
export function oneRun<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () =>
    (running ??= work().finally(() => {
      running = undefined;
    }));
}

/**
 * Awaited between pieces of work that may wait for nothing else: without it thousands of them are one turn of the event
 * loop, in which no timer fires and no lease is renewed.
 */
export function makeYield(longestMs = 20): () => Promise<void> | undefined {
  /** When the current turn of the event loop began to work here. */
  let began: number | undefined;
  return () => {
    if (began !== undefined) return performance.now() - began < longestMs ? undefined : turn();
    began = performance.now();
    setImmediate(() => {
      began = undefined;
    });
    return undefined;
  };
}

export type Turns = ReturnType<typeof makeTurns>;

/** How many may work at once. The others wait in order. */
export function makeTurns(atOnce: number) {
  const queue: (() => void)[] = [];
  let running = 0;
  return {
    waiting: (): number => queue.length,
    running: (): number => running,
    async run<T>(work: () => Promise<T>): Promise<T> {
      if (running < atOnce) running += 1;
      else await new Promise<void>((resolve) => queue.push(resolve));
      try {
        return await work();
      } finally {
        // The place goes to the next one and is never free in between.
        const next = queue.shift();
        if (next) next();
        else running -= 1;
      }
    },
  };
}
