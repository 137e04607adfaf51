/**
 * A work queue of keys, in their order. A key is never worked on twice at once; if it is added meanwhile, it runs once
 * more afterwards.
 */
import { pauseAfter } from '../../base/retry.ts';

/** Back-off per key, as in client-go. */
const PAUSES = { first: 5, longest: 1_000_000, jitter: 0 };

type OnError = (error: unknown, key: string, failures: number) => void;

export class WorkQueue {
  readonly #ready = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  /** Added while they were worked on. */
  readonly #again = new Set<string>();
  readonly #planned = new Map<string, { at: number; timer: NodeJS.Timeout }>();
  readonly #failures = new Map<string, number>();
  #atOnce = 0;
  #work: (key: string) => Promise<number | void> = () => Promise.resolve();
  #onError: OnError = () => {};
  #stopped = false;

  add(key: string): void {
    if (this.#stopped) return;
    if (this.#running.has(key)) this.#again.add(key);
    else this.#ready.add(key);
    this.#next();
  }

  /** Adds the key after `ms`, or at an earlier time that is already scheduled. */
  addAfter(key: string, ms: number): void {
    if (this.#stopped) return;
    if (ms <= 0) return this.add(key);
    const at = performance.now() + ms;
    const before = this.#planned.get(key);
    if (before !== undefined && before.at <= at) return;
    clearTimeout(before?.timer);
    const timer = setTimeout(() => {
      this.#planned.delete(key);
      this.add(key);
    }, ms);
    this.#planned.set(key, { at, timer });
  }

  /**
   * Begins to work, on as many keys at once. A throw retries the key with back-off; a returned number repeats it after
   * that many milliseconds. `onError` gets the failure count.
   */
  run(atOnce: number, work: (key: string) => Promise<number | void>, onError: OnError = () => {}): void {
    this.#atOnce = atOnce;
    this.#work = work;
    this.#onError = onError;
    this.#next();
  }

  /** Begins no more work, and waits for that in progress. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { timer } of this.#planned.values()) clearTimeout(timer);
    this.#ready.clear();
    await Promise.all(this.#running.values());
  }

  #next(): void {
    for (const key of this.#ready) {
      if (this.#running.size >= this.#atOnce) return;
      this.#ready.delete(key);
      this.#running.set(key, this.#do(key));
    }
  }

  async #do(key: string): Promise<void> {
    // Not before the key is among those that run.
    await Promise.resolve();
    try {
      const after = await this.#work(key);
      this.#failures.delete(key);
      if (after !== undefined) this.addAfter(key, after);
    } catch (error) {
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      this.addAfter(key, pauseAfter(failures, PAUSES));
      this.#onError(error, key, failures);
    }
    this.#running.delete(key);
    if (this.#again.delete(key)) this.add(key);
    else this.#next();
  }
}
