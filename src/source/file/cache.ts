/**
 * Pages of origin data, shared by a job's tools. Bounded: the least recently used page is evicted, and fetched again if
 * needed.
 */

/** Small enough that a seek fetches little, large enough that a thousand pages are cheap to manage. */
export const PAGE_SIZE = 65536;

export class Page {
  bytes: Buffer;
  filled = 0;
  /** A fetch in progress will fill it. */
  loading = true;
  #waiters: (() => void)[] = [];

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafeSlow(length);
  }

  append(chunk: Buffer): void {
    chunk.copy(this.bytes, this.filled);
    this.filled += chunk.length;
    this.wake();
  }

  wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  changed(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }
}

export class PageCache {
  readonly #pages = new Map<string, Page>();
  readonly #most: number;

  constructor(maxBytes: number) {
    this.#most = Math.max(16, Math.floor(maxBytes / PAGE_SIZE));
  }

  get maxBytes(): number {
    return this.#most * PAGE_SIZE;
  }

  has(key: string): boolean {
    return this.#pages.has(key);
  }

  get(key: string): Page | undefined {
    const page = this.#pages.get(key);
    if (page !== undefined && !page.loading) {
      this.#pages.delete(key);
      this.#pages.set(key, page);
    }
    return page;
  }

  peek(key: string): Page | undefined {
    return this.#pages.get(key);
  }

  add(key: string, length: number): Page {
    const page = new Page(length);
    this.#pages.set(key, page);
    this.#evict();
    return page;
  }

  remove(key: string): void {
    const page = this.#pages.get(key);
    this.#pages.delete(key);
    page?.wake();
  }

  clear(): void {
    for (const key of this.#pages.keys()) this.remove(key);
  }

  #evict(): void {
    if (this.#pages.size <= this.#most) return;
    for (const [key, page] of this.#pages) {
      if (page.loading) continue;
      this.#pages.delete(key);
      if (this.#pages.size <= this.#most) return;
    }
  }
}
