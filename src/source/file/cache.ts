/**
 * Pages of origin data, shared by a job's tools. Bounded: the least recently used page is evicted, and fetched again if
 * needed. Those of a file's beginning are evicted last.
 */
import type { Piece } from './page_reader.ts';
import { PAGE_SIZE, type PageMemory } from './page_memory.ts';

export { PAGE_SIZE };

export const NOTHING = Buffer.alloc(0);

export class Page {
  /** Empty once the memory is another page's. */
  bytes: Buffer;
  /** Evicted only if all others are. */
  readonly isLast: boolean;
  filled = 0;
  #loading = true;
  #lent = 0;
  #dropped = false;
  #memory: { whole: Buffer; of: PageMemory } | undefined;
  #waiters: (() => void)[] = [];
  /** Whoever waits is woken once for all that arrives in a turn: a TLS record has 16 KB, and each piece is a write. */
  #soon: NodeJS.Immediate | undefined;

  constructor(length: number, memory: PageMemory, isLast: boolean) {
    this.isLast = isLast;
    const whole = memory.take();
    this.#memory = { whole, of: memory };
    this.bytes = whole.subarray(0, length);
  }

  /** A fetch in progress will fill it. */
  get loading(): boolean {
    return this.#loading;
  }

  /** Where its next bytes belong. */
  get space(): Buffer {
    return this.bytes.subarray(this.filled);
  }

  /** So many bytes are in the space. */
  grown(count: number): void {
    this.filled += count;
    if (this.filled === this.bytes.length) this.wake();
    else if (this.#waiters.length > 0) this.#soon ??= setImmediate(() => this.wake());
  }

  append(chunk: Buffer): void {
    chunk.copy(this.space);
    this.grown(chunk.length);
  }

  /** Nothing is appended any more. */
  loaded(): void {
    this.#loading = false;
    this.#recycle();
  }

  /** The cache has no use for it any more. */
  drop(): void {
    this.#dropped = true;
    this.wake();
    this.#recycle();
  }

  /** Received bytes, up to `to`. They stay as they are until the piece is released, or until nothing refers to it. */
  lend(from: number, to: number): Piece {
    this.#lent++;
    let released = false;
    return {
      bytes: this.bytes.subarray(from, Math.min(to, this.filled)),
      release: () => {
        if (released) return;
        released = true;
        this.#lent--;
        this.#recycle();
      },
    };
  }

  wake(): void {
    clearImmediate(this.#soon);
    this.#soon = undefined;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  changed(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  #recycle(): void {
    if (!this.#dropped || this.#loading || this.#lent > 0 || this.#memory === undefined) return;
    const { whole, of } = this.#memory;
    this.#memory = undefined;
    this.bytes = NOTHING;
    this.filled = 0;
    of.give(whole);
  }
}

export class PageCache {
  readonly #pages = new Map<string, Page>();
  readonly #most: number;
  readonly #memory: PageMemory;

  constructor(maxBytes: number, memory: PageMemory) {
    this.#most = Math.max(16, Math.floor(maxBytes / PAGE_SIZE));
    this.#memory = memory;
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

  /** Bytes of the file whose pages have this prefix, if all of them are there. */
  peekBytes(prefix: string, offset: number, length: number): Buffer | undefined {
    if (offset < 0) return undefined;
    const parts: Buffer[] = [];
    for (let at = offset; at < offset + length;) {
      const page = this.peek(prefix + Math.floor(at / PAGE_SIZE));
      const from = at % PAGE_SIZE;
      const to = Math.min(from + offset + length - at, PAGE_SIZE);
      if (page === undefined || page.filled < to) return undefined;
      parts.push(page.bytes.subarray(from, to));
      at += to - from;
    }
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }

  add(key: string, length: number, isLast = false): Page {
    const page = new Page(length, this.#memory, isLast);
    this.#pages.set(key, page);
    this.#evict((one) => !one.isLast);
    this.#evict(() => true);
    return page;
  }

  remove(key: string): void {
    const page = this.#pages.get(key);
    this.#pages.delete(key);
    page?.drop();
  }

  clear(): void {
    for (const key of this.#pages.keys()) this.remove(key);
  }

  #evict(may: (page: Page) => boolean): void {
    if (this.#pages.size <= this.#most) return;
    for (const [key, page] of this.#pages) {
      if (page.loading || !may(page)) continue;
      this.remove(key);
      if (this.#pages.size <= this.#most) return;
    }
  }
}
