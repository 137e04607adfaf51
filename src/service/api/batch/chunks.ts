/**
 * How many items the next chunk of a batch has. It begins with one and doubles while chunks are read to their end, so
 * that it comes to what a chunk gets done before it has to give way. In memory: a driver that takes over begins anew.
 */
import { MOST_OF_CHUNK } from '../../../base/limits.ts';

interface Begun {
  batch: string;
  items: number;
  ended: number;
  over: AbortController;
  at: number;
}

interface Kept {
  /** Names of those of which something ran. */
  jobs: ReadonlySet<string>;
  batches: ReadonlySet<string>;
  /** Those that began later may not be among them. */
  since: number;
}

export class Chunks {
  readonly #now: () => number;
  readonly #sizes = new Map<string, number>();
  /** By name; an item alone is a chunk of one, by its request. */
  readonly #begun = new Map<string, Begun>();

  constructor(now = (): number => performance.now()) {
    this.#now = now;
  }

  /** `waiting`: items, which share out among so many chunks at once. */
  sizeOf(batch: string, { waiting, atOnce }: { waiting: number; atOnce: number }): number {
    const share = Math.max(1, Math.ceil(waiting / Math.max(1, atOnce)));
    return Math.min(MOST_OF_CHUNK, share, this.#sizes.get(batch) ?? 1);
  }

  /** A chunk did not come about: not so many at once. */
  halve(batch: string): void {
    this.#sizes.set(batch, Math.max(1, Math.floor((this.#sizes.get(batch) ?? 1) / 2)));
  }

  /** `items`: 0 if it shares no job, which says nothing of the size. The signal is aborted once nothing of it runs. */
  begun(name: string, batch: string, items: number): AbortSignal {
    const over = new AbortController();
    this.#begun.set(name, { batch, items, ended: 0, over, at: this.#now() });
    return over.signal;
  }

  ended(name: string): void {
    const chunk = this.#begun.get(name);
    if (chunk) chunk.ended += 1;
  }

  /** Others are over. */
  keep({ jobs, batches, since }: Kept): void {
    for (const [name, { batch, items, ended, over, at }] of this.#begun) {
      if (jobs.has(name) || at >= since) continue;
      this.#begun.delete(name);
      over.abort(new Error('nothing of the chunk runs any more'));
      const size = this.#sizes.get(batch) ?? 1;
      this.#sizes.set(batch, ended < items ? Math.max(1, ended) : Math.max(size, Math.min(MOST_OF_CHUNK, 2 * items)));
    }
    for (const batch of this.#sizes.keys()) if (!batches.has(batch)) this.#sizes.delete(batch);
  }
}
