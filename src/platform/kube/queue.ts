/**
 * A work queue of keys. A key is never processed by two workers at once; if it is added meanwhile, it runs once more
 * afterwards. New keys precede those that were only found by a LIST, so a restart with 10,000 old jobs does not delay a
 * new one.
 */
import { pauseAfter } from '../../base/retry.ts';

export interface AddOptions {
  /** Low priority: found by a LIST, not by an event. */
  low?: boolean;
}

export interface WorkQueue {
  add(key: string, options?: AddOptions): void;
  /** Adds the key after `ms`, or at an earlier time that is already scheduled. */
  addAfter(key: string, ms: number, options?: AddOptions): void;
  /** Adds the key with a back-off per failure: 5 ms, doubling, up to 1,000 s. */
  addRateLimited(key: string, options?: AddOptions): void;
  /** Resets the failures of a key. */
  forget(key: string): void;
  failures(key: string): number;
  /** The next key; undefined once the queue is stopped. Each must be followed by `done`. */
  get(): Promise<string | undefined>;
  done(key: string): void;
  /** Number of keys ready to be processed. */
  readonly length: number;
  readonly processing: number;
  readonly delayed: number;
  /** Returns no more keys and drops scheduled ones. */
  stop(): void;
}

/** Back-off per key, as in client-go. */
const PAUSES = { first: 5, longest: 1_000_000, jitter: 0 };
/** One in this many keys is taken from the low priority even while others wait, against starvation. */
const LOW_TURN = 8;

export function workQueue(): WorkQueue {
  const high = new Set<string>();
  const low = new Set<string>();
  const processing = new Set<string>();
  /** Keys added while being processed; the value is the low priority flag. */
  const dirty = new Map<string, boolean>();
  const planned = new Map<string, { at: number; low: boolean; timer: NodeJS.Timeout }>();
  const failed = new Map<string, number>();
  const takers: ((key: string | undefined) => void)[] = [];
  let turn = 0;
  let stopped = false;

  function take(): string | undefined {
    const first = high.size > 0 && (low.size === 0 || ++turn % LOW_TURN !== 0) ? high : low;
    const { value, done } = first.keys().next();
    if (done === true) return undefined;
    first.delete(value);
    processing.add(value);
    return value;
  }

  function hand(): void {
    while (takers.length > 0 && high.size + low.size > 0) takers.shift()!(take());
  }

  function unplan(key: string): void {
    clearTimeout(planned.get(key)?.timer);
    planned.delete(key);
  }

  function add(key: string, options: AddOptions = {}): void {
    if (stopped) return;
    const canWait = options.low === true;
    if (processing.has(key)) {
      dirty.set(key, canWait && (dirty.get(key) ?? true));
      return;
    }
    if (high.has(key) || (canWait && low.has(key))) return;
    low.delete(key);
    (canWait ? low : high).add(key);
    hand();
  }

  function addAfter(key: string, ms: number, options: AddOptions = {}): void {
    if (stopped) return;
    if (ms <= 0) return add(key, options);
    const at = performance.now() + ms;
    const before = planned.get(key);
    if (before !== undefined && before.at <= at) return;
    unplan(key);
    const canWait = options.low === true;
    const timer = setTimeout(() => {
      planned.delete(key);
      add(key, { low: canWait });
    }, ms);
    planned.set(key, { at, low: canWait, timer });
  }

  return {
    add,
    addAfter,
    addRateLimited(key, options) {
      const failures = (failed.get(key) ?? 0) + 1;
      failed.set(key, failures);
      addAfter(key, pauseAfter(failures, PAUSES), options);
    },
    forget: (key) => {
      failed.delete(key);
    },
    failures: (key) => failed.get(key) ?? 0,
    get() {
      if (stopped) return Promise.resolve(undefined);
      const key = take();
      return key === undefined
        ? new Promise((resolve) => {
            takers.push(resolve);
          })
        : Promise.resolve(key);
    },
    done(key) {
      processing.delete(key);
      const again = dirty.get(key);
      dirty.delete(key);
      if (again !== undefined) add(key, { low: again });
    },
    get length() {
      return high.size + low.size;
    },
    get processing() {
      return processing.size;
    },
    get delayed() {
      return planned.size;
    },
    stop() {
      stopped = true;
      for (const key of planned.keys()) unplan(key);
      high.clear();
      low.clear();
      dirty.clear();
      for (const taker of takers.splice(0)) taker(undefined);
    },
  };
}

export interface Workers {
  /** Stops the queue and waits for work in progress. */
  stop(): Promise<void>;
}

/**
 * Runs `work` for each key, `count` at a time. A throw retries the key with back-off; a returned number repeats it
 * after that many milliseconds. `onError` gets the failure count.
 */
export function runWorkers(
  queue: WorkQueue,
  count: number,
  work: (key: string) => Promise<number | void>,
  onError: (error: unknown, key: string, failures: number) => void = () => {},
): Workers {
  async function worker(): Promise<void> {
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      try {
        const after = await work(key);
        queue.forget(key);
        if (after !== undefined) queue.addAfter(key, after);
      } catch (error) {
        queue.addRateLimited(key);
        onError(error, key, queue.failures(key));
      } finally {
        queue.done(key);
      }
    }
  }
  const running = Array.from({ length: count }, worker);
  return {
    async stop() {
      queue.stop();
      await Promise.all(running);
    },
  };
}
