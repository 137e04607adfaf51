/**
 * Shutting down without losing an answer: not ready any more, no new connections, what waits is waited for. Nothing is
 * ever cancelled by it.
 */
export interface Drain {
  readonly started: boolean;
  /** Aborted when the time to wait is over: what still waits is told where to read its result. */
  readonly over: AbortSignal;
  start(): void;
  end(): void;
}

export function makeDrain(): Drain {
  const over = new AbortController();
  let started = false;
  return {
    get started() {
      return started;
    },
    over: over.signal,
    start() {
      started = true;
    },
    end() {
      over.abort();
    },
  };
}
