/** Graceful shutdown: not ready, no new connections, open requests are completed. Nothing is cancelled. */
export interface Drain {
  readonly started: boolean;
  /** Aborted when the grace period is over: callers that still wait get the address of their result. */
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
